"""`format("srfix")` on a real Spark and a real broker.

What of it needs no Spark is tested beside (`test_source_tasks`), because a query costs a second.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import BadRowError, UsageError
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.releases import lacks_source_stream_writer
from tests.spark.conftest import HAS_ADMISSION_CONTROL
from tests.spark.source_world import COLUMNS, LOWER, Topic


@pytest.fixture
def topic(broker: KraftBroker, registry: FixtureRegistry) -> Topic:
    return Topic.created(broker, registry)


def read(spark: SparkSession, topic: Topic, schema: str | None = None, **options: str) -> DataFrame:
    """A batch read; dots of options are written as two underscores."""
    reader = spark.read.format("srfix").options(**topic.least)
    reader = reader.options(**{name.replace("__", "."): value for name, value in options.items()})
    with clear_errors():
        return (reader if schema is None else reader.schema(schema)).load()


def kafka(spark: SparkSession, topic: Topic) -> DataFrame:
    """The topic by Spark's own source."""
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", topic.broker.bootstrap_servers)
        .option("subscribe", topic.name)
        .option("includeHeaders", "true")
        .load()
    )


class TestBatch:
    def test_rows_of_several_schemas_with_their_records_columns(self, spark: SparkSession, topic: Topic) -> None:
        topic.fill([*topic.payloads(range(20)), *topic.payloads(range(20, 30), LOWER), None])
        frame = read(
            spark, topic, columns=COLUMNS, metadata="partition, offset, key", minPartitions="5", maxRecordsPerBatch="3"
        )
        frame = frame.withColumn("task", F.spark_partition_id()).where("NAME is null or NAME != 'n7'").cache()
        rows = frame.collect()
        assert len({row["task"] for row in rows}) >= 5
        assert sorted((row["ID"], row["NAME"]) for row in rows if row["ID"] is not None) == [
            (number, f"n{number}") for number in range(30) if number != 7
        ]
        (tombstone,) = (row for row in rows if row["ID"] is None)
        assert (tombstone["NAME"], tombstone["_srfix_reason"], tombstone["key"]) == (None, "TOMBSTONE", b"k30")
        assert len({(row["partition"], row["offset"]) for row in rows}) == 30
        frame.unpersist()

    def test_raw_is_what_sparks_own_kafka_source_gives(self, spark: SparkSession, topic: Topic) -> None:
        topic.fill([b"one", None, b"", b"two", b"three", b"four"])
        raw, own = read(spark, topic, format="raw", includeHeaders="true"), kafka(spark, topic)
        assert raw.schema == own.schema
        place = ("partition", "offset")
        assert raw.orderBy(*place).collect() == own.orderBy(*place).collect()
        pruned = read(spark, topic, schema="offset BIGINT, value BINARY", format="raw").columns
        assert pruned == ["offset", "value"]

    def test_there_is_no_column_pruning_but_by_a_schema(self, spark: SparkSession, topic: Topic) -> None:
        topic.fill(topic.payloads(range(3)))
        schema = "offset BIGINT, NAME STRING, _srfix_reason STRING"
        frame = read(
            spark, topic, schema=schema, metadata="offset", startingOffsets=json.dumps({topic.name: {"0": 1, "1": 0}})
        )
        assert sorted(map(tuple, frame.collect())) == [(0, "n1", None), (1, "n2", None)]

    def test_a_bad_row_fails_the_job_and_says_where_it_is(self, spark: SparkSession, topic: Topic) -> None:
        (good,) = topic.payloads([7])
        unknown = b"\x00\x00\x00\x03\xe7"
        topic.fill([good, good[:-1], unknown, b"no frame"], partitions=1)
        with pytest.raises(BadRowError, match=r"offset 1 cannot be read\. TRUNCATED: ") as caught, clear_errors():
            read(spark, topic, columns=COLUMNS).collect()
        assert (caught.value.topic, caught.value.partition, caught.value.offset) == (topic.name, 0, 1)
        apart = read(spark, topic, columns=COLUMNS, on__error="quarantine", metadata="offset").orderBy("offset")
        assert [(row["ID"], row["_srfix_reason"], row["_srfix_payload"]) for row in apart.collect()] == [
            (7, None, None),
            (None, "TRUNCATED", good[:-1]),
            (None, "UNKNOWN_ID", unknown),
            (None, "BAD_MAGIC", b"no frame"),
        ]
        silent = read(spark, topic, columns=COLUMNS, on__error="null").groupBy("_srfix_reason").count().collect()
        assert dict(map(tuple, silent)) == {None: 1, "TRUNCATED": 1, "UNKNOWN_ID": 1, "BAD_MAGIC": 1}

    def test_a_misspelt_option_is_named_with_the_right_ones(self, spark: SparkSession, topic: Topic) -> None:
        with pytest.raises(UsageError, match=r"Did you mean columns\?"), clear_errors():
            read(spark, topic, colums=COLUMNS)


class TestCaptured:
    def test_what_spark_wrote_of_a_topic_is_read_as_the_topic_is(
        self, spark: SparkSession, topic: Topic, tmp_path: Path
    ) -> None:
        topic.fill([*topic.payloads(range(8)), None])
        kafka(spark, topic).write.parquet(str(tmp_path / "captured"))
        captured = spark.read.format("srfix").options(
            topic=topic.name, registry=topic.registry.url, columns=COLUMNS, metadata="all"
        )
        with clear_errors():
            rows = captured.load(str(tmp_path / "captured"))
        same = read(spark, topic, columns=COLUMNS, metadata="all")
        assert rows.schema == same.schema
        assert rows.orderBy("partition", "offset").collect() == same.orderBy("partition", "offset").collect()


class TestStream:
    def test_it_goes_on_from_its_checkpoint_with_new_schemas_and_partitions(
        self, spark: SparkSession, topic: Topic, tmp_path: Path
    ) -> None:
        sink = Topic.created(topic.broker, topic.registry)
        topic.fill([*topic.payloads(range(29)), None])

        def run() -> list[int]:
            options = {"columns": COLUMNS, "metadata": "key"}
            if HAS_ADMISSION_CONTROL:
                options["maxOffsetsPerTrigger"] = "20"
            with clear_errors():
                stream = spark.readStream.format("srfix").options(**topic.least, **options).load()
            written = {**sink.least, "metadata": "key", "tombstones": "write"}
            if lacks_source_stream_writer() is None:
                writer = stream.writeStream.format("srfix").options(**written)
            else:

                def write(df: DataFrame, _: int) -> None:
                    df.write.format("srfix").options(**written).mode("append").save()

                writer = stream.writeStream.foreachBatch(write)
            writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
            with clear_errors():
                query = writer.start()
                query.awaitTermination()
            progress = [each for each in query.recentProgress if each["numInputRows"]]
            if HAS_ADMISSION_CONTROL:
                latest = json.loads(progress[-1]["sources"][0]["latestOffset"])["offsets"]
                assert latest == json.loads(progress[-1]["sources"][0]["endOffset"])["offsets"]
            return [each["numInputRows"] for each in progress]

        assert run() == ([20, 10] if HAS_ADMISSION_CONTROL else [30])
        admin = AdminClient({"bootstrap.servers": topic.broker.bootstrap_servers})
        admin.create_partitions([NewPartitions(topic.name, 3)])[topic.name].result(30)
        topic.fill(topic.payloads(range(30, 39), LOWER), partitions=3, start=30)
        assert run() == [9]
        written = read(spark, sink, columns=COLUMNS, metadata="key, partition").collect()
        assert sorted(
            (row["ID"] is None, row["ID"], row["NAME"], row["key"]) for row in written if row["ID"] is not None
        ) == [(False, number, f"n{number}", b"k%d" % number) for number in range(39) if number != 29]
        assert [bytes(row["key"]) for row in written if row["_srfix_reason"] == "TOMBSTONE"] == [b"k29"]


class TestWriter:
    @pytest.mark.smoke
    def test_what_is_written_is_read_and_the_schema_was_there_before(self, spark: SparkSession, topic: Topic) -> None:
        frame = spark.createDataFrame([(1, "a", b"k1"), (2, None, b"k2")], "ID BIGINT, NAME STRING, key BINARY")
        with clear_errors():
            frame.write.format("srfix").options(**topic.least, metadata="key").mode("append").save()
        rows = read(spark, topic, columns=COLUMNS, metadata="key").orderBy("ID").collect()
        assert [(row["ID"], row["NAME"], bytes(row["key"])) for row in rows] == [(1, "a", b"k1"), (2, None, b"k2")]
        writes = [request.path for request in topic.registry.write_log]
        assert set(writes) == {f"/subjects/{topic.name}-value/versions"}

    def test_the_default_save_mode_is_sparks_error_and_overwrite_is_ours(
        self, spark: SparkSession, topic: Topic
    ) -> None:
        write = spark.range(1).write.format("srfix").options(**topic.least)
        with clear_errors(), pytest.raises(AnalysisException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            write.save()
        with pytest.raises(UsageError, match=r"^srfix cannot overwrite a topic, only append to it\."), clear_errors():
            write.mode("overwrite").save()
