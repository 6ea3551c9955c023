"""A report for a person at a terminal, or for a pipe: in that nothing is folded or coloured, and a row is one line.

At a terminal the colour of a line says what it means (`Tone`), and each code of a finding is a link to its page. NO_COLOR and
TERM=dumb turn that off.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final, TextIO, assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from srfix.cli.output import interface as blocks
from srfix.cli.version import SITE
from srfix.recovery.commands import in_pieces
from srfix.serde.printable import bounded, message, one_line, printable

_STYLES: Final = {
    blocks.Tone.GOOD: "bold green",
    blocks.Tone.BAD: "bold red",
    blocks.Tone.LATER: "bold yellow",
    blocks.Tone.UNSURE: "bold yellow",
    blocks.Tone.NOTE: "bold blue",
    blocks.Tone.PLAIN: "bold",
}
_OF_MARKS: Final = {"+": "green", "~": "yellow", "-": "red"}
_CODE: Final = re.compile(r"\bSRF\d{3}\b")
_PAGE_OF_CODE: Final = f"{SITE}findings/{{}}.html"
_UNLIMITED = 1_000_000
_BETWEEN = 3
_TRAILING_BLANKS = re.compile(r"(?m)(?<! )[ ]++((?:\x1b\[[0-9;]*m[ ]*)*)$")
"""The blanks with which rich fills a line to a table's width. Styles may end among these blanks."""


def render(report: blocks.Report, stream: TextIO) -> None:
    """Writes the blocks. Text is folded only on a terminal. Ids and subjects are never broken."""
    width = None if stream.isatty() else _UNLIMITED
    # No markup, emoji or highlighting: a subject may hold brackets and colons.
    console = Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        headline = report.headline
        if headline is not None:
            text = message(headline.text)
            more = f"{'' if text.endswith('.') else '.'} {message(headline.more)}" if headline.more else ""
            _print_text(console, f"{text}{more}", style=_STYLES[headline.tone], styled=len(text))
        for number, block in enumerate(report.rest):
            if number or headline is not None:
                console.line()
            _print(console, block)
    stream.write(_TRAILING_BLANKS.sub(lambda match: match[1].replace(" ", ""), capture.get()))


def _print(console: Console, block: blocks.Block) -> None:
    match block:
        case blocks.Heading(text, level, tone=tone):
            is_plain = level != 1 and tone is blocks.Tone.PLAIN
            _print_text(console, message(text), style="bold dim" if is_plain else _STYLES[tone])
        case blocks.Paragraph(text, is_warning):
            for piece, is_command in _pieces(console, text):
                if is_command:
                    _print_command(console, piece)
                else:
                    _print_text(console, printable(piece), style="yellow" if is_warning else "")
        case blocks.ItemList(items, is_numbered):
            marks = [f"{number}." if is_numbered else "-" for number in range(1, len(items) + 1)]
            for mark, item in zip(marks, items, strict=True):
                indent = f"{mark.ljust(len(marks[-1]))} "
                for piece, is_command in _pieces(console, item):
                    if is_command:
                        _print_command(console, piece, indent=len(marks[-1]) + 3)
                    else:
                        _print_text(console, message(piece), first=indent, rest=" " * len(indent))
                        indent = " " * len(indent)
        case blocks.FieldList(pairs, title):
            if title is not None:
                _print_text(console, message(title), style="bold")
            _print_fields(console, pairs, indent="" if title is None else "  ")
        case blocks.Commands(lines):
            for line in lines:
                _print_command(console, line)
        case blocks.Changes(title, lines):
            _print_text(console, message(title), style="bold")
            for mark, text in lines:
                _print_text(console, message(text), style=_OF_MARKS[mark], first=f"  {mark} ")
        case blocks.Table(title=title):
            if title is not None:
                _print_text(console, printable(title))
            _print_table(console, block)
        case blocks.Bars():
            _print(console, block.as_table())
        case blocks.Picture(in_words=words):
            _print_text(console, message(words))
        case blocks.Folded(title, inner):
            _print_text(console, message(title), style="bold dim")
            for inner_block in inner:
                console.line()
                _print(console, inner_block)
        case _:
            assert_never(block)


def _print_text(
    console: Console, text: str, *, style: str = "", styled: int | None = None, first: str = "", rest: str | None = None
) -> None:
    """Prints the text in lines; `styled` is the number of characters with the style, None for all."""
    for line in folded(console, text, first=first, rest=rest):
        shown = _linked(console, line)
        shown.stylize(style, 0, styled)
        styled = None if styled is None else max(styled - len(line) - 1, 0)
        if line.startswith(blocks.ERROR):
            shown.stylize("bold red", 0, len(blocks.ERROR))
        console.print(shown, soft_wrap=True)


def _linked(console: Console, line: str) -> Text:
    shown = Text(line)
    if not console.no_color:
        for code in _CODE.finditer(line):
            shown.stylize(Style(link=_PAGE_OF_CODE.format(code[0])), *code.span())
    return shown


def _print_command(console: Console, line: str, *, indent: int = 2) -> None:
    # A soft wrap, because a command that rich folds could not be pasted.
    for folded_line in folded_command(printable(line), console.width, indent=indent):
        console.print(Text(folded_line), soft_wrap=True)


def _print_fields(console: Console, pairs: tuple[tuple[str, str], ...], *, indent: str) -> None:
    """One pair on each line; the value below the name, if a word of it is too long to stand beside it."""
    names = [printable(name) for name, _value in pairs]
    width = max(map(cell_len, names), default=0)
    for name, (_name, value) in zip(names, pairs, strict=True):
        text = message(value)
        beside = f"{indent}{name}{' ' * (width - cell_len(name))} "
        if fits(console, text, indent=cell_len(beside)):
            lines = folded(console, text, first=beside)
        else:
            lines = iter([f"{indent}{name}", *folded(console, text, first="  ")])
        for number, line in enumerate(lines):
            shown = _linked(console, line)
            if not number:
                shown.stylize("dim", 0, len(indent) + len(name))
            console.print(shown, soft_wrap=True)


def _pieces(console: Console, text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text; a command that would be folded, or has a line break, gets a line of its own."""
    text = bounded(text)
    pieces = list(in_pieces(text))
    is_short = len(text) <= console.width and not any(is_command and "\n" in piece for piece, is_command in pieces)
    if is_short or not any(is_command for _piece, is_command in pieces):
        yield text, False
        return
    for piece, is_command in pieces:
        stripped = piece if is_command else piece.strip().lstrip(",;. ")
        if stripped:
            yield stripped, is_command


def _print_table(console: Console, block: blocks.Table) -> None:
    """Prints a table if each word fits in its column; otherwise prints it row by row, so that no name is broken."""
    if console.width == _UNLIMITED:
        for line in _lines([block.columns, *block.rows]):
            console.print(Text(line), soft_wrap=True)
        return
    rows = [[printable(cell) for cell in row] for row in block.rows]
    heads = [printable(column) for column in block.columns]
    widths = [
        max((cell_len(word) for cell in (head, *column) for word in cell.split()), default=0)
        for head, column in zip(heads, zip(*rows, strict=True) if rows else [()] * len(heads), strict=True)
    ]
    left = console.width - sum(widths) - _BETWEEN * (len(widths) - 1)
    if left >= 0:
        # srfix prints the title itself: rich would fold it to the table's width, and a subject is longer than most
        # tables are wide.
        table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0))
        for number, width in enumerate(widths):
            # Each column gets an explicit width, because rich would cut words if the line is too short.
            wanted = max(cell_len(cell) for cell in (heads[number], *(row[number] for row in rows)))
            more = min(left, wanted - width)
            left -= more
            table.add_column(Text(heads[number]), width=width + more)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
        return
    for first, *other_cells in rows:
        _print_text(console, f"{heads[0]} {first}" if first.isdigit() else first, first="- ", rest="  ")
        text = ", ".join(f"{head} {cell}" for head, cell in zip(heads[1:], other_cells, strict=True))
        _print_text(console, text, first="  ", rest="  ")


def _lines(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """A line for each row, for grep, cut and awk: cells aligned, none empty, no rule between heads and rows."""
    cells = [[one_line(cell) or "-" for cell in row] for row in rows]
    *widths, _last = (max(map(cell_len, column)) for column in zip(*cells, strict=True))
    for *other_cells, last in cells:
        padded = (
            cell + " " * (width - cell_len(cell) + _BETWEEN) for cell, width in zip(other_cells, widths, strict=True)
        )
        yield "".join((*padded, last))


_WORD: Final = re.compile(r"\s*\S+\s*")
"""A word with the blanks after it; the first word also with the blanks before it."""


def folded(console: Console, text: str, *, first: str = "", rest: str | None = None) -> Iterator[str]:
    """The text in lines, the first behind `first`, the others behind `rest` (blanks as wide as `first`)."""
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
    """True if each word of the text fits on a line after the indent."""
    return all(cell_len(word) + indent <= console.width for word in text.split())


def folded_command(command: str, width: int, *, indent: int = 2) -> list[str]:
    """A command in lines of at most `width`, continued as in a shell; unchanged if a name has a line break."""
    blanks = " " * indent
    if "\n" in command or indent + cell_len(command) <= width:
        return [blanks + command]
    words = shlex.split(command)
    if " ".join(map(shlex.quote, words)) != command:
        # The word uses a shell variable (`"${SRFIX_WORD_1:?…}"`), so quoting it again would change it.
        return [blanks + command]
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
