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
            yield _escape(text)
        case Items(items, is_numbered):
            for number, item in enumerate(items, start=1):
                yield f"{f'{number}.' if is_numbered else '-'} {_escape(item)}"
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


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(text).replace("\n", " "))
