"""The order of a report's blocks on a page, and their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.cli.output.interface import Block, Commands, Heading, Paragraph, Report, Tone

_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the page under one heading, or without."""

    title: str | None
    tone: Tone = Tone.PLAIN
    blocks: list[Block] = field(default_factory=list)


def arranged(report: Report) -> tuple[list[Block], list[Part]]:
    """The commands and warnings, which stand next to the verdict, and the rest in parts.

    In a report without a verdict, the commands stay where they are, because they may belong to the text before them.
    """
    if report.verdict is None:
        return [], _parts(report.rest)
    to_run, rest = _apart(report.rest)
    return to_run, _parts(rest)


def kind_of(block: Block) -> str:
    """The template's macro that writes a block."""
    return type(block).__name__


def flow(blocks: Iterable[Block], above: int) -> Iterator[tuple[int, Block]]:
    """The blocks, each with its HTML heading level. No level is skipped.

    :param above: the level of the heading that they stand under.
    """
    has_first = False
    for block in blocks:
        if isinstance(block, Heading):
            is_first = block.level == 1 or block.is_apart
            has_first |= is_first
            yield min(above + (2 if has_first and not is_first else 1), _DEEPEST), block
        else:
            yield min(above + 1, _DEEPEST), block


def _apart(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Warnings first, then each group of commands with the line that leads to it and what must be added to it."""
    warnings: list[Block] = []
    to_run: list[Block] = []
    rest: list[Block] = []
    for block in blocks:
        if isinstance(block, Paragraph) and block.is_warning:
            warnings.append(block)
        elif isinstance(block, Commands):
            if rest and _leads(rest[-1]):
                to_run.append(rest.pop())
            to_run.append(block)
        elif to_run and isinstance(block, Paragraph) and block.is_of_commands:
            to_run.append(block)
        else:
            rest.append(block)
    return [*warnings, *to_run], rest


def _leads(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.text.endswith(":")


def _parts(blocks: Iterable[Block]) -> list[Part]:
    """A part for each first-level heading, and for each second-level heading that has no first-level heading above
    it."""
    parts = [Part(title=None)]
    is_under_first = False
    for block in blocks:
        if isinstance(block, Heading) and (block.level == 1 or block.is_apart or not is_under_first):
            is_under_first = block.level == 1 and not block.is_apart
            parts.append(Part(title=block.text, tone=block.tone))
        else:
            parts[-1].blocks.append(block)
    return [part for part in parts if part.blocks]
