"""The table that ksqlDB's `DESCRIBE` prints, as columns.

     Field   | Type
    -------------------------------------
     ID      | BIGINT           (primary key)
     NAME    | VARCHAR(STRING)
    -------------------------------------

Names stand as they are, in any letter case and without quotes, fields of a STRUCT too (`SchemaInfo.toTypeString`). Behind a
type may stand `(key)`, `(primary key)`, `(headers)`, `(header('k'))` and `(Window type: …)` (`Console.formatFieldType`);
headers are left out, as everywhere. Before 0.10 the key was the system's: `ROWKEY … (system)` is the KEY then, `ROWTIME`
is left out, and `(key)` marks a value that repeats it. What stands around the table is skipped.
Rows without the line of heads are taken where nothing else stands beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from srfix.serde.columns.grammar import Parser
from srfix.serde.columns.types import Column, Columns, Namespace
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
    """The columns of such a table; None if there is none in the text."""
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
                f'The text has "name | type" as DESCRIBE prints it, {alike[0][:60]!r}, and the line {line[:60]!r}, which is '
                'none. Paste the rows alone, or with the line "Field | Type" above them.'
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
                f'What DESCRIBE printed has the line {line[:60]!r}, which is no "name | type". '
                "Paste the table with whole lines."
            )
        rows.append((match["name"], match["type"], match["marks"]))
    return rows


def _namespace(marks: str, *, has_system: bool) -> Namespace:
    if has_system:
        return Namespace.KEY if "(system)" in marks else Namespace.VALUE
    return next((namespace for mark, namespace in _KEYS.items() if mark in marks), Namespace.VALUE)
