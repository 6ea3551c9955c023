"""Several topics in one read: each row by its topic's plan, by every engine, and a stream in which a topic appears."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import Observation, Row, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import BadRowError, ClusterError, EngineRefusedError, Reason, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import UnderOneSubject
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.progress import counts_of
from srfix.serde.spark.read.plan import ReadPlan, plan_read
from srfix.serde.spark.reading import bad_rows, from_registry, read_stream, read_topic, replay
from srfix.serde.subjects.strategies import TopicSubject
from tests.spark.parity import HAS_ARROW
from tests.spark.reading_world import ENGINES, EngineCase, World

ORDERS = "SUM DOUBLE, ID BIGINT"


def order(world: World, topic: str, number: int) -> bytes:
    serializer = AvroSerializer(world.client, parse_columns(ORDERS))
    payload = serializer({"SUM": number / 2, "ID": number}, SerdeContext(topic))
    assert payload is not None
    return payload


def under_their_subjects(world: World, users: str, orders: str) -> list[ReadPlan]:
    """Plans of topics' own subjects, so that the wrong plan would refuse the ids."""
    policy = UnderOneSubject(world.client, TopicSubject())
    return [
        plan_read(world.client, users, "ID BIGINT, NAME STRING", policy=policy),
        plan_read(world.client, orders, ORDERS, policy=policy),
    ]


@pytest.mark.parametrize("case", ENGINES, ids=str)
class TestFrames:
    def test_each_row_is_read_by_the_plan_of_its_topic(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        user, paid = world.payload(1, topic="t"), order(world, "T", 2)
        rows = [
            ("t", 0, 0, user),
            ("T", 0, 0, paid),
            ("T", 0, 1, None),
            ("T", 0, 2, user),
            ("t", 0, 1, paid),
            ("new", 0, 0, user),
            ("new", 0, 1, None),
        ]
        df = spark.createDataFrame(rows, "topic string, partition int, offset long, value binary")
        options: Any = {"engine": case.engine, "workers_have_srfix": case.workers_have_srfix, "unknown_ids": "resolve"}
        counted = Observation()
        read = from_registry(under_their_subjects(world, "t", "T"), on_error="quarantine", observe=counted, **options)
        found = df.transform(read)
        assert found.columns[:4] == df.columns
        assert found.schema["value"].dataType.simpleString() == "struct<ID:bigint,NAME:string,SUM:double>"
        names = ("topic", "offset", "value", "_srfix_reason", "_srfix_tombstone")
        # Without srfix on the workers the policy is not asked again: what is not in the plan is unknown.
        not_its = (Reason.NOT_UNDER_SUBJECT if case.workers_have_srfix else Reason.UNKNOWN_ID).value
        assert sorted(tuple(row) for row in found.select(*names).where("value IS NOT NULL").collect()) == [
            ("T", 0, Row(ID=2, NAME=None, SUM=1.0), None, False),
            ("t", 0, Row(ID=1, NAME="n1", SUM=None), None, False),
        ]
        assert sorted(tuple(row) for row in found.select(*names).where("value IS NULL").collect()) == [
            ("T", 1, None, "TOMBSTONE", True),
            ("T", 2, None, not_its, False),
            ("new", 0, None, "NO_PLAN", False),
            ("new", 1, None, "TOMBSTONE", True),
            ("t", 1, None, not_its, False),
        ]
        bad = {(row["topic"], row["offset"]): bytes(row["_srfix_payload"]) for row in bad_rows(found).collect()}
        assert bad == {("T", 2): user, ("t", 1): paid, ("new", 0): user}
        said = found.where("topic = 'new' AND offset = 0").collect()[0]["_srfix_message"]
        assert said.startswith("The read has no plan for this topic. Make a plan for this topic (plan_read)")
        counts = counts_of(counted.get)
        assert (counts.rows, counts.tombstones, counts.bad) == (7, 2, 3)
        assert counts.by_reason == {Reason(not_its): 2, Reason.NO_PLAN: 1}

    def test_a_row_of_no_plan_fails_the_job_and_null_makes_it_null(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        df = spark.createDataFrame(
            [("new", 3, 7, world.payload(1))], "topic string, partition int, offset long, value binary"
        )
        plans = {"users": world.plan(), "users-retry": world.plan()}
        options: Any = {"engine": case.engine, "workers_have_srfix": case.workers_have_srfix, "unknown_ids": "resolve"}
        failing = df.transform(from_registry(plans, **options))
        assert failing.columns == [*df.columns, "_srfix_tombstone"]
        for action in (failing.collect, failing.count, failing.where("value.ID = 5").collect):
            with (
                pytest.raises(BadRowError, match="NO_PLAN: The read has no plan for this topic") as caught,
                clear_errors(),
            ):
                action()
            assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("new", 3, 7)
        nulls = df.transform(from_registry(plans, on_error="null", **options)).select("value", "_srfix_tombstone")
        assert nulls.collect() == [Row(value=None, _srfix_tombstone=False)]
        known = df.withColumn("topic", F.lit("users-retry")).transform(from_registry(plans, **options))
        assert known.select("value.*").collect() == [Row(ID=1, NAME="n1")]


class TestReplay:
    def test_bad_rows_of_several_topics_are_read_again_each_by_its_plan(
        self, spark: SparkSession, world: World
    ) -> None:
        """The second topic's row was under no plan, and the third's schema under no subject."""
        user, paid, late = world.payload(1, topic="t"), order(world, "T", 2), order(world, "L", 3)
        df = spark.createDataFrame(
            [("t", 0, 0, user), ("T", 0, 0, paid), ("T", 0, 1, user), ("T", 0, 2, None), ("L", 0, 0, late)],
            "topic string, partition int, offset long, value binary",
        )
        users, orders = under_their_subjects(world, "t", "T")
        bad = bad_rows(df.transform(from_registry([users], on_error="quarantine")))
        for plans in ([users, orders], {"t": users, "T": orders}):
            again = replay(bad, plans)
            found = {(row["topic"], row["offset"]): (row["value"], row["_srfix_reason"]) for row in again.collect()}
            assert found == {
                ("T", 0): (Row(ID=2, NAME=None, SUM=1.0), None),
                ("T", 1): (None, "NOT_UNDER_SUBJECT" if HAS_ARROW else "UNKNOWN_ID"),
                ("L", 0): (None, "NO_PLAN"),
            }
        last = replay(bad_rows(replay(bad, [users, orders])), {"L": orders, "T": users})
        assert sorted((row["topic"], row["value"]["ID"]) for row in last.collect()) == [("L", 3), ("T", 1)]


class TestFrame:
    def test_the_plan_that_no_engine_reads_is_named_by_its_topic(self, spark: SparkSession, world: World) -> None:
        df = spark.sql("SELECT 't' AS topic, X'00' AS value")
        plans = [world.plan(), plan_read(None, "lines", "ID BIGINT", format=Format.JSON)]
        with pytest.raises(EngineRefusedError, match=r"'lines': The jvm engine cannot read"):
            df.transform(from_registry(plans, engine="jvm", workers_have_srfix=False))

    def test_rows_that_do_not_say_their_topic_are_refused(self, spark: SparkSession, world: World) -> None:
        df = spark.sql("SELECT X'00' AS value")
        with pytest.raises(UsageError, match=r"need one column 'topic' of strings, but the frame has no"):
            df.transform(from_registry([world.plan()]))


class TestKafka:
    def test_topics_are_subscribed_to_matched_and_assigned(
        self, spark: SparkSession, broker: KraftBroker, world: World
    ) -> None:
        front = f"many-{uuid4().hex[:8]}"
        users, orders = f"{front}-users", f"{front}-orders"
        for topic in (users, orders):
            broker.create_topic(topic, partitions=2)
        broker.produce(
            ProducedRecord(topic=topic, partition=partition, value=value)
            for topic, partition, value in (
                (users, 0, world.payload(1, topic=users)),
                (users, 1, world.payload(2, topic=users)),
                (orders, 0, order(world, orders, 3)),
            )
        )
        plans = under_their_subjects(world, users, orders)

        def ids(**options: object) -> list[int]:
            read = read_topic(spark, plans, bootstrap_servers=broker.bootstrap_servers, **options)  # type: ignore[arg-type]
            return sorted(row["ID"] for row in read.select("value.ID").collect())

        assert ids() == [1, 2, 3]
        assert ids(subscribe_pattern=f"{front}-.*") == [1, 2, 3]
        assert ids(assign={users: [1], orders: [0, 1]}) == [2, 3]
        starts = {users: {0: 1, 1: -2}, orders: {0: 0, 1: 0}}
        assert ids(starting_offsets=starts) == [2, 3]

    def test_what_is_not_there_is_named(self, spark: SparkSession, broker: KraftBroker, world: World) -> None:
        front = f"lack-{uuid4().hex[:8]}"
        there, lacking = f"{front}-there", f"{front}-lacking"
        broker.create_topic(there, partitions=2)
        plan = world.plan()
        at = broker.bootstrap_servers
        with pytest.raises(
            ClusterError, match=rf"^One of the topics '{there}', '{lacking}' is not in the Kafka cluster"
        ):
            read_topic(spark, {there: plan, lacking: plan}, bootstrap_servers=at)
        with pytest.raises(UsageError, match=r"not a Java regular expression: Unclosed group"):
            read_topic(spark, plan, bootstrap_servers=at, subscribe_pattern="(")
        for read in (read_topic, read_stream):
            with pytest.raises(UsageError, match=r"names a partition that its topic lacks"):
                read(spark, {there: plan}, bootstrap_servers=at, assign={there: [0, 9]})
        assert read_topic(spark, {there: plan}, bootstrap_servers=at, assign={there: [1]}).count() == 0

    def test_a_topic_that_is_born_under_a_streams_pattern_has_no_plan_until_the_stream_is_started_with_it(
        self, spark: SparkSession, broker: KraftBroker, world: World, tmp_path: Path
    ) -> None:
        front = f"born-{uuid4().hex[:8]}"
        users, orders = f"{front}-users", f"{front}-orders"
        broker.create_topic(users, partitions=1)
        broker.produce([ProducedRecord(topic=users, partition=0, value=world.payload(1, topic=users))])
        paid = order(world, orders, 2)
        plans = under_their_subjects(world, users, orders)

        def run(given: list[ReadPlan]) -> list[tuple[str, int, str]]:
            read = read_stream(
                spark,
                given,
                bootstrap_servers=broker.bootstrap_servers,
                subscribe_pattern=f"{front}-.*",
                on_error="quarantine",
            )

            rows = read.select("topic", "value.ID", "_srfix_reason")
            writer = rows.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
            query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
            assert query.awaitTermination(120)
            kept = spark.read.parquet(str(tmp_path / "rows")).collect()
            return sorted((row["topic"], row["ID"] or 0, row["_srfix_reason"] or "") for row in kept)

        assert run(plans[:1]) == [(users, 1, "")]
        broker.create_topic(orders, partitions=1)
        broker.produce([ProducedRecord(topic=orders, partition=0, value=paid)])
        assert run(plans[:1]) == [(orders, 0, "NO_PLAN"), (users, 1, "")]
        broker.produce([ProducedRecord(topic=orders, partition=0, value=paid)])
        assert run(plans) == [(orders, 0, "NO_PLAN"), (orders, 2, ""), (users, 1, "")]
