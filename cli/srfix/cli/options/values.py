"""What options are made of: the types of their values, their variables, and groups that a command gets as one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial, wraps
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, TypeAlias

import click
from click.core import ParameterSource

from srfix.cli.command_classes import path_completion
from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.hints import nearest
from srfix.serde.subjects.names import Role

ROLES: Final = {"key": (Role.KEY,), "value": (Role.VALUE,), "both": (Role.KEY, Role.VALUE)}

BY_ID: Final = "by-id"
"""Like plain deserializers."""
ONE_SUBJECT: Final = "one-subject"
"""Like Connect's converters and ksqlDB."""
DUAL_SUBJECT: Final = "dual-subject"
"""With a fall-back."""
POLICIES: Final = (BY_ID, ONE_SUBJECT, DUAL_SUBJECT)


class Choice(click.Choice[str]):
    """One of a few words, or of an enumeration's values (then its member). An error names a similar word."""

    def __init__(self, words: Iterable[str] | type[Enum]) -> None:
        super().__init__([word.value if isinstance(word, Enum) else word for word in words])
        self._kind: Callable[[str], Any] = words if isinstance(words, type) else str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, Enum) else self._kind(super().convert(value, param, ctx))

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        refused = super().get_invalid_choice_message(value, ctx)
        near = nearest(str(value)[:100], self.choices)
        return refused if near is None else f"{refused} Did you mean {near}?"


class Lines(click.types.StringParamType):
    """Text. A variable may hold several values, one on each line, because values may contain blanks and colons."""

    envvar_list_splitter = "\n"


_SECONDS: Final = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_FORM: Final = re.compile(r"(\d{1,9})\s*(s|min|h|d|w)")


class Duration(click.ParamType[int]):
    """Whole seconds, from a number with its unit: s, min, h, d or w."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _FORM.fullmatch(str(value).strip())
        if match is None or not int(match[1]):
            self.fail(
                f"{value!r} is not a duration. Write a number and a unit (s, min, h, d or w), such as 90d.", param, ctx
            )
        return int(match[1]) * _SECONDS[match[2]]


_NAME: Final = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
"""Other text, for example with a blank or a colon, is a name with a part of a value."""


def parse_property(text: str, *, option: str) -> tuple[str, str]:
    """Key and value of `key=value`; the value may hold more `=`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The text is not shown, because it may be a bare secret.
        raise UsageError(f"{option} needs key=value as one word; the text after it has no key or no '='.")
    if not _NAME.fullmatch(key.strip()):
        raise UsageError(
            f"{option} needs key=value as one word. The text before the first '=' (not shown) is not the name "
            "of a property."
        )
    return key.strip(), value.strip()


def file_text(path: str, *, option: str) -> str:
    try:
        return read_file(path, most_bytes=bounds.MOST_EVIDENCE_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"The file {path!r} of {option} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"The file {path!r} of {option} is not UTF-8 text; save it as UTF-8.") from None


Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


_TO_VARIABLE: Final = str.maketrans(f"{ascii_lowercase}-", f"{ascii_uppercase}_")


def option(*names: str, envvar: str | None = None, **attributes: Any) -> Decorator:
    """An option that can also be set in the environment: `--state-dir` as `SRFIX_STATE_DIR`."""
    long_name = next(name for name in names if name.startswith("--"))
    variable = f"SRFIX_{envvar or long_name.removeprefix('--').translate(_TO_VARIABLE)}"
    completion = path_completion(attributes.get("metavar"))
    return click.option(*names, envvar=variable, show_envvar=True, **completion, **attributes)


repeatable = partial(option, type=Lines(), multiple=True)
flag = partial(click.option, is_flag=True)
file_option = partial(click.option, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")


def choice_of(words: Iterable[str] | type[Enum], default: str | Enum) -> dict[str, Any]:
    """The attributes of an option with a choice, and with a default that its help shows."""
    value = default.value if isinstance(default, Enum) else default
    return {"type": Choice(words), "default": value, "show_default": True}


def typed_options(*options: str) -> list[str]:
    """The long options on the command line; not those in the environment or a file, which may be for others."""
    ctx = click.get_current_context()
    return [
        name
        for name in options
        if ctx.get_parameter_source(name.removeprefix("--").replace("-", "_")) is ParameterSource.COMMANDLINE
    ]


def chosen_options(*options: str) -> list[str]:
    """Of options that exclude each other, those that were given. The command line decides; only if it has none of them, the
    environment and a file count."""
    params = click.get_current_context().params
    given = (name for name in options if params[name.removeprefix("--").replace("-", "_")] not in (None, ()))
    return typed_options(*options) or list(given)


def handing_over(name: str, make: Callable[..., object], *options: Decorator, besides: str = "") -> Decorator:
    """Adds options that the command gets as one argument, which `make` makes of their values, by name. `besides` is an
    argument that only some commands have; `make` gets it too."""

    def alone() -> None: ...

    for decorator in options:
        decorator(alone)
    parameters = [param.name for param in alone.__click_params__ if param.expose_value]  # type: ignore[attr-defined]

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**values: Any) -> Any:
            made = make(**{param: values.pop(param) for param in (*parameters, besides) if param in values})
            return command(**{name: made}, **values)

        decorated: Callable[..., Any] = call
        for decorator in reversed(options):
            decorated = decorator(decorated)
        return decorated

    return add
