"""Accepts columns in every form that srfix takes."""

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
"""Parsed columns, their text in ksqlDB's or Spark's notation, a StructType (also `ReadPlan.schema`), its JSON, or a
dataclass."""


def given_columns(columns: GivenColumns, *, names: NameRule = "keep", dataclass_names: NameRule = "upper") -> Columns:
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
        f"Columns are {what}. Pass their text ('ID BIGINT, NAME STRING'), the result of parse_columns, a dataclass, "
        "or a StructType."
    )
