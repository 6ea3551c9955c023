"""Tables of settings: what one is called, how its value is read, what it is unless given, and who takes it.

The drop-in's configuration, the options of `format("srfix")` and the registry's client properties are such tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

_Who = TypeVar("_Who", bound=Enum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[_Who]):
    """A row of a table."""

    of: Collection[_Who] = ()
    """Who takes it; nobody named where there is one taker only."""
    check: Callable[[str, Any], object] = lambda _, value: value
    """Name and value, as they were given → the value that counts; raises a UsageError for one that makes no sense."""
    default: object = None
    field: str | None = None
    """What it is called where the settings are kept; None if it is only checked."""


def fields_of(table: Mapping[str, Setting[Any]], config: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings are kept as: field → value."""
    values = {name: row.check(name, config[name]) if name in config else row.default for name, row in table.items()}
    return {row.field: values[name] for name, row in table.items() if row.field is not None}


def taken_by(table: Mapping[str, Setting[_Who]], who: _Who) -> list[str]:
    """The names of a taker's settings."""
    return [name for name, row in table.items() if who in row.of]
