"""A report as Markdown, to paste into a ticket: commands, names of the report's document, and words with a character that
Markdown may treat as markup are code, and no backslash escapes anything."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final, TextIO, assert_never

from srfix.cli.output import interface as blocks
from srfix.recovery.commands import in_pieces
from srfix.serde.printable import bounded, printable

_SPECIAL: Final = re.compile(r"[\\`*_<>\[\]|#~&]")
_NO_MARKUP: Final = re.compile(r"[^\w\s.,;=/+-]|_")
_WORD: Final = re.compile(r"(\s*)(\S+)")
_TAIL: Final = re.compile(r"[.,;:!?)]*$")
"""Characters that end a sentence or a part of it, and are not part of a name."""
_BEGINS_A_BLOCK: Final = re.compile(r"[-+=>]+$|\d{1,9}[.)]$")
"""A first word that would turn its line into a list, a quote, a heading or a rule."""

_TICKET: Final = 30_000
"""From this number of characters on, folded parts are left out: Jira's description takes 32,767, a comment on GitHub
65,536."""


def render(report: blocks.Report, stream: TextIO) -> None:
    """Writes the verdict and the blocks. Folded parts are complete if a ticket has room for them, others always."""
    names = blocks.names_of(report.document)
    pieces = [(block, _written([block], names)) for block in _led_by_verdict(report)]
    left = _TICKET - sum(len(text) for block, text in pieces if not isinstance(block, blocks.Folded))
    shown = []
    for block, text in pieces:
        if isinstance(block, blocks.Folded):
            left -= len(text)
            if left < 0 and not block.is_open:
                said = f"{block.title}: left out, because a ticket cannot hold more. See --output html."
                text = _written([blocks.Paragraph(said)], names)
        shown.append(text)
    stream.write("\n\n".join(shown) + "\n")


def _led_by_verdict(report: blocks.Report) -> Iterator[blocks.Block]:
    headline = report.headline
    if headline is not None:
        yield blocks.Heading(headline.text)
        where = ", ".join(f"{name} {value}" for name, value in report.where if value is not None)
        sentences = " ".join(text for text in (headline.more, f"Looked at: {where}." if where else None) if text)
        if sentences:
            yield blocks.Paragraph(sentences)
    yield from report.rest


def _written(several: Iterable[blocks.Block], names: re.Pattern[str] | None) -> str:
    return "\n\n".join("\n".join(_lines(block, names)) for block in several)


def _lines(block: blocks.Block, names: re.Pattern[str] | None) -> Iterator[str]:
    match block:
        case blocks.Heading(text, level):
            yield f"{'#' * (level + 1)} {_text(bounded(text), names)}"
        case blocks.Paragraph(text, is_warning):
            yield f"{'**Mind:** ' if is_warning else ''}{_with_code(bounded(text), names)}"
        case blocks.ItemList(items, is_numbered):
            for number, item in enumerate(items, start=1):
                yield f"{f'{number}.' if is_numbered else '-'} {_with_code(bounded(item), names)}"
        case blocks.FieldList(pairs, title):
            if title is not None:
                yield f"**{_text(bounded(title), names)}**\n"
            for name, value in pairs:
                yield f"- **{_text(name, None)}**: {_text(bounded(value), names)}"
        case blocks.Commands(lines):
            yield _fenced("\n".join(lines))
        case blocks.Changes(title, lines):
            yield f"**{_text(bounded(title), names)}**\n"
            # GitHub colours a line that begins with an exclamation mark, and none with a tilde.
            marked = (f"{'!' if mark == '~' else mark} {printable(text)}" for mark, text in lines)
            yield _fenced("\n".join(marked), "diff")
        case blocks.Table(columns, rows, title):
            if title is not None:
                yield f"**{_text(title, names)}**\n"
            yield f"| {' | '.join(_cell(column, None) for column in columns)} |"
            yield f"|{'---|' * len(columns)}"
            for row in rows:
                yield f"| {' | '.join(_cell(cell, names) for cell in row)} |"
        case blocks.Bars():
            yield from _lines(block.as_table(), names)
        case blocks.Picture(in_words=words):
            yield _text(bounded(words), names)
        case blocks.Folded(title, inner, is_open):
            summary = html.escape(printable(title).replace("\n", " "), quote=False)
            # A blank line before and after the part that is Markdown again.
            yield f"<details{' open' if is_open else ''}><summary>{summary}</summary>\n"
            yield f"{_written(inner, names)}\n"
            yield "</details>"
        case _:
            assert_never(block)


def _with_code(text: str, names: re.Pattern[str] | None, *, begins: bool = True) -> str:
    return "".join(
        _command(printable(piece)) if is_command else _text(piece, names, begins=begins and not number)
        for number, (piece, is_command) in enumerate(in_pieces(text))
    )


def _text(text: str, names: re.Pattern[str] | None, *, begins: bool = True) -> str:
    """A text on one line. Names in it are code, and so are words that would be markup."""
    text = printable(text).replace("\n", " ")
    written: list[str] = []
    at = 0
    for match in names.finditer(text) if names is not None else ():
        written += [_words(text[at : match.start()], begins=begins and not at), _span(match[0])]
        at = match.end()
    return "".join([*written, _words(text[at:], begins=begins and not at)])


def _words(text: str, *, begins: bool) -> str:
    written = []
    end = 0
    for match in _WORD.finditer(text):
        blanks, word = match.groups()
        tail = _TAIL.search(word)
        core, rest = (word[: tail.start()], word[tail.start() :]) if tail is not None else (word, "")
        if begins and _BEGINS_A_BLOCK.match(word):
            core, rest = word, ""
        is_markup = _SPECIAL.search(core) is not None or (begins and _BEGINS_A_BLOCK.match(word) is not None)
        written.append(f"{blanks}{_span(core) if is_markup else core}{rest}")
        begins, end = False, match.end()
    return "".join([*written, text[end:]])


def _cell(text: str, names: re.Pattern[str] | None) -> str:
    """A cell. A bar ends a cell even within a code span, so a word with a bar is written as HTML."""
    if "|" not in text:
        # Without its line break a command would be a different command, so the cell shows it as text.
        return _text(text, names, begins=False) if "\n" in text else _with_code(text, names, begins=False)
    # Markdown is active within HTML's code element, so characters of markup or links become references.
    return f"<code>{_NO_MARKUP.sub(lambda match: f'&#{ord(match[0])};', printable(text).replace(chr(10), ' '))}</code>"


def _span(code: str) -> str:
    """A code span that shows exactly this text, even with backquotes in it."""
    fence = "`" * (_longest_run(code) + 1)
    is_padded = code.startswith("`") or code.endswith("`") or (code.startswith(" ") and code.endswith(" "))
    blank = " " if is_padded and code.strip() else ""
    return f"{fence}{blank}{code}{blank}{fence}"


def _command(command: str) -> str:
    if "\n" in command:
        return f"\n\n{_fenced(command)}\n\n"  # within a line, Markdown would show a line break as a blank
    return _span(command)


def _fenced(text: str, language: str = "sh") -> str:
    """A fenced block of commands or other text, even with backquotes in it."""
    text = printable(text)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
