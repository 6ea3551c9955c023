"""Lines for a terminal: text folded between words, never within one, and commands that run as they are printed.

A name that is longer than a line stands whole on a line of its own, which the terminal folds: it can be copied.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.console import Console

_WORD: Final = re.compile(r"\s*\S+\s*")
"""A word, with the blanks before the first and behind each."""


def folded(console: Console, text: str, *, first: str = "", rest: str | None = None) -> Iterator[str]:
    """The text in lines, the first behind `first`, the others behind `rest` (blanks as wide as `first`).

    A word that does not fit behind these stands at the beginning of a line.
    """
    rest = " " * cell_len(first) if rest is None else rest
    for line in text.split("\n"):
        shown, has_words = first, False
        for word in _WORD.findall(line):
            width = cell_len(word.rstrip())
            if has_words and cell_len(shown) + width > console.width:
                yield shown.rstrip()
                shown, has_words = rest, False
            if not has_words and cell_len(shown) + width > console.width:
                if shown.strip() not in {"", "-"}:
                    yield shown.rstrip()
                shown = ""
            shown, has_words = shown + word, True
        yield shown.rstrip()
        first = rest


def fits(console: Console, text: str, *, indent: int = 0) -> bool:
    """True if each word of it fits on a line behind the indent."""
    return all(cell_len(word) + indent <= console.width for word in text.split())


def folded_command(command: str, width: int, *, indent: int = 2) -> list[str]:
    """A command in lines of at most `width`, each but the last ended by the shell's continuation, if it is longer than that.

    An option stays with its value. What no fold can be found for, a line break in a name say, stays as it is.
    """
    blanks = " " * indent
    if "\n" in command or indent + cell_len(command) <= width:
        return [blanks + command]
    words = shlex.split(command)
    if " ".join(map(shlex.quote, words)) != command:
        return [
            blanks + command
        ]  # it asks the shell for something (`"${SRFIX_WORD_1:?…}"`): quoting again would change it
    lines: list[str] = []
    line = blanks
    for part in _parts(words):
        if line.strip() and cell_len(f"{line} {part} \\") > width:
            lines.append(f"{line} \\")
            line = f"{blanks}    {part}"
        else:
            line = f"{line} {part}" if line.strip() else f"{line}{part}"
    return [*lines, line]


def _parts(words: list[str]) -> Iterator[str]:
    """The words as a shell takes them, `srfix` with its command and an option with its value."""
    at = 0
    while at < len(words):
        takes_next = at == 0 or (
            words[at].startswith("-") and at + 1 < len(words) and not words[at + 1].startswith("-")
        )
        end = at + 2 if takes_next else at + 1
        yield " ".join(map(shlex.quote, words[at:end]))
        at = end
