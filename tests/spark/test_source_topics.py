"""Several topics in one read of `format("srfix")`, and the newest schema's aliases and defaults there."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import Row, SparkSession

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import ClusterError, DataLossError, UsageError
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.source.frame import SourceFrame, frame_of
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import SourceOptions, source_options
from srfix.serde.spark.source.reads import StreamReads, batch_read, columns_of_topics, stream_read
from tests.spark.conftest import HAS_ADMISSION_CONTROL
from tests.spark.source_world import COLUMNS, Topic

RENAMED = json.dumps(
    {
        "type": "record",
        "name": "KsqlDataSourceSchema",
        "namespace": "io.confluent.ksql.avro_schemas",
        "fields": [
            {"name": "NUMBER", "aliases": ["ID"], "type": ["null", "long"], "default": None},
            {"name": "CITY", "type": "string", "default": "Turin"},
        ],
    }
)


def two(broker: KraftBroker, registry: FixtureRegistry) -> tuple[Topic, Topic, str]:
    """Topics with rows 0 to 3 and 4 to 7, in two partitions each, and a pattern of both."""
    first, second = Topic.created(broker, registry), Topic.created(broker, registry)
    first.fill(first.payloads(range(4)))
    second.fill(second.payloads(range(4, 8)))
    return first, second, f"{first.name}|{second.name}"


def named(topic: Topic, **given: str) -> dict[str, str]:
    least = {name: value for name, value in topic.least.items() if name != "topic"}
    return least | {name.replace("__", "."): value for name, value in given.items()}


def options(topic: Topic, use: Use = Use.STREAM, **given: str) -> tuple[SourceOptions, SourceFrame]:
    found = source_options(named(topic, columns=COLUMNS, startingOffsets="earliest", **given), use)
    return found, frame_of(found)


class TestBatch:
    def test_topics_are_subscribed_to_matched_and_assigned(
        self, spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
    ) -> None:
        first, second, pattern = two(broker, registry)
        starts = json.dumps({first.name: {"0": 1, "1": -1}, second.name: {"0": -2, "1": -1}})
        for given, ids in (
            ({"subscribe": f"{first.name}, {second.name}"}, [0, 1, 2, 3, 4, 5, 6, 7]),
            ({"subscribePattern": pattern, "minPartitions": "7"}, [0, 1, 2, 3, 4, 5, 6, 7]),
            ({"assign": json.dumps({first.name: [1], second.name: [0]})}, [1, 3, 4, 6]),
            ({"subscribe": f"{first.name},{second.name}", "startingOffsets": starts}, [2, 4, 6]),
        ):
            # Columns that nobody named are both newest schemas'.
            df = spark.read.format("srfix").options(**named(first, metadata="topic", **given)).load()
            rows = df.orderBy("ID").collect()
            assert rows == [
                Row(ID=n, NAME=f"n{n}", _srfix_reason=None, topic=(first if n < 4 else second).name) for n in ids
            ]

    def test_newest_schemas_with_other_columns_are_refused_and_named_columns_read(
        self, spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
    ) -> None:
        first, second, _ = two(broker, registry)
        registry.configure(f"{second.name}-value", {"compatibility": "NONE"})
        registry.seed(f"{second.name}-value", RENAMED)
        given = named(first, subscribe=f"{first.name},{second.name}")
        with pytest.raises(UsageError, match=r"newest schemas .* have different columns") as caught:
            columns_of_topics(source_options(given, Use.SCHEMA))
        assert "ID BIGINT, NAME STRING" in caught.value.message
        df = spark.read.format("srfix").options(**given, columns="ID long").load()
        assert sorted(row["ID"] for row in df.collect()) == list(range(8))

    def test_topics_that_are_not_there_are_said(self, broker: KraftBroker, registry: FixtureRegistry) -> None:
        topic = Topic.created(broker, registry)
        topic.fill(topic.payloads(range(1)))
        with pytest.raises(ClusterError, match=r"^There is no topic 'nowhere'"):
            batch_read(*options(topic, Use.BATCH, subscribe=f"{topic.name},nowhere", missing__columns="null"))
        with pytest.raises(UsageError, match=r"^No topic matches subscribePattern='nowhere-\.\*'"):
            batch_read(*options(topic, Use.BATCH, subscribePattern="nowhere-.*"))
        given = named(topic, columns=COLUMNS, subscribe=f"{topic.name},other", startingOffsets='{"other": {"0": 1}}')
        found = source_options(given, Use.BATCH)
        with pytest.raises(UsageError, match=r"startingOffsets must be .* JSON"):
            batch_read(found, frame_of(found))


class TestNewest:
    @pytest.mark.parametrize("how", ["load", "view", "stream"])
    def test_its_aliases_and_defaults_count(
        self, spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry, how: str, tmp_path: Path
    ) -> None:
        topic = Topic.created(broker, registry)
        topic.fill(topic.payloads([7]))
        registry.seed(f"{topic.name}-value", RENAMED)
        view = f"view_{uuid4().hex[:8]}"
        if how == "view":
            told = ", ".join(f"`{name}` '{value}'" for name, value in topic.least.items())
            spark.sql(f"CREATE TEMPORARY VIEW {view} USING srfix OPTIONS ({told})")
            df = spark.table(view)
        elif how == "load":
            df = spark.read.format("srfix").options(**topic.least).load()
        else:
            df = spark.readStream.format("srfix").options(**topic.least, startingOffsets="earliest").load()
            query = df.writeStream.format("memory").queryName(view).trigger(availableNow=True).start()
            assert query.awaitTermination(120)
            df = spark.table(view)
        assert df.collect() == [Row(NUMBER=7, CITY="Turin", _srfix_reason=None)]


class TestStream:
    def test_a_checkpoint_of_one_topic_goes_on_with_several_and_new_ones_are_read_from_their_beginning(
        self, spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        first, second, pattern = two(broker, registry)

        def run(**given: str) -> list[int]:
            reader = spark.readStream.format("srfix").options(**named(first, startingOffsets="earliest", **given))
            writer = (
                reader.load().writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
            )
            query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
            with clear_errors():
                assert query.awaitTermination(120)
            return sorted(row["ID"] for row in spark.read.parquet(str(tmp_path / "rows")).collect())

        assert run(subscribe=first.name) == [0, 1, 2, 3]
        limit = {"maxOffsetsPerTrigger": "3"} if HAS_ADMISSION_CONTROL else {}
        assert run(subscribe=f"{first.name},{second.name}", **limit) == list(range(8))
        first.fill(first.payloads([8]))
        assert run(subscribePattern=pattern) == list(range(9))

    def test_a_limit_is_shared_out_and_nothing_is_read_twice(
        self, broker: KraftBroker, registry: FixtureRegistry
    ) -> None:
        first, second, _ = two(broker, registry)
        stream = stream_read(*options(first, subscribe=f"{first.name},{second.name}"))
        at = stream.initial()
        counts = []
        while (after := stream.latest(at, 3)) != at:
            parts = stream.parts(at, after)
            counts.append(sum(part[1][2] - part[1][1] for part in parts))  # type: ignore[index,operator,misc]
            at = after
        assert (sum(counts), max(counts)) == (8, 3)

    def test_a_topic_that_is_born_ends_the_query_and_one_that_is_gone_is_lost_data(
        self, broker: KraftBroker, registry: FixtureRegistry
    ) -> None:
        topic = Topic.created(broker, registry)
        topic.fill(topic.payloads(range(2)))
        stream = stream_read(*options(topic, subscribePattern=f"{topic.name}.*"))
        at = stream.latest(stream.initial())
        broker.create_topic(f"{topic.name}-more", 1)
        with pytest.raises(
            ClusterError, match=r"-more' matches subscribePattern=.* was created after the query started"
        ):
            stream.latest(at)
        stream.until_now()
        assert stream.latest(at) == at  # it is for the next run
        again = stream_read(*options(topic, subscribePattern=f"{topic.name}.*", missing__columns="null"))
        after = again.latest(at)
        assert isinstance(again, StreamReads)
        one = stream_read(*options(topic, subscribePattern=f"{topic.name}"))
        with pytest.raises(DataLossError, match=r"-more', but the query no longer reads it"):
            one.latest(after)
        lenient = stream_read(*options(topic, subscribePattern=topic.name, failOnDataLoss="false"))
        assert lenient.latest(after) == at
