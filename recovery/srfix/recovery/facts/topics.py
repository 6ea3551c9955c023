"""A topic without a store: who reads it, which subject that reader asks, and what was learned of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import (
    Role,
    Subject,
    SubjectStrategy,
    Topic,
    join_context,
    split_context,
    split_subject,
    subject_for,
)
from srfix.serde.subjects.strategies import FixedSubject, RecordSubject, TopicRecordSubject, TopicSubject

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.findings import Source


class TopicReader(Enum):
    """What reads the topic."""

    CONNECT = "connect"
    """Connect's converters (`AvroConverter` and its likes), so a sink: by id, then the version by content, under a subject."""
    KSQLDB = "ksqldb"
    """A ksqlDB source in AVRO, PROTOBUF, or JSON_SR since 0.28.2 (ksql#9130): the same converters."""
    PLAIN = "plain"
    """`KafkaAvroDeserializer` and its likes: by id alone; in a named context that is a question of membership."""
    LATEST = "latest"
    """The same with `use.latest.version` or `use.latest.with.metadata`: the subject's live latest version is what it reads
    with, after it has looked the writer's version up by content (`AbstractKafkaAvroDeserializer`, 7.4 on)."""
    DUAL = "dual"
    """With the dual-subject fallback: srfix, ksqlDB's StaticTopicSerde."""
    UNKNOWN = "unknown"
    """Nobody said."""


class Strategy(Enum):
    """How the reader names the subject that it asks."""

    TOPIC = "topic"
    """TopicNameStrategy."""
    RECORD = "record"
    """RecordNameStrategy: per id the full name of its record."""
    TOPIC_RECORD = "topic-record"
    """TopicRecordNameStrategy: the topic's name before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRead:
    """How a topic is read: what a plan keeps of it, for a later verify."""

    reader: TopicReader = TopicReader.UNKNOWN
    strategy: Strategy = Strategy.TOPIC
    group: str | None = None
    """The consumer group that reads on from its committed offsets; None for a reader that starts at the beginning."""
    with_metadata: Mapping[str, str] = field(default_factory=dict)
    """`use.latest.with.metadata`, for `TopicReader.LATEST`; empty for `use.latest.version`."""
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    """How it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuestion:
    """Are the live ids of a topic readable by a reader?"""

    topic: Topic
    roles: tuple[Role, ...] = (Role.KEY, Role.VALUE)
    """Keys, values, or both."""
    subject: Subject | None = None
    """The subject that a person named; None for what the strategy says."""
    read: TopicRead = field(default_factory=TopicRead)

    def __post_init__(self) -> None:
        if self.subject is not None and not split_context(self.subject)[1]:
            raise UsageError("--subject names no subject; give one, such as users-value.")
        if self.subject is not None and self.read.strategy is not Strategy.TOPIC:
            raise UsageError(
                f"--subject names one subject, and --strategy {self.read.strategy.value} makes one of each record's name: "
                "give one of them."
            )
        if self.read.with_metadata and self.read.reader is not TopicReader.LATEST:
            raise UsageError("--with-metadata is for --reader latest (use.latest.with.metadata).")

    @property
    def looks_up_versions(self) -> bool:
        """True if the reader is known to need each id's version under its subject."""
        return self.read.reader in (TopicReader.CONNECT, TopicReader.KSQLDB, TopicReader.LATEST)

    def strategy_of(self, role: Role) -> SubjectStrategy:
        """What names the subject of keys or values."""
        if self.read.strategy is Strategy.RECORD:
            return RecordSubject()
        if self.read.strategy is Strategy.TOPIC_RECORD:
            return TopicRecordSubject()
        if self.subject is None:
            return TopicSubject()
        named = self.subject_of(role)
        return FixedSubject(key=named, value=named)

    def subject_of(self, role: Role) -> Subject:
        """The one subject of keys or values by the topic's name, or as a person named it.

        `--subject users-value` with keys as well means `users-key` for them: a copied topic's halves are renamed alike. A
        subject of another form is that of the values.
        """
        if self.subject is None:
            return subject_for(self.topic, role)
        if len(self.roles) == 1:
            return self.subject
        context, name = split_context(self.subject)
        known = split_subject(name)
        if known is not None:
            return self.subject if known[1] is role else join_context(context, subject_for(known[0], role))
        return self.subject if role is Role.VALUE else join_context(context, subject_for(self.topic, role))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """What was learned of a topic's keys or values: what a repair of the subject is for, where no store is concerned."""

    source: Source
    """The topic, and its own subject for the role at hand, by TopicNameStrategy."""
    census: Census
    """The ids in it."""
    read: TopicRead
    """How it is read."""
