"""What both kinds of topic plans need of a cluster: `Look` reads partitions, groups and logs, `Hand` writes. Keys and
fingerprints of one partition are in memory; values are not, so they are read again when they are needed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from srfix.recovery.cluster.answers import GroupState, TopicConfigs
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.plan_file import PartitionRows
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic
from srfix.serde.wire import PREFIX_ID_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    partition: int
    """The partition; no partitioner chooses it."""
    key: bytes
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None
    """Milliseconds since the epoch; None for the time of writing."""


class Look(Protocol):
    """The reading side; `srfix.recovery.cluster.Cluster` implements it."""

    def topics(self) -> Mapping[Topic, int]: ...

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]: ...

    def group_state(self, group: str) -> GroupState: ...

    def topic_configs(self, topic: str) -> TopicConfigs: ...

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]: ...

    def read(
        self, topic: str, partition: int, begin: int, end: int, *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Iterator[RawRecord]: ...


class Hand(Protocol):
    """The writing side; `srfix.recovery.topic_plan.KafkaHand` implements it. Only `apply` and `rollback` get one."""

    def create_topic(
        self, topic: str, partitions: int, *, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    def delete_topic(self, topic: str) -> None: ...

    def append(self, topic: str, records: Iterable[NewRecord]) -> int:
        """Appends records in order, and returns how many when all of them are acknowledged by all replicas in sync."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    written: int = 0
    stood: int = 0
    """Planned records that an earlier run had written."""
    left: int = 0
    put_back: int = 0
    """Records of others that were overtaken, and that srfix wrote again."""


CLEANUP_POLICY: Final = "cleanup.policy"
TIMESTAMP_TYPE: Final = "message.timestamp.type"
CREATE_TIME: Final = "CreateTime"
STREAMS_CONFIGS: Final[Mapping[str, str]] = {CLEANUP_POLICY: "compact", TIMESTAMP_TYPE: CREATE_TIME}
"""The settings that Kafka Streams gives to the changelog of a key-value store (`UnwindowedChangelogTopicConfig`)."""


def count_of(look: Look, topic: str) -> int:
    topics = look.topics()
    count = topics.get(Topic(topic))
    if count is None:
        raise PlanError(
            f"This user can see {counted(len(topics), 'topic')}, and {topic!r} is not among them."
            f"{did_you_mean(topic, topics)} Check its spelling, the cluster (--bootstrap-servers), and the user's right to "
            "describe it."
        )
    return count


def require_no_members(look: Look, application: str, *, why: str) -> None:
    """Raises unless the application's group certainly has no members; `why` is a clause that says what they would do."""
    state = look.group_state(application)
    if state.members is None:
        raise PlanError(
            f"srfix does not know whether application {application!r} runs: {state.problem}. The application must be "
            f"stopped, because {why}. Nothing was written."
        )
    if state.members:
        raise PlanError(
            f"The application {application!r} runs: its group has {counted(state.members, 'member')} ({state.state}). Stop "
            f"every instance first, because {why}. Nothing was written."
        )


def known_configs(look: Look, topic: str) -> Mapping[str, str]:
    configs = look.topic_configs(topic)
    if configs.values is None:
        raise PlanError(
            f"srfix could not read the configuration of topic {topic!r}: {configs.problem}. It must know whether the topic is "
            "compacted. Nothing was written."
        )
    return {name: configs.values.get(name, "") for name in (CLEANUP_POLICY, TIMESTAMP_TYPE)}


def newest_of(
    look: Look, topic: str, partition: int, log: tuple[int, int], isolation: Isolation
) -> dict[bytes, NewestRecord]:
    """The newest record of each key of a partition, with tombstones, between two offsets, the second exclusive."""
    return newest_records(look.read(topic, partition, *log, isolation=isolation))


def changed(what: str) -> PlanError:
    """The error for a world that is not as the plan expects it; `what` says the difference, in a clause."""
    return PlanError(
        f"The cluster has changed since the plan was made: {what}. srfix wrote nothing after it saw this. Make a new plan."
    )


_LENGTH = struct.Struct(">q")
_ABSENT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecord:
    offset: int
    timestamp_ms: int | None
    bytes_: int
    fingerprint: bytes
    beginning: bytes
    is_tombstone: bool


def fingerprint_of(record: RawRecord) -> bytes:
    """16 bytes that distinguish two records of one key by value, timestamp and headers."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_LENGTH.pack(_ABSENT if record.timestamp is None else record.timestamp))
    digest.update(_with_length(record.value))
    for name, content in record.headers:
        digest.update(_with_length(name.encode()) + _with_length(content))
    return digest.digest()


def newest_records(records: Iterable[RawRecord]) -> dict[bytes, NewestRecord]:
    """For each key its newest record, with tombstones, by offset; null keys are skipped, as in a restore."""
    newest: dict[bytes, NewestRecord] = {}
    beginnings: dict[bytes, bytes] = {}
    for record in records:
        key = record.key
        if key is None:
            continue
        newest.pop(key, None)  # so that it gets its new place
        beginning = (record.value or b"")[:PREFIX_ID_SIZE]
        headers = sum(len(name.encode()) + len(content or b"") for name, content in record.headers)
        newest[key] = NewestRecord(
            offset=record.offset,
            timestamp_ms=record.timestamp,
            bytes_=len(key) + len(record.value or b"") + headers,
            fingerprint=fingerprint_of(record),
            beginning=beginnings.setdefault(beginning, beginning),
            is_tombstone=record.value is None,
        )
    return newest


def live(newest: Mapping[bytes, NewestRecord]) -> dict[bytes, NewestRecord]:
    return {key: record for key, record in newest.items() if not record.is_tombstone}


def chosen(records: Iterable[RawRecord], newest: Mapping[bytes, NewestRecord]) -> Iterator[RawRecord]:
    """The records that `newest` names, from a second reading of the partition, in the order of their offsets."""
    for record in records:
        newest_record = None if record.key is None else newest.get(record.key)
        if newest_record is not None and newest_record.offset == record.offset:
            yield record


def digest_of(newest: Mapping[bytes, NewestRecord]) -> str:
    """SHA-256 over keys and fingerprints in the order of their offsets, as `sha256:` + hex. Offsets do not matter."""
    digest = hashlib.sha256()
    for key, record in newest.items():
        digest.update(_with_length(key) + record.fingerprint)
    return "sha256:" + digest.hexdigest()


def partition_rows(partition: int, log: tuple[int, int], newest: Mapping[bytes, NewestRecord]) -> PartitionRows:
    """A plan's summary of these records, read from the first (inclusive) to the second offset of `log` (exclusive)."""
    times = [record.timestamp_ms for record in newest.values() if record.timestamp_ms is not None]
    return PartitionRows(
        partition=partition,
        start_offset=log[0],
        end_offset=log[1],
        rows=len(newest),
        bytes_=sum(record.bytes_ for record in newest.values()),
        oldest_ms=min(times, default=None),
        newest_ms=max(times, default=None),
        digest=digest_of(newest),
    )


def _with_length(content: bytes | None) -> bytes:
    return _LENGTH.pack(_ABSENT if content is None else len(content)) + (content or b"")
