"""A topic without a store: its reader, the subject that the reader asks, the facts about it, and what is live in it.

| topic | live |
|---|---|
| `cleanup.policy` with `compact` | the latest record of each key |
| any other, or unknown | every record in the log |

A census counts the latest record of each key and drops null keys and tombstones, as a table does. A reader of the topic
reads both. So if a partition of a compacted topic has null keys (from before it was compacted), every value of the
partition counts; if it has tombstones, every key counts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
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
    from uuid import UUID

    from srfix.recovery.census.interface import Census, PartitionCensus, RoleCensus
    from srfix.recovery.facts.stores import Membership
    from srfix.recovery.findings import IdAtFault, Source
    from srfix.serde.windowed import WindowKind
    from srfix.serde.wire import SchemaId


class Lives(Enum):
    LATEST_OF_KEY = "the latest record of each key"
    EVERY_RECORD = "every record in the log"


class Standing(Enum):
    LIVE = "live"
    PENDING = "pending"
    READ = "read"
    """Only records that the group has already read carry the id: the group meets them again if its offsets are reset."""
    SUPERSEDED = "superseded"
    """Only records that compaction will remove carry the id."""

    @property
    def is_met(self) -> bool:
        return self in (Standing.LIVE, Standing.PENDING)


def as_read(census: Census, lives: Lives) -> Census:
    """The census with all records that a reader meets as live; if every record is live, `live_keys` counts records."""
    return replace(census, partitions=tuple(_partition(partition, lives) for partition in census.partitions))


def _partition(partition: PartitionCensus, lives: Lives) -> PartitionCensus:
    every = lives is Lives.EVERY_RECORD
    return replace(
        partition,
        keys=_every_record(partition.keys) if every or partition.values.nulls else partition.keys,
        values=_every_record(partition.values) if every or partition.keys.nulls else partition.values,
    )


def _every_record(counted: RoleCensus) -> RoleCensus:
    return replace(
        counted,
        ids=tuple(
            replace(count, live_keys=count.records, pending_keys=0, live_offset=count.last_offset)
            for count in counted.ids
        ),
        live_unframed_keys=counted.unframed,
    )


def only_ids(census: Census, role: Role, wanted: Container[int]) -> Census:
    def only(partition: PartitionCensus) -> RoleCensus:
        counted = partition.of(role)
        return replace(counted, ids=tuple(count for count in counted.ids if count.schema_id in wanted))

    return census.with_role(role, only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    group: str
    committed: Mapping[int, int | None]
    """For each partition the offset that the group reads next; None if it has committed none."""

    def starts_at(self, partition: PartitionCensus) -> int:
        """The first offset that the group meets; without a usable one the beginning (`auto.offset.reset`)."""
        committed = self.committed.get(partition.partition)
        return partition.start_offset if committed is None else max(committed, partition.start_offset)

    def left(self, partition: PartitionCensus) -> int:
        return max(0, partition.end_offset - self.starts_at(partition))

    def is_beyond(self, partition: PartitionCensus) -> bool:
        """True for an offset after the log's end: the topic was created again, or the group is another cluster's."""
        committed = self.committed.get(partition.partition)
        return committed is not None and committed > partition.end_offset


def standing_of(census: Census, role: Role, schema_id: int, positions: Positions | None) -> Standing:
    places = [
        (partition, count)
        for partition in census.partitions
        for count in partition.of(role).ids
        if count.schema_id == schema_id
    ]
    if positions is None:
        is_live = any(count.live_keys or count.pending_keys for _partition, count in places)
        return Standing.LIVE if is_live else Standing.SUPERSEDED
    # The last record with the id decides: if the group has read it, the group has read all of them.
    is_pending = any(count.last_offset >= positions.starts_at(partition) for partition, count in places)
    return Standing.PENDING if is_pending else Standing.READ


class TopicReader(Enum):
    CONNECT = "connect"
    """Connect's converters (`AvroConverter` and its likes), so a sink: by id, then the version by content, under a subject."""
    KSQLDB = "ksqldb"
    """A ksqlDB source in AVRO, PROTOBUF, or JSON_SR since 0.28.2 (ksql#9130): the same converters."""
    PLAIN = "plain"
    """`KafkaAvroDeserializer` and its likes: by id alone; in a named context that is a question of membership."""
    LATEST = "latest"
    """The same with `use.latest.version` or `use.latest.with.metadata`: it reads with the subject's live latest version,
    after a look-up of the writer's version by content (`AbstractKafkaAvroDeserializer`, 7.4 on)."""
    DUAL = "dual"
    """With the dual-subject fallback: srfix, ksqlDB's StaticTopicSerde."""
    UNKNOWN = "unknown"


class Strategy(Enum):
    TOPIC = "topic"
    RECORD = "record"
    """RecordNameStrategy: the subject of an id is the full name of its record."""
    TOPIC_RECORD = "topic-record"
    """TopicRecordNameStrategy: the same, with the topic's name before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRead:
    """How a topic is read, as a plan keeps it for a later verify."""

    reader: TopicReader = TopicReader.UNKNOWN
    strategy: Strategy = Strategy.TOPIC
    group: str | None = None
    """The consumer group that reads on from its committed offsets; None for a reader that starts at the beginning."""
    with_metadata: Mapping[str, str] = field(default_factory=dict)
    """`use.latest.with.metadata`, for `TopicReader.LATEST`; empty for `use.latest.version`."""
    isolation: Isolation = Isolation.READ_UNCOMMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQuestion:
    topic: Topic
    roles: tuple[Role, ...] = (Role.KEY, Role.VALUE)
    subject: Subject | None = None
    """The subject that a person named; None to follow the strategy."""
    read: TopicRead = field(default_factory=TopicRead)

    def __post_init__(self) -> None:
        if self.subject is not None and not split_context(self.subject)[1]:
            raise UsageError("--subject does not contain a subject's name. Give one, such as users-value.")
        if self.subject is not None and self.read.strategy is not Strategy.TOPIC:
            raise UsageError(
                f"--subject names one subject, but --strategy {self.read.strategy.value} makes a subject from each "
                "record's name. Give only one of the two options."
            )
        if self.read.with_metadata and self.read.reader is not TopicReader.LATEST:
            raise UsageError("--with-metadata is for --reader latest (use.latest.with.metadata).")

    def strategy_of(self, role: Role) -> SubjectStrategy:
        if self.read.strategy is Strategy.RECORD:
            return RecordSubject()
        if self.read.strategy is Strategy.TOPIC_RECORD:
            return TopicRecordSubject()
        if self.subject is None:
            return TopicSubject()
        named = self.subject_of(role)
        return FixedSubject(key=named, value=named)

    def subject_of(self, role: Role) -> Subject:
        """The one subject of keys or values; `--subject users-value` means `users-key` for keys."""
        if self.subject is None:
            return subject_for(self.topic, role)
        if len(self.roles) == 1:
            return self.subject
        context, name = split_context(self.subject)
        topic_and_role = split_subject(name)
        if topic_and_role is not None:
            return (
                self.subject
                if topic_and_role[1] is role
                else join_context(context, subject_for(topic_and_role[0], role))
            )
        return self.subject if role is Role.VALUE else join_context(context, subject_for(self.topic, role))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    source: Source
    """The topic, and its own subject for the role, by TopicNameStrategy."""
    census: Census
    read: TopicRead


class Trouble(Enum):
    UNKNOWN_ID = "unknown id"
    """The registry does not know the id at all: SRF011."""
    NO_SUBJECT = "no subject"
    """Its schema has no record name, from which the strategy makes the subject."""
    MISSING = "not under the subject"
    NO_LATEST = "no live latest version"
    """The subject has no live version, or none with the metadata that the reader asks for."""
    LATEST_CANNOT_READ = "the latest version cannot read it"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedId:
    schema_id: SchemaId
    subject: Subject | None
    """The subject that the reader asks; None if the strategy names none, or if the registry does not know the id."""
    membership: Membership
    """Whether that subject holds the schema, asked by content with `deleted=true`."""
    trouble: Trouble | None = None
    """Why the reader fails on the id; None if it does not, as far as srfix knows."""
    why: str | None = None
    """More words about the trouble."""
    untold: str | None = None
    """Why srfix does not know whether the reader can read the id; None if it knows."""
    standing: Standing
    fault: IdAtFault
    """Where the id is. Its `live_keys` counts records if every record is live."""
    guids: tuple[UUID, ...] = ()
    """The GUIDs by which records name it; empty if they carry the id itself."""

    @property
    def is_mended(self) -> bool:
        """True if a registration under the subject would be enough."""
        return self.membership.is_missing and self.trouble in (Trouble.MISSING, None)

    @property
    def reads(self) -> bool | None:
        """True if the reader can read the id, False if it fails; None if srfix does not know."""
        return False if self.trouble is not None else None if self.untold is not None else True


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleAnswer:
    role: Role
    ids: tuple[AskedId, ...]
    """Every id in the log, ascending."""
    unknown_guids: tuple[UUID, ...] = ()
    records: int
    """Keys or values that are not null."""
    framed: int
    nulls: int
    """Tombstones, or null keys."""
    window: WindowKind | None = None
    is_looked_at: bool = True
    """False for keys that no schema registry serializer wrote (BIGINT, UUID, text)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAnswers:
    question: TopicQuestion
    census: Census
    """The ids in the log. Records that the reader meets count as live, and GUIDs count under their ids."""
    lives: Lives
    cleanup_policy: str | None
    """The topic's `cleanup.policy`; None if the cluster does not show it."""
    positions: Positions | None
    """The offsets from which the group reads on; None without a group."""
    roles: tuple[RoleAnswer, ...]

    def role(self, role: Role) -> RoleAnswer | None:
        return next((answer for answer in self.roles if answer.role is role), None)
