"""Spark for a command: a session that starts when the first topic is to be read, and stops with the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

from srfix.cli.options.engine import CensusEngineChoice
from srfix.cli.reports.spark_session import SessionOfCommand
from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest
from srfix.recovery.census.spark import SparkCensus
from srfix.recovery.registry import Registry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Event
from srfix.recovery.repair.verify.on_spark import EveryRowOnSpark
from srfix.serde.properties.kafka_java import to_java
from srfix.serde.windowed import WindowKind


class OnSpark:
    """What counts topics and reads every row, both on one session.

    :param stack: stops the session.
    :param quiet: True to say nothing of the progress.
    :raises UsageError: if PySpark is not installed, or a Kafka property has no counterpart in Java's clients.
    """

    def __init__(
        self,
        choice: CensusEngineChoice,
        kafka: Mapping[str, str],
        stack: ExitStack,
        *,
        timeout_s: float,
        quiet: bool = False,
    ) -> None:
        self._spark = SessionOfCommand(choice, stack, quiet=quiet)
        to_java(kafka)
        self._kafka = kafka
        self._timeout_s = timeout_s

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """See `CensusEngine.count`."""
        engine = SparkCensus(self._spark.session(), self._kafka, timeout_s=self._timeout_s)

        def tell(progress: CensusProgress) -> None:
            # Until a first job is done nothing is known of records; tasks tell.
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
        """See `EveryRow.events`."""
        self._spark.say(f"Reading every live row of {census.topic} on Spark.")
        with self._spark.watched():
            every_row = EveryRowOnSpark(self._spark.session(), self._kafka)
            yield from every_row.events(finding, census, registry, window=window, deadline_s=deadline_s)
