"""Compares a store with the topic that it restores from, key by key.

According to the topic, a store holds the newest record of each key. For each key, a digest of its value, its schema id and
its timestamp are kept on disk, sorted by key (`state.writing.database.in_order`). Then both sides are read together, so
memory stays flat.

| store | a key of the topic is |
|---|---|
| key-value | a key of the store |
| window, session | a key of the store, with its window as in the changelog; rows that it may have dropped are not known |
| list-value (windows of a join), foreign-key subscription | a stored key, and the value a stored value: no serde's |
| versioned | all of its records are versions of it: `version_differences` |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.topic_lookup import partitions_of
from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.state.writing.database import in_order
from srfix.recovery.stores.difference_kinds import (
    MOST_SHOWN,
    Comparison,
    Difference,
    DifferenceKind,
    Keeping,
    ValueSummary,
    kind_of,
    side_by_side,
)
from srfix.recovery.stores.version_differences import version_differences
from srfix.serde.subjects.names import Topic

_TOMBSTONE: Final = b""
"""The summary of a key whose newest record is a tombstone: unlike a key without a record, it is not in the store."""
_AS_STORED: Final = {
    StoreFormat.LIST_VALUE: StoreFormat.PLAIN_KV,
    StoreFormat.SUBSCRIPTION: StoreFormat.TIMESTAMPED_KV,
}
"""Stores whose changelog holds the stored keys and values, and how these are read unchanged."""


def compared(
    store: StateStore, records: Iterable[RawRecord], *, is_cut: bool = False, end: int | None = None
) -> Comparison:
    """Records come by offset, those of all partitions for a global store. Damage is noted in the store.

    `is_cut`: the log begins after offset 0, so earlier records are not known. `end`: the offset after the last requested
    one, if that is known.
    """
    counts: Counter[DifferenceKind] = Counter()
    shown: list[Difference] = []
    same = 0
    for difference in _all_differences(store, records, is_cut=is_cut, end=end):
        if difference is None:
            same += 1
            continue
        counts[difference.kind] += 1
        if len(shown) < MOST_SHOWN:
            shown.append(difference)
    if store.is_shut:  # a part that this user may not read is not missing
        counts[DifferenceKind.MISSING] = 0
        shown = [shown_difference for shown_difference in shown if shown_difference.kind is not DifferenceKind.MISSING]
    by_kind = {kind: counts[kind] for kind in DifferenceKind}
    return Comparison(store=store, same=same, counts=by_kind, shown=tuple(shown), is_cut=is_cut)


def _all_differences(
    store: StateStore, records: Iterable[RawRecord], *, is_cut: bool, end: int | None
) -> Iterator[Difference | None]:
    if store.format is StoreFormat.VERSIONED:
        yield from version_differences(store, records, is_cut=is_cut, end=end)
        return
    as_stored = _AS_STORED.get(store.format)
    part = store if as_stored is None else replace(store, detected=replace(store.detected, format=as_stored))
    # A restore of a table loses records that its topic has dropped; for other stores, their topics are always so.
    absent = DifferenceKind.NOT_KNOWN if is_cut and not store.format.is_key_value else DifferenceKind.EXTRA
    has_ids = as_stored is None
    span = _Span(part)
    summaries = _told_by(span.seeing(records), has_ids=has_ids)
    with in_order(summaries) as topic_rows, _rows_in_order(part, has_ids=has_ids) as here:
        yield from _differences(here, topic_rows, absent, span.is_let_go)
    store.damages = part.damages  # the whole list is one stored value


def _differences(
    here: Iterator[tuple[bytes, bytes]],
    topic_rows: Iterator[tuple[bytes, bytes]],
    absent: DifferenceKind,
    is_let_go: Callable[[bytes], bool],
) -> Iterator[Difference | None]:
    """None for a key that does not differ. Both sides come by key; `absent` is the kind for a row without a record."""
    for row, record in side_by_side(here, topic_rows):
        if record is not None and record[1] != _TOMBSTONE:
            if row is not None:
                yield None if row[1] == record[1] else _difference(row[0], row[1], record[1])
                continue
            kind = DifferenceKind.NOT_KNOWN if is_let_go(record[0]) else DifferenceKind.MISSING
            topic_id = ValueSummary.read(record[1]).schema_id
            yield Difference(kind=kind, key=record[0], store_id=None, topic_id=topic_id)
        elif row is not None:
            kind = absent if record is None else DifferenceKind.EXTRA
            yield Difference(kind=kind, key=row[0], store_id=ValueSummary.read(row[1]).schema_id, topic_id=None)


class _Span:
    """The rows that a store of windows or sessions may have dropped: Kafka Streams drops whole segments, the oldest
    first, and never the newest (`AbstractSegments.cleanupExpiredSegments`; a session belongs to the segment of its
    end). A restore leaves out the same rows.
    """

    def __init__(self, store: StateStore) -> None:
        self._form = store.format
        self._from_ms = store.oldest_segment_ms
        self._has_segments = self._form.is_windowed or self._form.is_of_sessions

    def seeing(self, records: Iterable[RawRecord]) -> Iterable[RawRecord]:
        """The same records, unchanged. If the store has no rows, at least the newest window should exist."""
        if not self._has_segments or self._from_ms is not None:
            return records
        return self._newest(records)

    def is_let_go(self, key: bytes) -> bool:
        at_ms = self._time(key) if self._has_segments else None
        return at_ms is not None and self._from_ms is not None and at_ms < self._from_ms

    def _newest(self, records: Iterable[RawRecord]) -> Iterator[RawRecord]:
        for record in records:
            at_ms = None if record.key is None or record.value is None else self._time(record.key)
            if at_ms is not None:
                self._from_ms = max(at_ms, self._from_ms or 0)
            yield record

    def _time(self, key: bytes) -> int | None:
        _key, window = in_window(self._form, key)
        return None if window is None else window.last_ms


def in_window(form: StoreFormat, key: bytes) -> tuple[bytes, StoredWindow | None]:
    windows = form.layout.windows
    if windows is not None:
        with suppress(FormatError):
            return windows.decode(key)
    return key, None


def _difference(key: bytes, stored: bytes, recorded: bytes) -> Difference | None:
    here, topic = ValueSummary.read(stored), ValueSummary.read(recorded)
    if here.digest == topic.digest:
        return None
    return Difference(kind=kind_of(here, topic), key=key, store_id=here.schema_id, topic_id=topic.schema_id)


def _told_by(records: Iterable[RawRecord], *, has_ids: bool) -> Iterator[tuple[bytes, bytes]]:
    for record, summary in Keeping(has_ids=has_ids).records(records):
        if record.key is not None:  # a restore skips a null key
            yield record.key, _TOMBSTONE if record.value is None else summary


@contextmanager
def _rows_in_order(store: StateStore, *, has_ids: bool) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    rows = _told_by_rows(store, has_ids=has_ids)
    if store.format.is_key_value:
        yield rows  # in their stored order
        return
    with in_order(rows) as ordered:
        yield ordered


def _told_by_rows(store: StateStore, *, has_ids: bool) -> Iterator[tuple[bytes, bytes]]:
    keep = Keeping(has_ids=has_ids)
    for batch in store.batches():
        keys = batch.keys if store.format.is_key_value else [changelog_key(store, row) for row in batch.rows()]
        summaries = keep([value or b"" for value in batch.values], batch.timestamps_ms or repeat(None))
        yield from zip(keys, summaries, strict=True)


def changelog_key(store: StateStore, row: StateRow) -> bytes:
    windows = store.format.layout.windows
    if windows is not None and row.window is not None:
        return windows.encode(row.key, row.window)
    if store.format.is_key_value:
        return row.key
    raise StateDirectoryError(f"store {store.name} ({store.format.value}) cannot be compared with a topic, row by row.")


class KeyWindow(Part):
    """The window in a key."""

    start_ms: int
    end_ms: int | None
    """Inclusive, for a session; null for other windows, whose size is not stored."""


class ShownDifference(Part, kw_only=True):
    """A key whose row differs from the topic."""

    kind: DifferenceKind
    key_hex: str
    """The key as the changelog has it, with its window."""
    window: KeyWindow | UnsetType | None = UNSET
    """The window in the key; null without one."""
    store_id: int | None
    topic_id: int | None
    valid_from_ms: int | UnsetType | None = UNSET
    """The time from which on this version is valid; null outside of versioned stores."""


class ComparedPart(Part, kw_only=True):
    """A task's part of the store."""

    task: str
    partition: int | None
    same: Count
    missing: Count
    extra: Count
    stale: Count
    other_id: Count
    other_bytes: Count
    not_known: Count | UnsetType = UNSET
    """Keys that may differ: srfix cannot know, because the topic has dropped records, or the store may have dropped
    rows. They do not count as differences.
    """
    shown: list[ShownDifference]
    """The first differences."""


class StateDiff(DatedDocument, tag="srfix.state-diff/1"):
    """A store compared with the topic that it restores from: `srfix state diff`."""

    application: str
    store: str
    topic: str
    until: Literal["end", "committed"]
    parts: list[ComparedPart]
    not_looked_at: list[str]


def compared_part(comparison: Comparison) -> ComparedPart:
    return ComparedPart.of(
        comparison,
        task=comparison.store.task.name,
        partition=comparison.store.partition,
        **{kind.value.replace("-", "_"): count for kind, count in comparison.counts.items()},
        shown=[
            ShownDifference.of(
                difference, key_hex=difference.key.hex(), window=_window(comparison.store.format, difference.key)
            )
            for difference in comparison.shown
        ],
    )


def _window(form: StoreFormat, key: bytes) -> KeyWindow | None:
    _key, window = in_window(form, key)
    return None if window is None else KeyWindow(start_ms=window.start_ms, end_ms=window.end_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCompare:
    topic: Topic
    ranges: Mapping[int, tuple[int, int]]
    """For each partition the first offset, inclusive, and the end, exclusive."""

    def part(self, cluster: Cluster, store: StateStore) -> Comparison:
        own = self._ranges(store)
        is_cut = any(begin > 0 for begin, _end in own.values())
        end = own[store.partition][1] if store.partition is not None else None
        return compared(store, self._records(cluster, store), is_cut=is_cut, end=end)

    def cut(self, store: StateStore) -> dict[int, int]:
        return {partition: begin for partition, (begin, _end) in self._ranges(store).items() if begin > 0}

    def _ranges(self, store: StateStore) -> dict[int, tuple[int, int]]:
        own = sorted(self.ranges) if store.partition is None else [store.partition]
        return {partition: self.ranges.get(partition, (0, 0)) for partition in own}

    def _records(self, cluster: Cluster, store: StateStore) -> Iterator[RawRecord]:
        for partition, (begin, end) in self._ranges(store).items():
            if begin < end:
                yield from cluster.read(self.topic, partition, begin, end)


def ranges_to_compare(cluster: Cluster, topic: Topic, *, group: str | None) -> ToCompare:
    """All partitions from their starts to their ends, or to a group's commits: without one, nothing is restored."""
    partitions = partitions_of(cluster, topic)
    ranges = dict(cluster.watermarks(topic, partitions))
    if group is not None:
        committed = cluster.committed(group, [(topic, partition) for partition in partitions])
        for partition, (begin, end) in ranges.items():
            offset = committed.get((topic, partition))
            ranges[partition] = (begin, begin if offset is None else min(offset, end))
    return ToCompare(topic=topic, ranges=ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareWork:
    to_compare: ToCompare
    kafka: Mapping[str, str] = field(repr=False)
    """librdkafka's configuration, secrets filled in."""
    timeout_s: float

    def __call__(self, part: StateStore) -> Comparison:
        with Cluster(self.kafka, timeout_s=self.timeout_s) as cluster:
            return self.to_compare.part(cluster, part)

    def places(self, part: StateStore) -> Sequence[Path]:
        return (Path(part.directory.path),)
