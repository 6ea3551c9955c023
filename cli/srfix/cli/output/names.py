"""The names in a report's document. Text formats show these names as code in every sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from srfix.serde.printable import printable

if TYPE_CHECKING:
    from srfix.serde.schemas.models import Json

_NAMES: Final = frozenset({"subject", "topic", "application", "store", "registry", "journal"})
"""Keys of documents whose values are names."""
_WHOLE: Final = r"""(?<![^\s("'/])(?:{})(?=[.,;:!?)"']*(?:[\s/]|$))"""
"""A name that is not part of a longer word."""
_MOST_NAMES: Final = 2_000


def names_of(document: Mapping[str, Json]) -> re.Pattern[str] | None:
    """A pattern that finds each name of the document in a printable text, the longest first; None if the document has
    no names."""
    names = sorted(dict.fromkeys(_names(document)), key=len, reverse=True)[:_MOST_NAMES]
    return re.compile(_WHOLE.format("|".join(map(re.escape, names)))) if names else None


def _names(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Every name in a document, in its printable form."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _NAMES and isinstance(item, str):
                if item.strip():
                    yield printable(item).replace("\n", " ")
            else:
                yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
