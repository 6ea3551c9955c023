"""Whether a row has the form that stores of some kind give to theirs: what tells kinds apart that share a column family.

Framed keys begin with a zero, as those that are kept time first do, and what follows may look like a time: times must lie in
the segment, and the time of a value not before its window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from srfix.recovery.errors import FormatError
from srfix.recovery.state.formats.lists import decode_join_side_key, decode_list, decode_sided_value
from srfix.recovery.state.formats.sessions import (
    decode_key_first_session_key,
    decode_session_key,
    decode_time_first_session_key,
)
from srfix.recovery.state.formats.subscriptions import decode_combined_key, decode_subscription
from srfix.recovery.state.formats.values import decode_timestamped
from srfix.recovery.state.formats.versioned import decode_latest, decode_versioned_key, decode_versioned_segment
from srfix.recovery.state.formats.windows import (
    decode_key_first_window_key,
    decode_time_first_window_key,
    decode_window_store_key,
)
from srfix.recovery.state.stored_rows import stored_value

LATEST_OF_VERSIONED: Final = b"\xff" * 8
"""What the key of a versioned store's latest rows begins with: the segment id -1 (`RocksDBVersionedStore`)."""
INDEX: Final = b"\1"
"""What a row of a time-first store's index begins with."""

_SOME_DAY: Final = range(978_307_200_000, 4_102_444_800_000)
"""The years 2001 to 2099, in milliseconds since the epoch."""


class Span(NamedTuple):
    """From when to when a segment holds rows, in milliseconds since the epoch."""

    start_ms: int
    """Inclusive."""
    end_ms: int
    """Exclusive; no less than that of the segment."""

    def has(self, time_ms: int) -> bool:
        """True if a row of that time belongs there."""
        return self.start_ms <= time_ms < self.end_ms


def is_versioned_segment(key: bytes, value: bytes) -> bool:
    """True for old versions of a key: all bytes of the value must fit each other."""
    try:
        decode_versioned_key(key)
        decode_versioned_segment(value)
    except FormatError:
        return False
    return True


def is_latest(key: bytes, value: bytes) -> bool:
    """True for the latest version of a key: a time, behind a key that nobody else begins so."""
    try:
        return len(key) > len(LATEST_OF_VERSIONED) and decode_latest(value).valid_from_ms in _SOME_DAY
    except FormatError:
        return False


def is_subscription(key: bytes, value: bytes, family: str) -> bool:
    """True for a subscription of a foreign-key join: key and value have the same primary key."""
    try:
        told = decode_subscription(stored_value(family, value).payload)
        return told.primary_key == decode_combined_key(key).primary_key
    except FormatError:
        return False


def is_list(key: bytes, value: bytes, _family: str) -> bool:
    """True for records of an outer join that wait for the other side."""
    try:
        decode_join_side_key(key)
        entries = decode_list(value)
        return bool(entries) and all(entry is not None and decode_sided_value(entry) for entry in entries)
    except FormatError:
        return False


def is_window(key: bytes, _value: bytes, span: Span) -> bool:
    """True for a window's row."""
    try:
        told = decode_window_store_key(key)
    except FormatError:
        return False
    return span.has(told.start_ms) and told.sequence_number == 0


def is_join_window(key: bytes, span: Span) -> bool:
    """True for a record of a stream-stream join, which keeps several of a key and time: they are numbered from 1 on."""
    try:
        told = decode_window_store_key(key)
    except FormatError:
        return False
    return span.has(told.start_ms) and told.sequence_number > 0


def is_session(key: bytes, _value: bytes, span: Span) -> bool:
    """True for a session's row."""
    try:
        return span.has(decode_session_key(key).end_ms)
    except FormatError:
        return False


def is_time_first_window(key: bytes, value: bytes, span: Span) -> bool:
    """True for a window's row, time first, in the column family of plain stores, or for one of its index."""
    try:
        if key.startswith(INDEX):
            told = decode_key_first_window_key(key)
            return not value and span.has(told.start_ms) and told.sequence_number == 0
        told = decode_time_first_window_key(key)
        stamp = decode_timestamped(value).timestamp_ms
    except FormatError:
        return False
    is_not_before = stamp is None or told.start_ms <= stamp
    return span.has(told.start_ms) and told.sequence_number == 0 and is_not_before


def is_time_first_session(key: bytes, _value: bytes, span: Span) -> bool:
    """True for a session's row, time first, or for one of its index. Such a store has an index, which the caller looks for."""
    try:
        is_index = key.startswith(INDEX)
        told = decode_key_first_session_key(key) if is_index else decode_time_first_session_key(key)
    except FormatError:
        return False
    return span.has(told.end_ms)


Fits = Callable[[bytes, bytes, Span], bool]
