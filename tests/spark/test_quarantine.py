"""Quarantined rows: read again after a repair, kept apart when writing, counted in a stream's progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import Row, SparkSession

from srfix.fixtures.broker._client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.errors import UsageError
from srfix.serde.interface import SerdeContext
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark import bad_rows, from_registry, plan_write, read_stream, replay, write_topic
from srfix.serde.spark.progress import stream_progress_of
from srfix.serde.subjects import Role
from tests.spark.reading_world import World, frame, open_world

NEWER = '{"type":"record","name":"user","fields":[{"name":"ID","type":"long"},{"name":"NAME","type":"string"}]}'


@pytest.fixture
def world(registry: FixtureRegistry) -> Iterator[World]:
    with open_world(registry) as world:
        yield world


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

    def test_bytes_that_were_dropped_are_asked_for(self, spark: SparkSession, world: World) -> None:
        df = spark.sql("SELECT 1 AS offset, 'TOO_SHORT' AS _srfix_reason")
        with pytest.raises(UsageError, match=r"^The frame has no column _srfix_payload, .* bad_rows\(df\) has both\.$"):
            replay(df, world.plan(), engine="jvm", workers_have_srfix=False)


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
        assert "would delete its key" in null["_srfix_message"]
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        written = source.option("subscribe", topic).load().select("key", "value").collect()
        assert [row["value"] is None for row in written] == [False]


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
        progress = stream_progress_of(json.dumps(recent) if isinstance(recent, dict) else recent.json)  # a dict on 3.5
        assert progress.lag_records == 0
        assert progress.counts.keys() == {f"srfix values of {topic}", f"srfix values of {topic} (2)"}
        counted = progress.counts[f"srfix values of {topic} (2)"]
        assert (counted.rows, counted.tombstones, counted.bad) == (3, 1, 1)
        assert counted.by_reason == {}
