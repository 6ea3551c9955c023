"""The rows of a store, one by one or many as columns, which is several times as fast and gives the same."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias, assert_never, cast

from srfix.recovery.errors import FormatError
from srfix.recovery.state.formats.joins import (
    Side,
    decode_combined_key,
    decode_join_side_key,
    decode_list,
    decode_sided_value,
)
from srfix.recovery.state.formats.values import BARE, STAMPED, Headers, StoredValue, decode_timestamped, or_none
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
)
from srfix.recovery.state.formats.windows import INDEX, StoredWindow
from srfix.recovery.state.layouts import KeyOrder, StoreFormat

_LONG_SIZE: Final = 8
_NO_TIMESTAMP: Final = -1
_timestamp = struct.Struct(">q").unpack_from
_first = cast("Callable[[tuple[bytes, bytes]], bytes]", itemgetter(0))
_second = cast("Callable[[tuple[bytes, bytes]], bytes]", itemgetter(1))
_new = tuple.__new__
"""Most stores are key-value stores with millions of rows, so their rows are made without a Python call for each."""


class StateRow(NamedTuple):
    key: bytes
    """The bytes that the key's serde wrote; for a foreign-key subscription, the primary key."""
    value: bytes | None
    """The bytes that the value's serde wrote, or that a restore copied; None for a tombstone of a versioned store."""
    timestamp_ms: int | None = None
    headers: Headers = ()
    window: StoredWindow | None = None
    valid_from_ms: int | None = None
    """The time from which on a version holds, inclusive; None outside of versioned stores."""
    valid_to_ms: int | None = None
    """The time until which it holds, exclusive; None for the latest version, and outside of versioned stores."""
    side: Side | None = None
    foreign_key: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Some rows as columns, one for each field of `StateRow`; None for a column that no row has."""

    keys: Sequence[bytes]
    values: Sequence[bytes | None]
    timestamps_ms: Sequence[int | None] | None = None
    headers: Sequence[Headers] | None = None
    windows: Sequence[StoredWindow | None] | None = None
    valid_from_ms: Sequence[int | None] | None = None
    valid_to_ms: Sequence[int | None] | None = None
    sides: Sequence[Side | None] | None = None
    foreign_keys: Sequence[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self) -> Iterator[StateRow]:
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
        if not rows:
            return cls(keys=(), values=())
        keys, values, timestamps, headers, windows, valid_from, valid_to, sides, foreign_keys = zip(*rows, strict=True)
        return cls(
            keys=keys,
            values=values,
            timestamps_ms=or_none(timestamps),
            headers=headers if any(headers) else None,
            windows=or_none(windows),
            valid_from_ms=or_none(valid_from),
            valid_to_ms=or_none(valid_to),
            sides=or_none(sides),
            foreign_keys=or_none(foreign_keys),
        )


Decode: TypeAlias = Callable[[bytes, bytes], Iterable[StateRow]]
"""The rows in a key and value of a database. Raises FormatError if they have another form."""
DecodeMany: TypeAlias = Callable[[list[tuple[bytes, bytes]]], RowBatch | None]
"""The same of many; None if one of them has another form, which the caller then finds row by row."""
_Value: TypeAlias = Callable[[bytes], StoredValue]


def decoder(form: StoreFormat, family: str) -> Decode:
    layout = form.layout
    value_form = layout.values[family]
    match layout.order:
        case KeyOrder.KEY:
            return (
                _plain_row if value_form is BARE else _timestamped if value_form is STAMPED else _row(value_form.decode)
            )
        case KeyOrder.KEY_AND_TIMES:
            assert layout.windows is not None
            return _windowed(layout.windows.decode, value_form.decode)
        case KeyOrder.TIMES_AND_KEY:
            assert layout.windows is not None
            return _windowed(layout.windows.decode_time_first, value_form.decode, has_index=True)
        case KeyOrder.SEGMENT_AND_KEY:
            return _versioned
        case KeyOrder.OTHER:
            return _listed if form is StoreFormat.LIST_VALUE else _subscription(value_form.decode)
        case _:
            assert_never(layout.order)


def decoder_of_many(form: StoreFormat, family: str) -> DecodeMany | None:
    """As `decoder`, but many rows at a time; None if that is only possible one by one."""
    layout = form.layout
    if layout.order not in (KeyOrder.KEY, KeyOrder.KEY_AND_TIMES):
        return None
    windows, values_of = layout.windows, layout.values[family].decode_many

    def decode(pairs: list[tuple[bytes, bytes]]) -> RowBatch | None:
        stored = list(map(_first, pairs))
        keys = (stored, None) if windows is None else windows.decode_many(stored)
        values = None if keys is None else values_of(list(map(_second, pairs)))
        if keys is None or values is None:
            return None
        return RowBatch(keys=keys[0], windows=keys[1], values=values[0], timestamps_ms=values[1])

    return decode


def _plain_row(key: bytes, value: bytes) -> tuple[StateRow]:
    return (_new(StateRow, (key, value, None, (), None, None, None, None, None)),)


def _timestamped(key: bytes, value: bytes) -> tuple[StateRow]:
    if len(value) < _LONG_SIZE:
        decode_timestamped(value)  # raises an error that says what is wrong
    (stamp,) = _timestamp(value)
    if stamp == _NO_TIMESTAMP:
        stamp = None
    return (_new(StateRow, (key, value[_LONG_SIZE:], stamp, (), None, None, None, None, None)),)


def _row(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        stored = value_of(value)
        yield StateRow(key, stored.payload, stored.timestamp_ms, stored.headers)

    return decode


def _windowed(
    decode_key: Callable[[bytes], tuple[bytes, StoredWindow]], value_of: _Value, *, has_index: bool = False
) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        if has_index and key.startswith(INDEX):
            return
        (own, window), stored = decode_key(key), value_of(value)
        yield StateRow(own, stored.payload, stored.timestamp_ms, stored.headers, window)

    return decode


def _versioned(key: bytes, value: bytes) -> Iterator[StateRow]:
    row_key, segment = decode_versioned_key(key)
    records = (decode_latest(value),) if segment == LATEST_SEGMENT else decode_versioned_segment(value)
    for record in records:
        if record.valid_from_ms == record.valid_to_ms:
            continue  # a tombstone without an older record: it neither ends nor begins a version
        yield StateRow(
            row_key,
            record.payload,
            record.valid_from_ms,
            valid_from_ms=record.valid_from_ms,
            valid_to_ms=record.valid_to_ms,
        )


def _listed(key: bytes, value: bytes) -> Iterator[StateRow]:
    list_key = decode_join_side_key(key)
    for entry in decode_list(value):
        if entry is None:
            raise FormatError("an entry of a join's list is null")
        sided = decode_sided_value(entry)
        yield StateRow(list_key.key, sided.payload, list_key.timestamp_ms, side=sided.side)


def _subscription(value_of: _Value) -> Decode:
    def decode(key: bytes, value: bytes) -> Iterator[StateRow]:
        pair, stored = decode_combined_key(key), value_of(value)
        yield StateRow(
            pair.primary_key, stored.payload, stored.timestamp_ms, stored.headers, foreign_key=pair.foreign_key
        )

    return decode
