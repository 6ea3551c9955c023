"""The options that a person gave, for the commands that srfix prints: it repeats them there, but no secret."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

import click
from click.core import ParameterSource

from srfix.cli.output.interface import OutputFormat
from srfix.cli.redaction import is_secret_property, is_secret_text
from srfix.recovery.commands import KNOWN_OPTIONS, CommandLine, GivenOption
from srfix.serde.property_names import is_known, names_servers

CONFIG_PATH: Final = "srfix.cli.config_path"
"""The context's key for the path of `--config`, which click passes to no command."""

_PROPERTIES: Final = frozenset({"-X", "-R", "--spark-conf"})
_URLS: Final = frozenset({"--registry", "--ksqldb", "--bootstrap-servers"})
_WHERE: Final = frozenset({"--registry", "--bootstrap-servers"})
_USERS: Final = frozenset({"--ksqldb-user"})


def given_options() -> CommandLine:
    """The options on the command line, without secrets; in HTML and Markdown also the cluster and registry."""
    ctx = click.get_current_context()
    option_names = frozenset[str]().union(*KNOWN_OPTIONS.values())
    here = {ParameterSource.COMMANDLINE}
    is_mailed = ctx.params.get("output") in (OutputFormat.HTML.value, OutputFormat.MARKDOWN.value)
    in_mail = here | {ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP} if is_mailed else here
    repeated: list[GivenOption] = []
    withheld: list[GivenOption] = []
    for param in ctx.command.params:
        if not isinstance(param, click.Option) or param.name is None:
            continue
        name = next((opt for opt in param.opts if opt in option_names), None)
        if name is None or ctx.get_parameter_source(param.name) not in (in_mail if name in _WHERE else here):
            continue
        if param.is_flag:
            repeated.append(GivenOption(name=name))
            continue
        for value in _values(ctx, param):
            if _is_secret(name, value):
                key = value.partition("=")[0].strip()
                shown = name in _PROPERTIES and is_known(key)
                withheld.append(GivenOption(name=name, value=key if shown else None))
            else:
                repeated.append(GivenOption(name=name, value=value))
    return CommandLine(options=tuple(repeated), withheld=tuple(withheld))


def _values(ctx: click.Context, param: click.Option) -> Iterator[str]:
    value: Any = ctx.params.get(param.name or "")
    if param.name == "config":
        value = ctx.meta.get(CONFIG_PATH)
    values = value if param.multiple else (value,)
    for item in values:
        if item is not None:
            word = item.value if isinstance(item, Enum) else item
            yield f"{word:g}" if isinstance(word, float) else str(word)


def _is_secret(name: str, value: str) -> bool:
    if name in _PROPERTIES:
        return is_secret_property(value)
    if name in _USERS:
        return is_secret_text(value)
    return name in _URLS and not names_servers(value)
