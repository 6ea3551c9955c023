"""What the subjects that hold a topic's ids tell of it: is it a copy, or do its producers name subjects otherwise?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from srfix.recovery.facts.holders import Holder
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId


class Origin(Enum):
    """What it looks like."""

    OWN = "own"
    """The topic's own subject by TopicNameStrategy holds them: the reader asks another one."""
    MIRRORED = "mirrored"
    """Another topic's subject holds the ids, and this topic's name ends in that topic's: MirrorMaker 2 puts the source
    cluster's name and a dot before it."""
    OTHER_TOPIC = "other topic"
    """Another topic's subject holds them: a copy under another name, or a producer with a serializer of its own."""
    RECORD = "record"
    """The subject of the record's name holds them (RecordNameStrategy)."""
    TOPIC_RECORD = "topic-record"
    """The subject of topic and record's name holds them (TopicRecordNameStrategy)."""
    UNKNOWN = "unknown"
    """Subjects of other forms hold them, or several do."""
    NOBODY = "nobody"
    """No live version holds them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the holders tell."""

    origin: Origin
    subjects: tuple[Subject, ...]
    """The subjects that hold all of the ids with live versions, likeliest first; where none does, those that hold some."""


def origin_of(
    topic: Topic, role: Role, holders: Iterable[Holder], records: Mapping[SchemaId, str | None], asked: Subject
) -> Told:
    """Decides it.

    :param records: per id at fault the name of its record; None if it has none.
    :param asked: the subject that lacks them.
    """
    live: dict[Subject, set[SchemaId]] = {}
    for holder in holders:
        if not holder.deleted and holder.subject != asked:
            live.setdefault(holder.subject, set()).add(holder.schema_id)
    whole = [subject for subject, ids in live.items() if ids >= records.keys()]
    by_name = {f"{prefix}{record}" for record in records.values() if record for prefix in ("", f"{topic}-")}
    if live and not whole and all(split_context(subject)[1] in by_name for subject in live):
        origin = Origin.TOPIC_RECORD if all(_begins(subject, topic) for subject in live) else Origin.RECORD
        return Told(origin=origin, subjects=tuple(sorted(live)))
    ranked = sorted(whole, key=lambda subject: (_rank(topic, role, subject, by_name), subject))
    if not ranked:
        return Told(origin=Origin.NOBODY, subjects=tuple(sorted(live)))
    return Told(origin=_of(topic, role, ranked[0], by_name), subjects=tuple(ranked))


_RANKS = {
    Origin.OWN: 0,
    Origin.TOPIC_RECORD: 0,
    Origin.MIRRORED: 1,
    Origin.RECORD: 2,
    Origin.OTHER_TOPIC: 3,
    Origin.UNKNOWN: 4,
    Origin.NOBODY: 5,
}


def _rank(topic: Topic, role: Role, subject: Subject, by_name: set[str]) -> int:
    return _RANKS[_of(topic, role, subject, by_name)]


def _of(topic: Topic, role: Role, subject: Subject, by_name: set[str]) -> Origin:
    name = split_context(subject)[1]
    if name in by_name:
        return Origin.TOPIC_RECORD if _begins(subject, topic) else Origin.RECORD
    known = split_subject(name)
    if known is None or known[1] is not role:
        return Origin.UNKNOWN
    if known[0] == topic:
        return Origin.OWN
    return Origin.MIRRORED if topic.endswith(f".{known[0]}") else Origin.OTHER_TOPIC


def _begins(subject: Subject, topic: Topic) -> bool:
    return split_context(subject)[1].startswith(f"{topic}-")
