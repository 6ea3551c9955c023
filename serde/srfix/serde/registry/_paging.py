"""Listings that a registry may cut into pages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

__all__ = ["paged"]

T = TypeVar("T")

_ROUND = 100
"""The limits of registries are multiples of this: 1000 schemas and 20000 subjects at Confluent
(`schema.search.max.limit`, `subject.search.max.limit`), 1000 at Apicurio.
"""


def paged(fetch: Callable[[int], Sequence[T]], *, key: Callable[[T], Hashable]) -> Iterator[T]:
    """All items of a listing, each once, in the order of the registry.

    `fetch` asks for the items from an offset on, with no limit of ours: a registry that is given a higher one than its
    own quietly takes its default. So the page's length says whether it may have been cut off: a round number goes on
    until nothing new comes (which it does not where the offset is ignored).
    """
    seen: set[Hashable] = set()
    offset = 0
    while True:
        page = fetch(offset)
        before = len(seen)
        for item in page:
            if key(item) not in seen:
                seen.add(key(item))
                yield item
        offset += len(page)
        if len(seen) == before or len(page) % _ROUND:
            return
