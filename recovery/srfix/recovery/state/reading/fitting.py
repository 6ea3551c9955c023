"""Whether a row has the form that stores of some kind give to theirs: what tells kinds apart that share a column family.

Framed keys begin with a zero, as those that are kept time first do, and what follows may look like a time: times must lie in
the segment, and the time of a value not before its window.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from srfix.recovery.errors import FormatError
from srfix.recovery.state.formats.joins import (
    decode_combined_key,
    decode_join_side_key,
    decode_list,
    decode_sided_value,
    decode_subscription,
)
from srfix.recovery.state.formats.values import PLAIN, VALUES
from srfix.recovery.state.formats.versioned import decode_latest, decode_versioned_key, decode_versioned_segment
from srfix.recovery.state.formats.windows import INDEX, WINDOWS
from srfix.recovery.state.layouts import KeyOrder, StoreFormat

LATEST_OF_VERSIONED: Final = b"\xff" * 8
"""What the key of a versioned store's latest rows begins with: the segment id -1 (`RocksDBVersionedStore`)."""
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
        told = decode_subscription(VALUES[family].decode(value).payload)
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


def is_join_window(key: bytes, span: Span) -> bool:
    """True for a record of a stream-stream join, which keeps several of a key and time: they are numbered from 1 on."""
    try:
        _key, window = WINDOWS.decode(key)
    except FormatError:
        return False
    return span.has(window.start_ms) and window.sequence_number > 0


def is_in_segment(form: StoreFormat, key: bytes, value: bytes, span: Span) -> bool:
    """True for a row of a window or session store whose column family is that of plain ones, or for one of its index. A store
    of sessions that are kept time first has an index, which the caller looks for.
    """
    layout = form.layout
    assert layout.windows is not None
    is_time_first = layout.order is KeyOrder.TIMES_AND_KEY
    is_index = is_time_first and key.startswith(INDEX)
    stamp: int | None = None
    try:
        if is_index:
            _key, window = layout.windows.decode_key_first(key)
        elif is_time_first:
            _key, window = layout.windows.decode_time_first(key)
            stamp = layout.values[PLAIN].decode(value).timestamp_ms
        else:
            _key, window = layout.windows.decode(key)
    except FormatError:
        return False
    if form.is_windowed and is_index and value:
        return False
    is_not_before = stamp is None or window.start_ms <= stamp
    return span.has(window.last_ms) and window.sequence_number == 0 and is_not_before
