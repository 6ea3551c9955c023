"""Which keys the table of a command may have in the configuration file: its long options."""

from __future__ import annotations

from typing import Final

import click

from srfix.cli.options.config_file import JOINED
from srfix.cli.options.config_values import TableKey, ValueKind

_NOT_THERE: Final = frozenset({"config", "help"})


def table_keys(command: click.Command) -> dict[str, TableKey]:
    """By the long option without its dashes, and by click's name for it where that is another."""
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
