"""SRF020: live ids of a topic that the named reader cannot resolve under the subject that it asks. `srfix check` finds
it.

It is about a topic and its reader. A diagnosis of stores finds it only of a changelog whose reader looks versions up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import proofs
from srfix.recovery.checks.interface import Check, Repair
from srfix.recovery.checks.topic_findings import (
    MOST_PLACES,
    TopicFinding,
    TopicOrigin,
    origin_in_words,
    origin_of,
    reader_to_configure,
)
from srfix.recovery.facts.topics import Standing, TopicReader, Trouble
from srfix.recovery.findings import Finding, Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.recovery.ids_in_words import named_ids
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.printable import capitalized
from srfix.serde.schemas.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.subjects.names import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from srfix.recovery.checks.topic_findings import TopicRequest
    from srfix.recovery.facts.applications import ChangelogFacts
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.refusals import Holders
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.recovery.facts.topics import AskedId
    from srfix.recovery.guard.judged import JudgedStore
    from srfix.recovery.guard.looking import Sight
    from srfix.recovery.guard.models import NewSchema
    from srfix.serde.schemas.models import Schema
    from srfix.serde.schemas.references import SchemaVersions
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF020"

_WORDS_OF_TYPES: Final = {"AVRO": "Avro", "PROTOBUF": "Protobuf"}


def find_of_topic(request: TopicRequest) -> Iterator[TopicFinding]:
    """One finding per subject that the reader asks: ids that it fails on, or for which it does not need the subject."""
    from srfix.recovery.facts.refusals import find_holders

    by_subject: dict[Subject, list[AskedId]] = {}
    for asked_id in request.answer.ids:
        is_no_fault = asked_id.trouble is None and not asked_id.membership.is_missing
        if asked_id.trouble is not Trouble.UNKNOWN_ID and not is_no_fault:
            by_subject.setdefault(asked_id.subject or request.subject, []).append(asked_id)
    if not by_subject:
        return
    every = [asked_id for ids_of_subject in by_subject.values() for asked_id in ids_of_subject]
    likely = [*by_subject, request.subject]
    holders = find_holders(request.survey.registry, {asked_id.schema_id for asked_id in every}, likely=likely)
    for subject, ids_of_subject in sorted(by_subject.items()):
        yield _finding(request, subject, ids_of_subject, holders)


def _finding(request: TopicRequest, subject: Subject, asked_ids: Sequence[AskedId], holders: Holders) -> TopicFinding:
    met = [asked_id for asked_id in asked_ids if asked_id.standing.is_met]
    reported_ids = met or list(asked_ids)
    fails = [asked_id for asked_id in reported_ids if asked_id.trouble is not None]
    is_note = not met or not fails
    ids = {asked_id.schema_id: _record(asked_id) for asked_id in reported_ids}
    holding = tuple(holder for schema_id in ids for holder in holders.by_id.get(schema_id, ()))
    origin = origin_of(request.topic, request.answer.role, holding, ids, subject)
    repairable = any(asked_id.is_mended for asked_id in reported_ids)
    sentences = [
        _carried(request, reported_ids),
        _asked(subject, request.survey.subject_state(subject), reported_ids),
        *_outcome(request, subject, fails),
        *_already_read(request, asked_ids, met),
        *origin_in_words(origin, ids),
    ]
    return request.finding(
        CODE,
        severity=Severity.NOTE if is_note else Severity.BROKEN,
        subject=subject,
        schema_ids=tuple(asked_id.fault for asked_id in reported_ids),
        holders=holding,
        origin=origin,
        explanation=" ".join(sentences),
        next_step=_next(request, origin, reported_ids, is_note=is_note, repairable=repairable),
        repairable=repairable,
    )


def _carried(request: TopicRequest, reported_ids: Sequence[AskedId]) -> str:
    question = request.answers.question
    where = f"{capitalized(request.answer.role.value)}s of topic {question.topic}"
    if question.read.group is not None and reported_ids[0].standing is Standing.PENDING:
        where += f" that group {question.read.group} has not read yet"
    return f"{where} carry {request.in_words([asked_id.fault for asked_id in reported_ids])}."


def _asked(subject: Subject, state: SubjectState, reported_ids: Sequence[AskedId]) -> str:
    if all(asked_id.trouble is Trouble.NO_SUBJECT for asked_id in reported_ids):
        return f"The reader asks no subject for these ids: {reported_ids[0].why}."
    codes = sorted(
        {asked_id.membership.error_code for asked_id in reported_ids if asked_id.membership.error_code is not None}
    )
    lacks = [asked_id.schema_id for asked_id in reported_ids if asked_id.membership.is_missing]
    if not state.versions:
        return f"The subject that the reader asks, {subject}, does not exist ({', '.join(map(str, codes)) or '40401'})."
    holdings = f"The subject that the reader asks, {subject}, holds {state.versions_in_words}"
    if not lacks:
        return f"{holdings}."
    return f"{holdings}, but not {named_ids(lacks)} ({', '.join(map(str, codes))})."


def _outcome(request: TopicRequest, subject: Subject, fails: Sequence[AskedId]) -> Iterator[str]:
    if not fails:
        reader = request.answers.question.read.reader.value
        yield f"Nothing fails, because a {reader} reader can read the records without the versions under this subject."
        return
    by_trouble: dict[Trouble, list[AskedId]] = {}
    for asked_id in fails:
        if asked_id.trouble is not None:
            by_trouble.setdefault(asked_id.trouble, []).append(asked_id)
    missing = by_trouble.get(Trouble.MISSING)
    if missing:
        yield _of_missing(request, subject, missing)
    if Trouble.NO_LATEST in by_trouble:
        why = by_trouble[Trouble.NO_LATEST][0].why
        yield f"A reader that takes the latest version finds no version: {why}. So it cannot read any record."
    for asked_id in by_trouble.get(Trouble.LATEST_CANNOT_READ, ())[:MOST_PLACES]:
        yield f"The latest version cannot read records of schema id {asked_id.schema_id}: {asked_id.why}."
    if Trouble.NO_SUBJECT in by_trouble and len(by_trouble) > 1:
        ids_without_subject = [asked_id.schema_id for asked_id in by_trouble[Trouble.NO_SUBJECT]]
        theirs = "its schema has" if len(ids_without_subject) == 1 else "their schemas have"
        yield f"The strategy gives no subject for {named_ids(ids_without_subject)}, because {theirs} no record name."


def _of_missing(request: TopicRequest, subject: Subject, missing: Sequence[AskedId]) -> str:
    named, reader = request.survey.registry.context_of(subject), request.answers.question.read.reader
    first = missing[0]
    kind = first.membership.schema.schema_type if first.membership.schema is not None else "AVRO"
    version = "" if named != DEFAULT_CONTEXT else "version "
    message = f'"Error retrieving {_WORDS_OF_TYPES.get(kind, kind)} {request.answer.role.value} schema '
    message += f'{version}for id {first.schema_id}"'
    condition = {
        TopicReader.CONNECT: "Connect's converter looks up the version of each id there, so ",
        TopicReader.KSQLDB: "ksqlDB looks up the version of each id there, so ",
        TopicReader.PLAIN: f"In context {named} the registry returns a schema only if the request names a subject that "
        "holds its id, so ",
        TopicReader.LATEST: "A reader with use.latest.version looks up the version of each id there, too, so ",
    }.get(
        reader,
        "" if named != DEFAULT_CONTEXT else "If the reader looks up the version under the subject, ",
    )
    sentence = f"{condition}these records cannot be read: {message}."
    if reader is TopicReader.KSQLDB and kind == "JSON":
        sentence += " (From 0.28.2 on, ksqlDB reads JSON_SR in this way. Earlier versions, and later ones with "
        sentence += "ksql.json_sr.converter.deserializer.enabled=false, look up nothing.)"
    return sentence if sentence.startswith("ksqlDB") else capitalized(sentence)


def _already_read(request: TopicRequest, asked_ids: Sequence[AskedId], met: Sequence[AskedId]) -> Iterator[str]:
    unmet = [asked_id for asked_id in asked_ids if not asked_id.standing.is_met]
    if not unmet:
        return
    ids = named_ids([asked_id.schema_id for asked_id in unmet])
    these = "this id" if len(unmet) == 1 else "these ids"
    read = all(asked_id.standing is Standing.READ for asked_id in unmet)
    group = request.answers.question.read.group
    if met:
        what = (
            f"group {group} has already read the records of {these}"
            if read
            else f"newer records have replaced all records with {these}"
        )
        yield f"The same is true for {ids}, but {what}."
    elif read:
        yield f"Group {group} has already read these records. It would read them again if its offsets were reset."
    else:
        yield (
            "Newer records of the same keys have replaced these records. Until compaction removes them, a reader "
            "that starts at the beginning still reads them."
        )


def _next(
    request: TopicRequest, origin: TopicOrigin, reported_ids: Sequence[AskedId], *, is_note: bool, repairable: bool
) -> str:
    question, command_line = request.answers.question, request.command_line
    if any(asked_id.trouble is Trouble.NO_LATEST for asked_id in reported_ids):
        return (
            "srfix registers no live version for this reader. Such a version would become the latest version for "
            "everybody who asks the subject, and the registry would check the next schema against it. Ask the "
            "owner of the subject to register the schema that the reader should use, or remove use.latest.version "
            "from the reader."
        )
    if not repairable:
        if any(asked_id.trouble is Trouble.LATEST_CANNOT_READ for asked_id in reported_ids):
            return (
                "No registration of these ids helps. Ask the owner of the subject for a latest version that can "
                "read these records (with defaults for the fields that it adds), or remove use.latest.version from "
                "the reader."
            )
        return "Name the subject that the reader asks (--subject), or another --strategy."
    if is_note:
        plan = command_line.quoted("plan", "--topic", question.topic, "--also", CODE, "-o", "plan.json")
        return f"Nothing to do now. To register the ids nevertheless: {plan}."
    repair = command_line.plan_and_apply("--topic", question.topic, reads="what it costs")
    register = f"register the ids under the subject that the reader asks: {repair}"
    configure = reader_to_configure(origin, question.read.strategy)
    return f"{configure}. Or {register}." if configure else f"{capitalized(register)}."


def _record(asked_id: AskedId) -> str | None:
    from srfix.recovery.evidence.comparing import name_of_record

    schema = asked_id.membership.schema
    return None if schema is None or schema.references else name_of_record(schema)


def unreadable(
    latest: Schema, writer: Schema, subject: Subject, registry: SchemaVersions
) -> tuple[tuple[str, ...], str | None]:
    """Why a subject's latest schema cannot read records of another schema; or why srfix does not know whether it can."""
    from srfix.serde.compatibility import COMPARED_TYPES, incompatibilities
    from srfix.serde.schemas.references import reference_texts

    if all(getattr(latest, part) == getattr(writer, part) for part in ("text", "schema_type", "references")):
        return (), None
    kind = latest.schema_type
    if kind != writer.schema_type or kind not in COMPARED_TYPES:
        return (), f"srfix compares two Avro or two Protobuf schemas, but these are {writer.schema_type} and {kind}"
    if kind == "AVRO" and (latest.references or writer.references):
        return (), "srfix does not compare Avro schemas that refer to other schemas"
    try:
        new, old = (reference_texts(registry, schema, subject=subject) for schema in (latest, writer))
        reasons = incompatibilities(
            new=latest.text,
            existing=[writer.text],
            level="BACKWARD",
            schema_type=kind,
            new_references=new,
            existing_references=[old],
        )
        return reasons, None
    except (SchemaError, UsageError, SubjectNotFoundError, VersionNotFoundError) as error:
        return (), error.message


def find_of_changelog(facts: ChangelogFacts, context: CheckContext) -> Iterator[Finding]:
    """What a restore loads from a changelog that exists, and the changelog's own subject does not hold."""
    for missing in facts.missing:
        faults = proofs.at_fault(facts.census, missing.role, missing.schema_ids)
        check = context.command_line.quoted("check", facts.topic, "--reader", "connect")
        yield facts.finding(
            CODE,
            missing,
            faults,
            explanation=(
                f"Store {facts.store} of application {facts.application} restores from changelog topic {facts.topic}. "
                f"Records of this topic carry {proofs.in_words(faults)}. The subject that the store's reader asks, "
                f"{missing.subject}, does not hold these ids, so the rows cannot be read."
            ),
            next_step=f"Run {check}: it says how to repair this.",
        )


def foretell_of_readers(
    new: NewSchema, state: SubjectState, stores: Iterable[JudgedStore], sight: Sight
) -> Iterator[Foretold]:
    """The records that a `use.latest.version` reader could not read; a note, as nothing shows such a reader."""
    ids = {version.schema_id for version in state.live}
    for judged in stores:
        pair = judged.subject_pair(new.role)
        ids.update(() if pair is None else pair.ids)
    unreadable_and_why = in_words(new.schema, new.subject, sorted(ids), sight)
    if unreadable_and_why is None:
        return
    bad, words = unreadable_and_why
    yield Foretold(
        code=CODE,
        severity=Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        moment=Moment.SCHEMA,
        role=new.role,
        subject=new.subject,
        topic=new.topic,
        schema_ids=bad,
        explanation=f"Once {new.origin} is the latest version of {new.subject}, {words}",
    )


def in_words(
    latest: Schema, subject: Subject, ids: Iterable[SchemaId], sight: Sight
) -> tuple[tuple[SchemaId, ...], str] | None:
    """The ids that a reader with this latest version cannot read, with a clause; None if none, or if not comparable."""
    from srfix.recovery.facts.survey import known_schema

    if sight.registry is None:
        return None
    reasons: dict[SchemaId, str] = {}
    for schema_id in ids:
        writer = known_schema(sight.registry, schema_id, sight.context_of(subject))
        if writer is None:
            continue
        problems, untold = unreadable(latest, writer, subject, sight.registry)
        if problems:
            reasons[schema_id] = problems[0].rstrip(".")
        elif untold is not None:
            what = f"whether a reader with use.latest.version of {subject} reads the records of schema id {schema_id} ({CODE})"
            # A gap here can hide no more than a note.
            sight.skip(Skipped(what=what, reason=untold, could_hide=False, subjects=(subject,)))
    if not reasons:
        return None
    bad = tuple(sorted(reasons))
    return bad, (
        "a reader with use.latest.version uses this version for every record, and this version cannot read the records of "
        f"{named_ids(bad)} ({reasons[bad[0]]}). srfix does not know whether there is such a reader."
    )


CHECK: Final = Check(
    code=CODE,
    title="Live records of a topic cannot be read: their reader asks a subject that does not hold their ids",
    severity="broken",
    meaning=(
        "The registry has the schemas of the records, but the subject that the reader asks does not hold these "
        "schemas. The reader reports “Error retrieving Avro value schema version for id …” (40401 if the subject does "
        "not exist, 40403 if it lacks the schema). A Connect sink's task fails. A ksqlDB source skips the record, or "
        "stops. A reader with use.latest.version also fails if the subject has no live version, or if the latest "
        "version cannot read the records."
    ),
    cause=(
        "One of these:\n- MirrorMaker 2 copied the topic under another name. The bytes of the records are unchanged, "
        "and the schemas are registered only under the subject of the original topic.\n- The producers name subjects "
        "by the record (RecordNameStrategy, TopicRecordNameStrategy), and the reader does not.\n- Somebody cleaned up "
        "subjects, or did not copy the subjects together with the topic.\n- A repair soft-deleted the versions that "
        "it had registered, and the reader takes the latest version."
    ),
    detection=(
        "Run srfix check, with the --subject, --strategy, --group and --reader of your reader. It counts the ids and "
        "GUIDs in the topic's keys and values. For each id it sends the registry the same request as the reader. In a "
        "compacted topic only the latest record of each key counts; in another topic every record counts. With "
        "--group, srfix counts only records that the group has not read yet.\nWith --reader connect, srfix diagnose finds it, "
        "too: in a changelog topic that exists, if its own subject lacks ids that a restore loads."
    ),
    remedy=(
        "Let the reader ask the subject that holds the ids. Or register the ids under the subject that the reader "
        "asks: srfix plan with --topic and the same options, then srfix apply and srfix verify. srfix never registers "
        "a live version for a reader with use.latest.version. Such a version would become the latest version for "
        "everybody, and only the owner of the subject can decide that."
    ),
    find_of_changelog=find_of_changelog,
    find_of_topic=find_of_topic,
    repair=Repair(
        wants=lambda _finding, _request: iter(()),
        also="only with --topic: ids that the reader does not need, and ids of records that it has already read",
    ),
)
