"""Spark for a command: a session that starts at its first use and stops with the command, and the jobs on it. Slow imports
happen only when the work begins, because commands import this module even if they do not run on Spark."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from srfix.cli.options.engine import CensusEngineChoice
from srfix.cli.output.speaking import say_aside
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest
    from srfix.recovery.registry import Registry
    from srfix.recovery.repair.plan_file import PlannedFinding
    from srfix.recovery.repair.verify.events import Event
    from srfix.recovery.stores.parts import Part, Result, Work
    from srfix.serde.windowed import WindowKind

_QUIET: Final = {"spark.log.level": "ERROR", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_SAY_EVERY_S: Final = 2.0
_STDOUT, _STDERR = 1, 2


class SessionOfCommand:
    """A session that starts at its first use, and stops with the stack; without jars if it reads no topic."""

    def __init__(
        self, choice: CensusEngineChoice, stack: ExitStack, *, has_jars: bool = True, quiet: bool = False
    ) -> None:
        if find_spec("pyspark") is None:
            raise UsageError(
                "--engine spark needs PySpark, which is not installed. Install the extra: pip install 'srfix[spark]', and "
                "Java 17 or later; or use --engine local."
            )
        self._choice = choice
        self._stack = stack
        self._packages = None if has_jars else ()
        self._quiet = quiet
        self._started: SparkSession | None = None

    def session(self) -> SparkSession:
        if self._started is None:
            from srfix.serde.spark.session import start_session

            master = self._choice.master
            is_connect = master is not None and master.startswith("sc://")
            if master is None or master.startswith("local"):
                # Without this, workers run the python3 in the PATH, which may be another Python.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            where = "with the configured master" if master is None else re.sub(r"(?<=//)[^/@\s]*@|[;?].*", "", master)
            self.say(f"Starting Spark ({where}) …")
            config = {**({} if is_connect else _QUIET), **self._choice.spark_conf}
            with _stdout_to_stderr(), _interrupts_kept():
                self._started = start_session("srfix", master=master, packages=self._packages, config=config)
                self._stack.callback(self._started.stop)
        return self._started

    def watched(self) -> AbstractContextManager[None]:
        from srfix.serde.spark.session import watch_jobs

        return watch_jobs(self.session(), lambda progress: self.say(f"Spark: {progress}."), every_s=_SAY_EVERY_S)

    def say(self, text: str) -> None:
        if not self._quiet:
            say_aside(text)


class OnSpark:
    """Counts topics and reads every row, both on one session."""

    def __init__(
        self,
        choice: CensusEngineChoice,
        kafka: Mapping[str, str],
        stack: ExitStack,
        *,
        timeout_s: float,
        quiet: bool = False,
    ) -> None:
        from srfix.serde.properties.kafka_java import to_java

        self._spark = SessionOfCommand(choice, stack, quiet=quiet)
        to_java(kafka)
        self._kafka = kafka
        self._timeout_s = timeout_s

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        from srfix.recovery.census.spark import SparkCensus

        engine = SparkCensus(self._spark.session(), self._kafka, timeout_s=self._timeout_s)

        def tell(progress: CensusProgress) -> None:
            # Until the first job is done srfix knows no number of records, so it shows tasks.
            if on_progress is not None and progress.records_done:
                on_progress(progress)

        with self._spark.watched():
            return engine.count(request, on_progress=tell)

    def events(
        self,
        finding: PlannedFinding,
        census: Census,
        registry: Registry,
        *,
        window: WindowKind | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Event]:
        from srfix.recovery.repair.verify.on_spark import EveryRowOnSpark

        self._spark.say(f"Reading every live row of {census.topic} on Spark.")
        with self._spark.watched():
            every_row = EveryRowOnSpark(self._spark.session(), self._kafka)
            yield from every_row.events(finding, census, registry, window=window, deadline_s=deadline_s)


class WatchedParts:
    """A `PartsEngine` on a session that starts with the first part. It prints its progress."""

    def __init__(self, choice: CensusEngineChoice, stack: ExitStack) -> None:
        self._started = SessionOfCommand(choice, stack, has_jars=False)

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        from srfix.recovery.stores.parts import PartsOnSpark

        if not parts:
            return []
        with self._started.watched():
            return PartsOnSpark(self._started.session()).run(work, parts, doing=doing)


def tell_notes(notes: Iterable[str]) -> None:
    """Prints each case where a second subject answered once on standard error."""
    say_aside(*dict.fromkeys(notes))


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Restores SIGINT's handler after Spark has started: PySpark's own would cancel the jobs first."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Sends the standard output of child processes (Java) to standard error: standard output holds only the report."""
    sys.stdout.flush()
    stdout_copy = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        yield
    finally:
        os.dup2(stdout_copy, _STDOUT)
        os.close(stdout_copy)
