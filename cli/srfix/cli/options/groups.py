"""Helpers that add several options to a command, which gets them as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, TypeAlias

import click
from click.core import ParameterSource

from srfix.cli.completion import path_completion
from srfix.cli.options.values import Choice

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


_TO_VARIABLE: Final = str.maketrans(f"{ascii_lowercase}-", f"{ascii_uppercase}_")


def option(*names: str, envvar: str | None = None, **attributes: Any) -> Decorator:
    """An option that can also be set in the environment: `--state-dir` as `SRFIX_STATE_DIR`."""
    long_name = next(name for name in names if name.startswith("--"))
    variable = f"SRFIX_{envvar or long_name.removeprefix('--').translate(_TO_VARIABLE)}"
    completion = path_completion(attributes.get("metavar"))
    return click.option(*names, envvar=variable, show_envvar=True, **completion, **attributes)


def choice_of(kind: type[Enum]) -> Choice:
    """A choice among an enumeration's values."""
    return Choice([member.value for member in kind])


def typed_options(*options: str) -> list[str]:
    """The long options that stand on the command line. Options in the environment or a file do not count, because they
    may be for other commands."""
    ctx = click.get_current_context()
    return [
        name
        for name in options
        if ctx.get_parameter_source(name.removeprefix("--").replace("-", "_")) is ParameterSource.COMMANDLINE
    ]


def handing_over(name: str, make: Callable[..., object], *options: Decorator, besides: str = "") -> Decorator:
    """Adds options that the command gets as one argument.

    :param make: makes the argument from the options' values, which it gets by name.
    :param besides: an argument that only some commands have; `make` gets it too, if there is one.
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
