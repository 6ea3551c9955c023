"""What `format("srfix")` asks a real broker, plans and sends to the workers, without a session of Spark."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

import pyspark_srfix
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import ClusterError, DataLossError, EncodeError, EngineRefusedError, UsageError
from srfix.serde.spark._pyspark import source
from srfix.serde.spark.source.frame import frame_of, spark_json
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import source_options
from srfix.serde.spark.source.reads import BatchRead, StreamRead
from srfix.serde.spark.source.task import ReadTask, task_reader
from srfix.serde.spark.source.write import planned_write, task_writer
from tests.spark.bare_python import SRFIX, python_without
from tests.spark.source_world import COLUMNS, Topic

ROOT = Path(__file__).parents[2]


@pytest.fixture
def topic(broker: KraftBroker, registry: FixtureRegistry) -> Topic:
    return Topic.created(broker, registry)


def planned(topic: Topic, **given: str) -> BatchRead:
    options = source_options(topic.least | {name.replace("__", "."): value for name, value in given.items()}, Use.BATCH)
    return BatchRead.planned(options, frame_of(options))


def batches(read: BatchRead) -> list[pa.RecordBatch]:
    return [batch for part in read.parts for batch in task_reader(read.task)(part)]


def rows(read: BatchRead) -> list[dict[str, Any]]:
    return [row for batch in batches(read) for row in batch.to_pylist()]


def streamed(topic: Topic, **given: str) -> StreamRead:
    options = source_options(topic.least | {"columns": COLUMNS, "startingOffsets": "earliest", **given}, Use.STREAM)
    return StreamRead(options, frame_of(options))


def at(offset: Mapping[str, object]) -> dict[str, int]:
    return cast("dict[str, int]", offset["offsets"])


def delete_topic(topic: Topic) -> None:
    admin = AdminClient({"bootstrap.servers": topic.broker.bootstrap_servers})
    admin.delete_topics([topic.name])[topic.name].result(30)
    while topic.name in topic.broker.topics:
        pass


class TestBatches:
    def test_every_type_is_exactly_what_spark_declares(self, topic: Topic) -> None:
        columns = (
            "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, Y BYTES, N DECIMAL(10, 2), T TIMESTAMP, X DATE, "
            "A ARRAY<TIMESTAMP>, M MAP<STRING, ARRAY<DECIMAL(4, 1)>>, R STRUCT<U TIMESTAMP, V STRUCT<W BIGINT>>"
        )
        topic.fill([None, b"bad"])
        given = {"columns": columns, "metadata": "all", "on__error": "quarantine"}
        options = source_options(
            topic.least | {name.replace("__", "."): text for name, text in given.items()}, Use.SCHEMA
        )
        declared = StructType.fromJson(json.loads(spark_json(frame_of(options))))
        try:
            expected = to_arrow_schema(declared, timezone="UTC")
        except TypeError:  # PySpark 4.1
            expected = to_arrow_schema(declared)
        found = batches(planned(topic, **given))
        assert len(found) == 2
        assert all(batch.schema.equals(expected) for batch in found)

    def test_a_batch_has_as_many_records_as_was_asked_for(self, topic: Topic) -> None:
        topic.fill([b"x"] * 11)
        found = batches(planned(topic, format="raw", maxRecordsPerBatch="4", maxRecordsPerPartition="5"))
        assert all(batch.num_rows <= 4 for batch in found)
        assert sum(batch.num_rows for batch in found) == 11

    def test_an_empty_topic_is_read_by_one_task_of_nothing(self, topic: Topic) -> None:
        read = planned(topic, columns=COLUMNS)
        assert read.parts == (None,)
        assert batches(read) == []

    def test_markers_and_aborted_records_are_no_rows_and_do_not_hang_it(self, topic: Topic) -> None:
        topic.transact(topic.payloads([1, 2]), commits=True)
        topic.transact(topic.payloads([3]), commits=False)
        patience = {"kafkaConsumer.pollTimeoutMs": "5000"}
        assert [row["ID"] for row in rows(planned(topic, columns=COLUMNS, **patience))] == [1, 2]
        everything = planned(topic, format="raw", kafka__isolation__level="read_uncommitted", **patience)
        assert len(rows(everything)) == 3
        middle = planned(topic, format="raw", endingOffsets=json.dumps({topic.name: {"0": 3, "1": 0}}), **patience)
        assert [row["offset"] for row in rows(middle)] == [0, 1]

    def test_a_broker_that_gives_nothing_is_not_waited_for_for_ever(self, topic: Topic) -> None:
        topic.fill([b"x"])
        read = planned(topic, format="raw", **{"kafkaConsumer.pollTimeoutMs": "300"})
        task: ReadTask = pickle.loads(read.task)
        assert task.records is not None
        deaf = replace(task.records, kafka={"bootstrap.servers": "127.0.0.1:1"})
        with pytest.raises(ClusterError, match=r"no record for 0\.3 s at offset 0"):
            list(replace(task, records=deaf).read((0, 0, 1)))

    def test_keys_are_read_as_values_are(self, topic: Topic) -> None:
        topic.fill([b"x"])
        (row,) = rows(planned(topic, columns="ID BIGINT", role="key", on__error="quarantine", metadata="value"))
        assert (row["_srfix_reason"], row["_srfix_payload"], row["value"]) == ("BAD_MAGIC", b"k0", b"x")

    def test_a_topic_that_is_not_there_is_not_created(self, topic: Topic) -> None:
        with pytest.raises(ClusterError, match=r"There is no topic 'nowhere'"):
            planned(replace(topic, name="nowhere"), format="raw")
        assert "nowhere" not in topic.broker.topics

    def test_records_that_go_between_planning_and_reading_are_an_error(self, topic: Topic) -> None:
        topic.fill([b"x"] * 8)
        strict, lenient = planned(topic, format="raw"), planned(topic, format="raw", failOnDataLoss="false")
        admin = AdminClient({"bootstrap.servers": topic.broker.bootstrap_servers})
        for future in admin.delete_records([TopicPartition(topic.name, 0, 3)]).values():
            future.result()
        with pytest.raises(DataLossError, match=r"offset 0 of .*\[0\] is gone"):
            batches(strict)
        assert sum(batch.num_rows for batch in batches(lenient)) == 5

    def test_a_reference_does(self, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REGISTRY_PASSWORD", "hush")
        topic.fill(topic.payloads([1]))
        read = planned(topic, columns=COLUMNS, registry__basic__auth__user__info="me:env:REGISTRY_PASSWORD")
        assert b"hush" not in read.task
        assert [row["ID"] for row in rows(read)] == [1]

    def test_a_dual_policy_reads_what_only_its_second_subject_holds(self, topic: Topic) -> None:
        topic.fill(topic.payloads([1]))
        policy = {"policy": "dual-subject", "subject__first": "phantom-value", "subject__second": f"{topic.name}-value"}
        assert [row["ID"] for row in rows(planned(topic, columns=COLUMNS, **policy))] == [1]
        (row,) = rows(planned(topic, columns=COLUMNS, policy="one-subject", subject="phantom-value", on__error="null"))
        assert row["_srfix_reason"] == "NOT_UNDER_SUBJECT"


class TestStreams:
    def test_no_micro_batch_reads_more_than_the_limit(self, topic: Topic) -> None:
        topic.fill(topic.payloads(range(10)))
        stream = streamed(topic)
        start = stream.initial()
        first = stream.latest(start, 4)
        assert (at(start), at(first)) == ({"0": 0, "1": 0}, {"0": 2, "1": 2})
        assert stream.parts(start, first) == ((0, 0, 2), (1, 0, 2))
        assert at(stream.latest(first, 100)) == {"0": 5, "1": 5}
        assert at(stream.behind()) == {"0": 5, "1": 5}

    def test_available_now_ends_at_what_there_was(self, topic: Topic) -> None:
        topic.fill(topic.payloads(range(4)))
        stream = streamed(topic)
        start = stream.initial()
        stream.until_now()
        topic.fill(topic.payloads(range(6)))
        end = stream.latest(start)
        assert at(end) == {"0": 2, "1": 2}
        assert stream.latest(end) == end

    def test_a_topic_that_was_created_anew_is_an_error_or_read_from_its_start(self, topic: Topic) -> None:
        topic.fill([b"x"] * 6)
        begun = streamed(topic).latest()
        delete_topic(topic)
        topic.broker.create_topic(topic.name, 2)
        topic.fill([b"x"] * 20)
        with pytest.raises(DataLossError, match=r"was deleted and created again"):
            streamed(topic).latest(begun)
        lenient = streamed(topic, failOnDataLoss="false")
        end = lenient.latest(begun, 6)
        assert at(end) == {"0": 3, "1": 3}
        assert lenient.parts(begun, end) == ((0, 0, 3), (1, 0, 3))

    def test_nothing_depends_on_commit(self) -> None:
        kinds: list[type[DataSourceStreamReader]] = [source.AnyStreamReader, *source.AnyStreamReader.__subclasses__()]
        for kind in kinds:
            assert kind.commit is DataSourceStreamReader.commit
            assert kind.stop is DataSourceStreamReader.stop


class TestWorkers:
    def test_filters_are_not_pushed(self) -> None:
        # Spark 4.0 has no such method.
        assert getattr(source.BatchReader, "pushFilters", None) is getattr(DataSourceReader, "pushFilters", None)

    def test_a_worker_without_srfix_says_how_to_bring_it_there(self, topic: Topic, tmp_path: Path) -> None:
        options = {**topic.least, "columns": COLUMNS}
        schema = StructType.fromJson(json.loads(spark_json(frame_of(source_options(options, Use.SCHEMA)))))
        frame = pyspark_srfix.DefaultSource(options)
        reader = frame.reader(schema)
        writer = frame.writer(StructType().add("ID", "long"), False)
        python = python_without(tmp_path, SRFIX)
        for sent in (reader, frame.streamReader(schema), writer):
            # As Spark sends them: in a closure, with what gave them.
            pickled = tmp_path / "sent"
            pickled.write_bytes(cloudpickle.dumps((frame, sent)))  # type: ignore[no-untyped-call]
            code = f"import pickle; pickle.load(open({str(pickled)!r}, 'rb'))"
            ran = subprocess.run([python, "-E", "-c", code], capture_output=True, text=True, timeout=60, check=False)
            assert "ModuleNotFoundError: The Spark worker on " in ran.stderr
            assert " lacks srfix. Install srfix there" in ran.stderr

    def test_what_a_task_reads_unpickles_without_srfix(self, topic: Topic) -> None:
        topic.fill([b"x"])
        (part,) = planned(topic, format="raw").parts
        assert b"srfix" not in pickle.dumps(InputPartition(part)).replace(topic.name.encode(), b"")

    def test_the_module_that_spark_looks_up_loads_nothing_of_srfix(self) -> None:
        code = "import sys, pyspark_srfix; print([name for name in sys.modules if name.startswith('srfix')])"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert ran.stdout.strip() == "[]"


def struct(**fields: object) -> dict[str, Any]:
    """Spark's JSON form of a schema."""
    return {
        "type": "struct",
        "fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields.items()],
    }


HEADERS = {
    "type": "array",
    "elementType": struct(key="string", value="binary"),
    "containsNull": True,
}


def write(topic: Topic, batch: pa.RecordBatch, schema: dict[str, Any], **given: str) -> int:
    options = source_options(topic.least | {name.replace("__", "."): value for name, value in given.items()}, Use.WRITE)
    return task_writer(planned_write(options, schema, overwrite=False))(iter([batch]))


class TestWriting:
    SCHEMA = struct(ID="long", NAME="string", _srfix_reason="string", key="string")

    def batch(self, *reasons: str | None) -> pa.RecordBatch:
        count = len(reasons)
        return pa.RecordBatch.from_pydict(
            {"ID": [None] * count, "NAME": [None] * count, "_srfix_reason": list(reasons), "key": ["k"] * count},
            schema=pa.schema(
                [("ID", pa.int64()), ("NAME", pa.string()), ("_srfix_reason", pa.string()), ("key", pa.string())]
            ),
        )

    def test_a_tombstone_is_refused_unless_asked_for(self, topic: Topic) -> None:
        with pytest.raises(EncodeError, match=r"Row 1 .*_srfix_reason is TOMBSTONE"):
            write(topic, self.batch(None, "TOMBSTONE"), self.SCHEMA, metadata="key")
        assert write(topic, self.batch(None, "TOMBSTONE"), self.SCHEMA, metadata="key", tombstones="write") == 2
        found = rows(planned(topic, columns=COLUMNS, metadata="key"))
        assert sorted((row["key"], row["_srfix_reason"] or "") for row in found) == [(b"k", ""), (b"k", "TOMBSTONE")]

    def test_a_row_of_nulls_is_not_taken_for_one_by_accident(self, topic: Topic) -> None:
        batch, schema = self.batch(None).select(["ID", "NAME"]), struct(ID="long", NAME="string")
        with pytest.raises(EncodeError, match=r"Row 0 .*every column is NULL"):
            write(topic, batch, schema)

    def test_a_bad_row_is_not_written_back(self, topic: Topic) -> None:
        with pytest.raises(EncodeError, match=r"Row 0 .*_srfix_reason is TRUNCATED"):
            write(topic, self.batch("TRUNCATED"), self.SCHEMA, metadata="key", tombstones="write")

    def test_integers_are_written_as_the_times_of_the_columns(self, topic: Topic) -> None:
        given = {"columns": "SEEN TIMESTAMP", "times": "integers"}
        far = 1_700_000_000_000_000
        assert write(topic, pa.RecordBatch.from_pydict({"SEEN": [far]}), struct(SEEN="long"), **given) == 1
        assert [row["SEEN"] for row in rows(planned(topic, **given))] == [far]

    def test_raw_records_are_written_as_they_are(self, topic: Topic) -> None:
        topic.fill([b"a", b"b", b"c"])
        sink = Topic.created(topic.broker, topic.registry)
        names = ["key", "value", "partition", "timestamp", "headers"]
        schema = struct(key="binary", value="binary", partition="integer", timestamp="timestamp", headers=HEADERS)
        read = batches(planned(topic, format="raw", includeHeaders="true"))
        for batch in read:
            write(sink, batch.select(names), schema, format="raw")
        written = batches(planned(sink, format="raw", includeHeaders="true"))
        assert [batch.select(names).to_pylist() for batch in written] == [
            batch.select(names).to_pylist() for batch in read
        ]

    def test_only_what_is_marked_is_written_as_a_tombstone(self, topic: Topic) -> None:
        schema = struct(key="binary", ID="long", _srfix_tombstone="boolean")
        marked, other = (
            pa.RecordBatch.from_pydict(
                {"key": [b"k"], "ID": pa.array([None], pa.int64()), "_srfix_tombstone": pa.array([mark])}
            )
            for mark in (True, False)
        )
        with pytest.raises(EncodeError, match=r"Row 0 .*_srfix_tombstone is true"):
            write(topic, marked, schema, metadata="key")
        for batch in (marked, other):
            assert write(topic, batch, schema, metadata="key", tombstones="write") == 1
        sent = [row["value"] for batch in batches(planned(topic, format="raw")) for row in batch.to_pylist()]
        assert [value is None for value in sent] == [True, False]

    def test_a_raw_null_is_not_written_by_accident(self, topic: Topic) -> None:
        batch = pa.RecordBatch.from_pydict({"value": pa.array([None], pa.binary())})
        with pytest.raises(EncodeError, match=r"Row 0 .*the value is NULL"):
            write(topic, batch, struct(value="binary"), format="raw")
        assert write(topic, batch, struct(value="binary"), format="raw", tombstones="write") == 1

    def test_a_record_that_is_not_taken_fails_the_task(self, broker: KraftBroker, registry: FixtureRegistry) -> None:
        small = Topic.created(broker, registry, 1, max_message_bytes="200")
        batch = pa.RecordBatch.from_pydict({"NAME": ["x" * 1000]})
        with pytest.raises(ClusterError, match=r"1 of 1 records were not written .*too large"):
            write(small, batch, struct(NAME="string"))

    @pytest.mark.parametrize(
        ("schema", "given", "message"),
        [
            ({"ID": "long", "offset": "long"}, {"metadata": "offset"}, "srfix cannot write a record's offset"),
            ({"ID": "long"}, {"metadata": "key"}, "metadata names the column 'key', but the frame has only"),
            ({"ID": "long", "key": "long"}, {"metadata": "key"}, "'key' must be binary or string"),
            ({"ID": "long"}, {"role": "key"}, "A record with only a key would be a tombstone"),
            (
                {"ID": "long"},
                {"format": "json", "times": "micros"},
                r"^The option times \(micros\) is only for columns",
            ),
            ({"value": "binary", "topic": "string"}, {"format": "raw"}, "it also has topic"),
            ({"key": "binary"}, {"format": "raw"}, "it lacks the column value"),
            ({"key": "binary"}, {"metadata": "key"}, "no column is left for the row"),
        ],
    )
    def test_a_frame_that_does_not_fit_is_refused(
        self, topic: Topic, schema: dict[str, str], given: dict[str, str], message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            planned_write(source_options({**topic.least, **given}, Use.WRITE), struct(**schema), overwrite=False)
        assert topic.registry.writes == 0

    def test_a_spark_that_cannot_write_streams_so_is_told_how_it_can(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lacking = 'format("srfix") writes streams since Spark 4.1'
        monkeypatch.setattr(source, "HAS_STREAM_WRITER", False)
        monkeypatch.setattr(source, "lacks_source_stream_writer", lambda: lacking)
        with pytest.raises(EngineRefusedError) as caught:
            source.stream_writer({}, StructType(), overwrite=False)
        assert f"{lacking}. Write each micro-batch: writeStream.foreachBatch" in caught.value.message
