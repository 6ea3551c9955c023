"""A report for a person at a terminal, or for a pipe: then nothing is folded or coloured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO, assert_never

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from srfix.cli.output.interface import Block, Commands, FieldList, Heading, ItemList, Paragraph, Report, Table
from srfix.recovery.commands import in_pieces
from srfix.serde.printable import bounded, message, printable

_UNLIMITED = 1_000_000
"""Columns of a pipe: a line is as long as it needs to be."""
_TRAILING_BLANKS = re.compile(r"(?m)(?<! )[ ]++((?:\x1b\[[0-9;]*m[ ]*)*)$")
"""What rich fills a line with to the width of a table; styles may end among the blanks."""


def render(report: Report, stream: TextIO) -> None:
    """Writes the blocks. Ids and subjects are folded on a terminal and whole elsewhere, never shortened."""
    width = None if stream.isatty() else _UNLIMITED
    # No markup, emoji or highlighting: a subject may hold brackets and colons.
    console = Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        for number, block in enumerate(report.blocks):
            if number:
                console.line()
            _print(console, block)
    stream.write(_TRAILING_BLANKS.sub(lambda match: match[1].replace(" ", ""), capture.get()))


def _print(console: Console, block: Block) -> None:
    match block:
        case Heading(text, level):
            console.print(Text(message(text), style="bold" if level == 1 else "bold dim"))
        case Paragraph(text):
            for piece, is_command in _pieces(console, text):
                if is_command:
                    _print_command(console, piece)
                else:
                    console.print(Text(printable(piece)))
        case ItemList(items, is_numbered):
            marks = [f"{number}." if is_numbered else "-" for number in range(1, len(items) + 1)]
            for mark, item in zip(marks, items, strict=True):
                for number, (piece, is_command) in enumerate(_pieces(console, item)):
                    if is_command:
                        _print_command(console, piece, indent=len(marks[-1]) + 3)
                    else:
                        console.print(_grid([(("" if number else mark).ljust(len(marks[-1])), piece)], style=None))
        case FieldList(pairs):
            console.print(_grid(list(pairs), style="dim"))
        case Commands(lines):
            for line in lines:
                _print_command(console, line)
        case Table(title=title):
            if title is not None:
                console.print(Text(printable(title)))
            console.print(_table(block))
        case _:
            assert_never(block)


def _print_command(console: Console, line: str, *, indent: int = 2) -> None:
    # Soft: a folded command could not be copied.
    console.print(Text(f"{' ' * indent}{printable(line)}"), soft_wrap=True)


def _pieces(console: Console, text: str) -> Iterator[tuple[str, bool]]:
    """The text, with each command that a terminal would fold on a line of its own: it could not be copied else. So is one
    that holds a line break, which an indent would change."""
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


def _grid(pairs: list[tuple[str, str]], *, style: str | None) -> RichTable:
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style=style)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(Text(printable(name)), Text(message(value)))
    return grid


def _table(block: Table) -> RichTable:
    # The title is not rich's: that one is folded to the table, and a subject is longer than most tables are wide.
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in block.columns:
        table.add_column(Text(printable(column)), overflow="fold")
    for row in block.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
