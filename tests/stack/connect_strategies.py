"""Generated Connect schemas of all types, and values of them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Final, cast

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.schema import (
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    date,
    decimal,
    map_of,
    optional,
    primitive,
    struct,
    time,
    timestamp,
)
from srfix.serde.interface import Value
from tests.strategies import values_of

_SCALARS: Final[dict[ConnectType, SearchStrategy[object]]] = {
    ConnectType.INT8: st.integers(-128, 127),
    ConnectType.INT16: st.integers(-32768, 32767),
    ConnectType.INT32: st.integers(-(2**31), 2**31 - 1),
    ConnectType.INT64: st.integers(-(2**63), 2**63 - 1),
    ConnectType.FLOAT32: st.floats(width=32),
    ConnectType.FLOAT64: st.floats(),
    ConnectType.BOOLEAN: st.booleans(),
    ConnectType.STRING: st.text(max_size=5),
    ConnectType.BYTES: st.binary(max_size=5),
}
_LOGICAL: Final[tuple[tuple[ConnectSchema, SearchStrategy[object]], ...]] = (
    (date(), values_of(ScalarType.DATE).filter(bool)),
    (time(), values_of(ScalarType.TIME).filter(lambda value: value is not None)),
    (timestamp(), values_of(ScalarType.TIMESTAMP).filter(bool)),
    (decimal(3, 12), st.integers(1 - 10**12, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-3))),
    (decimal(0), st.integers(1 - 10**27, 10**27 - 1).map(Decimal)),
)
_KEYS: Final = (
    ConnectType.INT8,
    ConnectType.INT16,
    ConnectType.INT32,
    ConnectType.INT64,
    ConnectType.BOOLEAN,
    ConnectType.STRING,
)


@st.composite
def connect_rows(draw: DrawFn) -> tuple[ConnectSchema, list[Value]]:
    """A STRUCT of all Connect types, and values of it."""
    numbers = count()

    def nullable(schema: ConnectSchema, values: SearchStrategy[object]) -> tuple[ConnectSchema, SearchStrategy[object]]:
        if schema.type.is_primitive and draw(st.integers(0, 3)) == 0:
            default = draw(values)
            schema = replace(schema, default=default)
        if draw(st.booleans()):
            return optional(schema), st.none() | values
        return schema, values

    def any_type(depth: int) -> tuple[ConnectSchema, SearchStrategy[object]]:
        kinds = ["scalar", "scalar", "logical"] + ([] if depth > 2 else ["array", "map", "struct"])
        match draw(st.sampled_from(kinds)):
            case "logical":
                return nullable(*draw(st.sampled_from(_LOGICAL)))
            case "array":
                items, values = any_type(depth + 1)
                return nullable(array(_without_default(items)), st.lists(values, max_size=3))
            case "map":
                key = draw(st.sampled_from(_KEYS))
                items, values = any_type(depth + 1)
                keys = primitive(key, optional=draw(st.booleans()))
                named = replace(map_of(keys, _without_default(items)), name=f"n.M{next(numbers)}")
                return nullable(named, st.dictionaries(_SCALARS[key], values, max_size=3))
            case "struct":
                return nullable(*record(depth + 1))
            case _:
                type_ = draw(st.sampled_from(list(_SCALARS)))
                return nullable(primitive(type_), _SCALARS[type_])

    def record(depth: int) -> tuple[ConnectSchema, SearchStrategy[object]]:
        name = f"n.R{next(numbers)}"
        parts = {f"f{number}": any_type(depth) for number in range(draw(st.integers(1, 4)))}
        schema = struct((ConnectField(field, part) for field, (part, _) in parts.items()), name=name)
        values = st.tuples(*(part for _, part in parts.values()))
        return schema, values.map(lambda items: dict(zip(parts, items, strict=True)))

    schema, rows = record(0)
    return schema, cast("list[Value]", draw(st.lists(rows, min_size=1, max_size=3)))


def _without_default(schema: ConnectSchema) -> ConnectSchema:
    """Only fields have defaults."""
    return replace(schema, default=None)
