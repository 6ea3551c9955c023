"""Columns in each of the forms in which they may be given."""

from __future__ import annotations

from typing import TypeAlias

from srfix.serde.column_sources.from_spark import SparkSchema, columns_from_spark
from srfix.serde.columns import Columns, parse_columns, usable_columns
from srfix.serde.connect import NameRule

GivenColumns: TypeAlias = "Columns | SparkSchema"
"""Columns that were parsed, their text in ksqlDB's words or Spark's, a StructType (`ReadPlan.schema` too), or its JSON."""


def given_columns(columns: GivenColumns, *, names: NameRule = "keep") -> Columns:
    """The columns of a list, of ksqlDB's words, of a StructType or of its JSON.

    :param names: whether Spark's names stay as they are.
    :raises ColumnError: if they cannot be read or used, or a type fits no column.
    :raises SchemaError: if it is not Spark's JSON form of a struct.
    """
    if isinstance(columns, tuple):
        return usable_columns(columns)
    if isinstance(columns, str) and not columns.lstrip().startswith("{"):
        return parse_columns(columns)
    return columns_from_spark(columns, names=names)
