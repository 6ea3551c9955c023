"""Logical columns: what a row is made of, whatever the format.

`parse_columns("ID INT, `caseField` STRING, TAGS ARRAY<STRING>")` reads ksqlDB's words (the grammar is in
`srfix.serde.columns.text`); an unquoted name means upper case.

`half_of` says what a key or a value is made of.
"""

from srfix.serde.columns.half import Half, half_of, roles_of
from srfix.serde.columns.halves import key_columns, only_column, require_string_keys, struct_of
from srfix.serde.columns.text import parse_columns, print_columns, print_type
from srfix.serde.columns.times import READ_AS_INTEGERS, Times, given_times, with_times
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
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
    columns_of_one_half,
    has_decimals,
    nesting,
    scalars_of,
    type_name,
    usable_columns,
)
