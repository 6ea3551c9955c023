"""Named hypothesis strategies: columns, rows that fit them, and names that cause trouble."""

from __future__ import annotations

import datetime
import decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct

names: SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
"""Any name a column can have, quoted."""
avro_names: SearchStrategy[str] = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
"""Names that Avro allows."""


def _decimals() -> SearchStrategy[Decimal]:
    return st.integers(1, 40).flatmap(lambda p: st.integers(0, p).map(lambda s: Decimal(p, s)))


def column_types(column_names: SearchStrategy[str] = names) -> SearchStrategy[ColumnType]:
    return st.recursive(
        # ksqlDB's: TIMESTAMP_NTZ is of Avro alone (test_logical_types).
        st.sampled_from([type_ for type_ in ScalarType if type_ is not ScalarType.TIMESTAMP_NTZ]) | _decimals(),
        lambda inner: (
            st.builds(Array, inner) | st.builds(Map, inner) | st.builds(Struct, _fields(column_names, inner, least=0))
        ),
        max_leaves=6,
    )


def _fields(
    column_names: SearchStrategy[str], types: SearchStrategy[ColumnType], *, least: int
) -> SearchStrategy[Columns]:
    field = st.builds(Column, column_names, types)
    return st.lists(field, min_size=least, max_size=5, unique_by=lambda column: column.name).map(tuple)


columns: SearchStrategy[Columns] = _fields(names, column_types(names), least=1)
"""Column lists with any names."""

_avro_type = column_types(avro_names.map(lambda name: name.replace("_", "X")))
avro_columns: SearchStrategy[Columns] = _fields(avro_names.map(lambda n: n.replace("_", "X")), _avro_type, least=1)
"""Column lists that Avro can hold: without "_", by which paths of nested records are joined."""


def values_of(type_: ColumnType) -> SearchStrategy[object]:
    """Values that come back from a body as they went in."""
    return st.none() | _present(type_)


def _present(type_: ColumnType) -> SearchStrategy[object]:
    match type_:
        case ScalarType():
            return _SCALARS[type_]
        case Decimal(precision, scale):
            bound = 10**precision - 1
            return st.integers(-bound, bound).map(
                lambda unscaled: decimal.Decimal((int(unscaled < 0), _digits(unscaled), -scale))
            )
        case Array(items):
            return st.lists(values_of(items), max_size=4)
        case Map(values):
            return st.dictionaries(st.text(max_size=4), values_of(values), max_size=4)
        case Struct(fields):
            return st.fixed_dictionaries({field.name: values_of(field.type) for field in fields})


def _digits(unscaled: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(unscaled)))


_milliseconds = st.integers(0, 86_399_999).map(
    lambda ms: (datetime.datetime.min + datetime.timedelta(milliseconds=ms)).time()
)
_SCALARS: dict[ScalarType, SearchStrategy[object]] = {
    ScalarType.BOOLEAN: st.booleans(),
    ScalarType.INTEGER: st.integers(-(2**31), 2**31 - 1),
    ScalarType.BIGINT: st.integers(-(2**63), 2**63 - 1),
    ScalarType.DOUBLE: st.floats(allow_nan=False),
    ScalarType.STRING: st.text(max_size=8),
    ScalarType.BYTES: st.binary(max_size=8),
    ScalarType.DATE: st.dates(),
    ScalarType.TIME: _milliseconds,
    ScalarType.TIMESTAMP: st.datetimes(timezones=st.just(datetime.UTC)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
}


def _row_of(declared: Columns) -> SearchStrategy[tuple[Columns, object]]:
    return st.tuples(st.just(declared), _present(Struct(declared)))


columns_and_row: SearchStrategy[tuple[Columns, object]] = avro_columns.flatmap(_row_of)
"""Columns, and a row that fits them."""
