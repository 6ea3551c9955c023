"""The remaining conversions of a value that Spark has read, which neither Avro's resolution nor a cast can do. They are
data, from which `_pyspark.jvm` makes columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A limit: a row whose number is not between `low` and `high` cannot be read."""

    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFields:
    fields: tuple[tuple[str, Fix | None], ...]
    """All fields, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfItems:
    items: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class OfValues:
    values: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesToMap:
    """Turns an array of entries into a map. If a key occurs twice, the last value counts; a null key cannot be read."""

    key: str
    value: str
    values: Fix | None


Fix: TypeAlias = Bounds | OfFields | OfItems | OfValues | EntriesToMap


def makes(fix: Fix | None) -> bool:
    """Whether the fix changes the value; a `Bounds` only checks it."""
    match fix:
        case None | Bounds():
            return False
        case EntriesToMap():
            return True
        case OfFields(fields=fields):
            return any(makes(part) for _, part in fields)
        case OfItems(items=part) | OfValues(values=part):
            return makes(part)


def without_voids(fix: Fix | None, reader: object) -> Fix | None:
    """Without the parts for fields that are null by default: Spark allows no array function on a void."""
    if reader == "null":
        return None
    match fix:
        case OfFields(fields=fields):
            types = {
                field["name"]: field["type"] for field in cast("list[dict[str, object]]", _inside(reader, "fields"))
            }
            left = tuple((name, without_voids(part, types[name])) for name, part in fields)
            return OfFields(fields=left) if any(part is not None for _, part in left) else None
        case OfItems(items=part):
            items = without_voids(part, _inside(reader, "items"))
            return None if items is None else OfItems(items=items)
        case OfValues(values=part):
            values = without_voids(part, _inside(reader, "values"))
            return None if values is None else OfValues(values=values)
        case None | Bounds() | EntriesToMap():
            return fix


def _inside(reader: object, word: str) -> object:
    return cast("Mapping[str, object]", reader)[word]
