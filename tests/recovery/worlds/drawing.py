"""Short names for hypothesis's draws, and for dice that are thrown after one draw. For the late parts of a world,
hypothesis mostly draws the first choice of a strategy, and varies earlier draws; dice are always fair. `smallest` makes
a world smaller, not hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

T = TypeVar("T")

Draw: TypeAlias = DrawFn | Random


def often(draw: Draw, percent: int) -> bool:
    """True in so many of 100 worlds; smaller worlds say False."""
    if isinstance(draw, Random):
        return draw.randrange(100) < percent
    return draw(st.integers(0, 99)) >= 100 - percent


def one(draw: Draw, of: Sequence[T]) -> T:
    return draw.choice(of) if isinstance(draw, Random) else draw(st.sampled_from(of))


def some(draw: Draw, of: Sequence[T], least: int, most: int) -> list[T]:
    """Some of them, each once."""
    most = min(most, len(of))
    if isinstance(draw, Random):
        return draw.sample(of, draw.randint(min(least, most), most))
    return draw(st.lists(st.sampled_from(of), min_size=least, max_size=most, unique=True))
