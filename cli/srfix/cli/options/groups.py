"""How options are put on a command: several at once, of which it gets one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from srfix.cli.completion import path_completion
from srfix.cli.options.values import Choice

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(*names: str, envvar: str, **attributes: Any) -> Decorator:
    """An option that the environment may give too, as `SRFIX_…`."""
    return click.option(
        *names, envvar=f"SRFIX_{envvar}", show_envvar=True, **path_completion(attributes.get("metavar")), **attributes
    )


def choice_of(kind: type[Enum]) -> Choice:
    """One of an enumeration's values."""
    return Choice([member.value for member in kind])


def typed_options(*options: str) -> list[str]:
    """Those of the long options that stand on the command line: in the environment or a file they may be for other commands."""
    ctx = click.get_current_context()
    return [
        name
        for name in options
        if ctx.get_parameter_source(name.removeprefix("--").replace("-", "_")) is ParameterSource.COMMANDLINE
    ]


def handing_over(name: str, make: Callable[..., object], *options: Decorator, besides: str = "") -> Decorator:
    """Adds options of which the command gets one argument.

    :param make: what makes it of their values, which it gets by their names.
    :param besides: an argument of some of the commands that it gets too, where there is one.
    """

    def alone() -> None: ...

    for decorator in options:
        decorator(alone)
    parameters = [param.name for param in alone.__click_params__ if param.expose_value]  # type: ignore[attr-defined]

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            made = make(**{param: values.pop(param) for param in (*parameters, besides) if param in values})
            return command(**{name: made}, **values)

        decorated: Callable[..., Any] = call
        for decorator in reversed(options):
            decorated = decorator(decorated)
        return decorated

    return add
