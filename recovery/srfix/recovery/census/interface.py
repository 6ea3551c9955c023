"""Which schema ids live where in a topic: the request to a census, and its answer.

The counting rules are those of a Kafka Streams restore (2.0 to 2.6.3, a source topic reused as changelog): per
partition the records from the log's start up to min(end, committed offset of the group); the latest of each
(partition, key) counts; a tombstone removes; null keys are skipped; no committed offset means that nothing is
restored. A global table restores everything up to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from srfix.serde.html import heading, paragraph, table
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId

NOT_READ = "not read, because of --all-versions"
"""A text for `PartitionCensus.stopped_early`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusRequest:
    """One topic to count."""

    topic: Topic
    partitions: tuple[int, ...]
    """All partitions of the topic."""
    committed: Mapping[int, int | None] | None
    """For each partition the group's committed offset, or None if the group has none there. For a global table the whole
    field is None: its restore loads everything up to the end.
    """
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    """How the restore consumer reads. Java's default is READ_UNCOMMITTED; exactly-once forces READ_COMMITTED."""
    deadline_s: float | None = None
    """After this number of seconds the read of this topic stops, finished or not; None for no such limit.
    `PartitionCensus.stopped_early` says what was not read. Such a census is partial, and srfix never concludes from
    it that something is healthy.
    """
    max_records: int | None = None
    """After this number of records (of all partitions together) the read of this topic stops; None for no limit."""

    def restore_limit(self, partition: int, end: int) -> int | None:
        """The offset at which a restore of a partition stops, exclusive: min(end, committed); for a global table, the
        end; None if nothing is restored, because nothing was committed (2.6's
        `StoreChangelogReader.initializeChangelogs`).
        """
        if self.committed is None:
            return end
        committed = self.committed.get(partition)
        return None if committed is None else min(end, committed)

    def progress(self, records_done: int, offsets: int, elapsed_s: float) -> CensusProgress:
        """The progress of a census that has `offsets` offsets to read."""
        return CensusProgress(
            topic=self.topic,
            records_done=records_done,
            records_total=offsets if self.max_records is None else min(offsets, self.max_records),
            elapsed_s=elapsed_s,
            deadline_s=self.deadline_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdCount:
    schema_id: SchemaId
    records: int
    """Records that carry it, live or not."""
    live_keys: int | None
    """Keys whose latest record before the restore limit carries it; None where nothing is restored."""
    pending_keys: int
    """Keys whose latest record between the restore limit (inclusive) and the end carries it."""
    first_offset: int
    last_offset: int
    live_offset: int | None
    """Offset of one live record that carries it (the last one seen), for a verify to decode; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCensus:
    ids: tuple[IdCount, ...]
    """By ascending schema id."""
    guids: int
    """Records that name their schema by GUID, in the payload or in a header."""
    unframed: int
    nulls: int
    """Null payloads: tombstones among the values, null keys among the keys."""
    first_unframed_offset: int | None
    live_unframed_keys: int | None
    """Keys whose latest record before the restore limit is unframed in this role; None where nothing is restored."""


@dataclass(slots=True)
class Tally:
    """The counts of one id or mark, in the keys or the values of one partition; the fields are those of `IdCount`."""

    records: int = 0
    live_keys: int = 0
    pending_keys: int = 0
    first_offset: int = -1
    last_offset: int = -1
    live_offset: int | None = None


def role_census(tallies: Mapping[PeekedId, Tally], *, is_restored: bool) -> RoleCensus:
    """The keys or the values of one partition; not restored if there is no restore limit."""
    nothing = Tally()
    unframed = tallies.get(UNFRAMED, nothing)
    return RoleCensus(
        ids=tuple(
            IdCount(
                schema_id=SchemaId(peeked),
                records=tally.records,
                live_keys=tally.live_keys if is_restored else None,
                pending_keys=tally.pending_keys,
                first_offset=tally.first_offset,
                last_offset=tally.last_offset,
                live_offset=tally.live_offset,
            )
            for peeked, tally in sorted(tallies.items(), key=lambda item: item[0])
            if peeked >= 0
        ),
        guids=tallies.get(BY_GUID, nothing).records,
        unframed=unframed.records,
        nulls=tallies.get(NO_PAYLOAD, nothing).records,
        first_unframed_offset=unframed.first_offset if unframed.records else None,
        live_unframed_keys=unframed.live_keys if is_restored else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCensus:
    partition: int
    start_offset: int
    """First offset of the log when the read began, inclusive."""
    end_offset: int
    """End of the log when the read began, exclusive (the high watermark)."""
    committed_offset: int | None
    restore_limit: int | None
    """Where a restore stops, exclusive: min(end, committed); a global table's end; None if nothing is restored."""
    records: int
    keys: RoleCensus
    values: RoleCensus
    stopped_early: str | None = None
    """Why the read stopped before the end; None if it did not. If it did, more ids and keys may follow, and a record
    that was not read may supersede one that counts as live here.
    """
    start_moved_to: int | None = None
    """The log's start after the read, if it moved: records before it may have been counted. None if not looked at."""

    def of(self, role: Role) -> RoleCensus:
        return self.keys if role is Role.KEY else self.values

    def with_role(self, role: Role, counted: RoleCensus) -> PartitionCensus:
        return replace(self, keys=counted) if role is Role.KEY else replace(self, values=counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """One topic, counted."""

    topic: Topic
    isolation: Isolation
    partitions: tuple[PartitionCensus, ...]
    """By ascending number."""

    @property
    def is_partial(self) -> bool:
        """True if some partition was not read to its end. Such a census never proves that something is healthy."""
        return any(partition.stopped_early for partition in self.partitions)

    def _repr_html_(self) -> str:
        counts = ("records", "live keys", "pending keys", "first offset", "last offset")
        rows = (
            (
                role.value,
                part.partition,
                count.schema_id,
                count.records,
                "not restored" if count.live_keys is None else count.live_keys,
                count.pending_keys,
                count.first_offset,
                count.last_offset,
            )
            for role in Role
            for part in self.partitions
            for count in part.of(role).ids
        )
        note = " The topic was read only in part: there may be more." if self.is_partial else ""
        read = f"{counted(sum(part.records for part in self.partitions), 'record')}, {self.isolation.value}.{note}"
        return "".join(
            (
                heading(f"Census of {self.topic}"),
                paragraph(read),
                table(("half", "partition", "schema id", *counts), rows),
            )
        )

    def with_role(self, role: Role, change: Callable[[PartitionCensus], RoleCensus]) -> Census:
        """A copy in which the result of `change` replaces the counts of each partition's keys (or values)."""
        return replace(self, partitions=tuple(part.with_role(role, change(part)) for part in self.partitions))

    def ids(self, role: Role) -> tuple[SchemaId, ...]:
        """Every id still in the log, ascending."""
        return tuple(sorted({count.schema_id for p in self.partitions for count in p.of(role).ids}))

    def restorable_ids(self, role: Role) -> tuple[SchemaId, ...]:
        """The ids that a restore puts in the store, now or after the next commits; ascending.

        An id whose records are all superseded is in the log, but never in the store. Where the group has no committed
        offset, nothing is live and the latest record of each key is pending.
        """
        counts = (count for partition in self.partitions for count in partition.of(role).ids)
        return tuple(sorted({count.schema_id for count in counts if count.live_keys or count.pending_keys}))

    def live_ids(self, role: Role) -> tuple[SchemaId, ...]:
        """The ids that a restore at this moment puts in the store."""
        counts = (count for partition in self.partitions for count in partition.of(role).ids)
        return tuple(sorted({count.schema_id for count in counts if count.live_keys}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusProgress:
    topic: Topic
    records_done: int
    records_total: int
    """Offsets between start and end when the read began, or `CensusRequest.max_records` if less: an upper bound."""
    elapsed_s: float
    """Seconds since the read began."""
    deadline_s: float | None = None

    @property
    def records_per_s(self) -> float:
        return self.records_done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds left at most, if the rate stays and the deadline holds; None if there is no estimate yet."""
        rate = self.records_per_s
        estimates = [(self.records_total - self.records_done) / rate] if rate else []
        if self.deadline_s is not None:
            estimates.append(self.deadline_s - self.elapsed_s)
        return max(0.0, min(estimates)) if estimates else None


class CensusEngine(Protocol):
    """Counts topics. Read-only: joins no group, commits nothing, creates no topic."""

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """Reads every partition from its start to the end it had when the read began, or to a limit of the request."""
        ...


class NoCensus:
    """A `CensusEngine` that reads nothing, for runs without time. Its census never proves that something is healthy."""

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """Every partition, as if reading had stopped before its first record; an offset of 0 means that it is not known."""
        nothing = role_census({}, is_restored=False)
        return Census(
            topic=request.topic,
            isolation=request.isolation,
            partitions=tuple(
                PartitionCensus(
                    partition=partition,
                    start_offset=0,
                    end_offset=0,
                    committed_offset=(request.committed or {}).get(partition),
                    restore_limit=None,
                    records=0,
                    keys=nothing,
                    values=nothing,
                    stopped_early=NOT_READ,
                )
                for partition in request.partitions
            ),
        )
