"""The parts that commands for a cluster share: opening and closing the clients, and progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srfix.cli.options.connecting import Connection
from srfix.cli.options.engine import SPARK, CensusEngineChoice
from srfix.cli.options.evidence import EvidenceOptions
from srfix.cli.options.given import given_options
from srfix.cli.options.options import Hurry, Selection
from srfix.cli.output.speaking import say_aside
from srfix.recovery.census.interface import CensusEngine, CensusProgress
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.diagnosis.diagnose import diagnose
from srfix.recovery.diagnosis.examination import Examination, acknowledge, unused_patterns
from srfix.recovery.facts.reader import CheckContext, Reader, StreamsVersion
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.ids_in_words import enumerated

if TYPE_CHECKING:
    from srfix.cli.on_spark import OnSpark
    from srfix.recovery.census.processes import ProcessCensus


_TIMEOUT_S = 15.0
"""The time limit for one request to the cluster, unless `socket.timeout.ms` is shorter."""
_QUIET_S = 2.0
"""A census that takes no longer than this shows no progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSession:
    survey: Survey
    engine: CensusEngine
    selection: Selection
    hurry: Hurry
    decode_values: bool = False
    whole_changelogs: bool = False
    quiet: bool = False
    cluster: str | None = None
    """The address of the cluster, in a form that may be shown."""
    unsaid: list[str] = field(default_factory=list)
    """Messages that quiet mode held back. The command prints them later if it finds something wrong."""

    @property
    def where(self) -> tuple[tuple[str, str | None], ...]:
        return (("cluster", self.cluster), ("registry", self.survey.registry.url))

    @property
    def check_context(self) -> CheckContext:
        streams_version = self.selection.streams_version
        version = None if streams_version is None else StreamsVersion.parse(streams_version)
        return CheckContext(
            registry=self.survey.registry,
            reader=Reader.of_name(self.selection.reader, version),
            streams_version=version,
            no_auto_register=self.selection.no_auto_register,
            command_line=given_options(),
        )

    def examine(self, *, engine: CensusEngine | None = None) -> Examination:
        """The diagnosis, and the facts behind it; `engine` counts topics instead of the session's."""
        selection = self.selection
        on_progress = None if self.quiet else show_progress()
        examination = self._diagnose(self.survey, engine or self.engine, on_progress)
        stores = [facts.store for facts in examination.facts]
        examined = {name for store in stores for name in (store.name, f"{store.application}/{store.name}")}
        for store in sorted(selection.sources.keys() - examined):
            meant = did_you_mean(store, sorted(examined))
            self._aside(f"--source for the store {store!r} was not used: no store of that name was examined.{meant}")
        for line in strangers(self.survey.supplied, selection, examined=stores):
            self._aside(line)
        if not selection.ignore:
            return examination
        examination = acknowledge(examination, selection.ignore, self.survey.subjects(), given_options())
        for pattern in unused_patterns(examination, selection.ignore):
            self._aside(f"--ignore {pattern}: no finding and no skipped check concerns a matching subject.")
        return examination

    def examine_anew(
        self, survey: Survey, *, on_progress: Callable[[CensusProgress], None] | None = None
    ) -> Examination:
        """Makes the diagnosis again, on a survey that has asked nothing yet, and prints nothing."""
        ignore = self.selection.ignore
        examination = self._diagnose(survey, self.engine, on_progress)
        return acknowledge(examination, ignore, survey.subjects() if ignore else (), given_options())

    def _diagnose(
        self, survey: Survey, engine: CensusEngine, on_progress: Callable[[CensusProgress], None] | None
    ) -> Examination:
        return diagnose(
            survey,
            engine,
            self.check_context,
            application=self.selection.application,
            store=self.selection.store,
            deadline_s=self.hurry.deadline_s,
            max_records=self.hurry.max_records,
            decode_values=self.decode_values,
            whole_changelogs=self.whole_changelogs,
            on_progress=on_progress,
        )

    def _aside(self, text: str) -> None:
        if self.quiet:
            self.unsaid.append(text)
        else:
            say_aside(text)


@contextmanager
def open_session(
    connection: Connection,
    selection: Selection,
    evidence: EvidenceOptions | None = None,
    hurry: Hurry | None = None,
    *,
    decode_values: bool = False,
    whole_changelogs: bool = False,
    choice: CensusEngineChoice | None = None,
    quiet: bool = False,
) -> Iterator[ClusterSession]:
    """Reads the user's evidence, opens the clients, and closes them in any case."""
    supplied = (evidence or EvidenceOptions()).read(application=selection.application)
    with ExitStack() as stack:
        cluster, engine = stack.enter_context(open_cluster(connection, choice, quiet=quiet))
        registry = stack.enter_context(connection.registry_client())
        yield ClusterSession(
            survey=Survey(
                cluster=cluster,
                registry=registry,
                sources=selection.sources,
                supplied=supplied,
                isolation=selection.isolation,
                gone=frozenset(selection.gone),
            ),
            engine=engine,
            selection=selection,
            hurry=hurry or Hurry(),
            decode_values=decode_values,
            whole_changelogs=whole_changelogs,
            quiet=quiet,
            cluster=connection.cluster_shown,
        )


@contextmanager
def open_cluster(
    connection: Connection, choice: CensusEngineChoice | None = None, *, quiet: bool = False
) -> Iterator[tuple[Cluster, LocalCensus | ProcessCensus | OnSpark]]:
    kafka = connection.kafka_config()
    timeout_s = patience_s(kafka)
    with ExitStack() as stack:
        engine: LocalCensus | ProcessCensus | OnSpark
        if choice is not None and choice.engine == SPARK:
            from srfix.cli.on_spark import OnSpark

            engine = OnSpark(choice, kafka, stack, timeout_s=timeout_s, quiet=quiet)
        elif choice is not None and choice.processes > 1:
            from srfix.recovery.census.processes import ProcessCensus

            engine = ProcessCensus(kafka, processes=choice.processes, timeout_s=timeout_s)
        else:
            engine = LocalCensus(kafka, timeout_s=timeout_s)
        yield stack.enter_context(Cluster(kafka, timeout_s=timeout_s)), engine


def patience_s(kafka: Mapping[str, str]) -> float:
    """The time limit for one request to the cluster: the properties' value, if that is shorter than the default."""
    given_ms = kafka.get("socket.timeout.ms", "")
    return min(_TIMEOUT_S, int(given_ms) / 1000) if given_ms.isdecimal() else _TIMEOUT_S


class show_progress:
    """Prints the progress, speed and remaining time of a census on standard error; nothing if the census is short."""

    def __init__(self) -> None:
        self._said_at_s = 0.0

    def __call__(self, progress: CensusProgress) -> None:
        if progress.elapsed_s < self._said_at_s:
            self._said_at_s = 0.0  # the next topic
        if progress.elapsed_s - self._said_at_s < _QUIET_S:
            return
        self._said_at_s = progress.elapsed_s
        share = 100 * progress.records_done // max(1, progress.records_total)
        left = "" if progress.left_s is None else f", {_duration(progress.left_s)} left"
        say_aside(
            f"Reading {progress.topic}: {progress.records_done:,} of at most {progress.records_total:,} records "
            f"({share} %), {int(progress.records_per_s):,} a second{left}.",
        )


def _duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def strangers(supplied: Supplied, selection: Selection, *, examined: Collection[SuspectStore]) -> Iterator[str]:
    """A line about the state directories, if none belongs to a named or examined application, or if none has a store."""
    wanted = {selection.application} if selection.application else {store.application for store in examined}
    if not supplied.state or not wanted:
        return
    prefixes = {store.prefix for store in supplied.stores_on_disk()}
    paths = enumerated(sorted({state.path for state in supplied.state}))
    named = enumerated(sorted(wanted))
    states = [state for state in supplied.state if state.application in wanted]
    if not states and not wanted & prefixes:
        owners = enumerated(sorted({state.application for state in supplied.state}))
        yield (
            f"--state-dir {paths} has no data of the application {named}, only of {owners}, so it does not help "
            f"here. Give the state.dir of {named}, from the machine that runs it."
        )
    elif states and not any(state.stores for state in states):
        yield (
            f"--state-dir {paths} has the folder of the application {named}, but no store in it, so it does not "
            "help here. The folder was wiped, or the stores are in memory or on another machine."
        )
