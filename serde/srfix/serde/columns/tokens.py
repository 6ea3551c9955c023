"""Splits a column list into words and signs like the lexer of ksqlDB's `SqlBase.g4` (the longest match wins), and
decides which names need no quotes. As in the grammar, the character after `--` always belongs to the comment: if a line
holds only `--`, the next line is part of the comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from srfix.serde.errors import ColumnError

RESERVED_WORDS: Final = frozenset(
    """
    ADVANCE ALL AND AS AT BEGINNING BETWEEN BY CASE CAST CATALOG CONNECTOR CONNECTORS CREATE DAYS DECIMAL DELETE
    DESCRIBE DISTINCT DROP ELSE END EXISTS EXPORT EXTENDED FALSE FROM FULL GROUP HAVING HOPPING HOURS IN INNER INSERT
    INTO IS JOIN LEFT LIKE LIMIT LIST LOAD MATERIALIZED MILLISECOND MILLISECONDS MINUTES MONTHS NAMESPACE NOT NULL ON
    OR OUTER PRINT PROPERTIES QUERIES QUERY RENAME RETENTION RIGHT RUN SAMPLE SCRIPT SECONDS SELECT SIZE STREAM STREAMS
    TABLE TERMINATE THEN TO TOPIC TOPICS TRUE TUMBLING UNSET VALUES VIEW WHEN WHERE WINDOW WITH WITHIN YEARS
    """.split()  # noqa: SIM905 -- a list of 86 strings would be 86 lines
)
"""The words that need quotes as names in every version, in upper case: the keywords of `SqlBase.g4` outside its rule
`nonReserved`. `ReservedWordMetaTest` allows a new keyword only as a non-reserved one, so that old plain names never
need quotes; two reserved ones came in nevertheless."""

RESERVED_WORDS_SINCE: Final = {"PAUSE": "7.3", "RESUME": "7.3"}
"""The words that are reserved since a version of the Confluent Platform (7.3 has ksqlDB 0.28.2), and were plain names
before."""

_PLAIN: Final = re.compile(r"[A-Z_][A-Z0-9_@]*|[0-9][A-Z0-9_@]+")
_NUMBER: Final = re.compile(r"[0-9]+(?:E[0-9]+)?")


def is_plain_name(name: str) -> bool:
    """True if every version of ksqlDB reads the name without quotes as exactly this name
    (`IdentifierUtil.needsQuotes`): `1A` is a name, `12` and `1E5` are numbers."""
    is_reserved = name in RESERVED_WORDS or name in RESERVED_WORDS_SINCE
    return _PLAIN.fullmatch(name) is not None and _NUMBER.fullmatch(name) is None and not is_reserved


def quoted_name(name: str) -> str:
    """The name in a column list: plain if possible, otherwise in back-quotes."""
    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"


TokenKind: TypeAlias = Literal["word", "quoted", "integer", "number", "text", "variable", "sign", "end"]

# The lexer compares upper-cased characters (`CaseInsensitiveStream`): two letters outside of ASCII become I and S.
_LETTER: Final = "A-Za-z\u0131\u017f"
_SKIPPED: Final = re.compile(r"(?:[ \r\n\t]+|--[\s\S][^\r\n]*+\r?\n?|/\*[\s\S]*?\*/)*+")
_KINDS: Final[tuple[tuple[TokenKind, re.Pattern[str]], ...]] = (
    ("integer", re.compile(r"[0-9]+")),
    ("number", re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?")),
    ("word", re.compile(rf"[{_LETTER}_][{_LETTER}0-9_@]*|[0-9][{_LETTER}0-9_@]+")),
    ("quoted", re.compile(r'`[^`]*+(?:``[^`]*+)*+`|"[^"]*+(?:""[^"]*+)*+"')),
    ("text", re.compile(r"'[^']*+(?:''[^']*+)*+'")),
    ("variable", re.compile(rf"\$\{{[{_LETTER}_][{_LETTER}0-9_@]*\}}")),
    ("sign", re.compile(r"<>|!=|<=|>=|\|\||:=|->|=>|[<>(),:=+*/%.;\[\]-]")),
)
"""In the grammar's order, which decides ties: `12` is an integer and `1E5` a number, but `1E5X` is a name."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    """The text as written, quotes included."""
    start: int
    """Where it begins, from 0."""
    end: int
    """Where it ends, exclusive."""


def next_token(text: str, start: int) -> Token:
    skipped = _SKIPPED.match(text, start)
    begin = start if skipped is None else skipped.end()
    if begin == len(text):
        return Token("end", "", begin, begin)
    best: Token | None = None
    for kind, pattern in _KINDS:
        match = pattern.match(text, begin)
        if match is not None and (best is None or match.end() > best.end):
            best = Token(kind, match.group(), begin, match.end())
    if best is None or text.startswith("/*", begin):
        raise ColumnError(
            f"The column list has {_problem(text, begin)} at character {begin + 1}. Quote names that are not plain words."
        )
    return best


def _problem(text: str, begin: int) -> str:
    if text.startswith("/*", begin):
        return "a comment that is never closed"
    if text[begin] in "`\"'":
        return "a quote that is never closed"
    return f"the character {text[begin]!r}"
