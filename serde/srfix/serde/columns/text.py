"""Columns as text, in ksqlDB's notation: `ID BIGINT KEY, TAGS ARRAY<STRING>, ADDRESS STRUCT<STREET STRING, ZIP INT>`;
or in Spark's notation: `id long NOT NULL, address struct<street:string,zip:int>`.

    columns     = list | "(" list ")" | "[" list "]" | "STRUCT" "<" column { "," column } ">" | statement
    list        = column { "," column } [ "," ]
    statement   = "CREATE" … ( "STREAM" | "TABLE" ) … name "(" list ")" [ "WITH" "(" … ")" ] [ ";" ]
    column      = name [ ":" ] type [ "KEY" | "PRIMARY" "KEY" | headers ] { "NOT" "NULL" | "COMMENT" "'" … "'" }
    headers     = "HEADERS" | "HEADER" "(" "'" … "'" ")"           (left out: neither keys nor values hold such a column)
    name        = letter or "_", then letters, digits, "_", "@"    (upper-cased; no reserved word)
                | digit, then at least one of the same             (upper-cased; nothing that reads as a number)
                | "`" … "`" | '"' … '"'                            (verbatim; a doubled quote stands for one)
    type        = "ARRAY" "<" type ">" | type "ARRAY"
                | "MAP" "<" type "," type ">"
                | "STRUCT" "<" [ field { "," field } ] ">"         (field: a column that is no key)
                | "DECIMAL" [ "(" precision [ "," scale ] ")" ]    (Spark's default: 10 digits, none after the point)
                | scalar [ "(" parameter { "," parameter } ")" ]   (the parameters are ignored: VARCHAR(255) is STRING)
    scalar      = BOOLEAN | INT | INTEGER | BIGINT | DOUBLE | STRING | VARCHAR | BYTES | DATE | TIME | TIMESTAMP
                | TINYINT | BYTE | SMALLINT | SHORT | LONG | FLOAT | REAL | CHAR | CHARACTER | BINARY | TIMESTAMP_LTZ
                | TIMESTAMP_NTZ
    decimal     = DECIMAL | DEC | NUMERIC

The last two lines of the scalars, DEC, NUMERIC, colons, NOT NULL and COMMENT are Spark's (`StructType.fromDDL`,
`simpleString`); its types become the same columns as in `columns_from_spark`. NOT NULL and COMMENT are ignored, because
any column may be null. srfix reads unquoted names as upper case, also in Spark's notation; a StructType keeps its
names.

The rest is `tableElements` of ksqlDB's `SqlBase.g4` with `ParserUtil.getIdentifierText`, `SqlTypeParser` and
`SqlPrimitiveType`. Keywords may have any case. An empty STRUCT is `STRUCT< >`, because the lexer reads `<>` as "not
equal".

The parser also reads a server's output: its schemas (in a store's schema, a column of the key may occur again among the
values, with the same name), the statement of `DESCRIBE … EXTENDED`, and the table of `DESCRIBE` (its names have no
quotes), or only its rows. Words that only newer servers reserve (`RESERVED_WORDS_SINCE`) are read as names, because
older servers print them so; srfix writes them in quotes, which every server reads.

The parser recognises types of `CREATE TYPE` and `${variables}`, but refuses them by name, because only a server knows
them.
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
    type_name,
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
"""A row without the table's head: the text before the bar cannot be part of a column list."""
_KEYS: Final = {"(key)": Namespace.KEY, "(primary key)": Namespace.PRIMARY_KEY}


def described_columns(text: str) -> Columns | None:
    """The columns of the table that ksqlDB's `DESCRIBE` prints; None if the text has no such table.

         Field   | Type
        -------------------------------------
         ID      | BIGINT           (primary key)
         NAME    | VARCHAR(STRING)
        -------------------------------------

    Names, also of a STRUCT's fields, have any letter case and no quotes (`SchemaInfo.toTypeString`). After a type there
    may be `(key)`, `(primary key)`, `(headers)`, `(header('k'))` and `(Window type: …)` (`Console.formatFieldType`);
    headers are left out, as everywhere. Before 0.10 the key was a system column: `ROWKEY … (system)` is then the KEY,
    `ROWTIME` is left out, and `(key)` marks a value column that repeats the key. Text around the table is skipped.
    """
    head = _HEAD.search(text)
    return None if head is None else _columns(_rows(text[head.end() :]))


def described_rows(text: str) -> Columns | None:
    """The columns of rows that were pasted without the table's head; None if no line looks like such a row."""
    lines = list(_until_rule(text))
    alike = [line for line in lines if _BARE_ROW.match(line)]
    if not alike:
        return None
    for line in lines:
        if line not in alike:
            raise ColumnError(
                f"The text looks like the output of DESCRIBE ({alike[0][:60]!r}), but the line {line[:60]!r} is not "
                '"name | type". Paste only the rows, or the rows with the line "Field | Type" above them.'
            )
    return _columns(_rows("\n".join(lines)), where='a line like DESCRIBE\'s, "name | type",')


def _until_rule(text: str) -> Iterator[str]:
    """The non-empty lines, up to the horizontal rule below them."""
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
    """Columns from their text: a column list, a `CREATE STREAM` or `CREATE TABLE`, or the output of `DESCRIBE`.

    :raises ColumnError: if the text is none of these; the message names the character (from 1), the text there, and
        what was expected. Also if two columns of one half, or two fields of a STRUCT, have the same name; if KEY and
        PRIMARY KEY are mixed; if types nest deeper than 64 levels.
    """
    described = described_columns(text)
    if described is None:
        try:
            described = Parser(text).whole()
        except ColumnError:
            described = described_rows(text)  # a valid column list is never treated as rows
            if described is None:
                raise
    return usable_columns(described)


def print_columns(columns: Columns) -> str:
    """The text from which `parse_columns` makes the same columns.

    :raises ColumnError: if there are no columns, two columns of one half have the same name, KEY and PRIMARY KEY are
        mixed, or types nest too deep.
    """
    return ", ".join(_print_column(column) for column in usable_columns(columns))


def print_type(type_: ColumnType) -> str:
    """The full text of a type: `STRUCT<A INTEGER>`. The type may nest at most 64 levels deep."""
    match type_:
        case ScalarType() | Decimal():
            return type_name(type_)
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
