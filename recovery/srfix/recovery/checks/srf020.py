"""SRF020: live ids of a topic that the named reader cannot resolve under the subject that it asks. `srfix check` finds it.

It is about a topic and its reader, not about a store: a diagnosis of stores never finds it, `srfix.recovery.topic_check` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import CatalogueEntry, Check, Repair
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.recovery.ids_in_words import named_ids
from srfix.serde.errors import SchemaError

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.recovery.findings import Finding
    from srfix.recovery.guard.judged import JudgedStore
    from srfix.recovery.guard.looking import Sight
    from srfix.recovery.guard.models import NewSchema
    from srfix.serde.schemas.models import Schema
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF020"


def check(_facts: StoreFacts, _context: CheckContext) -> Iterator[Finding]:
    """Nothing, of any store."""
    return iter(())


def unreadable(latest: Schema, writer: Schema) -> tuple[tuple[str, ...], str | None]:
    """Why the latest schema does not read what was written under another one; or why that cannot be told."""
    from srfix.serde.compatibility import incompatibilities

    if latest.text == writer.text and latest.schema_type == writer.schema_type:
        return (), None
    if (latest.schema_type, writer.schema_type) != ("AVRO", "AVRO"):
        return (), f"srfix compares Avro schemas alone, and these are {writer.schema_type} and {latest.schema_type}"
    if latest.references or writer.references:
        return (), "srfix does not compare schemas that refer to others"
    try:
        return incompatibilities(new=latest.text, existing=[writer.text], level="BACKWARD"), None
    except SchemaError as error:
        return (), error.message


def foretell_of_readers(
    new: NewSchema, state: SubjectState, stores: Iterable[JudgedStore], sight: Sight
) -> Iterator[Foretold]:
    """What a reader with `use.latest.version` cannot read once a schema is its subject's latest. A note: nobody says whether
    there is such a reader.

    :param state: what stands under the subject, whose ids records may carry.
    """
    ids = {version.schema_id for version in state.live}
    for judged in stores:
        known = judged.known(new.role)
        ids.update(() if known is None else known.ids)
    found = in_words(new.schema, new.subject, sorted(ids), sight)
    if found is None:
        return
    bad, words = found
    yield Foretold(
        code=CODE,
        severity=Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        moment=Moment.SCHEMA,
        application="",
        store="",
        role=new.role,
        subject=new.subject,
        topic=new.topic,
        schema_ids=bad,
        explanation=f"Once {new.origin} is the latest version of {new.subject}, {words}",
    )


def in_words(
    latest: Schema, subject: Subject, ids: Iterable[SchemaId], sight: Sight
) -> tuple[tuple[SchemaId, ...], str] | None:
    """Which ids a reader that takes this latest version does not read, and that in a clause; None if it reads them all, or
    nothing here compares them.
    """
    from srfix.recovery.facts.survey import schema_behind
    from srfix.serde.schemas.errors import SchemaNotFoundError

    if sight.registry is None:
        return None
    reasons: dict[SchemaId, str] = {}
    for schema_id in ids:
        try:
            writer = schema_behind(sight.registry, schema_id, sight.context_of(subject))
        except SchemaNotFoundError:
            continue
        found, untold = unreadable(latest, writer)
        if found:
            reasons[schema_id] = found[0].rstrip(".")
        elif untold is not None:
            sight.skip(_not_compared(subject, schema_id, untold))
    if not reasons:
        return None
    bad = tuple(sorted(reasons))
    return bad, (
        f"a reader with use.latest.version reads every record by it, and not those of {named_ids(bad)} ({reasons[bad[0]]}). "
        "Nobody said whether there is one."
    )


def _not_compared(subject: Subject, schema_id: SchemaId, why: str) -> Skipped:
    return Skipped(
        what=f"whether a reader with use.latest.version of {subject} reads the records of schema id {schema_id} ({CODE})",
        reason=why,
        could_hide=False,  # a note at most
        subjects=(subject,),
    )


CHECK: Final = Check(
    entry=CatalogueEntry(
        code=CODE,
        title="Live records of a topic cannot be read: their reader asks a subject that does not hold their ids",
        severity="broken",
        meaning="Records name schemas that the registry knows, and the subject that its reader asks does not hold them: "
        "“Error retrieving Avro value schema version for id …” (40401 without that subject, 40403 without that schema). A "
        "Connect sink's task fails, a ksqlDB source skips the record or stops. A reader with use.latest.version fails besides "
        "where the subject has no live version, or where the latest one does not resolve what was written.",
        cause="A topic that was mirrored under another name with its records' bytes as they are (MirrorMaker 2), while the "
        "schemas stand under the original's subject; producers that name subjects by the record (RecordNameStrategy, "
        "TopicRecordNameStrategy) and a reader that does not; subjects that were cleaned up, or not copied with the topic; "
        "a soft-deleted repair where the reader takes the latest version.",
        detection="srfix check, with --subject, --strategy, --group and --reader as the reader has them: a census of the "
        "topic's keys and values, GUIDs too, and for each id the questions of that reader. Of a compacted topic the latest "
        "record of each key counts, else every record; with --group what it has not read yet.",
        remedy="Let the reader ask the subject that holds the ids, or register them under the one that it asks: srfix plan, "
        "with --topic and the same options, then srfix apply and srfix verify. Nothing registers the version that a reader "
        "with use.latest.version takes: it becomes everybody's latest, which only the subject's owner can decide.",
        checked_since="0.1.0",
    ),
    find=check,
    repair=Repair(
        wants=lambda _finding, _request: iter(()), also="with --topic, ids that its reader does without or has read"
    ),
)
