"""A report as Markdown, to paste into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO, assert_never

from srfix.cli.output.interface import Block, Commands, FieldList, Heading, ItemList, Paragraph, Report, Table
from srfix.recovery.commands import in_pieces
from srfix.serde.printable import bounded, printable

_SPECIAL = re.compile(r"([\\`*_<>\[\]|#~])")


def render(report: Report, stream: TextIO) -> None:
    """Writes the blocks, a blank line between them."""
    stream.write("\n\n".join("\n".join(_lines(block)) for block in report.blocks) + "\n")


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * (level + 1)} {_escape(bounded(text))}"
        case Paragraph(text):
            yield _with_code(text)
        case ItemList(items, is_numbered):
            for number, item in enumerate(items, start=1):
                yield f"{f'{number}.' if is_numbered else '-'} {_with_code(item)}"
        case FieldList(pairs):
            for name, value in pairs:
                yield f"- **{_escape(name)}**: {_escape(bounded(value))}"
        case Commands(lines):
            yield _fenced("\n".join(lines))
        case Table(columns, rows, title):
            if title is not None:
                yield f"**{_escape(title)}**"
                yield ""
            yield f"| {' | '.join(map(_escape, columns))} |"
            yield f"|{'---|' * len(columns)}"
            for row in rows:
                yield f"| {' | '.join(map(_escape, row))} |"
        case _:
            assert_never(block)


def _with_code(text: str) -> str:
    """Escaped, but for the commands in it, which stand as code."""
    return "".join(
        _code(printable(piece)) if is_command else _escape(piece) for piece, is_command in in_pieces(bounded(text))
    )


def _code(command: str) -> str:
    if "\n" in command:
        return f"\n\n{_fenced(command)}\n\n"  # within a line a break would become a blank
    fence = "`" * (_longest_run(command) + 1)
    return f"{fence}{command}{fence}"


def _fenced(commands: str) -> str:
    """A block of commands, whatever backquotes stand in them."""
    text = printable(commands)
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}sh\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(text).replace("\n", " "))
