"""The rows of a versioned store, record by record, as a restore makes them (`RocksDBVersionedStore.restoreBatch`, `doPut`).

A version holds from its own timestamp until the next later record of its key begins. The latest record is a row of its
own, unless it is a tombstone; every other record is in the row of its key in the segment in which it ends. A record
that is older than the history retention when it comes is left out, and so is every segment that is older at the end. A
restore decides by the newest timestamp of the batch that it has just fetched; this module uses the newest timestamp so
far, like a running application. Only records that are older than the history retention can differ, and no query returns
them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    VersionedRecord,
    decode_latest,
    decode_versioned_segment,
    encode_latest,
    encode_versioned_key,
    encode_versioned_segment,
)
from srfix.recovery.state.writing.database import RowWriter

_MOST_PENDING: Final = 10_000

_Records: TypeAlias = tuple[VersionedRecord, ...]
"""The records of a row, newest first."""
_Change: TypeAlias = Callable[[_Records | None, VersionedRecord], _Records | None]
"""The present records of a row (or None), and a record → the row's new records; None leaves it unchanged."""


class VersionedRows:
    def __init__(
        self,
        database: RowWriter,
        family: str,
        *,
        retention_ms: int,
        interval_ms: int,
        newest_ms: int = -1,
        segments: Iterable[int] = (),
    ) -> None:
        self._database = database
        self._family = family
        self._retention_ms = retention_ms
        self._interval_ms = interval_ms
        self.newest_ms = newest_ms
        self._segments = sorted(segments)
        self._pending: dict[bytes, bytes | None] = {}

    def put(self, key: bytes, payload: bytes | None, timestamp_ms: int) -> bool:
        """False if the record was too old, and was left out."""
        if timestamp_ms < 0:
            raise StateDirectoryError(
                f"a record of the key {key.hex()} has the timestamp {timestamp_ms}, which a versioned store cannot hold"
            )
        if timestamp_ms < self.newest_ms - self._retention_ms:
            return False
        self.newest_ms = max(self.newest_ms, timestamp_ms)
        self._forget_expired()
        if len(self._pending) > _MOST_PENDING:
            self.flush()
        new = VersionedRecord(payload=payload, valid_from_ms=timestamp_ms, valid_to_ms=None)
        latest = self._latest(key)
        if latest is not None and timestamp_ms >= latest.valid_from_ms:
            if timestamp_ms > latest.valid_from_ms:
                self._change(key, timestamp_ms, _with_latest, replace(latest, valid_to_ms=timestamp_ms))
            self._put_latest(key, new)
        else:
            self._put_before(key, None if latest is None else latest.valid_from_ms, new)
        return True

    def _put_before(self, key: bytes, valid_to_ms: int | None, new: VersionedRecord) -> None:
        """Puts a record older than the latest value, which begins at `valid_to_ms`, if there is one."""
        for segment in reversed(self._segments):
            if segment < self._segment_of(new.valid_from_ms):
                break
            row = self._row(key, segment)
            if row is None:
                continue
            if _end(row) <= new.valid_from_ms:
                break
            if _least(row) <= new.valid_from_ms:
                self._put_within(key, segment, row, new)
                return
            valid_to_ms = _least(row)
        if valid_to_ms is not None:
            self._change(key, valid_to_ms, _with_outermost, replace(new, valid_to_ms=valid_to_ms))
        elif new.payload is not None:
            self._put_latest(key, new)
        else:
            self._change(key, new.valid_from_ms, _ended, new)

    def _put_within(self, key: bytes, segment: int, row: _Records, new: VersionedRecord) -> None:
        index = next(at for at, record in enumerate(row) if record.valid_from_ms <= new.valid_from_ms)
        record = row[index]
        new = replace(new, valid_to_ms=record.valid_to_ms)
        newer, older = row[:index], row[index + 1 :]
        if record.valid_from_ms == new.valid_from_ms:
            self._put_row(key, segment, (*newer, new, *older))
            return
        ended = replace(record, valid_to_ms=new.valid_from_ms)
        if self._segment_of(new.valid_from_ms) == segment:
            self._put_row(key, segment, (*newer, new, ended, *older))
        else:
            # The version that it ends now ends in an older segment, so nothing older can be left in this one.
            self._change(key, new.valid_from_ms, _with_latest, ended)
            self._put_row(key, segment, (*newer, new))

    def _change(self, key: bytes, end_ms: int, change: _Change, record: VersionedRecord) -> None:
        segment = self._segment_of(end_ms)
        if segment < self._oldest_segment:
            return
        if segment not in self._segments:
            insort(self._segments, segment)
        records = change(self._row(key, segment), record)
        if records is not None:
            self._put_row(key, segment, records)

    def _forget_expired(self) -> None:
        while self._segments and self._segments[0] < self._oldest_segment:
            segment = self._segments.pop(0)
            self.flush()
            self._database.delete_prefix(self._family, encode_versioned_key(b"", segment))

    @property
    def _oldest_segment(self) -> int:
        return self._segment_of(self.newest_ms - self._retention_ms)

    def _segment_of(self, time_ms: int) -> int:
        return max(time_ms, 0) // self._interval_ms

    def _latest(self, key: bytes) -> VersionedRecord | None:
        stored = self._get(key, LATEST_SEGMENT)
        return None if stored is None else decode_latest(stored)

    def _row(self, key: bytes, segment: int) -> _Records | None:
        stored = self._get(key, segment)
        return None if stored is None else decode_versioned_segment(stored)

    def _put_latest(self, key: bytes, record: VersionedRecord) -> None:
        self._put(key, LATEST_SEGMENT, None if record.payload is None else encode_latest(record))

    def _put_row(self, key: bytes, segment: int, records: _Records) -> None:
        self._put(key, segment, encode_versioned_segment(records))

    def _get(self, key: bytes, segment: int) -> bytes | None:
        stored_key = encode_versioned_key(key, segment)
        if stored_key in self._pending:
            return self._pending[stored_key]
        return self._database.get(self._family, stored_key)

    def _put(self, key: bytes, segment: int, value: bytes | None) -> None:
        self._pending[encode_versioned_key(key, segment)] = value

    def flush(self) -> None:
        for key, value in self._pending.items():
            if value is None:
                self._database.delete(self._family, key)
            else:
                self._database.put(self._family, key, value)
        self._pending.clear()


def _least(row: _Records) -> int:
    return row[-1].valid_from_ms


def _end(row: _Records) -> int:
    end_ms = row[0].valid_to_ms
    assert end_ms is not None
    return end_ms


def _kept(row: _Records) -> _Records:
    """The records of a row; empty for a row that only marks a tombstone ("degenerate")."""
    return () if _least(row) == _end(row) else row


def _with_latest(row: _Records | None, record: VersionedRecord) -> _Records:
    """Puts a record after all others of the row; if that leaves a gap, nothing held in between (`insertAsLatest`)."""
    if row is None:
        return (record,)
    if _end(row) == record.valid_from_ms:
        return (record, *_kept(row))
    gap = VersionedRecord(payload=None, valid_from_ms=_end(row), valid_to_ms=record.valid_from_ms)
    return (record, gap, *_kept(row))


def _with_outermost(row: _Records | None, record: VersionedRecord) -> _Records:
    """Puts a record that ends where the latest value, or the row, begins."""
    if row is None or _end(row) <= record.valid_from_ms:
        return _with_latest(row, record)
    return (*_kept(row), record)


def _ended(row: _Records | None, record: VersionedRecord) -> _Records | None:
    """Records that nothing holds from a tombstone's time on, if there is no latest value either."""
    time_ms = record.valid_from_ms
    if row is not None and _end(row) == time_ms:
        return None
    begin_ms = time_ms if row is None else _end(row)
    tombstone = VersionedRecord(payload=None, valid_from_ms=begin_ms, valid_to_ms=time_ms)
    return (tombstone,) if row is None else (tombstone, *_kept(row))
