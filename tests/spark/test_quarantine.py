"""Quarantined rows: read again after a repair, kept apart when writing, counted in a stream's progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.interface import SerdeContext
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.progress import stream_progress_of
from srfix.serde.spark.reading import bad_rows, from_registry, read_stream, replay
from srfix.serde.spark.write.plan import WritePlan, plan_write
from srfix.serde.spark.writing import write_stream, write_topic
from srfix.serde.subjects.names import Role
from tests.spark.reading_world import World, frame

NEWER = '{"type":"record","name":"user","fields":[{"name":"ID","type":"long"},{"name":"NAME","type":"string"}]}'


class TestReplay:
    def test_after_a_repair_the_rows_are_read_from_the_bytes_that_were_kept(
        self, spark: SparkSession, world: World, tmp_path: Path
    ) -> None:
        plan = world.plan()
        late = AvroSerializer.for_schema(world.client, NEWER)({"ID": 9, "NAME": "n9"}, SerdeContext("users"))
        read = from_registry(plan, on_error="quarantine", engine="jvm", workers_have_srfix=False)
        df = frame(spark, [world.lower(1), late, None, b"no frame"]).transform(read)
        assert [row["offset"] for row in bad_rows(df).orderBy("offset").collect()] == [1, 3]
        df.write.parquet(str(tmp_path / "kept"))  # good rows and tombstones too: they are left out
        kept = spark.read.parquet(str(tmp_path / "kept"))
        again = replay(kept, plan.refreshed(world.client), engine="jvm", workers_have_srfix=False)
        rows = again.select("offset", "value", "_srfix_reason").orderBy("offset").collect()
        assert rows == [
            Row(offset=1, value=Row(ID=9, NAME="n9"), _srfix_reason=None),
            Row(offset=3, value=None, _srfix_reason="BAD_MAGIC"),
        ]
        assert set(again.columns) == set(df.columns)


class TestWriteTopic:
    def test_what_cannot_be_written_stays_as_it_came_and_the_others_are_written(
        self, spark: SparkSession, broker: KraftBroker, world: World
    ) -> None:
        topic = f"apart-{uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        columns = "K STRING KEY, ID BIGINT, SEEN TIMESTAMP"
        value = plan_write(world.client, topic, columns)
        key = plan_write(world.client, topic, columns, role=Role.KEY)
        df = spark.sql(
            "SELECT k, IF(n = 3, NULL, struct(n AS id, seen)) AS value FROM VALUES ('a', 1L, TIMESTAMP'2024-01-02'), "
            "('b', 2L, TIMESTAMP'2024-01-02 00:00:00.000001'), ('c', 3L, TIMESTAMP'2024-01-02') AS t(k, n, seen)"
        )
        left = write_topic(
            df, value, bootstrap_servers=broker.bootstrap_servers, key=key, key_from=["k"], on_error="quarantine"
        )
        assert left is not None
        assert left.columns == [
            *("k", "value", "_srfix_reason", "_srfix_message", "_srfix_key_reason", "_srfix_key_message")
        ]
        finer, null = left.orderBy("k").collect()
        assert (finer["k"], finer["value"]["id"], finer["_srfix_reason"]) == ("b", 2, "ENCODE_FAILED")
        assert (null["k"], null["value"], null["_srfix_reason"], null["_srfix_key_reason"]) == (
            *("c", None, "ENCODE_FAILED", None),
        )
        assert "it deletes its key" in null["_srfix_message"]
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        written = source.option("subscribe", topic).load().select("key", "value").collect()
        assert [row["value"] is None for row in written] == [False]


class TestWriteStream:
    COLUMNS = "ID BIGINT, SEEN TIMESTAMP"
    ROWS = (
        "SELECT * FROM VALUES (1L, TIMESTAMP'2024-01-02'), (2L, TIMESTAMP'2024-01-02 00:00:00.000001') AS t(id, seen)"
    )
    """The second row is finer than its schema's milliseconds."""

    def started(self, spark: SparkSession, plan: WritePlan, folder: Path, servers: str, keep: Any) -> StreamingQuery:
        """A stream of the files in `in`, to its end."""
        writer = write_stream(
            spark.readStream.schema("id long, seen timestamp").parquet(str(folder / "in")),
            plan,
            bootstrap_servers=servers,
            on_error="quarantine",
            quarantine=keep,
            options={"kafka.max.block.ms": "2000"},
        )
        return writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()

    def written(self, spark: SparkSession, broker: KraftBroker, topic: str) -> int:
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        return source.option("subscribe", topic).load().count()

    def test_bad_rows_are_kept_the_others_written_and_after_a_mend_the_kept_ones_too(
        self, spark: SparkSession, broker: KraftBroker, world: World, tmp_path: Path
    ) -> None:
        topic = f"kept-{uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        plan = plan_write(world.client, topic, self.COLUMNS)
        rows = spark.sql(self.ROWS)
        rows.write.parquet(str(tmp_path / "in"))
        given: list[int] = []

        def keep(bad: DataFrame, batch_id: int) -> None:
            given.append(batch_id)
            if len(given) == 1:
                raise OSError("the disk is full")
            bad.write.mode("append").parquet(str(tmp_path / "bad"))

        def run() -> BaseException | None:
            try:
                assert self.started(spark, plan, tmp_path, broker.bootstrap_servers, keep).awaitTermination(120)
            except StreamingQueryException as error:
                return error
            return None

        def written() -> int:
            return self.written(spark, broker, topic)

        assert "the disk is full" in str(run())
        assert written() == 0  # bad rows are kept first: nothing is in Kafka whose batch would be run again
        assert run() is None
        assert (given, written()) == ([0, 0], 1)
        rows.where("id = 1").write.mode("append").parquet(str(tmp_path / "in"))
        assert run() is None
        assert (given, written()) == ([0, 0], 2)  # a batch without bad rows keeps none
        bad = spark.read.parquet(str(tmp_path / "bad"))
        assert [(row["id"], row["_srfix_reason"]) for row in bad.collect()] == [(2, "ENCODE_FAILED")]
        mended = bad.drop("_srfix_reason", "_srfix_message").withColumn("seen", F.date_trunc("millisecond", "seen"))
        write_topic(mended, plan, bootstrap_servers=broker.bootstrap_servers)
        assert written() == 3

    def test_where_kafka_fails_the_batch_is_kept_and_written_once_more_under_its_id(
        self, spark: SparkSession, broker: KraftBroker, world: World, tmp_path: Path
    ) -> None:
        topic = f"again-{uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        plan = plan_write(world.client, topic, self.COLUMNS)
        rows = spark.sql(self.ROWS)
        rows.write.parquet(str(tmp_path / "in"))
        given: list[tuple[int, list[int]]] = []

        def keep(bad: DataFrame, batch_id: int) -> None:
            given.append((batch_id, [row["id"] for row in bad.collect()]))

        def run(servers: str) -> None:
            with clear_errors():
                assert self.started(spark, plan, tmp_path, servers, keep).awaitTermination(120)

        with pytest.raises(
            ClusterError, match=rf"gave no information about the topic '{topic}' in time: .* or no broker answered"
        ):
            run("localhost:1")
        run(broker.bootstrap_servers)
        run(broker.bootstrap_servers)  # the batch is done: nothing is kept or written again
        assert given == [(0, [2]), (0, [2])]
        assert self.written(spark, broker, topic) == 1
        bad = spark.sql("SELECT 3L AS id, TIMESTAMP'2024-01-02 00:00:00.000001' AS seen")
        bad.write.mode("append").parquet(str(tmp_path / "in"))
        run("localhost:1")  # all of a batch is bad: Kafka is not asked
        assert given[2:] == [(1, [3])]

    def test_a_quarantine_that_exits_ends_the_query_which_does_not_wait_for_ever(
        self, spark: SparkSession, world: World, tmp_path: Path
    ) -> None:
        plan = plan_write(world.client, "users-kept", self.COLUMNS)
        rows = spark.sql("SELECT 2L AS id, TIMESTAMP'2024-01-02 00:00:00.000001' AS seen")
        rows.write.parquet(str(tmp_path / "in"))

        def leave(bad: DataFrame, batch_id: int) -> None:
            raise SystemExit(3)

        query = self.started(spark, plan, tmp_path, "b:1", leave)
        try:
            with pytest.raises(StreamingQueryException, match="quarantine= ended with SystemExit"):
                query.awaitTermination(30)
        finally:
            query.stop()

    def test_a_stream_and_a_frame_have_each_its_function(self, spark: SparkSession, world: World) -> None:
        plan = plan_write(world.client, "users-kept", self.COLUMNS)
        stream = spark.readStream.format("rate").load().selectExpr("value AS id", "timestamp AS seen")
        with pytest.raises(UsageError, match=r"this frame is a stream: use write_stream\.$"):
            write_topic(stream, plan, bootstrap_servers="b:1")
        with pytest.raises(UsageError, match=r"this is not one: use write_topic\.$"):
            write_stream(spark.sql("SELECT 1L AS id, current_timestamp() AS seen"), plan, bootstrap_servers="b:1")

    def test_rows_that_go_nowhere_and_a_place_for_none_are_refused(self, spark: SparkSession, world: World) -> None:
        plan = plan_write(world.client, "users-kept", self.COLUMNS)
        stream = spark.readStream.format("rate").load()
        with pytest.raises(UsageError, match=r"needs to know where bad rows go"):
            write_stream(stream, plan, bootstrap_servers="b:1", on_error="quarantine")
        with pytest.raises(
            UsageError, match=r"With on_error='fail' a bad row fails the job, so quarantine= has no use"
        ):
            write_stream(stream, plan, bootstrap_servers="b:1", quarantine=lambda bad, batch_id: None)
        no_functions: tuple[tuple[Any, str], ...] = (
            ("/tmp/bad", "str cannot be called"),
            (lambda bad: None, "too many positional arguments"),
            (lambda bad, batch_id, more: None, "missing a required argument: 'more'"),
        )
        for quarantine, words in no_functions:
            with pytest.raises(UsageError, match=r"quarantine= is called with .*" + words):
                write_stream(stream, plan, bootstrap_servers="b:1", on_error="quarantine", quarantine=quarantine)


class TestProgress:
    def test_bad_rows_and_lag_are_in_a_streams_progress_without_being_asked_for(
        self, spark: SparkSession, broker: KraftBroker, world: World
    ) -> None:
        topic = f"users-{uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        values = [world.payload(1, topic=topic), b"no frame", None]
        broker.produce(ProducedRecord(topic=topic, partition=0, value=value) for value in values)
        df = read_stream(
            spark,
            world.plan(topic=topic),
            bootstrap_servers=broker.bootstrap_servers,
            on_error="quarantine",
            engine="jvm",
            workers_have_srfix=False,
        )
        other = read_stream(
            spark,
            world.plan(topic=topic),
            bootstrap_servers=broker.bootstrap_servers,
            on_error="null",
            engine="jvm",
            workers_have_srfix=False,
        )
        name = f"counted_{uuid4().hex}"
        both = df.select("value").union(df.select("value")).union(other.select("value"))
        query = both.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        recent = query.recentProgress[0]
        progress = stream_progress_of(
            recent.json if hasattr(recent, "json") else json.dumps(recent)
        )  # a plain dict on 3.5
        assert progress.lag_records == 0
        assert progress.counts.keys() == {f"srfix values of {topic}", f"srfix values of {topic} (2)"}
        counted = progress.counts[f"srfix values of {topic} (2)"]
        assert (counted.rows, counted.tombstones, counted.bad) == (3, 1, 1)
        assert counted.by_reason == {}
