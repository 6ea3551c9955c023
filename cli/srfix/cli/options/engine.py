"""The options for the engine that reads topics or state directories: this process, or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from srfix.cli.options import values
from srfix.cli.redaction import Redactor
from srfix.serde.errors import UsageError
from srfix.serde.native import CODEC_ENGINES

LOCAL: Final = "local"
"""One consumer in this process."""
SPARK: Final = "spark"
"""Jobs on a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusEngineChoice:
    engine: str = LOCAL
    master: str | None = None
    """The Spark master, or a Connect server (`sc://…`). With None: Spark's own configuration, otherwise this machine."""
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    processes: int = 1
    """The number of processes that read a topic at once. Each of them reads a share of the partitions."""

    def path(self, path: str) -> str:
        """A path that the engine can use: absolute for Spark, whose workers have other working directories."""
        return str(Path(path).absolute()) if self.engine == SPARK else path


def _engine(*, engine: str, master: str | None, spark_conf: tuple[str, ...], processes: int = 1) -> CensusEngineChoice:
    properties = dict(values.parse_property(text, option="--spark-conf") for text in spark_conf if text.strip())
    if engine != SPARK:
        for name in values.typed_options("--master", "--spark-conf"):
            raise UsageError(f"{name} needs --engine {SPARK}.")
    elif values.typed_options("--processes"):
        raise UsageError(
            f"--processes needs --engine {LOCAL}. For Spark, --master and --spark-conf set the number of tasks."
        )
    redactor = click.get_current_context().find_object(Redactor)
    if redactor is not None:
        redactor.note_properties(spark_conf)
    return CensusEngineChoice(engine=engine, master=master, spark_conf=properties, processes=processes)


class _NamedToo(click.Option):
    """An option whose environment variable also names the serde's engine, with other values."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        value = super().resolve_envvar_value(ctx)
        return None if value in CODEC_ENGINES else value


def _engine_options(help_: str, *more: values.Decorator) -> values.Decorator:
    return values.handing_over(
        "engine",
        _engine,
        values.option("--engine", cls=_NamedToo, **values.choice_of((LOCAL, SPARK), LOCAL), help=help_),
        values.option(
            "--master",
            metavar="URL",
            help=(
                "The Spark master: local[*], spark://HOST:7077, yarn, or a Connect server, sc://HOST:15002. Default: "
                "Spark's own configuration, otherwise this machine."
            ),
        ),
        values.repeatable(
            "--spark-conf",
            metavar="KEY=VALUE",
            help="A Spark setting, such as spark.executor.memory=4g; repeatable.",
        ),
        *more,
    )


engine_options = _engine_options(
    "What reads topics: this process, or Spark (pip install 'srfix[spark]'), for topics that are too large for one "
    "machine.",
    values.option(
        "--processes",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help=(
            "The number of processes that read a topic at the same time. Each of them reads a share of the partitions. "
            "With --max-records only one process reads."
        ),
    ),
)

task_engine_options = _engine_options(
    "Where the work is done: in this process, one task of the application after another; or on Spark, with a Spark task "
    "for each task of the application. Spark needs pip install 'srfix[spark,state]' here and on its workers. The workers "
    "must see the directories under the same paths."
)
