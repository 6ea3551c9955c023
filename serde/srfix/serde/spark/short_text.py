"""A plan in a few lines, for a person."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten
from typing import Final

_WIDTH: Final = 120
_LABEL: Final = 14


def short_text(head: str, entries: Iterable[tuple[str, str]]) -> str:
    """The head, and a line of at most 120 characters for each label and its text; says where all of it is to be had."""
    lines = [f"  {label:<{_LABEL - 4}}  {shorten(text, _WIDTH - _LABEL, placeholder=' …')}" for label, text in entries]
    return "\n".join((head, *lines, "All of it: explain(extended=True)"))


def first_ones(words: Iterable[str], most: int) -> str:
    """The first of the words, and how many more there are."""
    all_words = list(words)
    more = f" and {len(all_words) - most} more" if len(all_words) > most else ""
    return f"{', '.join(all_words[:most])}{more}"
