"""Streams from a real broker: schemas that are born while they run, and ends that nobody planned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Final
from uuid import uuid4

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from parts.jars import spark_jars
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, DualSubject, FixedSubject, RegistryClient, SerdeContext, TopicSubject
from srfix.serde.spark import NEWEST, ReadPlan, StreamProgress, plan_read, read_stream, watch_streams
from tests.spark.conftest import RELEASE
from tests.spark.reading_world import ARROW, COLUMNS, ENGINES, JVM, JVM_WITH_ARROW, LOWER, EngineCase

UPPER: Final = '{"type":"record","name":"USER","fields":[{"name":"ID","type":"long"},{"name":"NAME","type":"string"}]}'
EXTRA: Final = (
    '{"type":"record","name":"user","fields":[{"name":"id","type":"int"},{"name":"mail","type":"string"},'
    '{"name":"name","type":"string"}]}'
)
SECOND: Final = "users-elsewhere-value"
DEADLINE_S: Final = 120.0
ON_THE_WORKERS: Final = [case for case in ENGINES if case.workers_have_srfix]


class Topic:
    """A topic of two partitions, its registry, and what was sent."""

    def __init__(self, broker: KraftBroker, registry: FixtureRegistry, client: RegistryClient) -> None:
        self.name: Final = f"users-{uuid4().hex}"
        self.broker: Final = broker
        self.registry: Final = registry
        self._client: Final = client
        self._sent = 0
        broker.create_topic(self.name, partitions=2)

    def send(self, schema: str, count: int, *, subject: str | None = None) -> None:
        """More records, under a schema that is born now if it was not there: the topic's own subject has it, or another."""
        subject = f"{self.name}-value" if subject is None else subject
        self.registry.seed(subject, schema)
        write = AvroSerializer.for_schema(self._client, schema, subjects=FixedSubject(value=subject))
        records = []
        for number in range(self._sent, self._sent + count):
            values = {"id": number, "name": f"n{number}", "mail": "m"}
            if schema is UPPER:
                values = {"ID": number, "NAME": f"n{number}"}
            elif schema is LOWER:
                del values["mail"]
            value = write(values, SerdeContext(self.name))
            records.append(ProducedRecord(topic=self.name, partition=number % 2, value=value))
        self.broker.produce(records)
        self._sent += count

    @property
    def rows(self) -> list[Row]:
        """Every row, as it must be read."""
        return [Row(ID=number, NAME=f"n{number}") for number in range(self._sent)]

    def plan(self) -> ReadPlan:
        """With all that is registered now."""
        policy = DualSubject(self._client, first=TopicSubject(), second=FixedSubject(value=SECOND))
        return plan_read(self._client, self.name, COLUMNS, policy=policy)

    def newest(self) -> ReadPlan:
        """With the columns of the newest version."""
        return plan_read(self._client, self.name, NEWEST)

    def stream(self, spark: SparkSession, case: EngineCase, **options: int) -> DataFrame:
        """The topic, read by an engine."""
        return read_stream(
            spark,
            self.plan(),
            bootstrap_servers=self.broker.bootstrap_servers,
            options=options,
            on_error="quarantine",
            engine=case.engine,
            observe="users",
            workers_have_srfix=case.workers_have_srfix,
        )


@pytest.fixture
def topic(broker: KraftBroker, registry: FixtureRegistry) -> Iterator[Topic]:
    with RegistryClient(registry.url) as client:
        registry.seed(SECOND, '{"type":"record","name":"other","fields":[]}')
        yield Topic(broker, registry, client)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    "case", [*ON_THE_WORKERS[:-1], pytest.param(ON_THE_WORKERS[-1], marks=pytest.mark.smoke)], ids=str
)
def test_schemas_that_are_born_while_a_stream_runs_are_read_without_a_restart(
    spark: SparkSession, topic: Topic, case: EngineCase
) -> None:
    topic.send(LOWER, 20)
    said: list[StreamProgress] = []
    name = f"born_{uuid4().hex}"
    with watch_streams(spark, said.append):
        query = topic.stream(spark, case).writeStream.format("memory").queryName(name).start()
        try:
            query.processAllAvailable()
            run = query.runId
            topic.send(UPPER, 10)
            query.processAllAvailable()
            topic.send(EXTRA, 10, subject=SECOND)  # the topic's own subject never hears of it
            query.processAllAvailable()
            assert (query.isActive, query.runId) == (True, run)
            wait_until(lambda: sum(progress.rows for progress in said) == len(topic.rows))
        finally:
            query.stop()
    table = spark.table(name).orderBy("value.ID").collect()
    assert [(row["value"], row["_srfix_reason"]) for row in table] == [(row, None) for row in topic.rows]
    counted = [progress.counts["users"] for progress in said if progress.rows]
    assert (sum(counts.rows for counts in counted), sum(counts.bad for counts in counted)) == (len(topic.rows), 0)
    assert (said[-1].query, said[-1].lag_records) == (name, 0)


def may_fail_once(error: Exception) -> bool:
    """Spark's Kafka source of 4.1 may, when it restarts in a batch: its metrics look for what is not there yet."""
    words = ("KafkaMicroBatchStream.metrics", '"scala.Option.get()" is null')
    return RELEASE == "4.1" and any(each in str(error) for each in words)


def test_a_stream_stops_at_a_newer_version_and_goes_on_from_its_checkpoint_under_it(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """Databricks' `avroSchemaEvolutionMode` "restart"."""

    def restarted(plan: ReadPlan) -> StreamingQuery:
        frame = read_stream(spark, plan, bootstrap_servers=topic.broker.bootstrap_servers, unknown_ids="fail")
        sink = frame.writeStream.format("parquet").option("checkpointLocation", f"{tmp_path}/checkpoint")
        return sink.trigger(availableNow=True).start(f"{tmp_path}/rows")

    topic.send(LOWER, 20)
    assert restarted(topic.newest()).awaitTermination(int(DEADLINE_S))
    before = topic.newest()
    topic.send(EXTRA, 10)
    with pytest.raises(StreamingQueryException, match=r"The plan does not know the schema id \d+\."):
        restarted(before).awaitTermination(int(DEADLINE_S))
    try:
        assert restarted(topic.newest()).awaitTermination(int(DEADLINE_S))
    except StreamingQueryException as error:
        if not may_fail_once(error):
            raise
        assert restarted(topic.newest()).awaitTermination(int(DEADLINE_S))

    rows = spark.read.option("mergeSchema", "true").parquet(f"{tmp_path}/rows").orderBy("value.id").collect()
    assert [row["value"].asDict() for row in rows] == [
        {"id": number, "mail": None if number < 20 else "m", "name": f"n{number}"} for number in range(30)
    ]


KILLED: Final = """
    import os
    import sys
    from threading import Thread
    from srfix.serde.columns.text import parse_columns
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.spark import plan_read, read_stream, start_session
    from srfix.serde.spark import watch_streams

    # Whoever waits for this one may be killed too.
    Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    registry, servers, topic, folder, jars = sys.argv[1:]
    config = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    spark = start_session("killed", master="local[1]", config=config | {"spark.jars": jars})
    plan = plan_read(RegistryClient(registry), topic, parse_columns("ID BIGINT, NAME STRING"))
    users = read_stream(
        spark, plan, bootstrap_servers=servers, options={"maxOffsetsPerTrigger": 4}, on_error="quarantine", engine="jvm",
        workers_have_srfix=False,
    )
    with watch_streams(spark, lambda progress: print("BATCH", flush=True)):
        sink = users.writeStream.format("parquet").option("path", f"{folder}/rows")
        sink.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()
"""


def killed_in_the_middle(topic: Topic, folder: Path) -> None:
    """A driver of its own, with a batch or two behind it and many to come, ends as a crash ends it."""
    jars = ",".join(map(str, fetch(spark_jars(RELEASE))))
    arguments = (topic.registry.url, topic.broker.bootstrap_servers, topic.name, str(folder), jars)
    child = subprocess.Popen(
        [sys.executable, "-c", dedent(KILLED), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that one signal ends its JVM too
    )
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        has_begun = any(line == "BATCH\n" for line in child.stdout)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        _, errors = child.communicate()
    assert has_begun, errors


def test_a_stream_that_was_killed_and_then_stopped_loses_and_doubles_nothing(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    def restarted(case: EngineCase, *, to_the_end: bool) -> StreamingQuery:
        sink = topic.stream(spark, case, maxOffsetsPerTrigger=50).writeStream.format("parquet")
        if to_the_end:
            sink = sink.trigger(availableNow=True)
        return sink.option("path", f"{tmp_path}/rows").option("checkpointLocation", f"{tmp_path}/checkpoint").start()

    topic.send(LOWER, 160)
    killed_in_the_middle(topic, tmp_path)
    before = spark.read.parquet(f"{tmp_path}/rows").count()
    assert 0 < before < len(topic.rows)
    # On a Spark without the arrow engine the second run is the jvm engine's too: its plan knows the new schema by then.
    fallback, arrow = (JVM_WITH_ARROW, ARROW) if ENGINES[-1] is JVM_WITH_ARROW else (JVM, JVM)
    query = restarted(fallback, to_the_end=False)
    try:
        wait_until(lambda: not query.isActive or any(progress["numInputRows"] for progress in query.recentProgress))
        failed = query.exception()
    finally:
        query.stop()
    assert failed is None or may_fail_once(failed), failed
    topic.send(UPPER, 20)
    query = restarted(arrow, to_the_end=True)
    assert query.awaitTermination(int(DEADLINE_S))
    assert query.exception() is None

    rows = spark.read.parquet(f"{tmp_path}/rows").orderBy("value.ID").collect()
    assert [row["value"] for row in rows] == topic.rows
    assert len({(row["partition"], row["offset"]) for row in rows}) == len(rows)
