"""Listings that a registry may cut into pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from srfix.serde.bounds import AnswerBounds
from srfix.serde.schemas.errors import RegistryUnreachableError

T = TypeVar("T")

_ROUND = 100
"""The limits of registries are multiples of this: 1000 schemas and 20000 subjects at Confluent
(`schema.search.max.limit`, `subject.search.max.limit`), 1000 at Apicurio."""


def paged(
    fetch: Callable[[int], Sequence[T]],
    *,
    key: Callable[[T], Hashable],
    bounds: AnswerBounds = AnswerBounds(),  # noqa: B008  (frozen)
    clock: Callable[[], float] = time.monotonic,
    url: str = "the registry",
) -> Iterator[T]:
    """All items of a listing, each once, in the order of the registry.

    `fetch` asks for the items from an offset on, with no limit of ours: a registry that is given a higher one than its
    own quietly takes its default. So the page's length says whether it may have been cut off: a round number goes on
    until nothing new comes (which it does not where the offset is ignored).

    :param url: the registry's, without secrets.
    """
    seen: set[Hashable] = set()
    offset = characters = pages = 0
    spent_s = 0.0
    while True:
        if pages == bounds.pages:
            raise _endless(url, f"its listing does not end after {pages:,} pages (http.listing.max.pages)")
        if spent_s > bounds.listing_deadline_s:
            waited = f"{bounds.listing_deadline_s:g} s of waiting"
            raise _endless(url, f"its listing does not end after {waited} (http.listing.deadline.ms)")
        began = clock()
        page = fetch(offset)
        spent_s += clock() - began
        pages += 1
        before = len(seen)
        for item in page:
            known_by = key(item)
            if known_by not in seen:
                characters += _characters(known_by)
                if characters > bounds.body_bytes:
                    what = f"the names in its listing have more than {bounds.body_bytes:,} characters"
                    raise _endless(url, f"{what} (http.answer.max.bytes)")
                seen.add(known_by)
                yield item
        offset += len(page)
        if len(seen) == before or len(page) % _ROUND:
            return


def _characters(key: Hashable) -> int:
    if isinstance(key, tuple):
        return sum(map(_characters, key))
    return len(key) if isinstance(key, str) else 8


def _endless(url: str, reason: str) -> RegistryUnreachableError:
    return RegistryUnreachableError([(url, reason)], request="a listing")
