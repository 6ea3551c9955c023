"""The counting of a census, fed with columns of records by whoever reads them.

The rules are those of the interface: per partition the latest record of each key before the restore limit is
live, a tombstone removes, null keys are skipped; from the limit on the same is pending. No Kafka in here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.census.interface import IdCount, PartitionCensus, RoleCensus
from srfix.serde.subjects import Role
from srfix.serde.wire import Headers, SchemaId
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId, SchemaIdPeek, peek_headers

__all__ = ["Columns", "ColumnReader", "PartitionCounter"]

_FEW_IDS: Final = 6
"""Up to here, going over a run once per distinct id is faster than a Counter and a dict."""
_RUN: Final = 500
"""Records that are gathered before they are counted: what a run costs is little beside its records then, and its
keys are still in the processor's cache (2,000 cost a tenth more)."""


@dataclass(slots=True, kw_only=True)
class Columns:
    """Records of one or more partitions, in the order of their offsets per partition; lists of one length."""

    offsets: list[int] = field(default_factory=list)
    """Their offsets."""
    keys: list[bytes | None] = field(default_factory=list)
    """Their keys."""
    key_ids: list[PeekedId] = field(default_factory=list)
    """The id or mark of each key."""
    value_ids: list[PeekedId] = field(default_factory=list)
    """The id or mark of each value."""

    def extend(self, other: Columns, start: int, stop: int) -> None:
        """Appends some records of another."""
        self.offsets += other.offsets[start:stop]
        self.keys += other.keys[start:stop]
        self.key_ids += other.key_ids[start:stop]
        self.value_ids += other.value_ids[start:stop]


class ColumnReader:
    """Turns batches of records into columns. It remembers beginnings of payloads: one for a whole topic."""

    def __init__(self) -> None:
        self._peek_keys = SchemaIdPeek()
        self._peek_values = SchemaIdPeek()

    def __call__(
        self,
        *,
        offsets: list[int],
        keys: list[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Headers] | None = None,
    ) -> Columns:
        """Lists of one length; `headers` is None where no record has any."""
        key_ids = self._peek_keys(keys)
        value_ids = self._peek_values(values)
        if headers is not None:
            key_ids = peek_headers(headers, key_ids, Role.KEY)
            value_ids = peek_headers(headers, value_ids, Role.VALUE)
        return Columns(offsets=offsets, keys=keys, key_ids=key_ids, value_ids=value_ids)


class PartitionCounter:
    """Counts one partition's records, given in order of their offsets.

    :param restore_limit: where a restore stops, exclusive; None if nothing is restored: then all is pending.
    """

    def __init__(self, *, restore_limit: int | None) -> None:
        self._limit = restore_limit
        self._records = 0
        self._keys = _Tally()
        self._values = _Tally()
        self._live = _LatestOfKey()
        self._pending = _LatestOfKey()
        self._gathered = Columns()

    def add(self, records: Columns, start: int, stop: int) -> None:
        """Counts the records from index `start` (inclusive) to `stop` (exclusive)."""
        if stop - start == len(records.offsets) >= _RUN and not self._gathered.offsets:
            self._count(records)  # a whole batch of one partition, the usual thing
            return
        self._gathered.extend(records, start, stop)
        if len(self._gathered.offsets) >= _RUN:
            self._flush()

    def _flush(self) -> None:
        if self._gathered.offsets:
            run, self._gathered = self._gathered, Columns()
            self._count(run)

    def _count(self, run: Columns) -> None:
        self._records += len(run.offsets)
        self._keys.add(run.key_ids, run.offsets)
        has_tombstones = self._values.add(run.value_ids, run.offsets)
        split = 0 if self._limit is None else bisect_left(run.offsets, self._limit)
        if 0 < split < len(run.offsets):
            later = Columns()
            later.extend(run, split, len(run.offsets))
            self._pending.add(later, has_tombstones)
            earlier = Columns()
            earlier.extend(run, 0, split)
            self._live.add(earlier, has_tombstones)
        else:
            (self._live if split else self._pending).add(run, has_tombstones)

    def result(
        self,
        *,
        partition: int,
        start_offset: int,
        end_offset: int,
        committed_offset: int | None,
        stopped_early: str | None = None,
    ) -> PartitionCensus:
        """What was counted; the offsets are handed through."""
        self._flush()
        live, pending = self._live.offsets(), self._pending.offsets()
        return PartitionCensus(
            partition=partition,
            start_offset=start_offset,
            end_offset=end_offset,
            committed_offset=committed_offset,
            restore_limit=self._limit,
            records=self._records,
            keys=self._role(self._keys, live, pending),
            values=self._role(self._values, live, pending),
            stopped_early=stopped_early,
        )

    def _role(self, tally: _Tally, live: list[int], pending: list[int]) -> RoleCensus:
        live_ids, pending_ids = tally.by_offset.ids_at(live), tally.by_offset.ids_at(pending)
        return RoleCensus(
            ids=tuple(
                IdCount(
                    schema_id=schema_id,
                    records=tally.records[schema_id],
                    live_keys=None if self._limit is None else live_ids.keys[schema_id],
                    pending_keys=pending_ids.keys[schema_id],
                    first_offset=tally.first[schema_id],
                    last_offset=tally.last[schema_id],
                    live_offset=live_ids.last.get(schema_id),
                )
                for schema_id in sorted(tally.records)
                if schema_id >= 0
            ),
            guids=tally.records[BY_GUID],
            unframed=tally.records[UNFRAMED],
            nulls=tally.records[NO_PAYLOAD],
            first_unframed_offset=tally.first.get(UNFRAMED),
        )


class _Tally:
    """Per id or mark of one role: how many records carry it, the first and the last of them."""

    __slots__ = ("by_offset", "first", "last", "records")

    def __init__(self) -> None:
        self.records: Counter[PeekedId] = Counter()
        self.first: dict[PeekedId, int] = {}
        self.last: dict[PeekedId, int] = {}
        self.by_offset = _IdsByOffset()

    def add(self, ids: list[PeekedId], offsets: list[int]) -> bool:
        """Counts a run; True if there is a null payload in it."""
        distinct = set(ids)
        if len(distinct) == 1:
            self.records[ids[0]] += len(ids)
            self.last[ids[0]] = offsets[-1]
        elif len(distinct) <= _FEW_IDS:
            backwards = ids[::-1]
            for schema_id in distinct:
                self.records[schema_id] += ids.count(schema_id)
                self.last[schema_id] = offsets[-1 - backwards.index(schema_id)]
        else:
            self.records.update(ids)
            self.last.update(zip(ids, offsets, strict=True))
        for schema_id in distinct:
            if schema_id not in self.first:
                self.first[schema_id] = offsets[ids.index(schema_id)]
        self.by_offset.add(distinct, ids, offsets)
        return NO_PAYLOAD in distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """What some records carry."""

    keys: Counter[PeekedId]
    """Per id or mark the number of records."""
    last: dict[PeekedId, int]
    """Per id or mark the last offset."""


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """What stands from one offset to another, both inclusive."""

    first: int
    """The first offset."""
    last: int
    """The last offset."""
    only: PeekedId | None
    """The one id or mark there; None if there are several."""
    each: tuple[array[int], array[int]] | None = None
    """Offsets and their ids or marks, where there are several."""


class _IdsByOffset:
    """Which id or mark stands at which offset. Stretches of one id, the usual thing, take no room.

    Null payloads stand nowhere: those of values are dead, and null keys are no keys.
    """

    __slots__ = ("_stretches",)

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []

    def add(self, distinct: set[PeekedId], ids: list[PeekedId], offsets: list[int]) -> None:
        """Remembers a run."""
        present = distinct - {NO_PAYLOAD}
        if len(present) > 1:
            each = array("q", offsets), array("q", ids)
            self._stretches.append(_Stretch(first=offsets[0], last=offsets[-1], only=None, each=each))
        elif present:
            (only,) = present
            if self._stretches and self._stretches[-1].only == only:
                self._stretches[-1].last = offsets[-1]
            else:
                self._stretches.append(_Stretch(first=offsets[0], last=offsets[-1], only=only))

    def ids_at(self, offsets: list[int]) -> _Carried:
        """What the records at these ascending offsets carry."""
        carried = _Carried(keys=Counter(), last={})
        start = 0
        for stretch in self._stretches:
            start = bisect_left(offsets, stretch.first, start)
            stop = bisect_right(offsets, stretch.last, start)
            if start == stop:
                continue
            here = offsets[start:stop]
            if stretch.only is not None:
                carried.keys[stretch.only] += len(here)
                carried.last[stretch.only] = here[-1]
            elif stretch.each is not None:
                at = dict(zip(*stretch.each, strict=True))
                ids = [SchemaId(at[offset]) for offset in here]
                carried.keys.update(ids)
                carried.last.update(zip(ids, here, strict=True))
            start = stop
        return carried


class _LatestOfKey:
    """The latest record of each key, in one dict: key → its offset."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: dict[bytes | None, int] = {}

    def add(self, run: Columns, has_tombstones: bool) -> None:
        """Takes a run in."""
        latest = self._latest
        latest.update(zip(run.keys, run.offsets, strict=True))
        latest.pop(None, None)
        if has_tombstones:
            index = -1
            for _ in range(run.value_ids.count(NO_PAYLOAD)):
                index = run.value_ids.index(NO_PAYLOAD, index + 1)
                if latest.get(run.keys[index]) == run.offsets[index]:
                    del latest[run.keys[index]]

    def offsets(self) -> list[int]:
        """The offsets of the latest records, ascending."""
        return sorted(self._latest.values())
