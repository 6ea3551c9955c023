"""Rows of a store as columns: what the keys and values of a database become when many of them are read together."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar, cast

from srfix.recovery.state.formats.lists import Side
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS
from srfix.recovery.state.stores.detection import SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS, StoreFormat
from srfix.recovery.state.stores.rows import StateRow, StoredWindow

__all__ = ["DecodeMany", "RowBatch", "decoder_of_many"]

_LONG: Final = struct.Struct(">q")
_WINDOW: Final = struct.Struct(">qi")
_SESSION: Final = struct.Struct(">qq")
_HEADERLESS: Final = struct.Struct(">bq")
"""Before a value: no headers, its timestamp."""
_NO_TIMESTAMP: Final = -1
_first = cast("Callable[[tuple[bytes, bytes]], bytes]", itemgetter(0))
_second = cast("Callable[[tuple[bytes, bytes]], bytes]", itemgetter(1))
_long = cast("Callable[[bytes], bytes]", itemgetter(slice(_LONG.size)))
_behind_long = cast("Callable[[bytes], bytes]", itemgetter(slice(_LONG.size, None)))
"""A third quicker than a comprehension: most stores are key-value stores with timestamps."""
_T = TypeVar("_T")
_new = tuple.__new__
"""Makes a row or window without a call in Python for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Some rows, as columns of the same length and order; a column is None where all of its rows have none (or no headers)."""

    keys: Sequence[bytes]
    """As the key's serde wrote them; of foreign-key subscriptions the primary keys."""
    values: Sequence[bytes | None]
    """As the value's serde wrote them, or a restore copied them; None for a tombstone of a versioned store."""
    timestamps_ms: Sequence[int | None] | None = None
    """Of the records, in milliseconds since the epoch."""
    headers: Sequence[Headers] | None = None
    """The records' headers."""
    windows: Sequence[StoredWindow | None] | None = None
    """The windows, in window and session stores."""
    valid_from_ms: Sequence[int | None] | None = None
    """From when versions hold, inclusive."""
    valid_to_ms: Sequence[int | None] | None = None
    """Until when, exclusive; None for the latest ones."""
    sides: Sequence[Side | None] | None = None
    """Whose records they are, in the list store of a stream-stream join."""
    foreign_keys: Sequence[bytes | None] | None = None
    """What foreign-key subscriptions point to."""

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self) -> Iterator[StateRow]:
        """The same rows, one by one."""
        columns = zip(
            self.keys,
            self.values,
            self.timestamps_ms or repeat(None),
            self.headers or repeat(()),
            self.windows or repeat(None),
            self.valid_from_ms or repeat(None),
            self.valid_to_ms or repeat(None),
            self.sides or repeat(None),
            self.foreign_keys or repeat(None),
            strict=False,
        )
        return map(_new, repeat(StateRow), columns)

    @classmethod
    def of(cls, rows: Sequence[StateRow]) -> RowBatch:
        """The batch of such rows."""
        if not rows:
            return cls(keys=(), values=())
        keys, values, timestamps, headers, windows, valid_from, valid_to, sides, foreign_keys = zip(*rows, strict=True)
        return cls(
            keys=keys,
            values=values,
            timestamps_ms=_or_none(timestamps),
            headers=headers if any(headers) else None,
            windows=_or_none(windows),
            valid_from_ms=_or_none(valid_from),
            valid_to_ms=_or_none(valid_to),
            sides=_or_none(sides),
            foreign_keys=_or_none(foreign_keys),
        )


def _or_none(column: tuple[_T, ...]) -> tuple[_T, ...] | None:
    return None if column.count(None) == len(column) else column


DecodeMany: TypeAlias = Callable[[list[tuple[bytes, bytes]]], RowBatch | None]
"""The rows in keys and values of a database; None if one of them has another form, which is then looked for row by row."""
_Keys: TypeAlias = Callable[[list[bytes]], tuple[Sequence[bytes], Sequence[StoredWindow] | None] | None]
_Values: TypeAlias = Callable[[list[bytes]], tuple[Sequence[bytes], Sequence[int | None] | None] | None]


def decoder_of_many(form: StoreFormat, family: str) -> DecodeMany | None:
    """How rows of a column family are read many at a time in a store of some form; None where only one by one.

    What they give is what `decoder` gives for each.
    """
    keys_of, values_of = _KEYS.get(form), _VALUES.get(family)
    if keys_of is None or values_of is None:
        return None

    def decode(pairs: list[tuple[bytes, bytes]]) -> RowBatch | None:
        told = keys_of(list(map(_first, pairs)))
        stored = None if told is None else values_of(list(map(_second, pairs)))
        if told is None or stored is None:
            return None
        return RowBatch(keys=told[0], windows=told[1], values=stored[0], timestamps_ms=stored[1])

    return decode


def _bare_keys(keys: list[bytes]) -> tuple[Sequence[bytes], None]:
    return keys, None


def _window_keys(keys: list[bytes]) -> tuple[Sequence[bytes], Sequence[StoredWindow]] | None:
    tails = b"".join([key[-_WINDOW.size :] for key in keys])
    if len(tails) != _WINDOW.size * len(keys):
        return None
    found = list(_WINDOW.iter_unpack(tails))
    if any(start < 0 or number < 0 for start, number in found):
        return None
    windows = [_new(StoredWindow, (start, None, number)) for start, number in found]
    return [key[: -_WINDOW.size] for key in keys], windows


def _session_keys(keys: list[bytes]) -> tuple[Sequence[bytes], Sequence[StoredWindow]] | None:
    tails = b"".join([key[-_SESSION.size :] for key in keys])
    if len(tails) != _SESSION.size * len(keys):
        return None
    found = list(_SESSION.iter_unpack(tails))
    if not all(0 <= start <= end for end, start in found):
        return None
    windows = [_new(StoredWindow, (start, end, 0)) for end, start in found]
    return [key[: -_SESSION.size] for key in keys], windows


def _bare_values(values: list[bytes]) -> tuple[Sequence[bytes], None]:
    return values, None


def _timestamped(values: list[bytes]) -> tuple[Sequence[bytes], Sequence[int | None] | None] | None:
    heads = b"".join(map(_long, values))
    if len(heads) != _LONG.size * len(values):
        return None
    return list(map(_behind_long, values)), _stamps(struct.unpack(f">{len(values)}q", heads))


def _with_headers(values: list[bytes]) -> tuple[Sequence[bytes], Sequence[int | None] | None] | None:
    heads = b"".join([value[: _HEADERLESS.size] for value in values])
    if len(heads) != _HEADERLESS.size * len(values) or any(heads[:: _HEADERLESS.size]):
        return None  # there are headers, or one is too short
    stamps = tuple(stamp for _none, stamp in _HEADERLESS.iter_unpack(heads))
    return [value[_HEADERLESS.size :] for value in values], _stamps(stamps)


def _aggregates(values: list[bytes]) -> tuple[Sequence[bytes], None] | None:
    heads = b"".join([value[:1] for value in values])
    if len(heads) != len(values) or any(heads):
        return None
    return [value[1:] for value in values], None


def _stamps(stamps: tuple[int, ...]) -> Sequence[int | None] | None:
    if _NO_TIMESTAMP not in stamps:
        return stamps
    return _or_none(tuple(None if stamp == _NO_TIMESTAMP else stamp for stamp in stamps))


_KEYS: Final[Mapping[StoreFormat, _Keys]] = {
    StoreFormat.PLAIN_KV: _bare_keys,
    StoreFormat.TIMESTAMPED_KV: _bare_keys,
    StoreFormat.HEADERS_KV: _bare_keys,
    StoreFormat.PLAIN_WINDOW: _window_keys,
    StoreFormat.TIMESTAMPED_WINDOW: _window_keys,
    StoreFormat.HEADERS_WINDOW: _window_keys,
    StoreFormat.JOIN_WINDOW: _window_keys,
    StoreFormat.SESSION: _session_keys,
    StoreFormat.HEADERS_SESSION: _session_keys,
}
_VALUES: Final[Mapping[str, _Values]] = {
    PLAIN: _bare_values,
    TIMESTAMPED: _timestamped,
    WITH_HEADERS: _with_headers,
    WINDOW_WITH_HEADERS: _with_headers,
    SESSION_WITH_HEADERS: _aggregates,
}
