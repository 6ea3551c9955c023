"""Logical columns: what a row is made of, whatever the format.

`parse_columns("ID INT, `caseField` STRING, TAGS ARRAY<STRING>")` reads ksqlDB's words (the grammar is in
`srfix.serde._column_text`); an unquoted name means upper case. `columns_from_avro` infers columns from a
writer schema.
"""

from __future__ import annotations

from srfix.serde._column_text import parse_columns, print_columns
from srfix.serde._column_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_NESTING,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
)
from srfix.serde._connect_columns import Dropped, Inferred
from srfix.serde.formats._avro_columns import columns_from_avro, infer_avro

__all__ = [
    "Array",
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "Column",
    "ColumnType",
    "Columns",
    "DATE",
    "DOUBLE",
    "Decimal",
    "Dropped",
    "INTEGER",
    "Inferred",
    "MAX_NESTING",
    "Map",
    "STRING",
    "ScalarType",
    "Struct",
    "TIME",
    "TIMESTAMP",
    "columns_from_avro",
    "infer_avro",
    "parse_columns",
    "print_columns",
]
