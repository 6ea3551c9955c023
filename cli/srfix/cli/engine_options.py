"""The options that say what reads topics: this process, or Spark.

@click.command()
@engine_options                # hands over `engine: EngineChoice`
def scan(engine): …
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from srfix.cli.lines import Lines
from srfix.cli.properties import parse_property
from srfix.cli.redaction import Redactor
from srfix.serde.errors import UsageError

__all__ = ["EngineChoice", "LOCAL", "SPARK", "engine_options"]

R = TypeVar("R")

LOCAL: Final = "local"
"""One consumer in this process."""
SPARK: Final = "spark"
"""Jobs on a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """What reads topics."""

    engine: str = LOCAL
    """`LOCAL` or `SPARK`."""
    master: str | None = None
    """Where Spark is, `sc://…` a Connect server; None for where its own configuration says, else this machine."""
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Spark's configuration, by name."""


def engine_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options; the command gets `engine: EngineChoice`."""

    @functools.wraps(command)
    def call(**values: Any) -> R:
        texts: tuple[str, ...] = values.pop("spark_conf")
        choice = EngineChoice(
            engine=values.pop("engine"),
            master=values.pop("master"),
            spark_conf=dict(parse_property(text, option="--spark-conf") for text in texts if text.strip()),
        )
        ctx = click.get_current_context()
        if choice.engine != SPARK:
            # In the environment or a file they may stand for other commands.
            for option, name in (("--master", "master"), ("--spark-conf", "spark_conf")):
                if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                    raise UsageError(f"{option} belongs to --engine {SPARK}.")
        redactor = ctx.find_object(Redactor)
        if redactor is not None:
            redactor.note_properties(texts)
        return command(engine=choice, **values)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


_OPTIONS: Final = (
    click.option(
        "--engine",
        envvar="SRFIX_ENGINE",
        show_envvar=True,
        type=click.Choice([LOCAL, SPARK]),
        default=LOCAL,
        show_default=True,
        help="What reads topics: this process, or Spark (pip install 'srfix[spark]'), for topics that do not fit one machine.",
    ),
    click.option(
        "--master",
        envvar="SRFIX_MASTER",
        show_envvar=True,
        metavar="URL",
        help="Where Spark is: local[*], spark://HOST:7077, yarn, or a Connect server, sc://HOST:15002. Default: as Spark is "
        "configured, else this machine.",
    ),
    click.option(
        "--spark-conf",
        envvar="SRFIX_SPARK_CONF",
        show_envvar=True,
        type=Lines("key=value"),
        multiple=True,
        metavar="KEY=VALUE",
        help="Spark's configuration, such as spark.executor.memory=4g; repeatable.",
    ),
)
