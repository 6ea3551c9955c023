"""A row of a store, and how the rows of a database become those of each kind of store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from srfix.recovery.errors import FormatError
from srfix.recovery.state.formats.lists import Side, decode_join_side_key, decode_list, decode_sided_value
from srfix.recovery.state.formats.sessions import decode_session_key, decode_time_first_session_key
from srfix.recovery.state.formats.subscriptions import decode_combined_key
from srfix.recovery.state.formats.values import (
    Headers,
    StoredValue,
    decode_aggregate_with_headers,
    decode_timestamped,
    decode_with_headers,
)
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
)
from srfix.recovery.state.formats.windows import decode_time_first_window_key, decode_window_store_key
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS
from srfix.recovery.state.stores.detection import SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS, StoreFormat

__all__ = ["Decode", "StateRow", "StoredWindow", "decoder"]

_NO_TIMESTAMP: Final = -1
_INDEX: Final = b"\1"
"""What a row of a time-first store's index begins with."""


class StoredWindow(NamedTuple):
    """The window that a row belongs to."""

    start_ms: int
    """Inclusive, in milliseconds since the epoch."""
    end_ms: int | None = None
    """Inclusive, of a session; None of other windows, whose size is not stored."""
    sequence_number: int = 0
    """Which of several rows of a key and window, in the windows of stream-stream joins."""

    @property
    def last_ms(self) -> int:
        """The time by which its segment goes: a window's start, a session's end."""
        return self.start_ms if self.end_ms is None else self.end_ms


class StateRow(NamedTuple):
    """A row as an application would see it, in bytes."""

    key: bytes
    """As the key's serde wrote it; of a foreign-key subscription the primary key."""
    value: bytes | None
    """As the value's serde wrote it, or a restore copied it; None for a tombstone of a versioned store."""
    timestamp_ms: int | None = None
    """Of the record, in milliseconds since the epoch; None where none is kept."""
    headers: Headers = ()
    """The record's headers, where the store keeps them."""
    window: StoredWindow | None = None
    """Its window, in window and session stores."""
    valid_from_ms: int | None = None
    """From when a version holds, inclusive; None outside of versioned stores."""
    valid_to_ms: int | None = None
    """Until when, exclusive; None for the latest version, and outside of versioned stores."""
    side: Side | None = None
    """Whose record it is, in the list store of a stream-stream join."""
    foreign_key: bytes | None = None
    """What a foreign-key subscription points to."""


Decode: TypeAlias = Callable[[bytes, bytes], Iterable[StateRow]]
"""The rows in a key and value of a database; FormatError where they have another form."""
_Value: TypeAlias = Callable[[bytes], StoredValue]


def decoder(form: StoreFormat, family: str) -> Decode:
    """How rows of a column family are read in a store of some form."""
    match form:
        case StoreFormat.VERSIONED:
            return _versioned
        case StoreFormat.LIST_VALUE:
            return _listed
        case StoreFormat.SUBSCRIPTION:
            return _subscription(_VALUES[family])
        case (
            StoreFormat.PLAIN_WINDOW
            | StoreFormat.TIMESTAMPED_WINDOW
            | StoreFormat.HEADERS_WINDOW
            | StoreFormat.JOIN_WINDOW
        ):
            return _window(_VALUES[family])
        case StoreFormat.TIME_FIRST_WINDOW:
            return _time_first_window(decode_timestamped if family == PLAIN else _VALUES[family])
        case StoreFormat.SESSION | StoreFormat.HEADERS_SESSION:
            return _session(_VALUES[family])
        case StoreFormat.TIME_FIRST_SESSION:
            return _time_first_session  # its values have no headers before them, in headers mode neither
        case _:
            return _key_value(_VALUES[family])


def _plain(value: bytes) -> StoredValue:
    return StoredValue(payload=value)


_VALUES: Final[Mapping[str, _Value]] = {
    PLAIN: _plain,
    TIMESTAMPED: decode_timestamped,
    WITH_HEADERS: decode_with_headers,
    SESSION_WITH_HEADERS: decode_aggregate_with_headers,
    WINDOW_WITH_HEADERS: decode_with_headers,
}


def _key_value(value_of: _Value) -> Decode:
    if value_of is decode_timestamped:
        return _timestamped
    if value_of is _plain:
        return _plain_row

    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        told = value_of(value)
        yield StateRow(key, told.payload, told.timestamp_ms, told.headers)

    return decode


_LONG_SIZE: Final = 8
_timestamp = struct.Struct(">q").unpack_from
_row = tuple.__new__
"""Most stores are key-value stores with millions of rows: these are made without a call in Python for each."""


def _plain_row(key: bytes, value: bytes) -> tuple[StateRow]:
    return (_row(StateRow, (key, value, None, (), None, None, None, None, None)),)


def _timestamped(key: bytes, value: bytes) -> tuple[StateRow]:
    if len(value) < _LONG_SIZE:
        decode_timestamped(value)  # says what is wrong
    (stamp,) = _timestamp(value)
    if stamp == _NO_TIMESTAMP:
        stamp = None
    return (_row(StateRow, (key, value[_LONG_SIZE:], stamp, (), None, None, None, None, None)),)


def _window(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        within, told = decode_window_store_key(key), value_of(value)
        window = StoredWindow(within.start_ms, None, within.sequence_number)
        yield StateRow(within.key, told.payload, told.timestamp_ms, told.headers, window)

    return decode


def _time_first_window(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        if key.startswith(_INDEX):
            return
        within, told = decode_time_first_window_key(key), value_of(value)
        window = StoredWindow(within.start_ms, None, within.sequence_number)
        yield StateRow(within.key, told.payload, told.timestamp_ms, told.headers, window)

    return decode


def _session(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        within, told = decode_session_key(key), value_of(value)
        yield StateRow(within.key, told.payload, None, told.headers, StoredWindow(within.start_ms, within.end_ms))

    return decode


def _time_first_session(key: bytes, value: bytes) -> Iterator[StateRow]:
    if key.startswith(_INDEX):
        return
    within = decode_time_first_session_key(key)
    yield StateRow(within.key, value, window=StoredWindow(within.start_ms, within.end_ms))


def _versioned(key: bytes, value: bytes) -> Iterator[StateRow]:
    told = decode_versioned_key(key)
    records = (decode_latest(value),) if told.segment == LATEST_SEGMENT else decode_versioned_segment(value).records
    for record in records:
        if record.valid_from_ms == record.valid_to_ms:
            continue  # a tombstone that nothing precedes: it ends no version, and begins none
        yield StateRow(
            told.key,
            record.payload,
            record.valid_from_ms,
            valid_from_ms=record.valid_from_ms,
            valid_to_ms=record.valid_to_ms,
        )


def _listed(key: bytes, value: bytes) -> Iterator[StateRow]:
    told = decode_join_side_key(key)
    for entry in decode_list(value):
        if entry is None:
            raise FormatError("an entry of a join's list is null")
        sided = decode_sided_value(entry)
        yield StateRow(told.key, sided.payload, told.timestamp_ms, side=sided.side)


def _subscription(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        told, stored = decode_combined_key(key), value_of(value)
        yield StateRow(
            told.primary_key, stored.payload, stored.timestamp_ms, stored.headers, foreign_key=told.foreign_key
        )

    return decode
