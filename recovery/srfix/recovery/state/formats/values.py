"""The bytes before the serde's bytes in a stored value; they depend on the column family.

| column family | value |
|---|---|
| `default` | the serde's bytes: a plain store, or a row from before 2.3 that a timestamped store has not upgraded yet |
| `keyValueWithTimestamp` | 8 bytes of timestamp, the serde's bytes (`ValueAndTimestampSerializer`) |
| `keyValueWithTimestampAndHeaders`, 4.3 and later | size of the headers, headers, 8 bytes of timestamp, the serde's bytes |
| `windowKeyValueWithHeaders`, likewise | the same |
| `sessionKeyValueWithHeaders`, likewise | size of the headers, headers, the serde's bytes |

Time-first stores have other values in two of them: `state.layouts`.

Sizes are zigzag varints (`ByteUtils.writeVarint`); the headers are their number, then for each the size and the bytes of its
name and of its value (size -1 for null); if there are no headers, it is the one byte `00`. A timestamp of -1 means none
(`NO_TIMESTAMP`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar, cast

from srfix.recovery.errors import FormatError
from srfix.serde.java_ints import read_varint, written_varint
from srfix.serde.printable import counted

Headers = tuple[tuple[str, bytes | None], ...]

PLAIN: Final = "default"
"""The column family of a plain store, which every database has."""
TIMESTAMPED: Final = "keyValueWithTimestamp"
"""The column family of a store with timestamps: all tables of the DSL from Kafka Streams 2.3 on."""
WITH_HEADERS: Final = "keyValueWithTimestampAndHeaders"
"""The column family of a store with timestamps and headers, from 4.3 on."""
SESSION_WITH_HEADERS: Final = "sessionKeyValueWithHeaders"
WINDOW_WITH_HEADERS: Final = "windowKeyValueWithHeaders"

_TIMESTAMP: Final = struct.Struct(">q")
_NO_TIMESTAMP: Final = -1
_NO_HEADERS: Final = b"\0"
_HEADERLESS: Final = struct.Struct(">bq")
"""Before a value: no headers, its timestamp."""
_long = cast("Callable[[bytes], bytes]", itemgetter(slice(_TIMESTAMP.size)))
_behind_long = cast("Callable[[bytes], bytes]", itemgetter(slice(_TIMESTAMP.size, None)))
"""A third faster than a comprehension, which matters because most stores are key-value stores with timestamps."""
_T = TypeVar("_T")

Columns: TypeAlias = tuple[Sequence[bytes], Sequence[int | None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValue:
    payload: bytes
    """The bytes that the store's serde wrote, or that a restore copied from the topic."""
    timestamp_ms: int | None = None
    """The record's timestamp, in milliseconds since the epoch; None if none is kept, or if it is unknown (-1)."""
    headers: Headers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueForm:
    decode: Callable[[bytes], StoredValue]
    """Splits a value; raises FormatError, with a clause, if it has another form."""
    decode_many: Callable[[list[bytes]], Columns | None]
    """The same for many; None if one of them has headers, or another form."""
    encode: Callable[[bytes, int | None, Headers], bytes]


def decode_timestamped(value: bytes) -> StoredValue:
    return StoredValue(payload=value[_TIMESTAMP.size :], timestamp_ms=_timestamp(value, 0))


def encode_timestamped(payload: bytes, timestamp_ms: int | None, _headers: Headers = ()) -> bytes:
    return _stamp(timestamp_ms) + payload


def decode_with_headers(value: bytes) -> StoredValue:
    headers, at = _leading_headers(value)
    return StoredValue(payload=value[at + _TIMESTAMP.size :], timestamp_ms=_timestamp(value, at), headers=headers)


def encode_with_headers(payload: bytes, timestamp_ms: int | None, headers: Headers) -> bytes:
    return _encoded_headers(headers) + _stamp(timestamp_ms) + payload


def decode_aggregate_with_headers(value: bytes) -> StoredValue:
    headers, at = _leading_headers(value)
    return StoredValue(payload=value[at:], headers=headers)


def encode_aggregate_with_headers(payload: bytes, _timestamp_ms: int | None, headers: Headers) -> bytes:
    return _encoded_headers(headers) + payload


def _timestamp(value: bytes, at: int) -> int | None:
    if len(value) - at < _TIMESTAMP.size:
        raise FormatError(
            f"a value has {counted(len(value) - at, 'byte')}, but its timestamp alone needs {_TIMESTAMP.size}"
        )
    number = int(_TIMESTAMP.unpack_from(value, at)[0])
    return None if number == _NO_TIMESTAMP else number


def _stamp(timestamp_ms: int | None) -> bytes:
    try:
        return _TIMESTAMP.pack(_NO_TIMESTAMP if timestamp_ms is None else timestamp_ms)
    except struct.error:
        raise FormatError(f"{timestamp_ms} is not a timestamp: it needs more than 64 bits") from None


def _leading_headers(value: bytes) -> tuple[Headers, int]:
    size, start = _varint(value, 0, len(value))
    end = start + size
    if size < 0 or end > len(value):
        raise FormatError(
            f"a value's headers claim {counted(size, 'byte')}, but {counted(len(value) - start, 'byte')} follow"
        )
    return (_headers(value, start, end) if size else ()), end


def _headers(value: bytes, at: int, end: int) -> Headers:
    count, at = _varint(value, at, end)
    if count < 0:
        raise FormatError(f"a value claims {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, at = _sized(value, at, end)
        content, at = _sized(value, at, end)
        if name is None:
            raise FormatError("a header of a value has no name")
        headers.append((name.decode("utf-8", "replace"), content))
    if at != end:
        raise FormatError(f"a value has {counted(end - at, 'byte')} too many after its headers")
    return tuple(headers)


def _sized(value: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = _varint(value, at, end)
    if size == -1:
        return None, at
    if size < 0 or at + size > end:
        raise FormatError(f"a header of a value claims {counted(size, 'byte')}, but {counted(end - at, 'byte')} follow")
    return value[at : at + size], at + size


def _encoded_headers(headers: Headers) -> bytes:
    if not headers:
        return _NO_HEADERS
    parts = [written_varint(len(headers))]
    for name, content in headers:
        try:
            raw = name.encode()
        except UnicodeEncodeError:
            raise FormatError(f"the name of a header, {name!r}, cannot be written in UTF-8") from None
        parts += [written_varint(len(raw)), raw]
        parts += [written_varint(-1)] if content is None else [written_varint(len(content)), content]
    body = b"".join(parts)
    return written_varint(len(body)) + body


def _varint(value: bytes, at: int, end: int) -> tuple[int, int]:
    try:
        return read_varint(value, at, end)
    except (IndexError, ValueError):
        raise FormatError("a size before the headers of a value is cut short, or invalid") from None


def or_none(column: tuple[_T, ...]) -> tuple[_T, ...] | None:
    return None if column.count(None) == len(column) else column


def _many_timestamped(values: list[bytes]) -> Columns | None:
    heads = b"".join(map(_long, values))
    if len(heads) != _TIMESTAMP.size * len(values):
        return None
    return list(map(_behind_long, values)), _stamps(struct.unpack(f">{len(values)}q", heads))


def _many_with_headers(values: list[bytes]) -> Columns | None:
    heads = b"".join([value[: _HEADERLESS.size] for value in values])
    if len(heads) != _HEADERLESS.size * len(values) or any(heads[:: _HEADERLESS.size]):
        return None  # a value has headers, or is too short
    stamps = tuple(stamp for _none, stamp in _HEADERLESS.iter_unpack(heads))
    return [value[_HEADERLESS.size :] for value in values], _stamps(stamps)


def _many_aggregates(values: list[bytes]) -> Columns | None:
    heads = b"".join([value[:1] for value in values])
    if len(heads) != len(values) or any(heads):
        return None
    return [value[1:] for value in values], None


def _stamps(stamps: tuple[int, ...]) -> Sequence[int | None] | None:
    if _NO_TIMESTAMP not in stamps:
        return stamps
    return or_none(tuple(None if stamp == _NO_TIMESTAMP else stamp for stamp in stamps))


BARE: Final = ValueForm(
    decode=lambda value: StoredValue(payload=value),
    decode_many=lambda values: (values, None),
    encode=lambda payload, _timestamp_ms, _headers: payload,
)
STAMPED: Final = ValueForm(decode=decode_timestamped, decode_many=_many_timestamped, encode=encode_timestamped)
_WITH_HEADERS: Final = ValueForm(decode=decode_with_headers, decode_many=_many_with_headers, encode=encode_with_headers)
VALUES: Final[Mapping[str, ValueForm]] = {
    WITH_HEADERS: _WITH_HEADERS,
    WINDOW_WITH_HEADERS: _WITH_HEADERS,
    SESSION_WITH_HEADERS: ValueForm(
        decode=decode_aggregate_with_headers,
        decode_many=_many_aggregates,
        encode=encode_aggregate_with_headers,
    ),
    TIMESTAMPED: STAMPED,
    PLAIN: BARE,
}
"""The format of values for each column family with rows, the newest family first. If a key is in several, the first
family counts, as when Kafka Streams upgrades a store.
"""
