"""The kinds of stores that can be written: where their rows lie, and what stands before a value.

| kind | column family | before the value | segments by |
|---|---|---|---|
| plain-kv | default | | |
| timestamped-kv | keyValueWithTimestamp | 8 bytes of timestamp | |
| headers-kv | keyValueWithTimestampAndHeaders | headers, 8 bytes of timestamp | |
| plain-window | default | | the window's start |
| timestamped-window | keyValueWithTimestamp | 8 bytes of timestamp | the window's start |
| session | default | | the session's end |

A join window store is a plain-window one, a foreign-key join's subscription store a timestamped-kv one, and an outer join's
list store a plain-kv one: their changelogs hold what the store holds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.formats import Headers
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS

NO_TIMESTAMP: Final = -1
"""What Kafka Streams gives a row whose timestamp nobody knows (`ConsumerRecord.NO_TIMESTAMP`)."""

_TIME: Final = struct.Struct(">q")
_WINDOW_TAIL: Final = struct.Struct(">qi")
_SESSION_TAIL: Final = struct.Struct(">qq")


class WrittenKind(Enum):
    """What a store is."""

    PLAIN_KV = "plain-kv"
    TIMESTAMPED_KV = "timestamped-kv"
    HEADERS_KV = "headers-kv"
    PLAIN_WINDOW = "plain-window"
    TIMESTAMPED_WINDOW = "timestamped-window"
    SESSION = "session"

    @property
    def family(self) -> str:
        """The column family that holds its rows."""
        return _LAYOUTS[self].family

    @property
    def is_segmented(self) -> bool:
        """True if it has a database for each segment of time."""
        return _LAYOUTS[self].time_of is not None


def stored(kind: WrittenKind, payload: bytes, *, timestamp_ms: int | None, headers: Headers = ()) -> bytes:
    """A value as the store holds it.

    :param payload: the serde's bytes, or the record's as they are.
    :param timestamp_ms: the record's timestamp; None is `NO_TIMESTAMP`.
    """
    return _LAYOUTS[kind].stored(payload, NO_TIMESTAMP if timestamp_ms is None else timestamp_ms, headers)


def segment_time(kind: WrittenKind, key: bytes) -> int:
    """The time, in ms, by which a key belongs to a segment.

    :raises StateDirectoryError: if the key is too short for the kind, or its time is negative.
    """
    time_of = _LAYOUTS[kind].time_of
    if time_of is None:
        raise StateDirectoryError(f"a store of the kind {kind.value} has no segments")
    try:
        time_ms = time_of(key)
    except struct.error:
        raise StateDirectoryError(
            f"the key {key.hex()} is too short for a store of the kind {kind.value}: it ends with no window. Check --kind"
        ) from None
    if time_ms < 0:
        raise StateDirectoryError(f"the key {key.hex()} has a window before 1970. Check --kind")
    return time_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    family: str
    stored: Callable[[bytes, int, Headers], bytes]
    time_of: Callable[[bytes], int] | None = None


def _plain(payload: bytes, _timestamp_ms: int, _headers: Headers) -> bytes:
    return payload


def _timestamped(payload: bytes, timestamp_ms: int, _headers: Headers) -> bytes:
    return _TIME.pack(timestamp_ms) + payload


def _with_headers(payload: bytes, timestamp_ms: int, headers: Headers) -> bytes:
    packed = _packed(headers) if headers else b""
    return _varint(len(packed)) + packed + _timestamped(payload, timestamp_ms, ())


def _packed(headers: Headers) -> bytes:
    parts = [_varint(len(headers))]
    for name, content in headers:
        raw = name.encode()
        parts += (_varint(len(raw)), raw)
        parts += (_varint(-1),) if content is None else (_varint(len(content)), content)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    left = (number << 1 ^ number >> 31) & 0xFFFFFFFF
    out = bytearray()
    while left & ~0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _window_start(key: bytes) -> int:
    return int(_WINDOW_TAIL.unpack(key[-_WINDOW_TAIL.size :])[0])


def _session_end(key: bytes) -> int:
    return int(_SESSION_TAIL.unpack(key[-_SESSION_TAIL.size :])[0])


_LAYOUTS: Final[Mapping[WrittenKind, _Layout]] = {
    WrittenKind.PLAIN_KV: _Layout(family=PLAIN, stored=_plain),
    WrittenKind.TIMESTAMPED_KV: _Layout(family=TIMESTAMPED, stored=_timestamped),
    WrittenKind.HEADERS_KV: _Layout(family=WITH_HEADERS, stored=_with_headers),
    WrittenKind.PLAIN_WINDOW: _Layout(family=PLAIN, stored=_plain, time_of=_window_start),
    WrittenKind.TIMESTAMPED_WINDOW: _Layout(family=TIMESTAMPED, stored=_timestamped, time_of=_window_start),
    WrittenKind.SESSION: _Layout(family=PLAIN, stored=_plain, time_of=_session_end),
}
