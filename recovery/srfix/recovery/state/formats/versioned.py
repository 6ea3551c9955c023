"""Versioned stores (KIP-889, 3.5 and later): the latest value of a key, and its older ones by segments of time.

| part | bytes |
|---|---|
| key | 8 bytes of segment id, the key; -1 is the store of latest values, other ids are `validTo / segmentInterval` |
| latest value | 8 bytes of validFrom, the serde's bytes |
| segment value | 8 bytes of the newest record's validTo, 8 bytes of the least timestamp, then records and values |

For each record, newest first, there are 8 bytes of its validFrom and 4 bytes of its size (negative for a tombstone);
then come the values, oldest first. The number of records is not written: the list ends with the record that has the
least timestamp (`RocksDBVersionedStore`, `RocksDBVersionedStoreSegmentValueFormatter`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import FormatError
from srfix.serde.printable import counted

LATEST_SEGMENT: Final = -1

_LONG: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">qq")
_ENTRY: Final = struct.Struct(">qi")
_TOMBSTONE: Final = -1
_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_INTERVALS: Final = (
    # upper limit of the history retention in ms → number of its parts, and the least interval in ms
    (_MINUTE, 3, 2 * _SECOND),
    (5 * _MINUTE, 5, 20 * _SECOND),
    (60 * _MINUTE, 12, _MINUTE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedRecord:
    payload: bytes | None
    valid_from_ms: int
    """The time from which on it holds, inclusive, in milliseconds since the epoch."""
    valid_to_ms: int | None
    """The time until which it holds, exclusive; None for the latest version."""


def decode_versioned_key(stored: bytes) -> tuple[bytes, int]:
    """The key, and its segment."""
    if len(stored) < _LONG.size:
        raise FormatError(f"a key has {counted(len(stored), 'byte')}, but its segment alone needs {_LONG.size}")
    segment = int(_LONG.unpack_from(stored)[0])
    if segment < LATEST_SEGMENT:
        raise FormatError(f"there is no segment {segment}")
    return stored[_LONG.size :], segment


def encode_versioned_key(key: bytes, segment: int) -> bytes:
    if not LATEST_SEGMENT <= segment < 2**63:
        raise FormatError(f"there is no segment {segment}")
    return _LONG.pack(segment) + key


def decode_latest(stored: bytes) -> VersionedRecord:
    if len(stored) < _LONG.size:
        raise FormatError(
            f"a latest value has {counted(len(stored), 'byte')}, but its timestamp alone needs {_LONG.size}"
        )
    valid_from = int(_LONG.unpack_from(stored)[0])
    return VersionedRecord(payload=stored[_LONG.size :], valid_from_ms=valid_from, valid_to_ms=None)


def encode_latest(record: VersionedRecord) -> bytes:
    if record.payload is None:
        raise FormatError("a latest value cannot be a tombstone")
    return _packed(_LONG, record.valid_from_ms) + record.payload


def decode_versioned_segment(stored: bytes) -> tuple[VersionedRecord, ...]:
    """The records, newest first; each is valid until the one before it begins."""
    if len(stored) < _HEAD.size:
        raise FormatError(f"a segment has {counted(len(stored), 'byte')}, but its head needs {_HEAD.size}")
    valid_to, least = _HEAD.unpack_from(stored)
    entries: list[tuple[int, int, int]] = []
    at = _HEAD.size
    while not entries or entries[-1][0] != least:
        if len(stored) - at < _ENTRY.size:
            raise FormatError(
                f"a segment ends too early, at record {len(entries) + 1}: no record has the segment's earliest "
                f"time, {least}"
            )
        valid_from, size = _ENTRY.unpack_from(stored, at)
        # A tombstone without an older record begins where it ends.
        if valid_from > valid_to or (valid_from == valid_to and (size >= 0 or entries)) or valid_from < least:
            raise FormatError(f"record {len(entries) + 1} of a segment cannot be valid from {valid_from} to {valid_to}")
        entries.append((valid_from, valid_to, size))
        valid_to = valid_from
        at += _ENTRY.size
    records: list[VersionedRecord] = []
    for valid_from, until, size in reversed(entries):
        if size > len(stored) - at:
            raise FormatError(f"a value of a segment claims {counted(size, 'byte')}, but {len(stored) - at} follow")
        payload = stored[at : at + size] if size >= 0 else None
        at += max(size, 0)
        records.append(VersionedRecord(payload=payload, valid_from_ms=valid_from, valid_to_ms=until))
    if at != len(stored):
        raise FormatError(f"a segment has {counted(len(stored) - at, 'byte')} too many after its values")
    return tuple(reversed(records))


def encode_versioned_segment(records: Sequence[VersionedRecord]) -> bytes:
    """The value of a segment with these records, newest first, each valid until the one before it begins."""
    if not records or records[0].valid_to_ms is None:
        raise FormatError("a segment needs at least one record, and every record needs an end")
    entries = []
    until = records[0].valid_to_ms
    for record in records:
        is_alone = len(records) == 1 and record.payload is None
        if record.valid_to_ms != until or not (
            record.valid_from_ms < until or (is_alone and record.valid_from_ms == until)
        ):
            raise FormatError(f"{record.valid_from_ms} to {record.valid_to_ms} is empty, or does not end at {until}")
        entries.append(
            _packed(_ENTRY, record.valid_from_ms, _TOMBSTONE if record.payload is None else len(record.payload))
        )
        until = record.valid_from_ms
    values = [record.payload for record in reversed(records) if record.payload is not None]
    return b"".join((_packed(_HEAD, records[0].valid_to_ms, until), *entries, *values))


def versioned_segment_interval_ms(history_retention_ms: int) -> int:
    """How much time a segment covers by default (`Stores.persistentVersionedKeyValueStore`)."""
    for up_to, parts, least in _INTERVALS:
        if history_retention_ms <= up_to:
            return max(history_retention_ms // parts, least)
    return max(history_retention_ms // 24, 5 * _MINUTE)


def _packed(form: struct.Struct, *numbers: int) -> bytes:
    try:
        return form.pack(*numbers)
    except struct.error:
        raise FormatError(f"a time or a size does not fit its field: {', '.join(map(str, numbers))}") from None
