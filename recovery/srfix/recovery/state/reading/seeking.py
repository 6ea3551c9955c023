"""The places in a database that hold the rows of a key, of a range of keys, or of times, by the order of its stored
keys.

| store | stored key | what is sought |
|---|---|---|
| key-value | key | keys |
| windows, sessions | key, times | keys; of one key its times too |
| time first | `00`, times, key; index `01`, key, times | times; one key by the index, where there is one |
| versioned | segment, key | keys, segment by segment |
| lists, subscriptions | time or foreign key, key | nothing: all rows are read |

An interval may also hold rows of other keys, so its reader must check each row. Intervals come in the order of stored
keys.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from srfix.recovery.errors import FormatError
from srfix.recovery.state.formats.versioned import LATEST_SEGMENT
from srfix.recovery.state.formats.windows import INDEX, WindowedKeys
from srfix.recovery.state.layouts import KeyOrder, StoreFormat
from srfix.recovery.state.rocksdb import OpenedDatabase

_LONG: Final = struct.Struct(">q")
_LAST: Final = 2**63 - 1
_SEGMENT_SIZE: Final = _LONG.size
_BASE: Final = b"\0"


class Interval(NamedTuple):
    start: bytes | None = None
    """The first, inclusive; None for no such bound."""
    end: bytes | None = None
    """The last, exclusive; None for no such bound."""


Where: TypeAlias = Callable[[OpenedDatabase, Sequence[str]], Iterable[Interval]]
"""The intervals to read of a database whose rows are in these column families, in ascending order."""


def everywhere(_database: OpenedDatabase, _families: Sequence[str]) -> tuple[Interval]:
    return (Interval(),)


def of_key(form: StoreFormat, key: bytes, *, from_ms: int | None = None, to_ms: int | None = None) -> Where:
    """Where the rows of a key are; windows that start, or sessions that end, between two times, both inclusive."""
    first, last = _time(from_ms), _time(_LAST if to_ms is None else to_ms)
    match form.layout.order:
        case KeyOrder.KEY:
            return _always(Interval(key, key + b"\0"))
        case KeyOrder.KEY_AND_TIMES:
            return _always(Interval(key + first, _next(key + last)))
        case KeyOrder.SEGMENT_AND_KEY:
            return _in_each_segment(key, key + b"\0")
        case KeyOrder.TIMES_AND_KEY:
            return _by_index(form, key, first, last)
        case _:
            return everywhere


def of_keys(form: StoreFormat, lower: bytes | None, upper: bytes | None, *, last_ms: int | None = None) -> Where:
    """Where the rows between two keys are, both inclusive. The last possible time of a row may be unknown."""
    match form.layout.order:
        case KeyOrder.KEY:
            return _always(Interval(lower, None if upper is None else upper + b"\0"))
        case KeyOrder.KEY_AND_TIMES:
            return _always(Interval(lower, None if upper is None else _behind_all(_windows(form), upper, last_ms)))
        case KeyOrder.SEGMENT_AND_KEY:
            return _in_each_segment(lower or b"", None if upper is None else upper + b"\0")
        case _:
            return everywhere


def with_prefix(form: StoreFormat, prefix: bytes) -> Where:
    match form.layout.order:
        case KeyOrder.KEY | KeyOrder.KEY_AND_TIMES:
            return _always(Interval(prefix, _next(prefix)))
        case KeyOrder.SEGMENT_AND_KEY:
            return _in_each_segment(prefix, _next(prefix))
        case _:
            return everywhere


def of_times(form: StoreFormat, *, from_ms: int | None = None, to_ms: int | None = None) -> Where:
    """Where the rows of windows that start, or of sessions that end, between two times are, both inclusive."""
    if form.layout.order is KeyOrder.TIMES_AND_KEY:
        return _always(_between(_time(from_ms), _time(_LAST if to_ms is None else to_ms)))
    return everywhere


def _windows(form: StoreFormat) -> WindowedKeys:
    windows = form.layout.windows
    assert windows is not None
    return windows


def _always(interval: Interval) -> Where:
    return lambda _database, _families: (interval,)


def _time(time_ms: int | None) -> bytes:
    return _LONG.pack(min(max(time_ms or 0, 0), _LAST))


def _next(prefix: bytes) -> bytes | None:
    """The first bytes after everything with this beginning; None if there are none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else None


def _behind_all(windows: WindowedKeys, upper: bytes, last_ms: int | None) -> bytes:
    """The first bytes after all stored keys up to this one; a shorter key, its beginning, may be after it."""
    tail = _time(_LAST if last_ms is None else last_ms) + b"\xff" * windows.behind_first_time
    return max(upper[:size] + tail for size in range(len(upper) + 1)) + b"\0"


def _between(first: bytes, last: bytes) -> Interval:
    return Interval(_BASE + first, _next(_BASE + last))


def _in_each_segment(start: bytes, end: bytes | None) -> Where:
    def where(database: OpenedDatabase, families: Sequence[str]) -> Iterator[Interval]:
        at: bytes | None = b""
        while at is not None:
            stored_key = _first_key(database, families, at)
            if stored_key is None:
                return
            segment = stored_key[:_SEGMENT_SIZE]
            if len(segment) < _SEGMENT_SIZE:  # of another form
                at = stored_key + b"\0"
                continue
            at = _next(segment)
            yield Interval(segment + start, at if end is None else segment + end)

    return where


def version_segments(database: OpenedDatabase, family: str) -> list[int]:
    """The segments of a versioned store that have rows, ascending, without that of the latest values."""
    starts = (interval.start for interval in _in_each_segment(b"", None)(database, (family,)))
    segments = (_LONG.unpack_from(start)[0] for start in starts if start is not None)
    return [segment for segment in segments if segment != LATEST_SEGMENT]


def _by_index(form: StoreFormat, key: bytes, first: bytes, last: bytes) -> Where:
    """By the index, or, without one and for several column families, by all rows of these times."""

    windows = _windows(form)

    def where(database: OpenedDatabase, families: Sequence[str]) -> Iterator[Interval]:
        filled_families = [family for family in families if _first_key(database, (family,), b"") is not None]
        stored_key = _first_key(database, filled_families, INDEX) if len(filled_families) == 1 else None
        if stored_key is None or not stored_key.startswith(INDEX):
            yield _between(first, last)
            return
        end = _next(INDEX + key + last)
        for stored, _nothing in database.rows(filled_families[0], start=INDEX + key + first):
            if end is not None and stored >= end:
                return
            base = _base_of(windows, stored, key)
            if base is not None:
                yield Interval(base, base + b"\0")

    return where


def _base_of(windows: WindowedKeys, stored: bytes, key: bytes) -> bytes | None:
    """The stored key of the row of an index entry; None if the row has another key, or if this is no index entry."""
    try:
        own, window = windows.decode_key_first(stored)
        return windows.encode_time_first(own, window) if own == key else None
    except FormatError:
        return None


def _first_key(database: OpenedDatabase, families: Iterable[str], start: bytes) -> bytes | None:
    rows = (next(database.rows(family, start=start), None) for family in families)
    return min((row[0] for row in rows if row is not None), default=None)
