"""A plan as a text of a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten
from typing import Final

_WIDTH: Final = 120
_LABEL: Final = 14


def short_text(head: str, entries: Iterable[tuple[str, str]]) -> str:
    """A line of at most 120 characters for each label and its text; the last line says how to get the whole text."""
    lines = [f"  {label:<{_LABEL - 4}}  {shorten(text, _WIDTH - _LABEL, placeholder=' …')}" for label, text in entries]
    return "\n".join((head, *lines, "All of it: explain(extended=True)"))


def first_ones(words: Iterable[str], most: int) -> str:
    all_words = list(words)
    more = f" and {len(all_words) - most} more" if len(all_words) > most else ""
    return f"{', '.join(all_words[:most])}{more}"
