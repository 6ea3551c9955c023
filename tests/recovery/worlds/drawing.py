"""Short words for what hypothesis draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

__all__ = ["often", "one", "some"]

T = TypeVar("T")


def often(draw: DrawFn, percent: int) -> bool:
    """True in so many of 100 worlds; smaller worlds say False."""
    return draw(st.integers(0, 99)) >= 100 - percent


def one(draw: DrawFn, of: Sequence[T]) -> T:
    """One of them."""
    return draw(st.sampled_from(of))


def some(draw: DrawFn, of: Sequence[T], least: int, most: int) -> list[T]:
    """Some of them, each once."""
    return draw(st.lists(st.sampled_from(of), min_size=least, max_size=min(most, len(of)), unique=True))
