"""Schema ids in the sentences of a forecast."""

from __future__ import annotations

from typing import Final

from srfix.recovery.ids_in_words import listed
from srfix.serde.wire import SchemaId

_MOST_IDS: Final = 10


def named_ids(ids: tuple[SchemaId, ...]) -> str:
    """`schema id 3`, `schema ids 3 and 5`."""
    return f"{'schema id' if len(ids) == 1 else 'schema ids'} {listed(ids, most=_MOST_IDS)}"
