"""A store of several tasks on disk: exported, and compared with its topic, by one process and by Spark on the same machine.

    make bench-spark        (python -m tests.bench.bench_state_spark [--records N] [--rounds R])

CPU time of this process, on Spark of the JVM and its Python workers too, without the broker's, and wall time: the least of the
rounds, in one session of two cores whose workers have started already; the routes take turns. Both engines must say the same.
A job costs Spark some two seconds of CPU whatever the store is, so figures are told, and held to nothing.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.recovery import Cluster
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.rebuild.rebuild import Rebuild, Until, rebuild
from srfix.recovery.state.reading import read_state_directory
from srfix.recovery.state.stores.store import StateStore, open_stores
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.releases import Release
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.state_jobs.comparing import CompareWork, ranges_to_compare
from srfix.recovery.state_jobs.exporting import ExportWork, export_on_spark
from srfix.recovery.state_jobs.on_spark import PartsOnSpark
from srfix.recovery.state_jobs.scanning import ScanWork
from srfix.recovery.state_jobs.second_answers import SecondAnswers
from srfix.recovery.state_jobs.unfinished import unfinished_folder
from srfix.recovery.state_report.exporting import ExportFormat
from srfix.recovery.state_report.row_filter import RowFilter
from srfix.serde import ById, RegistryClient, Topic
from tests.bench.bench_spark import descendants, produce, session
from tests.bench.measuring import Figures, Route, arguments, table
from tests.bench.spark_data import TOPIC

_TASKS: Final = 8
_STORE: Final = "customers"
_LOCAL: Final = "this process"
_SPARK: Final = "Spark, two cores"


class Clock:
    """CPU time, without the broker's.

    :param broker: the processes of the broker.
    """

    def __init__(self, broker: Collection[int]) -> None:
        self._broker = frozenset(broker)

    def local_s(self) -> float:
        """Of this process. Idle workers of Spark's end meanwhile, and take what they have spent along."""
        return time.process_time()

    def of_all_s(self) -> float:
        """Of this process, the JVM and its Python workers."""
        others = descendants().items()
        return time.process_time() + sum(spent for process, spent in others if process not in self._broker)

    def measured(
        self, routes: Mapping[str, Route], warm_up: Route, *, rows: int, rounds: int
    ) -> tuple[Figures, Figures]:
        """CPU and wall nanoseconds a row, each route once a round.

        :param warm_up: lets workers start and import what they need: one that is idle for a minute ends.
        """
        cpu: dict[str, list[float]] = {name: [] for name in routes}
        wall: dict[str, list[float]] = {name: [] for name in routes}
        for number in range(rounds):
            for name in list(routes)[:: 1 if number % 2 else -1]:
                warm_up()
                cpu_s = self.local_s if name == _LOCAL else self.of_all_s
                spent, began = cpu_s(), time.perf_counter()
                routes[name]()
                wall[name].append((time.perf_counter() - began) * 1e9 / rows)
                cpu[name].append((cpu_s() - spent) * 1e9 / rows)
        return Figures(spent=cpu, of_batches=True), Figures(spent=wall, of_batches=True)


def written(kafka: Mapping[str, str], folder: Path) -> list[StateStore]:
    """The store, as a restore from the topic leaves it."""
    asked = Rebuild(
        application="bench",
        store=StoreToWrite(name=_STORE, kind=WrittenKind.TIMESTAMPED_KV),
        topic=Topic(TOPIC),
        until=Until.END,
        release=Release.parse("4.3.1"),
        subtopology=0,
    )
    with Cluster(kafka) as cluster:
        rebuild(asked, cluster, folder / "bench", request={})
    (state,) = read_state_directory(folder)
    return list(open_stores(state))


def warm_up(spark: SparkSession, stores: list[StateStore]) -> Route:
    """A row of each task."""
    decoder = RecordDecoder(ById(RegistryClient("http://127.0.0.1:9")), roles=())
    work = ScanWork(wanted=RowFilter(), decoder=decoder, second=SecondAnswers(), limit=1)
    return lambda: PartsOnSpark(spark).run(work, stores, doing="warming up")


def exporting(
    spark: SparkSession, clock: Clock, stores: list[StateStore], scratch: Path, *, rows: int, rounds: int
) -> None:
    """Parquet, a file for each task."""
    decoder = RecordDecoder(ById(RegistryClient("http://127.0.0.1:9")), roles=())
    second = SecondAnswers()

    def local() -> list[Path]:
        with unfinished_folder(scratch) as folder:
            work = ExportWork(
                form=ExportFormat.PARQUET, application="bench", decoder=decoder, second=second, folder=str(folder)
            )
            return [_kept(Path(work(store).path), scratch / "local") for store in stores]

    def on_spark() -> list[Path]:
        out = scratch / "spark"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        parts = export_on_spark(
            PartsOnSpark(spark),
            stores,
            out,
            ExportFormat.PARQUET,
            application="bench",
            decoder=decoder,
            second=second,
        )
        return [Path(part.path) for part in parts]

    for here, there in zip(local(), on_spark(), strict=True):
        assert pq.read_table(here).equals(pq.read_table(there)), f"the engines do not agree on {here.name}"
    cpu, wall = clock.measured({_LOCAL: local, _SPARK: on_spark}, warm_up(spark, stores), rows=rows, rounds=rounds)
    table("state export, CPU a row", cpu, _LOCAL)
    table("state export, wall a row", wall, _LOCAL)


def _kept(file: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return file.replace(folder / file.name)


def comparing(
    spark: SparkSession,
    clock: Clock,
    stores: list[StateStore],
    kafka: Mapping[str, str],
    *,
    rows: int,
    rounds: int,
) -> None:
    """Each task beside its partition."""
    with Cluster(kafka) as cluster:
        to_compare = ranges_to_compare(cluster, Topic(TOPIC), group=None)
        work = CompareWork(to_compare=to_compare, kafka=kafka, timeout_s=15)

        def local() -> object:
            return [to_compare.part(cluster, store) for store in stores]

        def on_spark() -> object:
            return PartsOnSpark(spark).run(work, stores, doing="comparing")

        assert local() == on_spark(), "the engines do not agree"
        cpu, wall = clock.measured({_LOCAL: local, _SPARK: on_spark}, warm_up(spark, stores), rows=rows, rounds=rounds)
    table("state diff, CPU a row", cpu, _LOCAL)
    table("state diff, wall a row", wall, _LOCAL)


def main() -> None:
    options = arguments(__doc__, records=1_000_000, rounds=2)
    with (
        tempfile.TemporaryDirectory(prefix="srfix-bench-") as scratch,
        KraftBroker() as broker,
        ExitStack() as stack,
    ):
        clock = Clock(descendants())
        spark = stack.enter_context(session(Path(scratch)))
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        broker.create_topic(TOPIC, _TASKS, {"retention.ms": "-1"})
        produce(broker.bootstrap_servers, options.records // 2, options.records)
        stores = written(kafka, Path(scratch) / "state")
        rows = sum(store.count() for store in stores)
        print(f"{rows:,} rows of {len(stores)} tasks, {options.records:,} records")
        exporting(spark, clock, stores, Path(scratch), rows=rows, rounds=options.rounds)
        comparing(spark, clock, stores, kafka, rows=rows, rounds=options.rounds)


if __name__ == "__main__":
    main()
