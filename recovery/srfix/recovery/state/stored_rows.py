"""A row of a key-value store as RocksDB holds it, taken apart: which part of it is the serde's.

| column family | value |
|---|---|
| `default` | the serde's bytes: a plain store, or a row from before 2.3 that a timestamped one has not upgraded yet |
| `keyValueWithTimestamp` | 8 bytes of timestamp, then the serde's bytes (`ValueAndTimestampSerializer`) |
| `keyValueWithTimestampAndHeaders` | size of the headers, headers, 8 bytes of timestamp, the serde's bytes (4.3 and later) |

Sizes in the last are zigzag varints (`ByteUtils.writeVarint`); the headers are their number, then for each the size and the
bytes of its name and of its value (size -1 for null); no headers at all are the one byte `00`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import StateDirectoryError

PLAIN: Final = "default"
"""The column family of a plain store, which every database has."""
TIMESTAMPED: Final = "keyValueWithTimestamp"
"""The one of a store with timestamps: all tables of the DSL from Kafka Streams 2.3 on."""
WITH_HEADERS: Final = "keyValueWithTimestampAndHeaders"
"""The one of a store with timestamps and headers, from 4.3 on."""

_TIMESTAMP_SIZE: Final = 8
_MOST_VARINT_BYTES: Final = 5

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValue:
    """The value of a row, taken apart."""

    payload: bytes
    """What the store's serde wrote, or a restore copied from the topic."""
    headers: Headers = ()
    """The record's headers that were kept beside it."""


def stored_value(family: str, value: bytes) -> StoredValue:
    """Takes a row's value apart.

    :param family: the column family that it is in, one of `ROW_FAMILIES`.
    :raises StateDirectoryError: if it has not the form that its column family promises; in a clause, for the caller knows
        which database it is.
    """
    return _PARSERS[family](value)


def _plain(value: bytes) -> StoredValue:
    return StoredValue(payload=value)


def _timestamped(value: bytes) -> StoredValue:
    if len(value) < _TIMESTAMP_SIZE:
        raise StateDirectoryError(f"a value has {_bytes(len(value))}, and its timestamp alone needs {_TIMESTAMP_SIZE}")
    return StoredValue(payload=value[_TIMESTAMP_SIZE:])


def _with_headers(value: bytes) -> StoredValue:
    size, start = _varint(value, 0, len(value))
    end = start + size
    if size < 0 or end > len(value):
        raise StateDirectoryError(f"a value's headers would have {size} bytes, and {_bytes(len(value) - start)} follow")
    headers = _headers(value, start, end) if size else ()
    return StoredValue(payload=_timestamped(value[end:]).payload, headers=headers)


_PARSERS: Final[Mapping[str, Callable[[bytes], StoredValue]]] = {
    PLAIN: _plain,
    TIMESTAMPED: _timestamped,
    WITH_HEADERS: _with_headers,
}
ROW_FAMILIES: Final = tuple(_PARSERS)
"""The column families whose rows are read."""


def _headers(value: bytes, at: int, end: int) -> Headers:
    count, at = _varint(value, at, end)
    if count < 0:
        raise StateDirectoryError(f"a value would have {count} headers")
    found: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, at = _sized(value, at, end)
        content, at = _sized(value, at, end)
        if name is None:
            raise StateDirectoryError("a header of a value has no name")
        found.append((name.decode("utf-8", "replace"), content))
    if at != end:
        raise StateDirectoryError(f"{_bytes(end - at)} are left behind the headers of a value")
    return tuple(found)


def _sized(value: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = _varint(value, at, end)
    if size == -1:
        return None, at
    if size < 0 or at + size > end:
        raise StateDirectoryError(f"a header of a value would have {size} bytes, and {_bytes(end - at)} follow")
    return value[at : at + size], at + size


def _varint(value: bytes, at: int, end: int) -> tuple[int, int]:
    number = 0
    for index in range(_MOST_VARINT_BYTES):
        if at + index >= end:
            break
        byte = value[at + index]
        number |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1), at + index + 1
    raise StateDirectoryError("a size before the headers of a value is cut short, or is none")


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
