"""What to do for each application, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srfix.cli.output.interface import Block, Heading, Items
from srfix.recovery.findings import ApplicationAdvice

__all__ = ["advice_blocks"]


def advice_blocks(applications: Sequence[ApplicationAdvice]) -> Iterator[Block]:
    """A part for each application that there is something to say to."""
    for told in applications:
        if told.advice:
            yield Heading(f"What to do: {told.application}", level=2)
            yield Items(told.advice, is_numbered=True)
