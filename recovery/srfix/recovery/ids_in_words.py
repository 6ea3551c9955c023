"""Schema ids in a sentence for a person; the JSON has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MOST_NAMED: Final = 20
"""How many ids are named; the rest is counted. A topic of garbage seems to carry thousands of ids."""


def listed(ids: Iterable[object], *, most: int = MOST_NAMED) -> str:
    """`1, 3 and 7`, or `1, 3, 7 and 1,980 more`."""
    texts = _named(ids, most)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def named_ids(ids: Sequence[object]) -> str:
    """`schema id 3`, `schema ids 3 and 5`; there must be at least one id."""
    return f"{'schema id' if len(ids) == 1 else 'schema ids'} {listed(ids)}"


def enumerated(ids: Iterable[object], *, most: int = MOST_NAMED) -> str:
    """`1, 3, 7`, or `1, 3, 7, 1,980 more`; empty without ids."""
    return ", ".join(_named(ids, most))


def _named(ids: Iterable[object], most: int) -> list[str]:
    texts = [str(schema_id) for schema_id in ids]
    return texts if len(texts) <= most else [*texts[:most], f"{len(texts) - most:,} more"]
