"""Columns in each of the forms in which they may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from srfix.serde.column_sources.from_spark import SparkSchema, columns_from_spark
from srfix.serde.column_sources.row_classes import columns_from_dataclass, row_class
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Column, Columns, usable_columns
from srfix.serde.connect.columns import NameRule
from srfix.serde.errors import ColumnError

GivenColumns: TypeAlias = "Columns | SparkSchema | type[Any]"
"""Columns that were parsed, their text in ksqlDB's words or Spark's, a StructType (`ReadPlan.schema` too), its JSON, or a
dataclass."""


def given_columns(columns: GivenColumns, *, names: NameRule = "keep", dataclass_names: NameRule = "upper") -> Columns:
    """The columns of a list, of ksqlDB's words, of a StructType or of its JSON, or of a dataclass."""
    if isinstance(columns, tuple | list):
        for column in columns:
            if not isinstance(column, Column):
                raise ColumnError(
                    f"Columns must be a sequence of Column, but one element has the type {type(column).__name__}. Pass "
                    "the columns as text: 'ID BIGINT, NAME STRING'."
                )
        return usable_columns(tuple(columns))
    if isinstance(columns, type):
        if row_class(columns) is None:
            raise ColumnError(
                f"Columns are given as the class {columns.__qualname__}, which is not a dataclass. Pass their text "
                "('ID BIGINT, NAME STRING'), a dataclass, or an instance of StructType."
            )
        return columns_from_dataclass(columns, names=dataclass_names)
    if isinstance(columns, str):
        return columns_from_spark(columns, names=names) if columns.lstrip().startswith("{") else parse_columns(columns)
    if isinstance(columns, Mapping) or hasattr(columns, "jsonValue"):
        return columns_from_spark(columns, names=names)
    what = "None" if columns is None else f"of the type {type(columns).__name__}"
    raise ColumnError(
        f"Columns are {what}. Pass their text ('ID BIGINT, NAME STRING'), what parse_columns gives, a dataclass, or a "
        "StructType."
    )
