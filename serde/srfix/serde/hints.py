"""Suggests a known name for a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The most similar known name; None if none is similar enough (`cutoff`, from 0 to 1)."""
    return next(iter(nearest_ones(name, candidates, most=1, cutoff=cutoff)), None)


def nearest_ones(name: str, candidates: Iterable[str], *, most: int, cutoff: float = 0.6) -> list[str]:
    """The similar known names, the most similar first. Names with the same letters come first (`ulr` and `url`)."""
    names = list(candidates)
    swapped = [other for other in names if other != name and sorted(other) == sorted(name)] if len(name) > 2 else []
    like = difflib.get_close_matches(name, names, n=most, cutoff=cutoff)
    return list(dict.fromkeys((*swapped, *like)))[:most]
