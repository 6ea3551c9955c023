"""TIMESTAMP_NTZ, what a clock without a zone shows: from and to `local-timestamp-…`, by every engine, in another zone.

Every unit without a JVM: tests/serde/test_logical_types.py.

| the writer's type | TIMESTAMP_NTZ |
|---|---|
| local-timestamp-millis, -micros | what it says |
| local-timestamp-nanos | what it says, in whole microseconds |
| timestamp-…, a plain number | refused when planning: an instant is on every clock another time |
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pyspark.sql import Row, SparkSession

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroDeserializer, AvroSerializer, ById, EngineRefusedError, RegistryClient, Schema, SerdeContext
from srfix.serde.spark import NEWEST, Engine, WritePlan, plan_read, plan_write, to_registry
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import logical as avro_logical
from tests.serde.spark.read.local_times import LOCAL_COLUMNS, LOCAL_UNITS, everywhere, local_body, meant
from tests.spark.reading_world import ARROW, ENGINES, JVM, EngineCase, frame
from tests.spark.source_world import Topic

GAP = datetime.datetime(2024, 3, 10, 2, 30, 0, 123_000)
"""No clock of New York showed this: there it went from 2:00 to 3:00."""
TIMES = (GAP, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000), None)


@pytest.fixture
def zoned(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in a zone whose clocks are changed."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before or "UTC")


def schema_of(logical: str) -> str:
    type_ = {"type": "long", "logicalType": logical}
    fields = [
        {"name": "SEEN", "type": ["null", type_], "default": None},
        {"name": "ALL", "type": {"type": "array", "items": type_}, "default": []},
    ]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_local_times_are_read_as_they_were_written(
    zoned: SparkSession, client: RegistryClient, case: EngineCase
) -> None:
    write = AvroSerializer.for_schema(client, schema_of("local-timestamp-micros"))
    rows = [{"SEEN": one, "ALL": [two for two in TIMES if two is not None]} for one in TIMES]
    payloads = [write(row, SerdeContext("users")) for row in rows]
    for columns in ("SEEN timestamp_ntz, `ALL` array<timestamp_ntz>", NEWEST):
        plan = plan_read(client, "users", columns)
        read = case.read(plan)
        df = frame(zoned, payloads).transform(read).select("offset", "value.*")
        assert dict(df.dtypes)["SEEN"] == "timestamp_ntz"
        assert [(row["SEEN"], row["ALL"]) for row in df.orderBy("offset").collect()] == [
            (row["SEEN"], row["ALL"]) for row in rows
        ]


NUMBERS = (
    # seconds since 1970, on a clock without a zone
    0,
    -62_135_596_800,  # the first second of the year 1
    253_402_300_800,  # the first second of the year 10000
    1_710_037_800,  # 2024-03-10 02:30: New York's clocks skipped it
    1_730_611_800,  # 2024-11-03 01:30: they showed it twice
)


@pytest.mark.parametrize(
    ("case", "logical"),
    [
        *((case, "local-timestamp-micros") for case in ENGINES),
        (ENGINES[-1], "local-timestamp-millis"),
        (ARROW, "local-timestamp-nanos"),
        (JVM, "local-timestamp-nanos"),
    ],
)
def test_every_number_is_what_its_unit_says_or_a_bad_row(
    zoned: SparkSession, client: RegistryClient, case: EngineCase, logical: str
) -> None:
    """Around each second, by one and by a thousand of the unit, and the ends of 64 bits, in each place of a record."""
    around = {second * LOCAL_UNITS[logical] + by for second in NUMBERS for by in (-1000, -1, 0, 1, 1000)}
    numbers = sorted(number for number in around | {-(2**63), 2**63 - 1} if -(2**63) <= number < 2**63)
    schema = client.register("users-value", Schema(text=json.dumps(everywhere(avro_logical("long", logical)))))
    payloads = [frame_id(schema, local_body(number)) for number in numbers]
    plan = plan_read(client, "users", LOCAL_COLUMNS)
    read = case.read(plan, on_error="quarantine")
    df = frame(zoned, payloads)
    if logical == "local-timestamp-nanos" and case.engine == "jvm":
        with pytest.raises(EngineRefusedError, match="a TIMESTAMP_NTZ holds only whole microseconds"):
            df.transform(read)
        return
    # As text: a datetime of Python, which is collected, has been through the session's hands.
    each = ("value.SEEN", "value.EACH[0]", "value.NAMED['k']", "value.ROW_.SEEN")
    found = df.transform(read).selectExpr("offset", "_srfix_reason", *(f"CAST({one} AS STRING)" for one in each))
    for number, row in zip(numbers, found.orderBy("offset").collect(), strict=True):
        wanted = meant(logical, number)
        if isinstance(wanted, datetime.datetime):
            text = wanted.isoformat(sep=" ")
            assert row[1:] == (None, *[text.rstrip("0") if wanted.microsecond else text] * 4), number
        else:
            assert row["_srfix_reason"] is not None, number
            assert row[2:] == (None,) * 4, number


@pytest.mark.parametrize("engine", ["jvm", "arrow"])
class TestWriting:
    ROWS = (
        "SELECT * FROM VALUES (1L, TIMESTAMP_NTZ'2024-03-10 02:30:00.123'), (2L, NULL), "
        "(3L, TIMESTAMP_NTZ'0001-01-01 00:00:00'), (4L, TIMESTAMP_NTZ'9999-12-31 23:59:59.999') AS t(id, seen)"
    )

    def written(self, spark: SparkSession, plan: WritePlan, engine: Engine, client: RegistryClient) -> list[object]:
        df = spark.sql(self.ROWS).transform(to_registry(plan, engine=engine))
        read = AvroDeserializer(ById(client), columns="ID bigint, SEEN timestamp_ntz")
        rows = [read(bytes(row["value"]), SerdeContext("users")) for row in df.orderBy("id").collect()]
        return [row["SEEN"] for row in rows if isinstance(row, dict)]

    def test_a_frames_own_types_are_local_microseconds(
        self, zoned: SparkSession, client: RegistryClient, engine: Engine
    ) -> None:
        plan = plan_write(client, "users", zoned.sql(self.ROWS).schema)
        assert plan.schema is not None
        assert '"logicalType":"local-timestamp-micros"' in plan.schema.text
        assert self.written(zoned, plan, engine, client) == [GAP, None, TIMES[1], TIMES[2]]

    def test_under_milliseconds_a_finer_time_is_refused_unless_it_is_cut(
        self, zoned: SparkSession, client: RegistryClient, engine: Engine
    ) -> None:
        fields = [
            {"name": "id", "type": "long"},
            {"name": "seen", "type": ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]},
        ]
        text = json.dumps({"type": "record", "name": "R", "fields": fields})
        plan = plan_write(client, "users", schema=text)
        assert self.written(zoned, plan, engine, client) == [GAP, None, TIMES[1], TIMES[2]]
        finer = zoned.sql("SELECT 1L AS id, TIMESTAMP_NTZ'2024-03-10 02:30:00.123456' AS seen")
        with pytest.raises(Exception, match=r"whole number of milliseconds|whole milliseconds"):
            finer.transform(to_registry(plan, engine=engine)).collect()
        cut = plan_write(client, "users", schema=text, cut_times=True)
        (row,) = finer.transform(to_registry(cut, engine=engine)).collect()
        read = AvroDeserializer(ById(client), columns="SEEN timestamp_ntz")
        assert read(bytes(row["value"]), SerdeContext("users")) == {"SEEN": GAP}


def test_the_source_without_jars_reads_and_writes_them(
    spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
) -> None:
    topic = Topic.created(broker, registry, partitions=1)
    df = spark.sql(f"SELECT 1L AS ID, TIMESTAMP_NTZ'2024-03-10 02:30:00.123' AS SEEN, '{uuid4()}' AS NAME")
    df.write.format("srfix").options(**topic.least).mode("append").save()
    for more in ({}, {"columns": "ID bigint, SEEN timestamp_ntz, NAME string"}):
        read = spark.read.format("srfix").options(**topic.least, **more).load()
        assert dict(read.dtypes)["SEEN"] == "timestamp_ntz"
        assert read.select("ID", "SEEN").collect() == [Row(ID=1, SEEN=GAP)]
