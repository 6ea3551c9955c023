"""The counting of a census, by the rules of the interface, over columns of many records: a loop over records in Python
costs several times as much. No Kafka in here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

from srfix.recovery.census.interface import RoleCensus, Tally, role_census
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers, SchemaId
from srfix.serde.wire_peek import NO_PAYLOAD, PeekedId, SchemaIdPeek, peek_headers

_FEW_IDS: Final = 6
"""Up to this number of distinct ids, one pass over a run per id is faster than a Counter and a dict."""
_RUN: Final = 500
"""How many records are gathered before they are counted. With so many, the fixed cost of a run is small, and its keys
are still in the processor's cache (2,000 records cost a tenth more).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """The ids or marks that all records of a batch share. This is the usual case, and saves a list of ids per column."""

    key_id: PeekedId
    """The id or mark of every key; no key is null."""
    value_id: PeekedId
    """The id or mark of every value but the tombstones."""
    tombstones: list[int]
    """The indexes of the tombstones; at least one record is not a tombstone."""


@dataclass(slots=True, kw_only=True)
class Columns:
    """Records of one or more partitions, in the order of their offsets per partition; columns of one length."""

    offsets: Sequence[int]
    keys: list[bytes | None]
    key_ids: list[PeekedId]
    """The id or mark of each key; empty where they are alike."""
    value_ids: list[PeekedId]
    """The id or mark of each value; empty where they are alike."""
    alike: Alike | None = None
    """The ids or marks that all records share; None if they share none, or are of several partitions."""

    def part(self, start: int, stop: int) -> Columns:
        key_ids, value_ids = self.key_ids, self.value_ids
        if self.alike is not None:
            key_ids = [self.alike.key_id] * len(self.keys)
            value_ids = [self.alike.value_id] * len(self.keys)
            for index in self.alike.tombstones:
                value_ids[index] = NO_PAYLOAD
        return Columns(
            offsets=self.offsets[start:stop],
            keys=self.keys[start:stop],
            key_ids=key_ids[start:stop],
            value_ids=value_ids[start:stop],
        )


class ColumnReader:
    """Turns batches of records into columns. It remembers the first bytes of payloads, so use one for a whole topic."""

    def __init__(self) -> None:
        self._peek_keys = SchemaIdPeek()
        self._peek_values = SchemaIdPeek()

    def __call__(
        self,
        *,
        offsets: Sequence[int],
        keys: list[bytes | None],
        values: list[bytes | None],
        headers: Sequence[Headers] | None = None,
        one_partition: bool = False,
    ) -> Columns:
        """Columns of one length; `headers` is None where no record has any."""
        if one_partition and headers is None:
            alike = self._alike(keys, values)
            if alike is not None:
                return Columns(offsets=offsets, keys=keys, key_ids=[], value_ids=[], alike=alike)
        key_ids = self._peek_keys(keys)
        value_ids = self._peek_values(values)
        if headers is not None:
            key_ids = peek_headers(headers, key_ids, Role.KEY)
            value_ids = peek_headers(headers, value_ids, Role.VALUE)
        return Columns(offsets=offsets, keys=keys, key_ids=key_ids, value_ids=value_ids)

    def _alike(self, keys: list[bytes | None], values: list[bytes | None]) -> Alike | None:
        try:
            key_id = self._peek_keys.alike(cast("list[bytes]", keys))
        except TypeError:  # a null key
            return None
        if key_id is None:
            return None
        tombstones: list[int] = []
        try:
            value_id = self._peek_values.alike(cast("list[bytes]", values))
        except TypeError:
            tombstones = [index for index, value in enumerate(values) if value is None]
            value_id = self._peek_values.alike([value for value in values if value is not None])
        if value_id is None:
            return None
        return Alike(key_id=key_id, value_id=value_id, tombstones=tombstones)


class PartitionCounter:
    """Counts one partition's records, by ascending offset. Without a restore limit (exclusive), all are pending."""

    def __init__(self, restore_limit: int | None) -> None:
        self._limit = restore_limit
        self._records = 0
        self._keys = _Carriers()
        self._values = _Carriers()
        self._live = _LatestOfKey()
        self._pending = _LatestOfKey()
        self._gathered: list[Columns] = []
        self._gathered_records = 0

    def add(self, records: Columns, start: int, stop: int) -> None:
        """Counts the records from index `start` (inclusive) to `stop` (exclusive)."""
        whole = stop - start == len(records.offsets)
        if whole and records.alike is not None and self._side_of(records.offsets) is not None:
            self._flush()
            self._count(records, records.alike)
        elif whole and len(records.offsets) >= _RUN:
            self._flush()
            self._count(records.part(start, stop) if records.alike else records)
        else:
            self._gathered.append(records.part(start, stop))
            self._gathered_records += stop - start
            if self._gathered_records >= _RUN:
                self._flush()

    def _flush(self) -> None:
        parts, self._gathered = self._gathered, []
        self._gathered_records = 0
        if parts:
            self._count(
                Columns(
                    offsets=list(chain.from_iterable(part.offsets for part in parts)),
                    keys=list(chain.from_iterable(part.keys for part in parts)),
                    key_ids=list(chain.from_iterable(part.key_ids for part in parts)),
                    value_ids=list(chain.from_iterable(part.value_ids for part in parts)),
                )
            )

    def _side_of(self, offsets: Sequence[int]) -> _LatestOfKey | None:
        """The latest records, live or pending, to which the whole run belongs; None if the restore limit is within the run."""
        if self._limit is None or offsets[0] >= self._limit:
            return self._pending
        return self._live if offsets[-1] < self._limit else None

    def _count(self, run: Columns, alike: Alike | None = None) -> None:
        if not run.keys:
            return
        self._records += len(run.keys)
        if alike is not None:
            self._keys.add_alike(alike.key_id, [], run.offsets)
            self._values.add_alike(alike.value_id, alike.tombstones, run.offsets)
            tombstones = alike.tombstones
        else:
            self._keys.add(run.key_ids, run.offsets)
            tombstones = self._values.add(run.value_ids, run.offsets)
        side = self._side_of(run.offsets)
        if side is not None:
            side.add(run.keys, run.offsets, tombstones)
            return
        split = bisect_left(run.offsets, self._limit or 0)
        before = [index for index in tombstones if index < split]
        self._live.add(run.keys[:split], run.offsets[:split], before)
        after = [index - split for index in tombstones[len(before) :]]
        self._pending.add(run.keys[split:], run.offsets[split:], after)

    def result(self) -> tuple[int, RoleCensus, RoleCensus]:
        self._flush()
        live, pending = self._live.offsets(), self._pending.offsets()
        return self._records, self._role(self._keys, live, pending), self._role(self._values, live, pending)

    def _role(self, carried: _Carriers, live: list[int], pending: list[int]) -> RoleCensus:
        live_keys, live_offsets = carried.by_offset.ids_at(live)
        pending_keys, _last = carried.by_offset.ids_at(pending)
        tallies = {
            peeked: Tally(
                records=records,
                live_keys=live_keys[peeked],
                pending_keys=pending_keys[peeked],
                first_offset=carried.first.get(peeked, -1),
                last_offset=carried.last.get(peeked, -1),
                live_offset=live_offsets.get(peeked),
            )
            for peeked, records in carried.records.items()
        }
        return role_census(tallies, is_restored=self._limit is not None)


class _Carriers:
    """For each id or mark of one role: the number of its records, with the first and the last one."""

    __slots__ = ("by_offset", "first", "last", "records")

    def __init__(self) -> None:
        self.records: Counter[PeekedId] = Counter()
        self.first: dict[PeekedId, int] = {}
        self.last: dict[PeekedId, int] = {}
        self.by_offset = _IdsByOffset()

    def add(self, ids: list[PeekedId], offsets: Sequence[int]) -> list[int]:
        """Counts a run; answers the indexes of its null payloads."""
        distinct = set(ids)
        if len(distinct) <= _FEW_IDS:
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
        if NO_PAYLOAD not in distinct:
            return []
        return [index for index, schema_id in enumerate(ids) if schema_id == NO_PAYLOAD]

    def add_alike(self, only: PeekedId, nulls: list[int], offsets: Sequence[int]) -> None:
        """Counts a run of one id or mark, except the null payloads at these indexes."""
        self.records[only] += len(offsets) - len(nulls)
        self.records[NO_PAYLOAD] += len(nulls)
        last = len(offsets) - 1
        for index in reversed(nulls):
            if index != last:
                break
            last -= 1
        self.last[only] = offsets[last]
        if only not in self.first:
            first = 0
            for index in nulls:
                if index != first:
                    break
                first += 1
            self.first[only] = offsets[first]
        self.by_offset.add_alike(only, offsets)


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """A stretch from one offset to another, both inclusive."""

    first: int
    last: int
    only: PeekedId | None
    """The one id or mark there; None if there are several."""
    offsets_and_ids: tuple[array[int], array[int]] | None = None
    """Offsets and their ids or marks, where there are several."""


class _IdsByOffset:
    """The id or mark at each offset; stretches of one id take no room. Tombstones and null keys are left out."""

    __slots__ = ("_stretches",)

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []

    def add(self, distinct: set[PeekedId], ids: list[PeekedId], offsets: Sequence[int]) -> None:
        present = distinct - {NO_PAYLOAD}
        if len(present) > 1:
            ids_at_offsets = array("q", offsets), array("q", ids)
            self._stretches.append(
                _Stretch(first=offsets[0], last=offsets[-1], only=None, offsets_and_ids=ids_at_offsets)
            )
        elif present:
            self.add_alike(present.pop(), offsets)

    def add_alike(self, only: PeekedId, offsets: Sequence[int]) -> None:
        if self._stretches and self._stretches[-1].only == only:
            self._stretches[-1].last = offsets[-1]
        else:
            self._stretches.append(_Stretch(first=offsets[0], last=offsets[-1], only=only))

    def ids_at(self, offsets: list[int]) -> tuple[Counter[PeekedId], dict[PeekedId, int]]:
        """The ids or marks of the records at these ascending offsets: how many of each, and the last offset of each."""
        counts, last = Counter[PeekedId](), dict[PeekedId, int]()
        start = 0
        for stretch in self._stretches:
            start = bisect_left(offsets, stretch.first, start)
            stop = bisect_right(offsets, stretch.last, start)
            if start == stop:
                continue
            here = offsets[start:stop]
            if stretch.only is not None:
                counts[stretch.only] += len(here)
                last[stretch.only] = here[-1]
            elif stretch.offsets_and_ids is not None:
                at = dict(zip(*stretch.offsets_and_ids, strict=True))
                ids = [SchemaId(at[offset]) for offset in here]
                counts.update(ids)
                last.update(zip(ids, here, strict=True))
            start = stop
        return counts, last


class _LatestOfKey:
    """The latest record of each key, in one dict: key → its offset."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: dict[bytes | None, int] = {}

    def add(self, keys: list[bytes | None], offsets: Sequence[int], tombstones: list[int]) -> None:
        """Adds a run; `tombstones` has indexes into it."""
        latest = self._latest
        latest.update(zip(keys, offsets, strict=True))
        latest.pop(None, None)
        for index in tombstones:
            if latest.get(keys[index]) == offsets[index]:
                del latest[keys[index]]

    def offsets(self) -> list[int]:
        return sorted(self._latest.values())
