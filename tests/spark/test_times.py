"""`times="integers"`: DATE, TIME and TIMESTAMP as the integers that stand in the record, by every engine; the years beyond 9999
are bad rows otherwise."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, BadRowError, RegistryClient, SerdeContext
from srfix.serde.spark import NEWEST, Engine, clear_errors, from_registry, plan_read, plan_write, to_registry
from tests.spark.reading_world import ENGINES, EngineCase, frame
from tests.spark.source_world import Topic

COLUMNS = "D DATE, T TIME, A TIMESTAMP, L ARRAY<TIMESTAMP>"
FAR = 1_700_000_000_000_000
"""Microseconds, written as milliseconds."""
ROWS = (
    {"D": 3_000_000, "T": 1, "A": FAR, "L": [1, None, -FAR]},
    {"D": 18_429, "T": 86_399_999, "A": 1_592_265_600_000, "L": []},
    {"D": -800_000, "T": -5, "A": None, "L": None},
)


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_every_engine_reads_the_integers(spark: SparkSession, client: RegistryClient, case: EngineCase) -> None:
    write = AvroSerializer(client, COLUMNS, times="integers")
    payloads = [write(row, SerdeContext("users")) for row in ROWS]
    plan = plan_read(client, "users", COLUMNS, times="integers")
    read = case.read(plan, on_error="quarantine")
    df = frame(spark, payloads).transform(read)
    assert dict(df.select("value.*").dtypes) == {"D": "int", "T": "bigint", "A": "bigint", "L": "array<bigint>"}
    found = [row["value"] for row in df.orderBy("offset").collect()]
    assert [row.asDict() for row in found] == list(ROWS)


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_without_the_option_they_are_bad_rows_with_the_way_out(
    spark: SparkSession, client: RegistryClient, case: EngineCase
) -> None:
    write = AvroSerializer(client, "D DATE, A TIMESTAMP", times="integers")
    payloads = [write(row, SerdeContext("users")) for row in ({"A": FAR}, {"D": 3_000_000}, {"D": 1})]
    plan = plan_read(client, "users", "D DATE, A TIMESTAMP")
    read = case.read(plan, on_error="quarantine")
    rows: list[Row] = frame(spark, payloads).transform(read).orderBy("offset").collect()
    assert ["times='integers'" in (row["_srfix_message"] or "") for row in rows] == [True, True, False]


@pytest.mark.parametrize("columns", [COLUMNS, None])
def test_the_source_takes_the_option(
    spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry, client: RegistryClient, columns: str | None
) -> None:
    topic = Topic.created(broker, registry)
    write = AvroSerializer(client, COLUMNS if columns else "D DATE, A TIMESTAMP, L ARRAY<TIMESTAMP>", times="integers")
    # A TIME beyond its day is not read by a BIGINT column, which is what a frame has.
    rows = [{name: row[name] for name in ("D", "A", "L")} for row in ROWS]
    topic.fill([write(row, SerdeContext(topic.name)) for row in rows])
    reader = spark.read.format("srfix").options(**topic.least, times="integers")
    df = (reader if columns is None else reader.option("columns", columns)).load()
    assert {"D": "int", "A": "bigint", "L": "array<bigint>"}.items() <= dict(df.dtypes).items()
    found = {row["D"]: (row["A"], row["L"]) for row in df.collect()}
    assert found == {row["D"]: (row["A"], row["L"]) for row in ROWS}


@pytest.mark.parametrize("engine", ["jvm", "arrow"])
def test_what_was_read_is_written_back(spark: SparkSession, client: RegistryClient, engine: Engine) -> None:
    write = AvroSerializer(client, COLUMNS, times="integers")
    payloads = [write(row, SerdeContext("users")) for row in ROWS]
    read = from_registry(plan_read(client, "users", COLUMNS, times="integers"))
    plan = plan_write(client, "users", COLUMNS, times="integers")
    rows = frame(spark, payloads).transform(read).select("offset", "value.*")
    if engine == "jvm":  # a time-millis has 32 bits, and a TIME's integer 64
        rows = rows.withColumn("T", rows["T"].cast("int"))
    written = rows.transform(to_registry(plan, from_=["D", "T", "A", "L"], engine=engine))
    assert sorted(bytes(row["value"]) for row in written.collect()) == sorted(filter(None, payloads))


FINE = """SELECT * FROM VALUES (1, TIMESTAMP'2024-05-06 07:08:09.123456'), (2, NULL),
    (3, TIMESTAMP'1969-12-31 23:59:59.999999') AS t(id, seen)"""


@pytest.mark.parametrize("engine", ["jvm", "arrow"])
def test_with_micros_a_frame_reads_back_equal(spark: SparkSession, client: RegistryClient, engine: Engine) -> None:
    df = spark.sql(FINE)
    with pytest.raises(BadRowError, match="needs whole milliseconds"), clear_errors():
        df.transform(to_registry(plan_write(client, "millis", df.schema), engine=engine)).collect()
    plan = plan_write(client, "users", df.schema, times="micros")
    payloads = [row["value"] for row in df.transform(to_registry(plan, engine=engine)).collect()]
    written = frame(spark, payloads).transform(from_registry(plan_read(client, "users", "ID INT, SEEN TIMESTAMP")))
    assert written.orderBy("offset").select("value.*").collect() == df.collect()


def test_the_source_writes_micros(spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry) -> None:
    topic = Topic.created(broker, registry)
    df = spark.sql(FINE)
    with clear_errors():
        df.write.format("srfix").options(**topic.least, times="micros").mode("append").save()
    read = spark.read.format("srfix").options(**topic.least, columns="`id` INT, `seen` TIMESTAMP").load()
    assert read.orderBy("id").select("id", "seen").collect() == df.collect()


def test_what_newest_read_is_written_back_under_the_same_schema(spark: SparkSession, client: RegistryClient) -> None:
    df = spark.sql(FINE)
    written = df.transform(to_registry(plan_write(client, "users", df.schema, times="micros"), engine="jvm"))
    payloads = [bytes(row["value"]) for row in written.collect()]
    read = frame(spark, payloads).transform(from_registry(plan_read(client, "users", NEWEST))).orderBy("offset")
    plan = plan_write(client, "users", schema=NEWEST)
    lower = read.select("value.*").toDF("id", "seen")
    assert [bytes(row["value"]) for row in lower.transform(to_registry(plan)).collect()] == payloads
