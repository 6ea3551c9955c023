"""Which known name a misspelt one stands for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is most like one; None if none is alike enough (`cutoff`, from 0 to 1)."""
    return next(iter(nearest_ones(name, known, most=1, cutoff=cutoff)), None)


def nearest_ones(name: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    """The known names that are like one, the most alike first."""
    return difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff)
