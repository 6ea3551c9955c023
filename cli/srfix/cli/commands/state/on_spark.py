"""The work of `srfix state` on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from srfix.cli.options.engine import SPARK, CensusEngineChoice
from srfix.cli.output.speaking import say

if TYPE_CHECKING:
    from srfix.recovery.state_jobs.interface import Part, Result, Work


class WatchedParts:
    """A `PartsEngine` on a session that starts with the first of it, and says how far it is.

    :param stack: stops the session.
    :raises UsageError: if PySpark is not installed.
    """

    def __init__(self, choice: CensusEngineChoice, stack: ExitStack) -> None:
        from srfix.cli.reports.spark_session import SessionOfCommand

        self._started = SessionOfCommand(choice, stack, has_jars=False)

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """See `PartsEngine.run`."""
        from srfix.recovery.state_jobs.on_spark import PartsOnSpark

        if not parts:
            return []
        with self._started.watched():
            return PartsOnSpark(self._started.session()).run(work, parts, doing=doing)


def for_workers(path: str, choice: CensusEngineChoice) -> str:
    """A path as the one who works finds it: workers of Spark have other working directories."""
    return str(Path(path).absolute()) if choice.engine == SPARK else path


def tell_notes(notes: Iterable[str]) -> None:
    """Says once each on standard error where a second subject answered."""
    for note in dict.fromkeys(notes):
        say(note, err=True)
