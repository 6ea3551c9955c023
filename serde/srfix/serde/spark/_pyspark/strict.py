"""Spark's own types, and the values that Spark's own Avro reads but Python cannot hold: strings that are not UTF-8, and
days and instants outside of the years 1 to 9999. They are checked in the rows, after the barrier, when the rows have
been read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Final, cast

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from srfix.serde.casing import are_distinct
from srfix.serde.column_sources.from_spark import spark_schema
from srfix.serde.columns.types import Array, Columns, ColumnType, Map, ScalarType, Struct
from srfix.serde.connect.coercions import DAYS, MICROSECONDS
from srfix.serde.spark.releases import arrow_or


def struct_type(schema: str) -> StructType:
    return StructType.fromJson(json.loads(schema))


BEYOND_PYTHON: Final = (
    "A string is not UTF-8, or a date or timestamp is outside of the years 1 to 9999. "
    f"{arrow_or('srfix decode', advice='The arrow engine')} shows the value; a plan with times='integers' reads times as "
    "integers."
)

_MANY_STRINGS: Final = 24 if hasattr(F, "is_valid_utf8") else 8
"""With fewer values in a row, separate checks are faster. Spark 3.5 has more code for each."""
_IS_LARGE: Final = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < (4, 3)
_LOCAL: Final = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")


def are_pythons(columns: Columns, row: Sequence[Column]) -> Column | None:
    """Whether Python can hold every value of a row (columns of a frame, as they are used often); None if it always can."""
    values = list(zip((field.type for field in columns), row, strict=True))
    strings = [part for type_, part in values if type_ is ScalarType.STRING]
    if len(strings) < _MANY_STRINGS:
        return _all(_of(type_, part) for type_, part in values)
    # In one check, like the items of an array, because a query's method has no room for tens of separate checks
    # (`jvm.Payload`).
    others = (_of(type_, part) for type_, part in values if type_ is not ScalarType.STRING)
    joined = F.concat_ws(",", *strings)
    # Before 4.3, the code of it makes the method too large; a lambda and what it gets are interpreted.
    are_utf8 = F.forall(F.array(joined), _is_utf8) if _IS_LARGE else _is_utf8(joined)
    return _all((are_utf8, *others))


def fields_of(columns: Columns, struct: Column) -> list[Column]:
    names = [field.name for field in columns]
    if not are_distinct(names):
        # Spark finds a field by its name, and may ignore case, so a cast is used, which goes by position.
        names = [f"c{number}" for number in range(len(columns))]
        types = struct_type(spark_schema(columns)).fields
        fields = [StructField(name, part.dataType) for name, part in zip(names, types, strict=True)]
        struct = struct.cast(StructType(fields))
    return [struct.getField(name) for name in names]


def _of(type_: ColumnType, value: Column) -> Column | None:
    match type_:
        case ScalarType.STRING:
            return _or_null(_is_utf8(value))
        case ScalarType.DATE:
            return _or_null(F.unix_date(value).between(*DAYS))
        case ScalarType.TIMESTAMP:
            return _or_null(F.unix_micros(value).between(*MICROSECONDS))
        case ScalarType.TIMESTAMP_NTZ:
            return _or_null(value.between(*(F.lit(text).cast("timestamp_ntz") for text in _LOCAL)))
        case Array(items):
            return _of_items(items, value)
        case Map(values, keys):
            return _all((_of_items(keys, F.map_keys(value)), _of_items(values, F.map_values(value))))
        case Struct(fields):
            return are_pythons(fields, fields_of(fields, value))
        case _:
            return None


def _of_items(type_: ColumnType, values: Column) -> Column | None:
    # A lambda is interpreted for each item; these functions are not.
    match type_:
        case ScalarType.STRING:
            # A comma ends any broken character before it.
            return _is_utf8(F.concat_ws(",", values))
        case ScalarType.DATE | ScalarType.TIMESTAMP | ScalarType.TIMESTAMP_NTZ:
            return _all((_of(type_, F.array_min(values)), _of(type_, F.array_max(values))))
    if _of(type_, F.lit(None)) is None:
        return None
    return _or_null(F.forall(values, lambda item: cast("Column", _of(type_, item))))


def _is_utf8(value: Column) -> Column:
    if hasattr(F, "is_valid_utf8"):
        return F.is_valid_utf8(value)
    # Spark 3.5 has no such function, and its decode replaces wrong bytes by U+FFFD.
    as_bytes = value.cast("binary")
    return F.encode(F.decode(as_bytes, "UTF-8"), "UTF-8") == as_bytes


def _or_null(holds: Column) -> Column:
    return F.coalesce(holds, F.lit(True))


def _all(checks: Iterable[Column | None]) -> Column | None:
    conditions = [check for check in checks if check is not None]
    return reduce(and_, conditions) if conditions else None
