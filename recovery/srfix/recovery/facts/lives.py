"""Which records of a topic a reader meets: which records are live, and up to which offset a group has read.

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
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census, PartitionCensus, RoleCensus


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
        """True if the reader meets the id now."""
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
