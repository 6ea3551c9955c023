"""What is left to do with a value once Spark has read it, where neither Avro's resolution nor a cast does it: as data, which
`_pyspark.jvm` makes columns of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Bounds", "Entries", "Fix", "OfFields", "OfItems", "OfValues", "makes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The number must be within, or the row cannot be read."""

    low: int
    """The least that is too small."""
    high: int
    """The least that is too great."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFields:
    """Of a record."""

    fields: tuple[tuple[str, Fix | None], ...]
    """All fields, in order, with what is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfItems:
    """Of an array's items."""

    items: Fix
    """What is to be done with each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfValues:
    """Of a map's values."""

    values: Fix
    """What is to be done with each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """An array of entries becomes a map. Of a key that comes twice the last value counts; a null key cannot be read."""

    key: str
    """The key's field."""
    value: str
    """The value's field."""
    values: Fix | None
    """What is to be done with each value."""


Fix: TypeAlias = Bounds | OfFields | OfItems | OfValues | Entries


def makes(fix: Fix | None) -> bool:
    """Whether it makes another value, and does not only look at it."""
    match fix:
        case None | Bounds():
            return False
        case Entries():
            return True
        case OfFields(fields=fields):
            return any(makes(part) for _, part in fields)
        case OfItems(items=part) | OfValues(values=part):
            return makes(part)
