"""Logical columns: what a row is made of, whatever the format.

`parse_columns("ID INT, `caseField` STRING, TAGS ARRAY<STRING>")` reads ksqlDB's words (the grammar is in
`srfix.serde._column_text`); an unquoted name means upper case.

| columns from | function | what is left out, too |
|---|---|---|
| ksqlDB's words | `parse_columns`; back: `print_columns` | |
| an Avro schema | `columns_from_avro` | `infer_avro` |
| a JSON Schema | `columns_from_json_schema` | `infer_json_schema` |
| JSON samples | `columns_from_json` | `infer_json` |
| a Spark `StructType` or its JSON | `columns_from_spark`; back: `spark_schema` | |
| a Python dataclass | `columns_from_dataclass` | |

`key_columns` and `value_columns` take a list apart, `half_of` says what a key or a value is made of, `compare_columns` how two
lists differ.
"""

from __future__ import annotations

from srfix.serde._column_compare import ColumnDifference, DifferenceKind, compare_columns
from srfix.serde._column_halves import check_key_columns, key_columns, require_string_keys, value_columns
from srfix.serde._column_text import parse_columns, print_columns, print_type
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
    TIMESTAMP_NTZ,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    ScalarType,
    Struct,
)
from srfix.serde._columns_from_dataclass import columns_from_dataclass
from srfix.serde._columns_from_json import columns_from_json, infer_json
from srfix.serde._columns_from_spark import columns_from_spark, spark_schema
from srfix.serde._connect_columns import Dropped, Inferred, NameRule
from srfix.serde._given_columns import GivenColumns, given_columns
from srfix.serde._half import Half, half_of
from srfix.serde.formats._avro_columns import columns_from_avro, infer_avro
from srfix.serde.formats._json_schema_columns import columns_from_json_schema, infer_json_schema

__all__ = [
    "Array",
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "Column",
    "ColumnDifference",
    "ColumnType",
    "Columns",
    "DATE",
    "DOUBLE",
    "Decimal",
    "DifferenceKind",
    "Dropped",
    "GivenColumns",
    "Half",
    "INTEGER",
    "Inferred",
    "MAX_NESTING",
    "Map",
    "NameRule",
    "Namespace",
    "STRING",
    "ScalarType",
    "Struct",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "check_key_columns",
    "columns_from_avro",
    "columns_from_dataclass",
    "columns_from_json",
    "columns_from_json_schema",
    "columns_from_spark",
    "compare_columns",
    "given_columns",
    "half_of",
    "infer_avro",
    "infer_json",
    "infer_json_schema",
    "key_columns",
    "parse_columns",
    "print_columns",
    "print_type",
    "require_string_keys",
    "spark_schema",
    "value_columns",
]
