"""Tables of settings: each setting's name, the parser of its value, its default, and the objects that accept it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

_Who = TypeVar("_Who", bound=Enum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[_Who]):
    of: Collection[_Who] = ()
    """The objects that accept it; empty if there is only one."""
    check: Callable[[str, Any], object] = lambda _, value: value
    """The given name and value → the parsed value; raises a UsageError for an invalid value."""
    default: object = None
    field: str | None = None
    """The field that stores the setting; None if the setting is only checked."""


def fields_of(table: Mapping[str, Setting[Any]], config: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: row.check(name, config[name]) if name in config else row.default for name, row in table.items()}
    return {row.field: values[name] for name, row in table.items() if row.field is not None}


def taken_by(table: Mapping[str, Setting[_Who]], who: _Who) -> list[str]:
    return [name for name, row in table.items() if who in row.of]
