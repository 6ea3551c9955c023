"""Columns as text, in ksqlDB's words: `ID BIGINT, TAGS ARRAY<STRING>, ADDRESS STRUCT<STREET STRING, ZIP
INT>`.

    columns    = column { "," column }
    column     = name type
    name       = letter or "_", then letters, digits, "_"      (upper-cased)
               | "`" … "`" | '"' … '"'                         (verbatim; a doubled quote stands for one)
    type       = "BOOLEAN" | "INT" | "INTEGER" | "BIGINT" | "DOUBLE" | "STRING" | "VARCHAR" | "BYTES"
               | "DATE" | "TIME" | "TIMESTAMP" | "DECIMAL" "(" precision "," scale ")"
               | "ARRAY" "<" type ">" | "MAP" "<" "STRING" "," type ">" | "STRUCT" "<" [ columns ] ">"

Type words may have any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, assert_never

from srfix.serde._column_types import (
    MAX_NESTING,
    STRING,
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
from srfix.serde.casing import declared_name
from srfix.serde.errors import ColumnError

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<quoted>`(?:[^`]|``)*`|"(?:[^"]|"")*")
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>[0-9]+)
      | (?P<punctuation>[<>(),])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_PLAIN_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_SCALARS: Final = {type_.value: type_ for type_ in ScalarType} | {
    "INT": ScalarType.INTEGER,
    "VARCHAR": STRING,
}
_MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse_columns(text: str) -> Columns:
    """Columns from their text.

    :raises ColumnError: if the text is not a column list; the message says at which character (from 1) and
        what was expected there.
    """
    parser = _Parser(text)
    columns = parser.columns(depth=1)
    parser.expect_end()
    return usable_columns(columns)


def print_columns(columns: Columns) -> str:
    """The text from which `parse_columns` makes the same columns.

    :raises ColumnError: if there are none, two have one name, or they nest too deep.
    """
    return _print_fields(usable_columns(columns))


def _print_fields(columns: Columns) -> str:
    return ", ".join(f"{_print_name(column.name)} {_print_type(column.type)}" for column in columns)


def _print_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _print_type(type_: ColumnType) -> str:
    match type_:
        case ScalarType():
            return type_.value
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(items):
            return f"ARRAY<{_print_type(items)}>"
        case Map(values):
            return f"MAP<STRING, {_print_type(values)}>"
        case Struct(fields):
            return f"STRUCT<{_print_fields(fields)}>"
        case _:
            assert_never(type_)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._token = self._scan(0)

    def _scan(self, start: int) -> _Token:
        match = _TOKEN.match(self._text, start)
        if match is None or match.lastgroup is None:
            begin = start + len(self._text[start:]) - len(self._text[start:].lstrip())
            character = self._text[begin]
            problem = "a quote that is never closed" if character in '`"' else f"the character {character!r}"
            raise ColumnError(
                f"The column list has {problem} at character {begin + 1}. Quote names that are not plain words."
            )
        self._end = match.end()
        kind = match.lastgroup
        return _Token(kind, match[kind], match.start(kind))

    def _advance(self) -> _Token:
        token = self._token
        if token.kind != "end":
            self._token = self._scan(self._end)
        return token

    def _expected(self, what: str) -> ColumnError:
        token = self._token
        found = "the end of the text" if token.kind == "end" else repr(token.text)
        return ColumnError(f"The column list has {found} at character {token.position + 1}; expected {what}.")

    def _punctuation(self, text: str, *, instead: str | None = None) -> None:
        if self._token.text != text or self._token.kind != "punctuation":
            raise self._expected(instead or repr(text))
        self._advance()

    def _at(self, text: str) -> bool:
        return self._token.kind == "punctuation" and self._token.text == text

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._expected("',' or the end of the text")

    def columns(self, *, depth: int) -> Columns:
        found = [self._column(depth)]
        while self._at(","):
            self._advance()
            found.append(self._column(depth))
        return tuple(found)

    def _column(self, depth: int) -> Column:
        token = self._token
        if token.kind == "word":
            name = declared_name(token.text)
        elif token.kind == "quoted":
            quote = token.text[0]
            name = token.text[1:-1].replace(quote * 2, quote)
        else:
            raise self._expected("a column name")
        if not name:
            raise self._expected("a column name that is not empty")
        self._advance()
        return Column(name, self._type(depth))

    def _type(self, depth: int) -> ColumnType:
        token = self._token
        if token.kind != "word":
            raise self._expected("a type")
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The column list nests deeper than {MAX_NESTING} levels at character {token.position + 1}. "
                "Flatten the innermost types."
            )
        word = declared_name(token.text)
        if word not in _SCALARS and word not in _COMPOSITES:
            raise self._expected("a type: " + ", ".join((*_SCALARS, *_COMPOSITES)))
        self._advance()
        match word:
            case "DECIMAL":
                return self._decimal()
            case "ARRAY":
                self._punctuation("<")
                items = self._type(depth + 1)
                self._punctuation(">")
                return Array(items)
            case "MAP":
                return self._map(depth)
            case "STRUCT":
                self._punctuation("<")
                fields: Columns = () if self._at(">") else self.columns(depth=depth + 1)
                self._punctuation(">", instead="',' or '>'")
                return Struct(fields)
            case _:
                return _SCALARS[word]

    def _decimal(self) -> Decimal:
        self._punctuation("(", instead="'(' and precision and scale, such as DECIMAL(10, 2)")
        precision = self._number("the precision")
        self._punctuation(",")
        scale = self._number("the scale")
        self._punctuation(")")
        return Decimal(precision, scale)

    def _number(self, what: str) -> int:
        if self._token.kind != "number" or len(self._token.text) > _MAX_DIGITS:
            raise self._expected(f"{what}, a number of at most {_MAX_DIGITS} digits")
        return int(self._advance().text)

    def _map(self, depth: int) -> Map:
        self._punctuation("<")
        key = self._token
        if key.kind != "word" or _SCALARS.get(declared_name(key.text)) is not STRING:
            raise self._expected("STRING, the only type of map keys")
        self._advance()
        self._punctuation(",")
        values = self._type(depth + 1)
        self._punctuation(">")
        return Map(values)


_COMPOSITES: Final = ("DECIMAL", "ARRAY", "MAP", "STRUCT")
