"""Which known name a misspelt one stands for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is most like one; None if none is alike enough (`cutoff`, from 0 to 1)."""
    return next(iter(nearest_ones(name, candidates, most=1, cutoff=cutoff)), None)


def nearest_ones(name: str, candidates: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    """The known names that are like one, the most alike first: those of the same letters, as `ulr` is of `url`."""
    names = list(candidates)
    swapped = [other for other in names if other != name and sorted(other) == sorted(name)] if len(name) > 2 else []
    like = difflib.get_close_matches(name, names, n=most, cutoff=cutoff)
    return list(dict.fromkeys((*swapped, *like)))[:most]
