"""Rows that cannot be read: kept apart, null, or the end of the job; and counted."""

from __future__ import annotations

from typing import Final

import pytest
from pyspark.sql import Observation, Row, SparkSession

from srfix.serde import BadRowError, Reason, Role, UsageError
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.spark import bad_rows, clear_errors, counts_of, from_registry, good_rows, reason_columns
from srfix.serde.spark.progress import MAX_UNKNOWN_IDS
from srfix.serde.wire import frame_id
from tests.spark.conftest import RAISED
from tests.spark.reading_world import ENGINES, EngineCase, World, frame

UNKNOWN: Final = 4711


def payloads(world: World) -> dict[Reason | None, bytes | None]:
    """One of each kind; None is a good one."""
    good = world.payload(1)
    return {
        None: good,
        Reason.TOMBSTONE: None,
        Reason.TOO_SHORT: good[:3],
        Reason.BAD_MAGIC: b'{"ID": 1}',
        Reason.BAD_ID: b"\x00\x80\x00\x00\x01" + good[5:],
        Reason.UNKNOWN_ID: frame_id(UNKNOWN, good[5:]),
        Reason.TRUNCATED: good[:-1],
        Reason.TRAILING_BYTES: good + b"\0",
    }


@pytest.mark.smoke
@pytest.mark.parametrize("case", ENGINES, ids=str)
class TestQuarantine:
    def test_every_bad_row_has_its_bytes_its_place_and_its_reason_and_is_counted(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        sent = payloads(world)
        observation = Observation("users")
        df = frame(spark, sent.values()).transform(case.read(world.plan(), on_error="quarantine", observe=observation))
        names = reason_columns(Role.VALUE)
        assert df.columns == [
            "topic",
            "partition",
            "offset",
            "key",
            "value",
            "headers",
            names.reason,
            names.message,
            names.payload,
            names.tombstone,
        ]
        # In Spark 4.1 a sort reads twice, and what it reads for its sample is counted too.
        rows = sorted(df.collect(), key=lambda row: int(row["offset"]))
        exact = case.engine == "arrow"
        bodies = {Reason.TRUNCATED, Reason.TRAILING_BYTES}
        reasons = [Reason.DECODE_FAILED if reason in bodies and not exact else reason for reason in sent]
        assert [(row["offset"], row[names.reason], row[names.payload]) for row in rows] == [
            (offset, reason and reason.value, payload if reason is not None and reason.is_error else None)
            for offset, (reason, payload) in enumerate(zip(reasons, sent.values(), strict=True))
        ]
        assert [row["value"] for row in rows] == [Row(ID=1, NAME="n1")] + 7 * [None]
        assert [row[names.tombstone] for row in rows] == [reason is Reason.TOMBSTONE for reason in sent]
        assert [bool(row[names.message]) for row in rows] == 2 * [False] + 6 * [True]

        counted = counts_of(observation.get)
        assert (counted.rows, counted.tombstones, counted.bad) == (8, 1, 6)
        wanted = [reason for reason in reasons if reason is not None and reason.is_error]
        assert counted.by_reason == {reason: wanted.count(reason) for reason in wanted}
        assert counted.unknown_ids == (UNKNOWN,)


class TestGoodAndBadRows:
    def test_a_tombstone_is_a_good_row_and_no_row_is_in_both(self, spark: SparkSession, world: World) -> None:
        sent = payloads(world)
        read = from_registry(world.plan(), on_error="quarantine", engine="arrow")
        df = frame(spark, sent.values()).transform(read).cache()
        good = good_rows(df)
        assert good.columns == ["topic", "partition", "offset", "key", "value", "headers", "_srfix_tombstone"]
        assert good.select("offset", "value").orderBy("offset").collect() == [
            Row(offset=0, value=Row(ID=1, NAME="n1")),
            Row(offset=1, value=None),
        ]
        bad = bad_rows(df).orderBy("offset").collect()
        assert [row["offset"] for row in bad] == [2, 3, 4, 5, 6, 7]
        df.unpersist()

    def test_without_the_reasons_they_cannot_be_told(self, spark: SparkSession, world: World) -> None:
        df = frame(spark, []).transform(from_registry(world.plan(), engine="arrow"))
        for select in (good_rows, bad_rows):
            with pytest.raises(UsageError, match="no column _srfix_reason"):
                select(df)


class TestNull:
    def test_a_bad_row_is_null_and_nothing_but_the_counts_tells(self, spark: SparkSession, world: World) -> None:
        observation = Observation("null")
        read = from_registry(world.plan(), on_error="null", engine="arrow", observe=observation)
        df = frame(spark, payloads(world).values()).transform(read)
        assert df.columns == ["topic", "partition", "offset", "key", "value", "headers", "_srfix_tombstone"]
        rows = df.collect()
        assert [row["value"] for row in rows] == [Row(ID=1, NAME="n1")] + 7 * [None]
        assert [row["_srfix_tombstone"] for row in rows] == [False, True] + 6 * [False]
        assert counts_of(observation.get).bad == 6


class TestFail:
    @pytest.mark.parametrize("case", ENGINES, ids=str)
    def test_the_job_fails_and_says_where_even_if_nobody_looks_at_the_row(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        good = world.payload(1)
        df = frame(spark, [good, None, good[:-1]]).transform(case.read(world.plan()))
        # Spark's own error is readable too; and neither a count nor a filter that the row's null would not pass hides it.
        with pytest.raises(RAISED, match=r"'users', partition 3, offset 2 cannot be read"):
            df.count()
        for condition in ("value.ID > 100", "value IS NOT NULL", "value.ID IS NOT NULL"):
            with pytest.raises(BadRowError) as caught, clear_errors():
                df.where(condition).collect()
        error = caught.value
        reason = Reason.TRUNCATED if case.engine == "arrow" else Reason.DECODE_FAILED
        assert (error.topic, error.partition, error.offset, error.reason) == ("users", 3, 2, reason)
        assert "on_error='quarantine'" in error.message

    def test_a_frame_without_places_says_what_it_can(self, spark: SparkSession, world: World) -> None:
        df = frame(spark, [b"junk"]).select("value", "offset").transform(from_registry(world.plan(), engine="arrow"))
        with (
            pytest.raises(BadRowError, match=r"offset 0 cannot be read\. BAD_MAGIC") as caught,
            clear_errors(),
        ):
            df.collect()
        assert (caught.value.topic, caught.value.partition) == (None, None)

    def test_a_registry_that_cannot_be_asked_fails_the_job_whatever_is_done_with_bad_rows(
        self, spark: SparkSession, world: World
    ) -> None:
        plan, payload = world.plan(), frame_id(UNKNOWN, b"")
        world.registry.close()
        df = frame(spark, [payload]).transform(from_registry(plan, on_error="quarantine", engine="arrow"))
        with pytest.raises(RegistryUnreachableError, match=r"^No schema registry"), clear_errors():
            df.collect()


class TestUnknownIds:
    def test_they_are_the_most_frequent_ones(self, spark: SparkSession, world: World) -> None:
        observation = Observation("frequent")
        read = from_registry(world.plan(), on_error="null", engine="jvm", observe=observation, workers_have_srfix=False)
        often = [2**30 + 7 * number for number in range(MAX_UNKNOWN_IDS)]
        seldom = [2**30 + 7 * number + 1 for number in range(MAX_UNKNOWN_IDS)]
        df = frame(spark, [frame_id(schema_id, b"") for schema_id in [*often * 3, *seldom]])
        df.repartition(3).transform(read).collect()
        assert counts_of(observation.get).unknown_ids == tuple(often)

    def test_of_more_garbage_than_is_counted_each_id_that_is_named_was_there(
        self, spark: SparkSession, world: World
    ) -> None:
        observation = Observation("much")
        read = from_registry(world.plan(), on_error="null", engine="jvm", observe=observation, workers_have_srfix=False)
        ids = [1000 + 2 * number for number in range(30 * MAX_UNKNOWN_IDS)]
        frame(spark, [frame_id(schema_id, b"") for schema_id in ids]).transform(read).collect()
        named = counts_of(observation.get).unknown_ids
        assert 0 < len(named) <= MAX_UNKNOWN_IDS
        assert set(named) <= set(ids)
