"""Compares a versioned store with its topic, version by version.

Each record of the topic is a version of its key, from its own timestamp on until the next later record of the key
begins; if two have the same timestamp, the later offset counts. A tombstone only ends the version before it. Versions
that the store or the topic has dropped are not differences, but not known:

| seen | is |
|---|---|
| only in the topic | missing, if it still holds or ended within the history that the store keeps, and no later record is gone |
| the same, and it ended earlier, or a later record may be gone | not known |
| the same, and it was late when it came | not known: a store leaves late ones out, unless it keeps history far longer |
| in both, and the values differ | other bytes, another id; not known, if the topic's version was late |
| a tombstone in the topic, a version in the store | extra; not known, if the tombstone was late |
| only in the store | extra, if no record can be gone: the log begins at 0, and no offset is missing; else not known |
| in both, and ended later in the store | stale: the record that ends it is missing; not known, if either was late |

A record is late if it came after a record with a later timestamp, by the records that the topic still has. A late
version may hold in the store even after the tombstone of its key: if the tombstone had the same timestamp as the
version that it ended, the store has no trace of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.state.writing.database import in_order
from srfix.recovery.stores.difference_kinds import (
    KEPT_SIZE,
    Difference,
    DifferenceKind,
    Keeping,
    ValueSummary,
    kind_of,
    side_by_side,
)

_LENGTH: Final = struct.Struct(">I")
_TIME: Final = struct.Struct(">q")
_RECORD: Final = struct.Struct(">?qq")
"""After the summary of a record's value: whether it is a tombstone, by how much it was late, and its offset."""
_HOLDS: Final = -1
_LONG_HISTORY_MS: Final = 10_000
"""Segments are shorter than a third of the retention, or than 2 s; so half of a longer history is certainly kept."""


class _Version(NamedTuple):
    place: bytes
    """Key and beginning, in the order in which both sides are read."""
    key: bytes
    from_ms: int
    to_ms: int | None
    summary: ValueSummary
    is_tombstone: bool = False
    """This field and the next ones are a topic's."""
    late_ms: int = 0
    offset: int = 0
    end_late_ms: int = 0
    """By how much the ending record was late; 0 if the version still holds."""


@dataclass(slots=True)
class _Progress:
    following: int = 0
    whole_from: int = 0
    """The first offset after the last gap in the records' offsets; a gap comes from compaction or a transaction's marker."""
    oldest_end_ms: int | None = None
    """The earliest end of a version that the store has kept; None if it keeps no history."""
    newest_ms: int = _HOLDS

    def is_whole_behind(self, offset: int, end: int | None) -> bool:
        return offset >= self.whole_from and self.following == end

    def keeps_what_ends(self, to_ms: int) -> bool:
        """True if the store has not dropped versions that ended at this time: segments are dropped oldest first."""
        return self.oldest_end_ms is not None and to_ms >= self.oldest_end_ms

    def takes(self, late_ms: int) -> bool:
        if late_ms == 0:
            return True
        if self.oldest_end_ms is None:
            return False
        kept_ms = self.newest_ms - self.oldest_end_ms
        return kept_ms >= _LONG_HISTORY_MS and 2 * late_ms <= kept_ms


def version_differences(
    store: StateStore, records: Iterable[RawRecord], *, is_cut: bool, end: int | None
) -> Iterator[Difference | None]:
    """For each version its difference, or None. The arguments are those of `compared`."""
    progress = _Progress()
    with in_order(_told_by(records, progress)) as sorted_records, in_order(_told_by_rows(store, progress)) as rows:
        is_whole = not is_cut and progress.is_whole_behind(0, end)
        for row, topic in side_by_side(map(_read_row, rows), _versions(sorted_records)):
            if row is not None and topic is not None:
                kind = _kind(row, topic, progress, is_whole=is_whole)
                yield None if kind is None else _different(kind, row, topic)
            elif row is not None:
                yield _different(DifferenceKind.EXTRA if is_whole else DifferenceKind.NOT_KNOWN, row, None)
            elif topic is not None and not topic.is_tombstone:
                is_kept = topic.to_ms is None or (
                    progress.keeps_what_ends(topic.to_ms) and progress.is_whole_behind(topic.offset, end)
                )
                is_missing = is_kept and progress.takes(topic.late_ms)
                yield _different(DifferenceKind.MISSING if is_missing else DifferenceKind.NOT_KNOWN, None, topic)


def _kind(row: _Version, topic: _Version, progress: _Progress, *, is_whole: bool) -> DifferenceKind | None:
    is_taken = progress.takes(topic.late_ms)
    if topic.is_tombstone:
        return DifferenceKind.EXTRA if is_taken else DifferenceKind.NOT_KNOWN
    if row.summary.digest != topic.summary.digest:
        return kind_of(row.summary, topic.summary) if is_taken else DifferenceKind.NOT_KNOWN
    if row.to_ms == topic.to_ms:
        return None
    ends_later = topic.to_ms is not None and (row.to_ms is None or row.to_ms > topic.to_ms)
    if ends_later:
        is_stale = topic.late_ms == 0 and progress.takes(topic.end_late_ms)
        return DifferenceKind.STALE if is_stale else DifferenceKind.NOT_KNOWN
    return DifferenceKind.OTHER_BYTES if is_whole else None  # the topic no longer has the record that ended it


def _different(kind: DifferenceKind, row: _Version | None, topic: _Version | None) -> Difference:
    version = row or topic
    assert version is not None
    return Difference(
        kind=kind,
        key=version.key,
        store_id=None if row is None else row.summary.schema_id,
        topic_id=None if topic is None else topic.summary.schema_id,
        valid_from_ms=version.from_ms,
    )


def _place(key: bytes, from_ms: int) -> bytes:
    """The versions of a key come together, the oldest first."""
    return _LENGTH.pack(len(key)) + key + _TIME.pack(from_ms)


def _told_by(records: Iterable[RawRecord], progress: _Progress) -> Iterator[tuple[bytes, bytes]]:
    newest_ms = _HOLDS
    for record, summary in Keeping().records(records):
        if record.offset != progress.following:
            progress.whole_from = record.offset
        progress.following = record.offset + 1
        if record.key is None or record.timestamp is None or record.timestamp < 0:
            continue  # a restore skips it
        newest_ms = max(newest_ms, record.timestamp)
        rest = _RECORD.pack(record.value is None, newest_ms - record.timestamp, record.offset)
        yield _place(record.key, record.timestamp), summary + rest


def _told_by_rows(store: StateStore, progress: _Progress) -> Iterator[tuple[bytes, bytes]]:
    keep = Keeping()
    for batch in store.batches():
        summaries = keep([value or b"" for value in batch.values], batch.timestamps_ms or ())
        for row, summary in zip(batch.rows(), summaries, strict=True):
            if row.valid_from_ms is None:
                continue
            progress.newest_ms = max(progress.newest_ms, row.valid_from_ms)
            if row.valid_to_ms is not None:
                oldest = progress.oldest_end_ms
                progress.oldest_end_ms = row.valid_to_ms if oldest is None else min(oldest, row.valid_to_ms)
            if row.value is not None:  # a tombstone only marks a time without a value
                end = _TIME.pack(_HOLDS if row.valid_to_ms is None else row.valid_to_ms)
                yield _place(row.key, row.valid_from_ms), summary + end


def _read_row(row: tuple[bytes, bytes]) -> _Version:
    place, packed = row
    (to_ms,) = _TIME.unpack_from(packed, KEPT_SIZE)
    return _version(place, packed, None if to_ms == _HOLDS else to_ms)


def _version(place: bytes, packed: bytes, to_ms: int | None) -> _Version:
    (from_ms,) = _TIME.unpack_from(place, len(place) - _TIME.size)
    return _Version(place, place[_LENGTH.size : -_TIME.size], from_ms, to_ms, ValueSummary.read(packed))


def _versions(sorted_records: Iterator[tuple[bytes, bytes]]) -> Iterator[_Version]:
    """The versions and tombstones, each with its end: where the next record of its key begins."""
    before: tuple[bytes, bytes] | None = None
    for entry in chain(sorted_records, (None,)):
        if before is not None:
            place, packed = before
            is_tombstone, late_ms, offset = _RECORD.unpack_from(packed, KEPT_SIZE)
            is_ended = entry is not None and entry[0][: -_TIME.size] == place[: -_TIME.size]
            to_ms, end_late_ms = None, 0
            if is_ended and entry is not None:
                (to_ms,) = _TIME.unpack_from(entry[0], len(entry[0]) - _TIME.size)
                _, end_late_ms, _offset = _RECORD.unpack_from(entry[1], KEPT_SIZE)
            yield _version(place, packed, to_ms)._replace(
                is_tombstone=is_tombstone, late_ms=late_ms, offset=offset, end_late_ms=end_late_ms
            )
        before = entry
