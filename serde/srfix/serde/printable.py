r"""Makes foreign text harmless for a terminal, a log and a reader. Only this module decides what is printable.

These characters are replaced by Python's escapes (`\x1b`, `\u202e`): control characters (C0 except the line break, DEL,
C1), format characters (bidi controls, zero-width characters, BOM, tags), blanks other than the space, line and
paragraph separators, lone surrogates, private and unassigned characters, and invisible letters (Unicode's
Default_Ignorable_Code_Point).

Errors (`SrfixError`), reports, lines on standard error, prompts and logs go through here. JSON uses `printable_json`,
which changes no value.
"""

from __future__ import annotations

import re
from typing import Final

MESSAGE: Final = 16_000
"""The most characters of a message or a sentence of a report. A longer text loses its middle. This protects the
terminal and the log from a subject name or a registry's answer of a megabyte."""
FOREIGN_TEXT: Final = 600
"""The most characters of foreign text in a message (a registry's, a proxy's, ksqlDB's); the message gives the number of
the others. This keeps the advice in a message visible, because a 409 quotes whole schemas."""

_BLANK_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
"""Characters that are printable by their category, but invisible: fillers, variation selectors, the blank braille
pattern."""
_BLANK_LETTER: Final = re.compile(f"[{_BLANK_LETTERS}]")
_SUSPECT: Final = re.compile(r"[^\n -~]")
_NOT_IN_JSON: Final = re.compile(r"[^\n -~]|\x7f")
COMMAND_IN_TEXT: Final = re.compile(r"`(srfix(?: (?:[^`'\"]|'[^']*+'|\"[^\"]*+\")*+)?)`")
"""A command between backquotes, as `recovery.commands` writes it; a backquote in a name stands in quotes."""


def is_printable(text: str) -> bool:
    """True if each character is visible and affects no other character. A line break is not printable."""
    return text.isprintable() and (text.isascii() or _BLANK_LETTER.search(text) is None)


def printable(text: str) -> str:
    """The text with escapes for unprintable characters; line breaks stay."""
    return text if is_printable(text) else _SUSPECT.sub(_spelt, text)


def one_line(text: str) -> str:
    r"""Like `printable`, but line breaks are also escaped (`\n`)."""
    return printable(text).replace("\n", "\\n")


def foreign(text: str, limit: int | None = None) -> str:
    """Foreign text for a message: printable, on one line, cut at `limit` (`FOREIGN_TEXT`) characters."""
    limit = FOREIGN_TEXT if limit is None else limit
    if len(text) <= limit:
        return one_line(text)
    return f"{one_line(text[:limit])}... ({len(text) - limit:,} more characters)"


def path_words(path: str, root: str = "the root") -> str:
    """A path of fields (`->A->ARRAY->B`, as ksqlDB's errors have it) in a sentence: A->ARRAY->B, or the root's words."""
    return path.removeprefix("->") or root


def shortened(text: str, limit: int = 300) -> str:
    """A library's text for a message, cut at `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def bounded(text: str, limit: int | None = None) -> str:
    """The text, beyond `limit` without its middle: its end says what to do, and no command is split."""
    limit = MESSAGE if limit is None else limit
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    beginning, end = text[:head], text[-tail:]
    # A backquote in `end` may close a command that begins before it, even if the text up to it looks complete. So the
    # text up to the first backquote is left out.
    opened = beginning.rfind("`srfix ")
    if opened >= 0 and COMMAND_IN_TEXT.match(beginning, opened) is None:
        beginning = beginning[:opened]
        closed = end.find("`")
        end = end[closed + 1 :] if closed >= 0 else end
    return f"{beginning}... ({len(text) - len(beginning) - len(end):,} more characters) ...{end}"


def counted(count: int, what: str) -> str:
    """`1 finding`, `1,200 findings`; only for nouns with a plural in s."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def capitalized(text: str) -> str:
    """The text with its first letter in upper case, for the beginning of a sentence."""
    return text[0].upper() + text[1:]


def message(text: str) -> str:
    """The message of an error: limited in length, then made printable."""
    return printable(bounded(text))


def printable_json(text: str) -> str:
    r"""A JSON text with the same value, with unprintable characters (only in its strings) as `\uXXXX`."""
    return text if is_printable(text) else _NOT_IN_JSON.sub(_escaped, text)


def _spelt(match: re.Match[str]) -> str:
    return match[0] if is_printable(match[0]) else match[0].encode("unicode_escape").decode("ascii")


def _escaped(match: re.Match[str]) -> str:
    if is_printable(match[0]):
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
