r"""Text that others wrote, made harmless for a terminal, a log and a reader's eye: what is printable is decided here alone.

What is not printable stands as Python spells it (`\x1b`, `\u202e`): control characters (C0 but the line break, DEL, C1),
format characters (bidi controls, zero-width ones, BOM, tags), blanks other than the space, line and paragraph separators,
lone surrogates, what is private or unassigned, and letters that show nothing (Unicode's Default_Ignorable_Code_Point).

Errors (`SrfixError`), reports, lines on standard error, prompts and logs go through here. JSON takes `printable_json`, which
changes no value.
"""

from __future__ import annotations

import re
from typing import Final

MESSAGE: Final = 16_000
"""Characters of a message or a sentence of a report; the middle of a longer one is left out. It protects from a subject's name
or a registry's answer of a megabyte on the terminal and in the log."""
FOREIGN_TEXT: Final = 600
"""Characters of others' words in a message (a registry's, a proxy's, ksqlDB's); the rest is counted. It protects from
messages in which nobody finds what to do next: a 409 quotes whole schemas."""

_BLANK_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
"""Printable by their category, and seen by nobody: fillers, variation selectors, the blank braille pattern."""
_BLANK_LETTER: Final = re.compile(f"[{_BLANK_LETTERS}]")
_SUSPECT: Final = re.compile(r"[^\n -~]")
_NOT_IN_JSON: Final = re.compile(r"[^\n -~]|\x7f")
COMMAND_IN_TEXT: Final = re.compile(r"`(srfix(?: (?:[^`'\"]|'[^']*+'|\"[^\"]*+\")*+)?)`")
"""A command as `recovery.commands` quotes it, between backquotes; a backquote in a name stands in quotes."""


def is_printable(text: str) -> bool:
    """True if each character can be seen, and moves nothing but itself. A line break is not."""
    return text.isprintable() and (text.isascii() or _BLANK_LETTER.search(text) is None)


def printable(text: str) -> str:
    """The text with everything that is not printable spelt out; line breaks stay."""
    return text if is_printable(text) else _SUSPECT.sub(_spelt, text)


def one_line(text: str) -> str:
    r"""As `printable`, with line breaks spelt out too (`\n`)."""
    return printable(text).replace("\n", "\\n")


def foreign(text: str, limit: int | None = None) -> str:
    """Others' words for a message: printable, on one line, cut at `limit` (`FOREIGN_TEXT`) characters."""
    limit = FOREIGN_TEXT if limit is None else limit
    if len(text) <= limit:
        return one_line(text)
    return f"{one_line(text[:limit])}... ({len(text) - limit:,} more characters)"


def shortened(text: str, limit: int = 300) -> str:
    """A library's words for a message: cut at `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def bounded(text: str, limit: int | None = None) -> str:
    """The text, without its middle where it has more than `limit` (`MESSAGE`) characters.

    Its end stays, for it says what to do. A command that the cut would go through is left out whole.
    """
    limit = MESSAGE if limit is None else limit
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    beginning, end = text[:head], text[-tail:]
    # Even a command that is whole in one part may be the rest of a longer one's name: what is odd here is left out.
    opened = beginning.rfind("`srfix ")
    if opened >= 0 and COMMAND_IN_TEXT.match(beginning, opened) is None:
        beginning = beginning[:opened]
        closed = end.find("`")
        end = end[closed + 1 :] if closed >= 0 else end
    return f"{beginning}... ({len(text) - len(beginning) - len(end):,} more characters) ...{end}"


def capitalized(text: str) -> str:
    """The text as a sentence begins: its first letter in upper case, the rest as it is."""
    return text[0].upper() + text[1:]


def message(text: str) -> str:
    """A message as errors carry it: bounded, then printable."""
    return printable(bounded(text))


def printable_json(text: str) -> str:
    r"""A JSON text that holds the same, with everything that is not printable as `\uXXXX`.

    :param text: JSON as any encoder writes it: what is not printable can only stand in its strings.
    """
    return text if is_printable(text) else _NOT_IN_JSON.sub(_escaped, text)


def _spelt(match: re.Match[str]) -> str:
    character = match[0]
    if is_printable(character):
        return character
    return character.encode("unicode_escape").decode("ascii")


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if is_printable(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
