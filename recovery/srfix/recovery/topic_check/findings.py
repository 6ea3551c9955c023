"""From what was asked to findings: SRF020, and of the same records SRF011 and SRF013."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.checks import srf011, srf013, srf020
from srfix.recovery.commands import Given, positional
from srfix.recovery.facts.bodies import Bodies
from srfix.recovery.facts.holders import Holders, find_holders
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import Strategy, TopicReader
from srfix.recovery.findings import IdAtFault, Severity
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.topic_check.answers import AskedId, RoleAnswer, TopicCheck, TopicFinding, Trouble
from srfix.recovery.topic_check.lives import Lives, Standing
from srfix.recovery.topic_check.origin import Origin, Told, origin_of
from srfix.serde.errors import SchemaError
from srfix.serde.formats.table import record_name
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject
from srfix.serde.wire import SchemaId

_WORDS_OF_TYPES: Final = {"AVRO": "Avro", "PROTOBUF": "Protobuf"}
_MOST_PLACES: Final = 10


def findings_of(
    found: TopicCheck, survey: Survey, bodies: Mapping[Role, Bodies], *, given: Given
) -> list[TopicFinding]:
    """What is wrong with a topic for its reader, worst first.

    :param bodies: per role whether the newest record of each id decodes.
    :raises RegistryError: if the registry does not answer.
    """
    telling = _Telling(found=found, survey=survey, given=given)
    findings: list[TopicFinding] = []
    for answer in found.roles:
        findings += telling.of_subjects(answer)
        findings += telling.of_unknown(answer)
        findings += telling.of_bodies(answer, bodies.get(answer.role))
    return sorted(findings, key=_order)


def _order(finding: TopicFinding) -> tuple[int, str, str, str]:
    return finding.severity.rank, finding.role.value, finding.subject, finding.code


@dataclass(slots=True, kw_only=True)
class _Telling:
    """One topic, told."""

    found: TopicCheck
    survey: Survey
    given: Given
    _states: dict[Subject, SubjectState] = field(default_factory=dict)

    def of_subjects(self, answer: RoleAnswer) -> Iterator[TopicFinding]:
        """SRF020, one for each subject that is asked: what the reader fails on, or that it does without the subject."""
        by_subject: dict[Subject, list[AskedId]] = {}
        for asked in answer.ids:
            if _is_at_fault(asked):
                by_subject.setdefault(asked.subject or self._fallback(answer.role), []).append(asked)
        if not by_subject:
            return
        every = [asked for of_it in by_subject.values() for asked in of_it]
        likely = [*by_subject, self.found.question.subject_of(answer.role)]
        holders = find_holders(self.survey.registry, {asked.schema_id for asked in every}, likely=likely)
        for subject, of_it in sorted(by_subject.items()):
            yield self._of_subject(answer, subject, of_it, holders)

    def _fallback(self, role: Role) -> Subject:
        """What stands for the subject where the strategy names none."""
        return self.found.question.subject_of(role)

    def _of_subject(
        self, answer: RoleAnswer, subject: Subject, asked: Sequence[AskedId], holders: Holders
    ) -> TopicFinding:
        met = [each for each in asked if each.standing.is_met]
        told = met or list(asked)
        fails = [each for each in told if each.trouble is not None]
        is_note = not met or not fails
        state = self._state(subject)
        ids = {each.schema_id: _record(each) for each in told}
        holding = tuple(holder for each in ids for holder in holders.by_id.get(each, ()))
        origin = origin_of(self.found.question.topic, answer.role, holding, ids, subject)
        repairable = any(each.is_mended for each in told)
        sentences = [
            self._carried(answer.role, told),
            self._asked(subject, state, told),
            *self._outcome(answer.role, subject, told, fails),
            *self._already_read(asked, met),
            *_origin_in_words(origin, ids),
        ]
        return TopicFinding(
            code=srf020.CODE,
            severity=Severity.NOTE if is_note else Severity.BROKEN,
            topic=self.found.question.topic,
            role=answer.role,
            subject=subject,
            schema_ids=tuple(each.fault for each in told),
            registered_ids=state.schema_ids,
            holders=holding,
            origin=origin,
            explanation=" ".join(sentences),
            next=self._next(origin, told, is_note=is_note, repairable=repairable),
            repairable=repairable,
        )

    def _state(self, subject: Subject) -> SubjectState:
        if subject not in self._states:
            self._states[subject] = read_subject_state(self.survey.registry, subject)
        return self._states[subject]

    def _carried(self, role: Role, told: Sequence[AskedId]) -> str:
        question = self.found.question
        where = f"{capitalized(role.value)}s of topic {question.topic}"
        if question.read.group is not None and told[0].standing is Standing.PENDING:
            where += f" that group {question.read.group} has not read yet"
        return f"{where} carry {self._in_words([each.fault for each in told])}."

    def _in_words(self, faults: Sequence[IdAtFault]) -> str:
        named = [f"schema id {fault.schema_id} ({self._places(fault)})" for fault in faults[:_MOST_PLACES]]
        if len(faults) > _MOST_PLACES:
            named.append(f"{len(faults) - _MOST_PLACES:,} more schema ids")
        return "; ".join(named)

    def _places(self, fault: IdAtFault) -> str:
        least = "at least " if fault.is_partial else ""
        positions = self.found.positions
        if positions is not None:
            starts = {part.partition: positions.starts_at(part) for part in self.found.census.partitions}
            ahead = [place for place in fault.partitions if place.last_offset >= starts[place.partition]]
            places = ", ".join(
                f"partition {place.partition} up to offset {place.last_offset}" for place in ahead or fault.partitions
            )
            return f"{least}{counted(fault.records, 'record')} in the log: {places}"
        unit = "live key" if self.found.lives is Lives.LATEST_OF_KEY else "record"
        if not fault.live_keys:
            return f"no live key, {least}{counted(fault.records, 'record')} in the log"
        places = ", ".join(
            f"{place.live_keys:,} in partition {place.partition}" for place in fault.partitions if place.live_keys
        )
        return f"{least}{counted(fault.live_keys, unit)}: {places}"

    def _asked(self, subject: Subject, state: SubjectState, told: Sequence[AskedId]) -> str:
        if all(each.trouble is Trouble.NO_SUBJECT for each in told):
            return f"No subject is asked for them: {told[0].why}."
        codes = sorted({each.membership.error_code for each in told if each.membership.error_code is not None})
        lacks = [each.schema_id for each in told if each.membership.is_missing]
        if not state.versions:
            return f"The subject that the reader asks, {subject}, does not exist ({', '.join(map(str, codes)) or '40401'})."
        held = f"The subject that the reader asks, {subject}, holds {state.versions_in_words}"
        if not lacks:
            return f"{held}."
        return f"{held}, but not schema id {listed(lacks)} ({', '.join(map(str, codes))})."

    def _outcome(
        self, role: Role, subject: Subject, told: Sequence[AskedId], fails: Sequence[AskedId]
    ) -> Iterator[str]:
        if not fails:
            reader = self.found.question.read.reader.value
            yield f"As a {reader} reader does not need that version, nothing fails because of it."
            return
        by_trouble: dict[Trouble, list[AskedId]] = {}
        for each in fails:
            if each.trouble is not None:
                by_trouble.setdefault(each.trouble, []).append(each)
        missing = by_trouble.get(Trouble.MISSING)
        if missing:
            yield self._of_missing(role, subject, missing)
        if Trouble.NO_LATEST in by_trouble:
            why = by_trouble[Trouble.NO_LATEST][0].why
            yield f"A reader that takes the latest version finds none: {why}. None of its records can be read."
        for each in by_trouble.get(Trouble.LATEST_CANNOT_READ, ())[:_MOST_PLACES]:
            yield f"What was written under schema id {each.schema_id} is not resolved by the latest, {each.why}."
        if Trouble.NO_SUBJECT in by_trouble and len(by_trouble) > 1:
            others = [each.schema_id for each in by_trouble[Trouble.NO_SUBJECT]]
            yield f"Schema id {listed(others)} has no record's name, so that the strategy names no subject for it."

    def _of_missing(self, role: Role, subject: Subject, missing: Sequence[AskedId]) -> str:
        named = self.survey.registry.context_of(subject)
        first = missing[0]
        kind = first.membership.schema.schema_type if first.membership.schema is not None else "AVRO"
        version = "" if named != DEFAULT_CONTEXT else "version "
        message = f'"Error retrieving {_WORDS_OF_TYPES.get(kind, kind)} {role.value} schema {version}for id {first.schema_id}"'
        condition = {
            TopicReader.CONNECT: "Connect's converter looks each id's version up there, so that ",
            TopicReader.KSQLDB: "ksqlDB looks each id's version up there, so that ",
            TopicReader.PLAIN: f"In context {named} the registry gives the schema of an id to no subject that does not hold "
            "it, so that ",
            TopicReader.LATEST: "A reader with use.latest.version looks each id's version up there too, so that ",
        }.get(
            self.found.question.read.reader,
            "" if named != DEFAULT_CONTEXT else "If the reader looks the version up under the subject, ",
        )
        sentence = f"{condition}these records cannot be read: {message}."
        if self.found.question.read.reader is TopicReader.KSQLDB and kind == "JSON":
            sentence += " (JSON_SR is read so since ksqlDB 0.28.2; before, and with "
            sentence += "ksql.json_sr.converter.deserializer.enabled=false, nothing is looked up.)"
        return sentence if sentence.startswith("ksqlDB") else capitalized(sentence)

    def _already_read(self, asked: Sequence[AskedId], met: Sequence[AskedId]) -> Iterator[str]:
        """Of ids that the reader does not meet as things stand."""
        others = [each for each in asked if not each.standing.is_met]
        if not others:
            return
        ids = f"schema id {listed(each.schema_id for each in others)}"
        read = all(each.standing is Standing.READ for each in others)
        group = self.found.question.read.group
        if met:
            what = f"group {group} has read its records" if read else "only superseded records carry it"
            yield f"The same holds of {ids}, but {what}."
        elif read:
            yield f"Group {group} has read these records, and would meet them again if its offsets were reset."
        else:
            yield "Newer records have superseded them: until compaction removes them, who reads from the start meets them."

    def _next(self, origin: Told, told: Sequence[AskedId], *, is_note: bool, repairable: bool) -> str:
        question = self.found.question
        also = ("--also", srf020.CODE) if is_note else ()
        plan = self.given.quoted("plan", "--topic", question.topic, *also, "-o", "plan.json")
        apply = self.given.quoted("apply", "plan.json")
        if any(each.trouble is Trouble.NO_LATEST for each in told):
            return (
                "srfix registers no live version for this: it becomes the latest that everybody who asks the subject gets, and "
                "what the next schema there is checked against. Ask the owner of the subject to register the schema that is to "
                "be read with, or take use.latest.version from the reader."
            )
        if not repairable:
            if any(each.trouble is Trouble.LATEST_CANNOT_READ for each in told):
                return (
                    "No registration of these ids helps. Ask the owner of the subject for a latest version that resolves them "
                    "(defaults for the fields that it adds), or take use.latest.version from the reader."
                )
            return "Name the subject that the reader asks (--subject), or another --strategy."
        if is_note:
            return f"Nothing to do as things stand. To have the ids registered all the same: {plan}."
        register = f"register the ids under the subject that it asks: {plan}, read its price, then {apply}"
        configure = _configured(origin, question.read.strategy)
        return f"{configure}, or {register}." if configure else f"{capitalized(register)}."

    def of_unknown(self, answer: RoleAnswer) -> Iterator[TopicFinding]:
        """SRF011: ids and GUIDs that the registry does not know."""
        unknown = [each for each in answer.ids if each.trouble is Trouble.UNKNOWN_ID]
        guids = answer.unknown_guids
        if not unknown and not guids:
            return
        met = [each for each in unknown if each.standing.is_met]
        told = met or unknown
        parts = [self._in_words([each.fault for each in told])] if told else []
        if guids:
            parts.append(f"the GUID{'s' if len(guids) > 1 else ''} {listed(guids, most=_MOST_PLACES)}")
        subject = self._fallback(answer.role)
        yield TopicFinding(
            code=srf011.CODE,
            severity=Severity.BROKEN if met or guids else Severity.NOTE,
            topic=self.found.question.topic,
            role=answer.role,
            subject=subject,
            schema_ids=tuple(each.fault for each in told),
            registered_ids=self._state(subject).schema_ids,
            explanation=f"{capitalized(answer.role.value)}s of topic {self.found.question.topic} carry "
            f"{' and '.join(parts)}, which the registry does not know (40403). No reader can decode them, under whatever "
            "subject.",
            next="Check that --registry is the one that the producers use (a mirrored topic's ids are its source's). If it is, "
            "bring the schemas back under their old ids; srfix cannot register what it cannot read.",
        )

    def of_bodies(self, answer: RoleAnswer, bodies: Bodies | None) -> Iterator[TopicFinding]:
        """SRF013: what is not framed beside what is, and bodies that do not decode."""
        topic = self.found.question.topic
        sentences, faults, first = [], tuple[IdAtFault, ...](), None
        places = [
            (
                part.partition,
                part.of(answer.role).live_unframed_keys or 0,
                part.of(answer.role).first_unframed_offset or 0,
            )
            for part in self.found.census.partitions
        ]
        unframed = [place for place in places if place[1]]
        if unframed and answer.role is Role.VALUE and answer.framed:
            total = sum(count for _partition, count, _offset in unframed)
            where = ", ".join(f"{count} in partition {number} (from offset {at} on)" for number, count, at in unframed)
            first = unframed[0][0], unframed[0][2]
            sentences.append(
                f"{counted(total, 'value')} of topic {topic} {'names' if total == 1 else 'name'} no schema: {where}."
            )
        undecodable = () if bodies is None else bodies.undecodable
        if undecodable:
            first = undecodable[0].partition, undecodable[0].first_offset
            of_it = "; ".join(
                f"partition {rows.partition} offset {rows.first_offset}, schema id {rows.schema_id} ({rows.reason.rstrip('.')})"
                for rows in undecodable[:_MOST_PLACES]
            )
            sentences.append(
                f"Of the newest {answer.role.value} of each schema id and partition {len(undecodable)} "
                f"{'does' if len(undecodable) == 1 else 'do'} not decode with the schema of the id before it: {of_it}."
            )
            ids = {rows.schema_id for rows in undecodable}
            faults = tuple(each.fault for each in answer.ids if each.schema_id in ids)
        if first is None:
            return
        subject = self._fallback(answer.role)
        look = self.given.quoted(
            "decode",
            *("--partition", str(first[0]), "--from-offset", str(first[1]), "--max-records", "1"),
            *(("--role", "key") if answer.role is Role.KEY else ()),
            *positional(topic),
        )
        yield TopicFinding(
            code=srf013.CODE,
            severity=Severity.BROKEN,
            topic=topic,
            role=answer.role,
            subject=subject,
            schema_ids=faults,
            registered_ids=self._state(subject).schema_ids,
            explanation=" ".join((*sentences, "The reader fails on them, or skips them.")),
            next=f"No registration helps. See the first one with {look}, and ask the topic's producer which serializer wrote "
            "it.",
        )


def _is_at_fault(asked: AskedId) -> bool:
    """True for what is told as SRF020: the reader fails on it, or does without a version that is not there."""
    if asked.trouble is Trouble.UNKNOWN_ID:
        return False
    return asked.trouble is not None or asked.membership.is_missing


def _record(asked: AskedId) -> str | None:
    """The full name of an id's record; None where it has none that srfix can tell."""
    schema = asked.membership.schema
    if schema is None or schema.references:
        return None
    try:
        return record_name(schema)
    except SchemaError:
        return None


def _origin_in_words(told: Told, ids: Iterable[SchemaId]) -> Iterator[str]:
    which = list(ids)
    named = f"Schema id{'s' if len(which) > 1 else ''} {listed(which)} {'stand' if len(which) > 1 else 'stands'}"
    subjects = listed(told.subjects, most=_MOST_PLACES) if told.subjects else ""
    match told.origin:
        case Origin.OWN:
            yield f"{named} under {told.subjects[0]}, the topic's own subject."
        case Origin.MIRRORED:
            yield f"{named} under {told.subjects[0]}: the topic looks mirrored from the topic of that name."
        case Origin.OTHER_TOPIC:
            yield f"{named} under {subjects}: the topic looks like a copy of another, or its producer asks another subject."
        case Origin.RECORD:
            yield f"{named} under {subjects}: the producers name subjects by the record (RecordNameStrategy)."
        case Origin.TOPIC_RECORD:
            yield f"{named} under {subjects}: the producers name subjects by topic and record (TopicRecordNameStrategy)."
        case Origin.UNKNOWN:
            yield f"{named} under {subjects}."
        case Origin.NOBODY:
            if subjects:
                yield f"No live subject holds all of them; some stand under {subjects}."
            else:
                yield f"No live version of another subject holds {'them' if len(which) > 1 else 'it'}."


def _configured(told: Told, strategy: Strategy) -> str | None:
    """What to change in the reader instead; None where nothing tells."""
    match told.origin:
        case Origin.RECORD if strategy is not Strategy.RECORD:
            return "Give the reader RecordNameStrategy (check with --strategy record)"
        case Origin.TOPIC_RECORD if strategy is not Strategy.TOPIC_RECORD:
            return "Give the reader TopicRecordNameStrategy (check with --strategy topic-record)"
        case Origin.OWN | Origin.MIRRORED | Origin.OTHER_TOPIC | Origin.UNKNOWN:
            return f"Let the reader ask {told.subjects[0]} (a subject name strategy of its own; check with --subject)"
    return None
