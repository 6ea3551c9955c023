"""Columns as text, in ksqlDB's words: `ID BIGINT KEY, TAGS ARRAY<STRING>, ADDRESS STRUCT<STREET STRING, ZIP INT>`; or in
Spark's: `id long NOT NULL, address struct<street:string,zip:int>`.

    columns     = list | "(" list ")" | "[" list "]" | "STRUCT" "<" column { "," column } ">" | statement
    list        = column { "," column } [ "," ]
    statement   = "CREATE" … ( "STREAM" | "TABLE" ) … name "(" list ")" [ "WITH" "(" … ")" ] [ ";" ]
    column      = name [ ":" ] type [ "KEY" | "PRIMARY" "KEY" | headers ] { "NOT" "NULL" | "COMMENT" "'" … "'" }
    headers     = "HEADERS" | "HEADER" "(" "'" … "'" ")"           (left out: no key and no value holds such a column)
    name        = letter or "_", then letters, digits, "_", "@"    (upper-cased; no reserved word)
                | digit, then at least one of the same             (upper-cased; nothing that reads as a number)
                | "`" … "`" | '"' … '"'                            (verbatim; a doubled quote stands for one)
    type        = "ARRAY" "<" type ">" | type "ARRAY"
                | "MAP" "<" type "," type ">"
                | "STRUCT" "<" [ field { "," field } ] ">"         (field: a column that is no key)
                | "DECIMAL" [ "(" precision [ "," scale ] ")" ]    (Spark's: 10 digits, none behind the point)
                | scalar [ "(" parameter { "," parameter } ")" ]   (the parameters say nothing: VARCHAR(255) is STRING)
    scalar      = BOOLEAN | INT | INTEGER | BIGINT | DOUBLE | STRING | VARCHAR | BYTES | DATE | TIME | TIMESTAMP
                | TINYINT | BYTE | SMALLINT | SHORT | LONG | FLOAT | REAL | CHAR | CHARACTER | BINARY | TIMESTAMP_LTZ
                | TIMESTAMP_NTZ
    decimal     = DECIMAL | DEC | NUMERIC

The last two lines of the scalars, DEC, NUMERIC, colons, NOT NULL and COMMENT are Spark's (`StructType.fromDDL`,
`simpleString`); its types become the columns that `columns_from_spark` makes of them. NOT NULL and COMMENT say nothing here:
any column may be null. Names are in upper case unless they are quoted, in Spark's words too: a StructType keeps them as they
are.

The rest is `tableElements` of ksqlDB's `SqlBase.g4` with `ParserUtil.getIdentifierText`, `SqlTypeParser` and
`SqlPrimitiveType`. Keywords may have any case. An empty STRUCT is `STRUCT< >`: the lexer takes `<>` for "not equal".

What a server prints is taken as it is printed: its schemas (a store's may have a column of the key again among the
values, under one name), the statement of `DESCRIBE … EXTENDED`, and the table of `DESCRIBE`, whose names stand without
quotes (`srfix.serde.columns.described`), or its rows alone. The words that newer servers reserve
(`RESERVED_WORDS_SINCE`) are names here, as older ones print them; they are written in quotes, which every server reads.

Read in the grammar, but refused here by name: `CREATE TYPE`'s own types, and `${variables}`, which only a server knows.
"""

from __future__ import annotations

from typing import assert_never

from srfix.serde.columns.described import described_columns, described_rows
from srfix.serde.columns.grammar import Parser
from srfix.serde.columns.types import (
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.columns.words import quoted_name
from srfix.serde.errors import ColumnError


def parse_columns(text: str) -> Columns:
    """Columns from their text: a column list, a `CREATE STREAM` or `CREATE TABLE`, or what `DESCRIBE` prints.

    :raises ColumnError: if the text is none of these; the message says at which character (from 1), what stands there
        and what was expected. Also if two columns of one half, or two fields of a STRUCT, have one name; if KEY and
        PRIMARY KEY mix; if types nest deeper than 64 levels.
    """
    described = described_columns(text)
    if described is None:
        try:
            described = Parser(text).whole()
        except ColumnError:
            described = described_rows(text)  # what is a list is never taken for rows
            if described is None:
                raise
    return usable_columns(described)


def print_columns(columns: Columns) -> str:
    """The text from which `parse_columns` makes the same columns.

    :raises ColumnError: if there are none, two of one half have one name, KEY and PRIMARY KEY mix, or they nest too deep.
    """
    return ", ".join(_print_column(column) for column in usable_columns(columns))


def print_type(type_: ColumnType) -> str:
    """A type's whole text: `STRUCT<A INTEGER>`. The type nests at most 64 levels deep."""
    match type_:
        case ScalarType():
            return type_.value
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(items):
            return f"ARRAY<{print_type(items)}>"
        case Map(values, keys):
            return f"MAP<{print_type(keys)}, {print_type(values)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(map(_print_column, fields)) or ' '}>"
        case _:
            assert_never(type_)


def _print_column(column: Column) -> str:
    namespace = f" {column.namespace.value}" if column.namespace.is_key else ""
    return f"{quoted_name(column.name)} {print_type(column.type)}{namespace}"
