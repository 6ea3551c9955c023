"""What a topic plan needs of a cluster: a look at it, and a hand that writes. The tests have their own of both.

And what came of a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from srfix.recovery.cluster.answers import GroupState, TopicConfigs
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record to be appended as it is."""

    partition: int
    """The partition: never left to a partitioner."""
    key: bytes
    value: bytes | None = field(repr=False)
    """The value's bytes; None for a tombstone."""
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None
    """Milliseconds since the epoch; None for the time of writing."""


class Look(Protocol):
    """What is read: `srfix.recovery.cluster.Cluster` does it."""

    def topics(self) -> Mapping[Topic, int]: ...

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        """The offsets that a group has committed; None where it has none."""

    def group_state(self, group: str) -> GroupState: ...

    def topic_configs(self, topics: Iterable[str]) -> Mapping[Topic, TopicConfigs]: ...

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        """Per partition where its log starts (inclusive) and ends (exclusive)."""

    def read(
        self, topic: str, partition: int, begin: int, end: int, *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Iterator[RawRecord]:
        """The records from `begin` (inclusive) to `end` (exclusive)."""


class Hand(Protocol):
    """What is written: `srfix.recovery.topic_plan.KafkaHand` does it. Only `apply` and `rollback` get one."""

    def create_topic(self, topic: str, partitions: int, *, replication_factor: int, configs: Mapping[str, str]) -> None:
        """Creates a topic, and returns when the cluster lists it."""

    def delete_topic(self, topic: str) -> None:
        """Deletes a topic with all its records, and returns when the cluster lists it no more."""

    def append(self, topic: str, records: Iterable[NewRecord]) -> int:
        """Appends records in order, and returns how many when all of them are acknowledged by all replicas in sync."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What one run did for a step."""

    written: int = 0
    """Records that were written now."""
    stood: int = 0
    """Planned records that an earlier run had written."""
    left: int = 0
    """Keys that were left, for somebody has written them since."""
    put_back: int = 0
    """Records of others that were overtaken, and written again behind."""
