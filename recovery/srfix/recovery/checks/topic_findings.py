"""Findings about a topic and its reader, without a store; and what the subjects that hold the topic's ids say about it:
is it a copy, or do its producers name subjects in another way?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.proofs import joined
from srfix.recovery.facts.topics import Lives, Strategy
from srfix.recovery.findings import Finding, IdAtFault, Severity, Source
from srfix.recovery.ids_in_words import listed
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Subject, Topic, join_context, split_context, split_subject, subject_for
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from srfix.recovery.commands import CommandLine
    from srfix.recovery.facts.bodies import Bodies
    from srfix.recovery.facts.refusals import Holder
    from srfix.recovery.facts.survey import Survey
    from srfix.recovery.facts.topics import RoleAnswer, TopicAnswers

MOST_PLACES: Final = 10
"""How many ids with their places, GUIDs or rows a sentence names; the rest is only counted."""


class Origin(Enum):
    OWN = "own"
    """The topic's own subject by TopicNameStrategy holds the ids: the reader asks another one."""
    MIRRORED = "mirrored"
    """Another topic's subject holds the ids, and this topic's name ends in that topic's: MirrorMaker 2 puts the source
    cluster's name and a dot before it."""
    OTHER_TOPIC = "other topic"
    """Another topic's subject holds the ids: a copy under another name, or the producer has its own serializer."""
    RECORD = "record"
    """The subject of the record's name holds the ids (RecordNameStrategy)."""
    TOPIC_RECORD = "topic-record"
    """The subject of the topic's and the record's name holds the ids (TopicRecordNameStrategy)."""
    UNKNOWN = "unknown"
    """Subjects with names of another form hold the ids, or several subjects do."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOrigin:
    kind: Origin
    subjects: tuple[Subject, ...]
    """Those that hold all of the ids with live versions, likeliest first; if there are none, those that hold some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFinding(Finding):
    """A fault, or a note, for a topic's reader, without application and store. One per (code, role, subject)."""

    source: Source
    """The topic, and its own subject for the role, by TopicNameStrategy."""
    holders: tuple[Holder, ...] = ()
    origin: TopicOrigin | None = None

    @property
    def topic(self) -> Topic:
        return self.source.topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    """The keys or the values of a topic: what a check finds by where no store is concerned."""

    answers: TopicAnswers
    answer: RoleAnswer
    bodies: Bodies | None
    """Whether the newest record of each of their ids decodes; None if there is no id."""
    survey: Survey
    command_line: CommandLine

    @property
    def topic(self) -> Topic:
        return self.answers.question.topic

    @property
    def subject(self) -> Subject:
        return self.answers.question.subject_of(self.answer.role)

    def finding(
        self,
        code: str,
        *,
        severity: Severity,
        explanation: str,
        next_step: str,
        subject: Subject | None = None,
        schema_ids: tuple[IdAtFault, ...] = (),
        holders: tuple[Holder, ...] = (),
        origin: TopicOrigin | None = None,
        repairable: bool = False,
    ) -> TopicFinding:
        """A finding of them, under the subject that the topic's name says, if no other one is asked."""
        subject_asked, role = subject or self.subject, self.answer.role
        own = join_context(self.survey.registry.context_of(subject_asked), subject_for(self.topic, role))
        return TopicFinding(
            code=code,
            severity=severity,
            application="",
            store="",
            role=role,
            subject=subject_asked,
            source=Source(topic=self.topic, subject=own),
            schema_ids=schema_ids,
            registered_ids=self.survey.subject_state(subject_asked).schema_ids,
            holders=holders,
            origin=origin,
            explanation=explanation,
            next=next_step,
            repairable=repairable,
        )

    def in_words(self, faults: Sequence[IdAtFault]) -> str:
        """`schema id 1 (3 live keys: 3 in partition 0)`, joined; of a group, up to which offsets."""
        return joined([f"schema id {fault.schema_id} ({self._places(fault)})" for fault in faults], most=MOST_PLACES)

    def _places(self, fault: IdAtFault) -> str:
        least = "at least " if fault.is_partial else ""
        positions = self.answers.positions
        if positions is not None:
            starts = {part.partition: positions.starts_at(part) for part in self.answers.census.partitions}
            ahead = [place for place in fault.partitions if place.last_offset >= starts[place.partition]]
            places = ", ".join(
                f"partition {place.partition} up to offset {place.last_offset}" for place in ahead or fault.partitions
            )
            return f"{least}{counted(fault.records, 'record')} in the log: {places}"
        unit = "live key" if self.answers.lives is Lives.LATEST_OF_KEY else "record"
        if not fault.live_keys:
            return f"no live key, {least}{counted(fault.records, 'record')} in the log"
        places = ", ".join(
            f"{place.live_keys:,} in partition {place.partition}" for place in fault.partitions if place.live_keys
        )
        return f"{least}{counted(fault.live_keys, unit)}: {places}"


def origin_of(
    topic: Topic, role: Role, holders: Iterable[Holder], records: Mapping[SchemaId, str | None], asked: Subject
) -> TopicOrigin:
    live: dict[Subject, set[SchemaId]] = {}
    for holder in holders:
        if not holder.deleted and holder.subject != asked:
            live.setdefault(holder.subject, set()).add(holder.schema_id)
    whole = [subject for subject, ids in live.items() if ids >= records.keys()]
    by_name = {f"{prefix}{record}" for record in records.values() if record for prefix in ("", f"{topic}-")}
    if live and not whole and all(split_context(subject)[1] in by_name for subject in live):
        kind = Origin.TOPIC_RECORD if all(_begins(subject, topic) for subject in live) else Origin.RECORD
        return TopicOrigin(kind=kind, subjects=tuple(sorted(live)))
    ranked = sorted(whole, key=lambda subject: (_ORIGINS[_of(topic, role, subject, by_name)][0], subject))
    if not ranked:
        return TopicOrigin(kind=Origin.NOBODY, subjects=tuple(sorted(live)))
    return TopicOrigin(kind=_of(topic, role, ranked[0], by_name), subjects=tuple(ranked))


def _of(topic: Topic, role: Role, subject: Subject, by_name: set[str]) -> Origin:
    name = split_context(subject)[1]
    if name in by_name:
        return Origin.TOPIC_RECORD if _begins(subject, topic) else Origin.RECORD
    topic_and_role = split_subject(name)
    if topic_and_role is None or topic_and_role[1] is not role:
        return Origin.UNKNOWN
    if topic_and_role[0] == topic:
        return Origin.OWN
    return Origin.MIRRORED if topic.endswith(f".{topic_and_role[0]}") else Origin.OTHER_TOPIC


def _begins(subject: Subject, topic: Topic) -> bool:
    return split_context(subject)[1].startswith(f"{topic}-")


_ORIGINS: Final = {
    Origin.OWN: (0, "{first}, the topic's own subject"),
    Origin.TOPIC_RECORD: (0, "{subjects}: the producers name subjects by topic and record (TopicRecordNameStrategy)"),
    Origin.MIRRORED: (1, "{first}, and this topic looks like a mirror of {topic}"),
    Origin.RECORD: (2, "{subjects}: the producers name subjects by the record (RecordNameStrategy)"),
    Origin.OTHER_TOPIC: (
        3,
        "{subjects}: the topic looks like a copy of another topic, or its producer uses another subject",
    ),
    Origin.UNKNOWN: (4, "{subjects}"),
}
"""By rank, the likeliest first; each in words."""


def origin_in_words(origin: TopicOrigin, ids: Iterable[SchemaId]) -> Iterator[str]:
    which = list(ids)
    named = f"Schema id{'s' if len(which) > 1 else ''} {listed(which)} {'are' if len(which) > 1 else 'is'} registered"
    subjects = listed(origin.subjects, most=MOST_PLACES) if origin.subjects else ""
    if origin.kind is not Origin.NOBODY:
        split = split_subject(split_context(origin.subjects[0])[1])
        topic = "that subject's topic" if split is None else f"topic {split[0]}"
        words = _ORIGINS[origin.kind][1].format(first=origin.subjects[0], subjects=subjects, topic=topic)
        yield f"{named} under {words}."
    elif subjects:
        yield f"No live subject holds all of these ids. Some of them are registered under {subjects}."
    else:
        yield f"No live version of another subject holds {'these ids' if len(which) > 1 else 'this id'}."


def reader_to_configure(origin: TopicOrigin, strategy: Strategy) -> str | None:
    match origin.kind:
        case Origin.RECORD if strategy is not Strategy.RECORD:
            return "Give the reader RecordNameStrategy (check with --strategy record)"
        case Origin.TOPIC_RECORD if strategy is not Strategy.TOPIC_RECORD:
            return "Give the reader TopicRecordNameStrategy (check with --strategy topic-record)"
        case Origin.OWN | Origin.MIRRORED | Origin.OTHER_TOPIC | Origin.UNKNOWN:
            return (
                f"Let the reader ask {origin.subjects[0]}: give it a subject name strategy of its own, and check the result "
                "with --subject"
            )
    return None
