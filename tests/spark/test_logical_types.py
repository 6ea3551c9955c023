"""Every logical type of a writer by every column in Spark's engines, against Avro's specification; TIME is no type of Spark's.
The engines without Spark, and the table: tests/serde."""

from __future__ import annotations

import datetime
import json
from typing import Final

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import CaseRule, EngineRefusedError, RegistryClient, print_columns
from srfix.serde.spark import NEWEST, Engine, ReadPlan, from_registry, plan_read
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import logical, record
from tests.serde.logical_types import REFUSED, Written, body, cases, expected
from tests.serde.spark.read.jvm.plans import Json, plan_of
from tests.spark.parity import Compared, Payloads, compare

ENGINES: Final[tuple[Engine, ...]] = ("jvm", "arrow", "auto")
every_engine = pytest.mark.parametrize("engine", ENGINES)

_SPARKS: Final = [(written, column) for written, column in cases() if column != "TIME"]


def _holds_any(written: Written, column: str) -> bool:
    return any(expected(written, column, value) is not REFUSED for value in written.values)


def _text(value: object) -> object:
    """As Spark's cast to a text, for days and instants."""
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
        return text.rstrip("0").rstrip(".") if value.microsecond else text[:19]
    return value.isoformat() if isinstance(value, datetime.date) else value


def _bare(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.fixture(scope="module")
def read(spark: SparkSession) -> dict[tuple[str, str], list[Compared]]:
    """All that a column holds any value of."""
    held = [case for case in _SPARKS if _holds_any(*case)]
    given = [
        Payloads(
            plan=plan_of(f"A {column}", record(A=written.type)),
            payloads=[frame_id(1, body(written, value)) for value in written.values],
        )
        for written, column in held
    ]
    found = iter(compare(spark, given))
    return {(written.word, column): [next(found) for _ in written.values] for written, column in held}


class TestTheTable:
    @pytest.mark.parametrize(
        ("written", "column"),
        [pytest.param(*case, id=f"{case[0].word} {case[1]}") for case in _SPARKS if _holds_any(*case)],
    )
    def test_a_value_is_what_the_writer_meant_or_no_value(
        self, read: dict[tuple[str, str], list[Compared]], written: Written, column: str
    ) -> None:
        for value, each in zip(written.values, read[written.word, column], strict=True):
            wanted = expected(written, column, value)
            for decoded in filter(None, (each.arrow, each.jvm)):
                if wanted is REFUSED:
                    assert (decoded.row, decoded.reason is None) == (None, False), value
                    continue
                assert decoded.reason is None, (value, decoded)
                assert isinstance(decoded.row, dict)
                assert _bare(decoded.row["A"]) == _text(wanted), value

    def test_the_jvm_engine_reads_what_it_can_and_refuses_the_rest_when_planned(
        self, read: dict[tuple[str, str], list[Compared]]
    ) -> None:
        by_jvm = {case for case, compared in read.items() if compared[0].jvm is not None}
        assert ("long timestamp-micros", "TIMESTAMP") in by_jvm
        assert ("long io.debezium.time.MicroTimestamp", "TIMESTAMP") in by_jvm
        assert ("long timestamp-nanos", "TIMESTAMP") not in by_jvm
        for written, column in _SPARKS:
            if not _holds_any(written, column):
                with pytest.raises(EngineRefusedError):
                    jvm_read(plan_of(f"A {column}", record(A=written.type)))


def _read(spark: SparkSession, plan: ReadPlan, payloads: list[bytes], engine: Engine) -> list[Row]:
    frame = spark.createDataFrame([(number, payload) for number, payload in enumerate(payloads)], "i int, value binary")
    rows = frame.transform(from_registry(plan, engine=engine, on_error="quarantine", workers_have_srfix=True))
    return rows.withColumn("micros", F.unix_micros("value.A")).orderBy("i").collect()


def _seeded(registry: FixtureRegistry, topic: str, *types: Json) -> list[int]:
    return [registry.seed(f"{topic}-value", json.dumps(record(A=type_))) for type_ in types]


class TestFrames:
    @every_engine
    def test_what_sparks_to_avro_writes_is_read_back_to_the_microsecond(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient, engine: Engine
    ) -> None:
        (schema_id,) = _seeded(registry, "t", logical("long", "timestamp-micros"))
        times = "VALUES TIMESTAMP'2024-01-02 03:04:05.678901Z', TIMESTAMP'1969-12-31 23:59:59.999999Z' AS t(A)"
        frame = spark.sql(f"SELECT A, unix_micros(A) AS wanted, struct(A) AS s FROM {times}")
        written = frame.select("wanted", F.concat(F.lit(frame_id(schema_id, b"")), to_avro("s")).alias("value"))
        plan = plan_read(client, "t", "A TIMESTAMP")
        rows = written.transform(from_registry(plan, engine=engine)).selectExpr("wanted", "unix_micros(value.A) AS got")
        assert all(row.wanted == row.got for row in rows.collect())

    @every_engine
    def test_under_ksqldbs_rule_microseconds_are_milliseconds(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient, engine: Engine
    ) -> None:
        (schema_id,) = _seeded(registry, "t", logical("long", "timestamp-micros"))
        payload = frame_id(schema_id, body(Written(word="", type="long", values=()), 1_000_000))
        plan = plan_read(client, "t", "A TIMESTAMP", case_rule=CaseRule.KSQLDB)
        (row,) = _read(spark, plan, [payload], engine)
        assert row.micros == 1_000_000_000

    @every_engine
    def test_newest_reads_by_the_unit_and_leaves_out_what_spark_cannot_hold(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient, engine: Engine
    ) -> None:
        fields: dict[str, Json] = {
            "A": logical("long", "timestamp-micros"),
            "T": logical("int", "time-millis"),
            "N": "null",
            "D": logical("bytes", "decimal", precision=50, scale=2),
            "S": record("S", x=logical("int", "time-millis"), y="int"),
        }
        schema_id = registry.seed("t-value", json.dumps(record(**fields)))
        plan = plan_read(client, "t", NEWEST)
        assert print_columns(plan.columns) == "A TIMESTAMP, S STRUCT<`y` INTEGER>"
        assert plan.newest is not None
        assert sorted(dropped.path for dropped in plan.newest.dropped) == ["->D", "->N", "->S->x", "->T"]
        payload = frame_id(schema_id, b"\x02" + b"\x02" + b"\x02\x05" + b"\x02" + b"\x0e")
        (row,) = _read(spark, plan, [payload], engine)
        assert (row.micros, row.value.S.y) == (1, 7)


class TestStrictness:
    """What Spark's Avro reads and Python does not is bad in every engine."""

    @every_engine
    def test_bad_utf8_and_years_beyond_9999_are_bad_rows(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient, engine: Engine
    ) -> None:
        types: dict[str, Json] = {
            "A": "string",
            "D": logical("int", "date"),
            "T": logical("long", "timestamp-micros"),
            "L": {"type": "array", "items": "string"},
            "M": {"type": "map", "values": logical("long", "timestamp-millis")},
            "S": record("S", x=["null", "string"]),
        }
        schema_id = registry.seed("t-value", json.dumps(record(**types)))
        number = Written(word="", type="long", values=())
        good = {"A": b"\x02a", "D": b"\0", "T": b"\0", "L": b"\2\x02a\0", "M": b"\2\x02a\0\0", "S": b"\2\x02a"}
        last = 2_932_897
        wrong = {
            "A": b"\x02\xff",
            "D": body(number, last),
            "T": body(number, last * 86_400_000_000),
            "L": b"\4\x02a\x02\xff\0",
            "M": b"\2\x02a" + body(number, last * 86_400_000) + b"\0",
            "S": b"\2\x04\xed\xa0",
        }
        wrong_key = good | {"M": b"\2\x02\xff\0\0"}
        bodies = [good, *(good | {name: bytes_} for name, bytes_ in wrong.items()), wrong_key]
        bodies.append(good | {"D": body(number, last - 1), "T": body(number, last * 86_400_000_000 - 1)})
        payloads = [frame_id(schema_id, b"".join(parts.values())) for parts in bodies]
        columns = "A STRING, D DATE, T TIMESTAMP, L ARRAY<STRING>, M MAP<STRING, TIMESTAMP>, S STRUCT<X STRING>"
        plan = plan_read(client, "t", columns)
        frame = spark.createDataFrame([(i, payload) for i, payload in enumerate(payloads)], "i int, value binary")
        rows = frame.transform(from_registry(plan, engine=engine, on_error="quarantine", workers_have_srfix=True))
        found = (
            rows.selectExpr("i", "value IS NULL AS no_row", "_srfix_reason IS NULL AS is_good").orderBy("i").collect()
        )
        assert [(row.no_row, row.is_good) for row in found] == [(False, True), *[(True, False)] * 7, (False, True)]

    def test_names_that_differ_by_case_alone_are_told_apart(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        """Spark finds fields by their names ignoring case, and calls `a` and `A` ambiguous."""
        inner = record("S", x="string", X="string")
        schema_id = registry.seed("t-value", json.dumps(record(a="string", A="string", s=inner)))
        plan = plan_read(client, "t", "`a` STRING, A STRING, S STRUCT<`x` STRING, X STRING>")
        texts = (b"\x02a", b"\x02b", b"\x02c", b"\x02d")
        bodies = [b"".join(texts), *(b"".join((*texts[:n], b"\x02\xff", *texts[n + 1 :])) for n in range(4))]
        frame = spark.createDataFrame(
            [(i, frame_id(schema_id, each)) for i, each in enumerate(bodies)], "i int, value binary"
        )
        rows = frame.transform(from_registry(plan, engine="jvm", on_error="quarantine")).orderBy("i").collect()
        assert [row.value is None for row in rows] == [False, True, True, True, True]
        assert tuple(rows[0].value) == ("a", "b", Row(x="c", X="d"))
