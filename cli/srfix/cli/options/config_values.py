"""The keys that a command's table may have in the configuration file, and the type of each value. The type is that of
the option; srfix converts no value to another type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

import click

from srfix.serde.errors import UsageError

JOINED: Final = frozenset({"bootstrap-servers", "registry"})
"""Keys of options that take several values in one text, separated by commas. In the file, a list is also allowed."""
_NOT_THERE: Final = frozenset({"config", "help"})


class ValueKind(Enum):
    """The type of a value, in the words of the error message."""

    TEXT = 'text, in quotes: "…"'
    TEXTS = 'text, in quotes: "…", or a list of such texts'
    SWITCH = "true or false, without quotes"
    INTEGER = "a whole number, without quotes"
    NUMBER = "a number, without quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKey:
    """An option, as a key of the file."""

    parameter: str
    """Its parameter name in click."""
    kind: ValueKind = ValueKind.TEXT
    """The type of its value."""
    is_multiple: bool = False
    """True if the option may be repeated. Otherwise a list of `TEXTS` is joined with commas."""


def option_value(path: str, name: str, value: object, key: TableKey) -> object:
    """The value as click's `default_map` takes it.

    :param name: the key after its table's name, in a form that may be shown.
    """
    match key.kind:
        case ValueKind.TEXT if isinstance(value, str):
            return value
        case ValueKind.TEXTS if isinstance(value, str):
            return [value] if key.is_multiple else value
        case ValueKind.TEXTS if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value if key.is_multiple else ",".join(value)
        case ValueKind.SWITCH if isinstance(value, bool):
            return value
        case ValueKind.INTEGER if isinstance(value, int) and not isinstance(value, bool):
            return value
        case ValueKind.NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        case ValueKind.TEXT | ValueKind.TEXTS | ValueKind.SWITCH | ValueKind.INTEGER | ValueKind.NUMBER:
            raise UsageError(f"{name!r} in the configuration file {path!r} must be {key.kind.value}.")
        case _:
            assert_never(key.kind)


def property_value(path: str, name: str, value: object) -> str:
    """The text of a client property: numbers and true/false may stand without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    hint = " A name with dots needs quotes there." if isinstance(value, dict) else ""
    raise UsageError(f"{name!r} in the configuration file {path!r} must be text, a number or true/false.{hint}")


def table_keys(command: click.Command) -> dict[str, TableKey]:
    """The keys of a command's table: long options without the dashes, and also click's names that differ from them."""
    keys: dict[str, TableKey] = {}
    for param in command.params:
        if isinstance(param, click.Option) and param.name is not None and param.name not in _NOT_THERE:
            key = TableKey(parameter=param.name, kind=_kind(param), is_multiple=param.multiple)
            keys |= {opt.removeprefix("--"): key for opt in param.opts if opt.startswith("--")}
            keys.setdefault(param.name.replace("_", "-"), key)
    return keys


def _kind(option: click.Option) -> ValueKind:
    if option.is_flag:
        return ValueKind.SWITCH
    if option.multiple or any(opt.removeprefix("--") in JOINED for opt in option.opts):
        return ValueKind.TEXTS
    if isinstance(option.type, click.types.IntParamType):
        return ValueKind.INTEGER
    return ValueKind.NUMBER if isinstance(option.type, click.types.FloatParamType) else ValueKind.TEXT
