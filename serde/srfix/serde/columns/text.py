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
quotes, or its rows alone. The words that newer servers reserve
(`RESERVED_WORDS_SINCE`) are names here, as older ones print them; they are written in quotes, which every server reads.

Read in the grammar, but refused here by name: `CREATE TYPE`'s own types, and `${variables}`, which only a server knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from srfix.serde.columns.grammar import Parser
from srfix.serde.columns.tokens import quoted_name
from srfix.serde.columns.types import (
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.errors import ColumnError

_HEAD: Final = re.compile(r"^[ \t]*Field[ \t]*\|[ \t]*Type[ \t]*\r?$", re.MULTILINE)
_RULE: Final = re.compile(r"-{3,}")
_ROW: Final = re.compile(
    r"(?P<name>\S(?:[^|]*[^|\s])?)\s*\|\s*(?P<type>.*?)"
    r"(?P<marks>(?:\s*\([a-z][^()]*(?:\([^()]*\))?\)|\s*\(Window type: \w+\))*)"
)
_BARE_ROW: Final = re.compile(r"(?!--|/\*)[^|`\"',()<>\[\]]+\|")
"""A row where no head says that it is one: nothing before the bar of which a column list would be made."""
_KEYS: Final = {"(key)": Namespace.KEY, "(primary key)": Namespace.PRIMARY_KEY}


def described_columns(text: str) -> Columns | None:
    """The columns of the table that ksqlDB's `DESCRIBE` prints; None if there is none in the text.

         Field   | Type
        -------------------------------------
         ID      | BIGINT           (primary key)
         NAME    | VARCHAR(STRING)
        -------------------------------------

    Names stand as they are, in any letter case and without quotes, fields of a STRUCT too (`SchemaInfo.toTypeString`).
    Behind a type may stand `(key)`, `(primary key)`, `(headers)`, `(header('k'))` and `(Window type: …)`
    (`Console.formatFieldType`); headers are left out, as everywhere. Before 0.10 the key was the system's: `ROWKEY …
    (system)` is the KEY then, `ROWTIME` is left out, and `(key)` marks a value that repeats it. What stands around the
    table is skipped.
    """
    head = _HEAD.search(text)
    if head is None:
        return None
    return _columns(_rows(text[head.end() :]))


def described_rows(text: str) -> Columns | None:
    """The columns of rows that were pasted without the line of heads; None if no line looks like one."""
    lines = list(_until_rule(text))
    alike = [line for line in lines if _BARE_ROW.match(line)]
    if not alike:
        return None
    for line in lines:
        if line not in alike:
            raise ColumnError(
                f"The text looks like the output of DESCRIBE ({alike[0][:60]!r}), but the line {line[:60]!r} is not "
                '"name | type". Paste the rows alone, or with the line "Field | Type" above them.'
            )
    return _columns(_rows("\n".join(lines)), where='a line like DESCRIBE\'s, "name | type",')


def _until_rule(text: str) -> Iterator[str]:
    """The lines that are not empty, up to the rule below them."""
    is_below = False
    for line in map(str.strip, text.splitlines()):
        if _RULE.fullmatch(line):
            if is_below:
                return
        elif line:
            is_below = True
            yield line


def _columns(rows: Sequence[tuple[str, str, str]], *, where: str = "what DESCRIBE printed") -> Columns:
    has_system = any("(system)" in marks for _, _, marks in rows)
    columns: list[Column] = []
    for name, written, marks in rows:
        if "(header" in marks or (name == "ROWTIME" and "(system)" in marks):
            continue
        try:
            type_ = Parser(written, plain_names=True).type_alone()
        except ColumnError as error:
            raise ColumnError(f"The type of {name} in {where} cannot be read: {error.message}") from error
        columns.append(Column(name, type_, _namespace(marks, has_system=has_system)))
    return tuple(columns)


def _rows(table: str) -> list[tuple[str, str, str]]:
    """Name, type and marks of each row."""
    rows: list[tuple[str, str, str]] = []
    for line in map(str.strip, table.splitlines()):
        if not line or _RULE.fullmatch(line):
            if rows:
                break
            continue
        match = _ROW.fullmatch(line)
        if match is None:
            raise ColumnError(
                f'In the output of DESCRIBE, the line {line[:60]!r} is not "name | type". Paste the table with whole '
                "lines."
            )
        rows.append((match["name"], match["type"], match["marks"]))
    return rows


def _namespace(marks: str, *, has_system: bool) -> Namespace:
    if has_system:
        return Namespace.KEY if "(system)" in marks else Namespace.VALUE
    return next((namespace for mark, namespace in _KEYS.items() if mark in marks), Namespace.VALUE)


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
