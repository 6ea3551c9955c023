"""Frames through `from_registry`, by every engine; and topics."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import BadRowError, Reason, Role, UsageError
from srfix.serde.spark import (
    Engine,
    OnBadRow,
    bad_rows,
    clear_errors,
    from_registry,
    good_rows,
    read_topic,
    replay,
)
from srfix.serde.spark._pyspark import engines
from srfix.serde.spark._pyspark.engines import decoded_type
from srfix.serde.spark._pyspark.frames import decode_frame
from tests.spark.parity import HAS_ARROW
from tests.spark.reading_world import ENGINES, JVM_WITH_ARROW, EngineCase, World, frame, open_world


def plan_text(df: DataFrame) -> str:
    """The optimised plan. Tests may look below the public functions."""
    return str(df._jdf.queryExecution().optimizedPlan().toString())


@pytest.mark.parametrize("case", ENGINES, ids=str)
class TestFromRegistry:
    @pytest.mark.smoke
    def test_payloads_of_any_schema_become_typed_rows_and_the_other_columns_stay(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        newer, older = world.payload(1), world.lower(2)
        df = frame(spark, [newer, None, older]).transform(case.read(world.plan()))
        assert df.columns == ["topic", "partition", "offset", "key", "value", "headers", "_srfix_tombstone"]
        assert df.schema["value"].dataType.simpleString() == "struct<ID:bigint,NAME:string>"
        rows = df.select("partition", "offset", "value").orderBy("offset").collect()
        assert rows == [
            Row(partition=3, offset=0, value=Row(ID=1, NAME="n1")),
            Row(partition=3, offset=1, value=None),
            Row(partition=3, offset=2, value=Row(ID=2, NAME="n2")),
        ]

    def test_keys_and_values_of_one_frame_are_read_with_a_plan_each(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        key, value = world.payload(7, role=Role.KEY), world.payload(1)
        df = frame(spark, [value, value[:-1]]).withColumn("key", F.lit(key))
        for role in Role:
            read = case.read(world.plan(role), on_error="quarantine")
            df = df.transform(read)
        good = good_rows(good_rows(df, Role.KEY)).select("key.ID", "value.NAME", "offset")
        assert good.collect() == [Row(ID=7, NAME="n1", offset=0)]
        assert bad_rows(df, Role.KEY).count() == 0

    def test_a_schema_that_a_header_names_is_found_where_srfix_is_on_the_workers(
        self, spark: SparkSession, case: EngineCase
    ) -> None:
        with FixtureRegistry(emulate="8.2") as registry, open_world(registry) as world:
            payload, headers = world.by_header(5)
            plan = world.plan()
            read = case.read(plan, on_error="quarantine")
            df = frame(spark, [payload, None], headers).unionAll(
                frame(spark, [world.payload(6), None], (("__value_schema_id", b"\1?"),))
            )
            rows = df.transform(read).select("value.ID", "_srfix_reason", "_srfix_message").collect()
        assert rows[0][:2] == ((5, None) if case.workers_have_srfix else (None, "UNKNOWN_ID"))
        assert [row["_srfix_reason"] for row in rows[1:]] == ["TOMBSTONE", "BAD_FRAMING", "TOMBSTONE"]
        assert "__value_schema_id holds 2 bytes" in rows[2]["_srfix_message"]

    def test_a_frame_of_payloads_alone_is_read_too(self, spark: SparkSession, world: World, case: EngineCase) -> None:
        files = frame(spark, [world.payload(4)]).select(F.col("value").alias("a `body` of.old"))
        read = case.read(world.plan(), column="a `body` of.old")
        expected = Row(**{"a `body` of.old": Row(ID=4, NAME="n4"), "_srfix_tombstone": False})
        assert files.transform(read).collect() == [expected]


class TestBarrier:
    def test_from_avro_stands_in_the_plan_once_whatever_is_filtered_by(self, spark: SparkSession, world: World) -> None:
        world.payload(0)
        df = frame(spark, [world.payload(number) for number in range(3)])
        for on_error in ("fail", "quarantine", "null"):
            read = from_registry(world.plan(), engine="jvm", workers_have_srfix=False, on_error=on_error)
            wanted = df.transform(read).where("value.ID > 0 AND value.NAME LIKE 'n%'").where("upper(value.NAME) = 'N2'")
            plan = plan_text(wanted.select("value.ID", "value.NAME"))
            shapes = len(re.findall(r"from_avro\(", plan))
            assert shapes == len(set(re.findall(r"from_avro\(.*?\(mode,", plan))) > 0, on_error
        assert wanted.select("value.ID").collect() == [Row(ID=2)]

    @pytest.mark.parametrize("engine", ["auto", "jvm", "arrow"])
    @pytest.mark.parametrize("on_error", ["fail", "quarantine", "null"])
    def test_a_filter_on_other_columns_reaches_the_source(
        self, spark: SparkSession, world: World, tmp_path: Path, engine: Engine, on_error: OnBadRow
    ) -> None:
        plan = world.plan()
        born_later = world.payload(2)
        folder = str(tmp_path / "topic")
        has_python = JVM_WITH_ARROW in ENGINES  # else nobody reads the schema that was born later
        values = [world.lower(1), b"{}", world.lower(3), *([born_later] if has_python else [])]
        frame(spark, values).write.parquet(folder)
        topic = spark.read.parquet(folder)
        df = topic.transform(from_registry(plan, engine=engine, on_error=on_error, unknown_ids="resolve"))
        wanted = df.where("offset <> 1").where("value.ID > 1")
        assert sorted(row["ID"] for row in wanted.select("value.ID").collect()) == ([2, 3] if has_python else [3])
        text = str(wanted._jdf.queryExecution().executedPlan().toString())
        assert "PushedFilters: [IsNotNull(offset), Not(EqualTo(offset,1))]" in text
        steps = ("Generate inline", *(["ArrowEvalPython"] if has_python else []), "Filter (isnotnull(offset")
        places = [text.find(step) for step in steps]
        assert places[0] > 0, text
        assert places == sorted(places), text

    @pytest.mark.parametrize("on_error", ["fail", "quarantine", "null"])
    def test_without_srfix_on_the_workers_there_is_no_python_in_the_plan(
        self, spark: SparkSession, world: World, on_error: OnBadRow
    ) -> None:
        world.payload(0)
        read = from_registry(world.plan(), on_error=on_error, workers_have_srfix=False)
        assert "Python" not in plan_text(frame(spark, [world.lower(1)]).transform(read))

    @pytest.mark.parametrize("on_error", ["fail", "quarantine", "null"])
    def test_nor_is_there_in_a_bounded_read_unless_it_is_asked_for(
        self, spark: SparkSession, world: World, on_error: OnBadRow
    ) -> None:
        world.payload(0)
        df = frame(spark, [world.lower(1)])
        assert "Python" not in plan_text(df.transform(from_registry(world.plan(), on_error=on_error)))
        if JVM_WITH_ARROW in ENGINES:
            asked = from_registry(world.plan(), on_error=on_error, unknown_ids="resolve")
            assert "Python" in plan_text(df.transform(asked))

    def test_an_id_that_was_born_later_is_a_bad_row_of_it_and_is_read_again(
        self, spark: SparkSession, world: World
    ) -> None:
        lower = world.lower(1)
        plan = world.plan()
        df = frame(spark, [lower, world.payload(2)])
        read = df.transform(from_registry(plan, on_error="quarantine"))
        (bad,) = bad_rows(read).collect()
        assert (bad["offset"], bad["_srfix_reason"]) == (1, "UNKNOWN_ID")
        advice = "plan.refreshed(registry) knows it" if HAS_ARROW else "Plan again."
        assert advice in bad["_srfix_message"]
        again = replay(bad_rows(read), plan.refreshed(world.client)).select("value.ID", "_srfix_reason").collect()
        assert again == [Row(ID=2, _srfix_reason=None)]
        with pytest.raises(BadRowError, match=r"UNKNOWN_ID: The plan does not know the schema id"), clear_errors():
            df.transform(from_registry(plan)).collect()

    def test_a_function_in_python_is_called_once_for_each_row(
        self, spark: SparkSession, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = spark.sparkContext.accumulator(0)

        def decode(payload: bytes) -> tuple[tuple[int, str], None, None]:
            calls.add(1)
            return (len(payload), "n"), None, None

        plan = world.plan()
        stub = F.udf(decode, decoded_type(plan), useArrow=False)

        monkeypatch.setattr(engines, "arrow_decoded", lambda plan, payload, **_: stub(payload))
        df = decode_frame(
            frame(spark, [b"a", b"bb", b"ccc"]),
            plan,
            engines.Decoding(plan=plan, read=None),
            column=None,
            on_error="fail",
            observe=None,
        )
        wanted = df.where("value.ID > 1 AND value.NAME = 'n'").where("value.ID < 3").select("value.ID", "value.NAME")
        # Spark has a rule of its own against this, for functions in Python only, which a user may have switched off.
        spark.conf.set("spark.sql.optimizer.avoidDoubleFilterEval", "false")
        try:
            assert wanted.collect() == [Row(ID=2, NAME="n")]
        finally:
            spark.conf.unset("spark.sql.optimizer.avoidDoubleFilterEval")
        assert calls.value == 3


class TestFrames:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda df: df.drop("value"), "has no column 'value' with payloads; it has topic, partition, offset"),
            (lambda df: df.withColumn("value", F.lit("text")), "'value' holds string, not binary"),
            (lambda df: df.select("*", "value"), "has 2 columns 'value'"),
            (lambda df: df.withColumn("_srfix_message", F.lit(1)), "already has a column _srfix_message"),
        ],
        ids=["no such column", "not binary", "twice", "a name of ours"],
    )
    def test_a_frame_that_cannot_be_read_is_refused_before_any_job(
        self, spark: SparkSession, world: World, change: object, message: str
    ) -> None:
        assert callable(change)
        df = change(frame(spark, []))
        with pytest.raises(UsageError, match=message):
            df.transform(from_registry(world.plan(), engine="arrow"))

    def test_words_that_are_none_are_refused_without_a_frame(self, world: World) -> None:
        with pytest.raises(UsageError, match=r"^on_error is 'skip'; it must be one of 'fail', 'quarantine', 'null'\.$"):
            from_registry(world.plan(), on_error="skip")  # type: ignore[call-overload]
        with pytest.raises(UsageError, match=r"^engine is 'fast'; it must be one of 'auto', 'arrow', 'jvm'\.$"):
            from_registry(world.plan(), engine="fast")  # type: ignore[call-overload]

    def test_a_stream_takes_a_name_and_no_observation(self, spark: SparkSession, world: World) -> None:
        stream = spark.readStream.format("rate").load().select(F.lit(b"").alias("value"))
        with pytest.raises(UsageError, match=r"A stream cannot use an Observation"):
            stream.transform(from_registry(world.plan(), engine="arrow", observe=Observation("x")))


class TestReadTopic:
    @pytest.mark.smoke
    def test_a_topic_is_read_from_and_to_offsets_with_its_headers(
        self, spark: SparkSession, broker: KraftBroker, world: World
    ) -> None:
        topic = f"reading-{uuid4().hex}"
        broker.create_topic(topic, partitions=2)
        values = [world.payload(number, topic=topic) for number in range(4)]
        broker.produce(
            ProducedRecord(topic=topic, partition=number % 2, value=value, headers=(("trace", b"1"),))
            for number, value in enumerate([*values, None])
        )
        df = read_topic(
            spark,
            world.plan(topic=topic),
            bootstrap_servers=broker.bootstrap_servers,
            starting_offsets={0: 1, 1: -2},
            options={"kafka.client.id": "reading"},
            engine="arrow",
        )
        rows = df.orderBy("partition", "offset").collect()
        assert [(row["partition"], row["offset"], row["value"]) for row in rows] == [
            (0, 1, Row(ID=2, NAME="n2")),
            (0, 2, None),
            (1, 0, Row(ID=1, NAME="n1")),
            (1, 1, Row(ID=3, NAME="n3")),
        ]
        assert rows[0]["headers"] == [Row(key="trace", value=bytearray(b"1"))]

    def test_secrets_are_in_no_message_of_ours(self, spark: SparkSession, broker: KraftBroker, world: World) -> None:
        options = {"kafka.sasl.jaas.config": 'x required password="sesame";'}
        plan = world.plan(topic=_created(broker, world))
        df = read_topic(spark, plan, bootstrap_servers=broker.bootstrap_servers, options=options, engine="arrow")
        with pytest.raises(UsageError) as caught:
            df.transform(from_registry(plan, engine="arrow"))
        assert "sesame" not in str(caught.value)
        assert "sesame" not in plan_text(df)


def test_every_reason_of_a_row_that_is_read_is_counted_under_its_word(spark: SparkSession, world: World) -> None:
    df = frame(spark, []).transform(from_registry(world.plan(), engine="arrow", on_error="null", observe="n"))
    counted = set(re.findall(r" AS (\w+)#", plan_text(df)))
    assert {reason.value for reason in Reason} - counted == {"TOMBSTONE", "ENCODE_FAILED", "NO_PLAN"}


def _created(broker: KraftBroker, world: World) -> str:
    topic = f"reading-{uuid4().hex[:8]}"
    broker.create_topic(topic, 1)
    assert world.payload(1, topic=topic)  # registers the columns
    return topic
