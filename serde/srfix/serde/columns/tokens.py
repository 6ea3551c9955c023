"""The words and signs of a column list, as the lexer of ksqlDB's `SqlBase.g4` cuts them: the longest match wins.

White space is blank, tab and line ends; comments are `-- …` to the end of the line and `/* … */`. As in the grammar, the
character after `--` belongs to the comment whatever it is: a line of nothing but `--` takes the next line with it. A colon is
Spark's, between a name and its type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from srfix.serde.errors import ColumnError

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
"""In the grammar's order, by which ties are decided: `12` is an integer and `1E5` a number, but `1E5X` is a name."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign, and where it stands."""

    kind: TokenKind
    """What it is; "end" behind the last one."""
    text: str
    """As written, quotes included."""
    start: int
    """Where it begins, from 0."""
    end: int
    """Where it ends, exclusive."""


def next_token(text: str, start: int) -> Token:
    """The first token from `start` on."""
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
        raise ColumnError(f"The column list has {_problem(text, begin)} at character {begin + 1}. {_HINT}")
    return best


_HINT: Final = "Quote names that are not plain words."


def _problem(text: str, begin: int) -> str:
    if text.startswith("/*", begin):
        return "a comment that is never closed"
    if text[begin] in "`\"'":
        return "a quote that is never closed"
    return f"the character {text[begin]!r}"
