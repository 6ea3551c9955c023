"""Columns and rows of each type, for the tests that hold our bytes against those of the real classes."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.columns.types import Array, Columns, ColumnType, Map, Struct
from srfix.serde.connect.schema import ConnectSchema, ConnectType
from srfix.serde.interface import Value
from tests.stack.java_process import Json
from tests.strategies import values_of

UTC: Final = datetime.UTC

COLUMNS: Final[dict[str, tuple[str, list[list[Value]]]]] = {
    "boolean": ("A BOOLEAN", [[True], [False], [None]]),
    "int": ("A INT", [[0], [-1], [63], [64], [-64], [-65], [2**31 - 1], [-(2**31)], [None]]),
    "bigint": ("A BIGINT", [[0], [2**53 + 1], [2**63 - 1], [-(2**63)], [None]]),
    "double": (
        "A DOUBLE",
        [[0.0], [-0.0], [1.5], [5e-324], [1.7976931348623157e308], [float("inf")], [-float("inf")], [float("nan")]],
    ),
    "string": ("A STRING", [[""], ["x"], ["\0"], ["é\u2028"], ["😀"], ["\uffff"], ["x" * 5000], [None]]),
    "bytes": ("A BYTES", [[b""], [b"\0"], [bytes(range(256))], [None]]),
    "date": (
        "A DATE",
        [[datetime.date(1970, 1, 1)], [datetime.date(1969, 12, 31)], [datetime.date(1, 1, 1)], [datetime.date.max]],
    ),
    "time": ("A TIME", [[datetime.time()], [datetime.time(23, 59, 59, 999_000)], [None]]),
    "timestamp": (
        "A TIMESTAMP",
        [
            [datetime.datetime(1970, 1, 1, tzinfo=UTC)],
            [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)],
            [datetime.datetime(1, 1, 1, tzinfo=UTC)],
            [datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)],
        ],
    ),
    "decimal": (
        "A DECIMAL(4, 2)",
        [[Decimal(text)] for text in ("0.00", "1.27", "1.28", "-1.28", "-1.29", "99.99", "-99.99", "0.01", "-0.01")],
    ),
    "decimal-whole": ("A DECIMAL(1, 0)", [[Decimal(9)], [Decimal(-9)], [Decimal(0)]]),
    "decimal-all-behind-the-point": ("A DECIMAL(3, 3)", [[Decimal("0.127")], [Decimal("-0.999")], [Decimal("0.000")]]),
    "decimal-64": ("A DECIMAL(64, 10)", [[Decimal((0, (9,) * 64, -10))], [Decimal((1, (9,) * 64, -10))]]),
    "array": ("A ARRAY<INT>", [[[]], [[1]], [[None]], [[1, None, 2]], [list(range(100))], [None]]),
    "array-of-array": ("A ARRAY<ARRAY<DATE>>", [[[[]]], [[None, [datetime.date(2020, 6, 16), None]]]]),
    "map": ("A MAP<STRING, INT>", [[{}], [{"": 1}], [{"b": 1, "a": None, "é": 3}], [None]]),
    "map-of-map": (
        "A MAP<STRING, MAP<STRING, DECIMAL(3, 1)>>",
        [[{"x": {"y": Decimal("1.5"), "z": None}, "n": None, "e": {}}]],
    ),
    "struct": ("A STRUCT<B INT, C STRUCT<D STRING>>", [[{"B": 1, "C": {"D": "x"}}], [{"B": None, "C": None}], [None]]),
    "struct-without-fields": ("A STRUCT< >", [[{}], [None]]),
    "struct-in-array-in-map": (
        "A MAP<STRING, ARRAY<STRUCT<B TIMESTAMP, C BYTES>>>",
        [[{"k": [{"B": datetime.datetime(2020, 1, 1, tzinfo=UTC), "C": b"\0"}, None, {"B": None, "C": None}]}]],
    ),
    "same-record-twice": (
        "A STRUCT<B STRUCT<C INT>>, A_B STRUCT<C INT>",
        [[{"B": {"C": 1}}, {"C": 2}], [None, {"C": None}]],
    ),
    "names-with-a-dot": ("`a.b` STRUCT<`c.d` INT>, `e` INT", [[{"c.d": 1}, 2], [None, None]]),
    "several": ("A INT, B STRING, C DOUBLE, D BOOLEAN", [[1, "x", 0.5, True], [None, None, None, None]]),
}
TABLE: Final = pytest.mark.parametrize(("text", "values"), COLUMNS.values(), ids=COLUMNS.keys())


def rows_of(columns: Columns, values: list[list[Value]], *, nulls: bool = True) -> list[dict[str, Value]]:
    """The table's rows; of an un-wrapped column those that have bytes."""
    rows = (dict(zip((column.name for column in columns), row, strict=False)) for row in values)
    return [row for row in rows if nulls or row[columns[0].name] is not None]


def with_rows(columns: Columns) -> SearchStrategy[tuple[Columns, list[dict[str, Value]]]]:
    row = st.fixed_dictionaries({column.name: values_of(column.type) for column in columns})
    rows: SearchStrategy[list[dict[str, Value]]] = st.lists(row, min_size=1, max_size=3)  # type: ignore[arg-type]
    return rows.map(lambda made: (columns, made))


def settled(value: object) -> object:
    """For comparing: types, signs of zero and NaN count, the order of a Java map does not."""
    match value:
        case dict():
            return {name: settled(part) for name, part in value.items()}
        case list():
            return [settled(part) for part in value]
        case datetime.datetime():
            return repr(value.replace(fold=0))
        case _:
            return repr(value)


def in_order(type_: ColumnType, value: Value) -> Value:
    """The value with the fields of its STRUCTs in their order: Hypothesis has them in any."""
    match type_, value:
        case Struct(fields), dict():
            return {field.name: in_order(field.type, value[field.name]) for field in fields}
        case Array(items), list():
            return [in_order(items, item) for item in value]
        case Map(values), dict():
            return {key: in_order(values, item) for key, item in value.items()}
    return value


def unordered(schema: ConnectSchema, wire: Json) -> Json:
    """The wire's form with its maps in one order: Java reads them into a HashMap."""
    match schema.type, wire:
        case _, None:
            return None
        case ConnectType.MAP, list():
            pairs = [[pair[0], unordered(schema.values, pair[1])] for pair in wire if isinstance(pair, list)]
            return sorted(pairs, key=json.dumps)
        case ConnectType.ARRAY, list():
            return [unordered(schema.values, item) for item in wire]
        case ConnectType.STRUCT, list():
            return [unordered(part.schema, item) for part, item in zip(schema.fields, wire, strict=True)]
    return wire
