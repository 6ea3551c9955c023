"""The kinds of stores that can be written: where their rows lie, under which keys, and what stands before a value.

| kind | column family | key | before the value | segments by |
|---|---|---|---|---|
| plain-kv | default | the record's | | |
| timestamped-kv | keyValueWithTimestamp | the record's | 8 bytes of timestamp | |
| headers-kv | keyValueWithTimestampAndHeaders | the record's | headers, 8 bytes of timestamp | |
| plain-window | default | the record's | | the window's start |
| timestamped-window | keyValueWithTimestamp | the record's | 8 bytes of timestamp | the window's start |
| headers-window | keyValueWithTimestampAndHeaders | the record's | headers, 8 bytes of timestamp | the window's start |
| time-first-window | default | time first | 8 bytes of timestamp | the window's start |
| indexed-time-first-window | default | time first, and an index | 8 bytes of timestamp | the window's start |
| headers-time-first-window | windowKeyValueWithHeaders | time first, and an index | headers, 8 bytes of timestamp | as above |
| session | default | the record's | | the session's end |
| headers-session | sessionKeyValueWithHeaders | the record's | headers | the session's end |
| time-first-session | default | time first, and an index | | the session's end |
| headers-time-first-session | sessionKeyValueWithHeaders | time first, and an index | | the session's end |
| versioned | default | segment, the record's | see `state.writing.versions` | |

The time-first kinds are those of `EmitStrategy.onWindowClose`: of time windows the plain one, of sliding windows the indexed
one (`RocksDbIndexedTimeOrderedWindowBytesStoreSupplier`). A join's window store is a plain-window one (with headers a
headers-window one), a foreign-key join's subscription store a timestamped-kv one, and an outer join's list store a plain-kv
one: their changelogs hold what the store holds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.state.formats.sessions import (
    decode_session_key,
    encode_key_first_session_key,
    encode_time_first_session_key,
)
from srfix.recovery.state.formats.values import (
    Headers,
    encode_aggregate_with_headers,
    encode_timestamped,
    encode_with_headers,
)
from srfix.recovery.state.formats.windows import (
    decode_window_store_key,
    encode_key_first_window_key,
    encode_time_first_window_key,
)
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS
from srfix.recovery.state.stores.detection import SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS, StoreFormat

NO_TIMESTAMP: Final = -1
"""What Kafka Streams gives a row whose timestamp nobody knows (`ConsumerRecord.NO_TIMESTAMP`)."""

_WINDOW_TAIL: Final = struct.Struct(">qi")
_SESSION_TAIL: Final = struct.Struct(">qq")


class WrittenKind(Enum):
    """What a store is."""

    PLAIN_KV = "plain-kv"
    TIMESTAMPED_KV = "timestamped-kv"
    HEADERS_KV = "headers-kv"
    PLAIN_WINDOW = "plain-window"
    TIMESTAMPED_WINDOW = "timestamped-window"
    HEADERS_WINDOW = "headers-window"
    TIME_FIRST_WINDOW = "time-first-window"
    INDEXED_TIME_FIRST_WINDOW = "indexed-time-first-window"
    HEADERS_TIME_FIRST_WINDOW = "headers-time-first-window"
    SESSION = "session"
    HEADERS_SESSION = "headers-session"
    TIME_FIRST_SESSION = "time-first-session"
    HEADERS_TIME_FIRST_SESSION = "headers-time-first-session"
    VERSIONED = "versioned"

    @property
    def family(self) -> str:
        """The column family that holds its rows."""
        return _LAYOUTS[self].family

    @property
    def format(self) -> StoreFormat:
        """The form in which its rows are read."""
        return _LAYOUTS[self].format

    @property
    def is_segmented(self) -> bool:
        """True if it has a database for each segment of time."""
        return _LAYOUTS[self].time_of is not None

    @property
    def has_retention(self) -> bool:
        """True if it forgets what is older than its retention; of a versioned store that is the history retention."""
        return self.is_segmented or self is WrittenKind.VERSIONED


def stored(kind: WrittenKind, payload: bytes, *, timestamp_ms: int | None, headers: Headers = ()) -> bytes:
    """A value as the store holds it; of a versioned store see `state.writing.versions`.

    :param payload: the serde's bytes, or the record's as they are.
    :param timestamp_ms: the record's timestamp; None is `NO_TIMESTAMP`.
    """
    return _LAYOUTS[kind].stored(payload, timestamp_ms, headers)


def stored_keys(kind: WrittenKind, key: bytes) -> tuple[bytes, bytes | None]:
    """The key of the row that a record makes, and of its entry in the store's index; None if it has none.

    :param key: the record's.
    :raises StateDirectoryError: if the key has no window, and the kind needs one.
    """
    layout = _LAYOUTS[kind]
    if layout.keys is None:
        return key, None
    try:
        row, index = layout.keys(key)
    except FormatError as error:
        raise StateDirectoryError(
            f"the key {key.hex()} is none of a store of the kind {kind.value}: {error.message}. Check --kind"
        ) from None
    return row, index if layout.has_index else None


def segment_time(kind: WrittenKind, key: bytes) -> int:
    """The time, in ms, by which a record's key belongs to a segment.

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
    format: StoreFormat
    stored: Callable[[bytes, int | None, Headers], bytes]
    time_of: Callable[[bytes], int] | None = None
    keys: Callable[[bytes], tuple[bytes, bytes]] | None = None
    has_index: bool = False


def _plain(payload: bytes, _timestamp_ms: int | None, _headers: Headers) -> bytes:
    return payload


def _timestamped(payload: bytes, timestamp_ms: int | None, _headers: Headers) -> bytes:
    return encode_timestamped(payload, timestamp_ms)


def _with_headers(payload: bytes, timestamp_ms: int | None, headers: Headers) -> bytes:
    return encode_with_headers(payload, timestamp_ms, headers)


def _aggregate_with_headers(payload: bytes, _timestamp_ms: int | None, headers: Headers) -> bytes:
    return encode_aggregate_with_headers(payload, headers)


def _window_start(key: bytes) -> int:
    return int(_WINDOW_TAIL.unpack(key[-_WINDOW_TAIL.size :])[0])


def _session_end(key: bytes) -> int:
    return int(_SESSION_TAIL.unpack(key[-_SESSION_TAIL.size :])[0])


def _time_first_window(key: bytes) -> tuple[bytes, bytes]:
    told = decode_window_store_key(key)
    return encode_time_first_window_key(told), encode_key_first_window_key(told)


def _time_first_session(key: bytes) -> tuple[bytes, bytes]:
    told = decode_session_key(key)
    return encode_time_first_session_key(told), encode_key_first_session_key(told)


_LAYOUTS: Final[Mapping[WrittenKind, _Layout]] = {
    WrittenKind.PLAIN_KV: _Layout(family=PLAIN, format=StoreFormat.PLAIN_KV, stored=_plain),
    WrittenKind.TIMESTAMPED_KV: _Layout(family=TIMESTAMPED, format=StoreFormat.TIMESTAMPED_KV, stored=_timestamped),
    WrittenKind.HEADERS_KV: _Layout(family=WITH_HEADERS, format=StoreFormat.HEADERS_KV, stored=_with_headers),
    WrittenKind.PLAIN_WINDOW: _Layout(
        family=PLAIN, format=StoreFormat.PLAIN_WINDOW, stored=_plain, time_of=_window_start
    ),
    WrittenKind.TIMESTAMPED_WINDOW: _Layout(
        family=TIMESTAMPED, format=StoreFormat.TIMESTAMPED_WINDOW, stored=_timestamped, time_of=_window_start
    ),
    WrittenKind.HEADERS_WINDOW: _Layout(
        family=WITH_HEADERS, format=StoreFormat.HEADERS_WINDOW, stored=_with_headers, time_of=_window_start
    ),
    WrittenKind.TIME_FIRST_WINDOW: _Layout(
        family=PLAIN,
        format=StoreFormat.TIME_FIRST_WINDOW,
        stored=_timestamped,
        time_of=_window_start,
        keys=_time_first_window,
    ),
    WrittenKind.INDEXED_TIME_FIRST_WINDOW: _Layout(
        family=PLAIN,
        format=StoreFormat.TIME_FIRST_WINDOW,
        stored=_timestamped,
        time_of=_window_start,
        keys=_time_first_window,
        has_index=True,
    ),
    WrittenKind.HEADERS_TIME_FIRST_WINDOW: _Layout(
        family=WINDOW_WITH_HEADERS,
        format=StoreFormat.TIME_FIRST_WINDOW,
        stored=_with_headers,
        time_of=_window_start,
        keys=_time_first_window,
        has_index=True,
    ),
    WrittenKind.SESSION: _Layout(family=PLAIN, format=StoreFormat.SESSION, stored=_plain, time_of=_session_end),
    WrittenKind.HEADERS_SESSION: _Layout(
        family=SESSION_WITH_HEADERS,
        format=StoreFormat.HEADERS_SESSION,
        stored=_aggregate_with_headers,
        time_of=_session_end,
    ),
    WrittenKind.TIME_FIRST_SESSION: _Layout(
        family=PLAIN,
        format=StoreFormat.TIME_FIRST_SESSION,
        stored=_plain,
        time_of=_session_end,
        keys=_time_first_session,
        has_index=True,
    ),
    WrittenKind.HEADERS_TIME_FIRST_SESSION: _Layout(
        family=SESSION_WITH_HEADERS,
        format=StoreFormat.TIME_FIRST_SESSION,
        stored=_plain,
        time_of=_session_end,
        keys=_time_first_session,
        has_index=True,
    ),
    WrittenKind.VERSIONED: _Layout(family=PLAIN, format=StoreFormat.VERSIONED, stored=_timestamped),
}
