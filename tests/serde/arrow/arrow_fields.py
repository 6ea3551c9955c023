"""Avro types with Arrow arrays that feed them, rightly or not: strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.serde.avro_schemas import (
    DATE,
    MICROS,
    MILLIS,
    TIME_MILLIS,
    UUID,
    array,
    decimal,
    entries,
    enum,
    fixed,
    logical,
    map_of,
    record,
)

Avro: TypeAlias = object
_LEVELS: Final = 3
"""How deep types nest."""
_KEYS: Final = st.sampled_from(["a", "b", "é", "a longer key than twelve bytes", ""])
_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_FLOATS: Final = (pa.float16(), pa.float32(), pa.float64())
_TEXTS: Final = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
_BYTES: Final = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4))
_DAYS: Final = (pa.date32(), pa.date64())
_TIMES: Final = (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
_UNITS: Final = ("s", "ms", "us", "ns")
_INSTANTS: Final = tuple(pa.timestamp(unit, tz) for unit in _UNITS for tz in ("UTC", "+05:00"))
_LOCALS: Final = tuple(pa.timestamp(unit) for unit in _UNITS)
_DECIMALS: Final = (
    pa.decimal32(9, 2),
    pa.decimal64(18, 4),
    pa.decimal128(38, 2),
    pa.decimal128(5, -2),
    pa.decimal256(76, 6),
)


scalars: Final[Sequence[tuple[Avro, Sequence[pa.DataType]]]] = (
    ("boolean", (pa.bool_(), pa.dictionary(pa.int8(), pa.bool_()))),
    ("int", _INTEGERS),
    ("long", _INTEGERS),
    ("float", (*_FLOATS, *_INTEGERS)),
    ("double", (*_FLOATS, *_INTEGERS)),
    ("string", _TEXTS),
    (UUID, _TEXTS),
    ("bytes", _BYTES),
    (fixed(4), _BYTES),
    (enum("a", "b"), _TEXTS),
    (DATE, _DAYS),
    (TIME_MILLIS, _TIMES),
    (logical("long", "time-micros"), _TIMES),
    (MILLIS, _INSTANTS),
    (MICROS, _INSTANTS),
    (logical("long", "local-timestamp-millis"), _LOCALS),
    (logical("long", "local-timestamp-micros"), _LOCALS),
    (decimal(9, 2), _DECIMALS),
    (decimal(38, 4), _DECIMALS),
    (decimal(60, 8, fixed(26, "D26")), _DECIMALS),
    (decimal(4, 0, fixed(2, "D2")), _DECIMALS),
)
"""Avro types without parts, and the Arrow types of what they take."""
_ARROW: Final = tuple(dict.fromkeys(type_ for _, types in scalars for type_ in types))
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """An Avro type, and an Arrow array's type that feeds it."""

    avro: Avro
    arrow: pa.DataType
    values: SearchStrategy[object]
    """What `pa.array` makes such an array of."""


def _around(*middles: int, low: int, high: int) -> SearchStrategy[int]:
    near = [st.integers(max(low, middle - 2), min(high, middle + 2)) for middle in middles if low <= middle <= high]
    return st.one_of(st.integers(max(low, -100), min(high, 100)), st.integers(low, high), *near)


def _fine(per_second: int) -> SearchStrategy[int]:
    """Ticks within a second that are whole milliseconds or microseconds, or not."""
    return st.tuples(st.integers(0, 999), st.sampled_from([10**6, 10**3, 1])).map(
        lambda drawn: drawn[0] * drawn[1] % per_second
    )


def values(type_: pa.DataType) -> SearchStrategy[object]:
    """Values of an Arrow type without parts: as a rule ones that Avro's types hold, often at their bounds."""
    types = pa.types
    if types.is_dictionary(type_):
        return values(type_.value_type)
    if types.is_boolean(type_):
        return st.booleans()
    if types.is_integer(type_):
        bits, is_signed = type_.bit_width, types.is_signed_integer(type_)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
        return _around(-(2**31), 2**31, 2**24, 2**53, 2**63, low=low, high=high)
    if types.is_floating(type_):
        return st.floats(width=type_.bit_width) | st.sampled_from([1.5, -0.0])
    if types.is_decimal(type_):
        bound = 10**type_.precision - 1
        shown = st.integers(-bound, bound) | st.integers(-999, 999) | st.integers(-99, 99).map(lambda n: n * 10**4)
        return shown.filter(lambda n: abs(n) <= bound).map(
            lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -type_.scale))
        )
    if types.is_date(type_):
        day = 1 if type_ == pa.date32() else 86_400_000
        most = 2**31 - 1 if day == 1 else 2**62
        return st.integers(-700_000, 700_000).map(lambda days: days * day) | _around(
            -719_162 * day, 2_932_896 * day, 1, low=-most, high=most
        )
    if types.is_time(type_):
        per = _PER_SECOND[type_.unit]
        return st.one_of(
            st.integers(0, 86_399).map(lambda seconds: seconds * per),
            _fine(per),
            _around(0, 86_400 * per, low=-per, high=90_000 * per),
        )
    if types.is_timestamp(type_):
        per = _PER_SECOND[type_.unit]
        ends = (-62_135_596_800 * per, 253_402_300_800 * per)
        whole = st.integers(-2_000_000_000, 2_000_000_000).map(lambda seconds: seconds * per)
        return st.one_of(whole, _fine(per), _around(*ends, low=-(2**62), high=2**62))
    if types.is_fixed_size_binary(type_):
        return st.binary(min_size=type_.byte_width, max_size=type_.byte_width)
    if type_ in _BYTES:
        return st.binary(max_size=20) | st.binary(min_size=4, max_size=4)
    if types.is_null(type_):
        return st.none()
    return st.text(max_size=20) | st.sampled_from(["a", "b"])


@st.composite
def _scalar(draw: st.DrawFn) -> Fed:
    avro, fitting = draw(st.sampled_from(scalars))
    # One of ten feeds nothing but nulls.
    others = draw(st.integers(0, 9)) == 0
    arrow = draw(st.sampled_from((pa.null(), *_ARROW) if others else fitting))
    return Fed(avro=avro, arrow=arrow, values=values(arrow))


def _nullable(fed: SearchStrategy[Fed]) -> SearchStrategy[Fed]:
    null_first = fed.map(lambda one: replace(one, avro=["null", one.avro], values=st.none() | one.values))
    null_last = fed.map(lambda one: replace(one, avro=[one.avro, "null"], values=st.none() | one.values))
    required = fed.map(lambda one: replace(one, values=st.one_of(*[one.values] * 9, st.none())))
    alone = fed.map(lambda one: replace(one, avro=[one.avro]))
    return st.one_of(null_first, null_first, null_last, required, required, fed, alone)


def _with_parts(inner: SearchStrategy[Fed]) -> SearchStrategy[Fed]:
    part = _nullable(inner)
    return st.one_of(_lists(part), _maps(part), _records(part))


@st.composite
def _lists(draw: st.DrawFn, part: SearchStrategy[Fed]) -> Fed:
    item = draw(part)
    many = st.lists(item.values, max_size=3)
    two = st.lists(item.values, min_size=2, max_size=2)
    kinds = [(pa.list_(item.arrow), many), (pa.large_list(item.arrow), many), (pa.list_(item.arrow, 2), two)]
    arrow, items = draw(st.sampled_from(kinds))
    return Fed(avro=array(item.avro), arrow=arrow, values=items)


@st.composite
def _maps(draw: st.DrawFn, part: SearchStrategy[Fed]) -> Fed:
    # pyarrow aborts the process where it flattens structs with a field of nulls, of some slices of maps, which is how Python
    # reads them (26.0.1: "Slice offset greater than array length").
    value = draw(part.filter(lambda one: "struct" not in str(one.arrow)))
    key: Avro = draw(st.sampled_from(["string", "string", ["null", "string"], "int"]))
    avro = draw(st.sampled_from([map_of(value.avro), entries(key, value.avro, "Entry")]))
    text = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string(), pa.int32()]))
    keys = st.integers(0, 3) if text == pa.int32() else _KEYS
    pairs = st.dictionaries(keys, value.values, max_size=3).map(lambda entries: list(entries.items()))
    twice = st.lists(st.tuples(keys, value.values), max_size=3)
    return Fed(avro=avro, arrow=pa.map_(text, value.arrow), values=st.one_of(pairs, pairs, pairs, twice))


@st.composite
def _records(draw: st.DrawFn, part: SearchStrategy[Fed]) -> Fed:
    named = draw(fields(part, most=3))
    # At times a field is not there, or one that is nobody's.
    given: dict[str, Fed] = {name: one for name, one in named.items() if draw(st.integers(0, 9))}
    if not draw(st.integers(0, 19)):
        given["other"] = draw(part)
    arrow = pa.struct([pa.field(name, one.arrow) for name, one in given.items()])
    values_ = st.fixed_dictionaries({name: one.values for name, one in given.items()})
    avro = record("Inner", **{name: one.avro for name, one in named.items()})
    return Fed(avro=avro, arrow=arrow, values=values_)


def fields(part: SearchStrategy[Fed] | None = None, *, most: int = 4) -> SearchStrategy[Mapping[str, Fed]]:
    if part is None:
        fed: SearchStrategy[Fed] = _scalar()
        for _ in range(_LEVELS):
            fed = st.one_of(fed, fed, _with_parts(fed))
        part = _nullable(fed)
    return st.dictionaries(st.sampled_from(["A", "b", "c_d", "E"]), part, min_size=1, max_size=most)
