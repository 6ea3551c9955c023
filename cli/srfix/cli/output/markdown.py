"""A report as Markdown, to paste into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO, assert_never

from srfix.cli.output.interface import (
    Block,
    Commands,
    Fields,
    Heading,
    Items,
    Paragraph,
    Report,
    Table,
    printable,
)
from srfix.recovery.commands import in_pieces

__all__ = ["render"]

_SPECIAL = re.compile(r"([\\`*_<>\[\]|#~])")


def render(report: Report, stream: TextIO) -> None:
    """Writes the blocks, a blank line between them."""
    stream.write("\n\n".join("\n".join(_lines(block)) for block in report.blocks) + "\n")


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * (level + 1)} {_escape(text)}"
        case Paragraph(text):
            yield _with_code(text)
        case Items(items, is_numbered):
            for number, item in enumerate(items, start=1):
                yield f"{f'{number}.' if is_numbered else '-'} {_with_code(item)}"
        case Fields(pairs):
            for name, value in pairs:
                yield f"- **{_escape(name)}**: {_escape(value)}"
        case Commands(lines):
            yield "```sh"
            yield from (printable(line) for line in lines)
            yield "```"
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
    return "".join(_code(printable(piece)) if is_command else _escape(piece) for piece, is_command in in_pieces(text))


def _code(command: str) -> str:
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence}{command}{fence}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(text).replace("\n", " "))
