"""The arrow engine in a real Spark: types, batches, headers, formats, and what it asks the registry."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, RetryPolicy, SerdeContext, parse_columns
from srfix.serde.spark import ReadPlan, plan_read
from srfix.serde.spark._pyspark.engines import arrow_decoded
from srfix.serde.spark.releases import require_arrow
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.wire import frame_id

USERS = SerdeContext("users")
NOW = datetime.datetime(2026, 11, 21, 20, 0, 0, 123000, tzinfo=datetime.UTC)
# Every type that a column may have in Spark, in parts too.
COLUMNS = parse_columns(
    "ID BIGINT, AGE INT, OK BOOLEAN, SCORE DOUBLE, NAME STRING, RAW BYTES, PRICE DECIMAL(9, 2), BORN DATE, SEEN TIMESTAMP, "
    "TAGS ARRAY<STRING>, PARTS ARRAY<STRUCT<WHEN_ TIMESTAMP, PRICES MAP<STRING, DECIMAL(9, 2)>>>, DEEP STRUCT<A STRUCT<B INT>>"
)
PRICE = decimal.Decimal("12.34")
FULL: dict[str, Any] = {
    "ID": 2**40,
    "AGE": -7,
    "OK": True,
    "SCORE": 0.5,
    "NAME": "Ada",
    "RAW": b"\0\xff",
    "PRICE": PRICE,
    "BORN": NOW.date(),
    "SEEN": NOW,
    "TAGS": ["a", None],
    "DEEP": {"A": {"B": 1}},
    "PARTS": [{"WHEN_": NOW, "PRICES": {"a": PRICE, "b": None}}, None],
}
NULLS: dict[str, Any] = dict.fromkeys(FULL)


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
        yield client


def _decoded(spark: SparkSession, plan: ReadPlan, payloads: Sequence[bytes | None], partitions: int = 1) -> list[Row]:
    frame = spark.createDataFrame(list(enumerate(payloads)), "n int, value binary").repartition(partitions)
    return frame.select("n", arrow_decoded(plan, F.col("value")).alias("d")).orderBy("n").collect()


def _written(client: RegistryClient, *rows: dict[str, Any]) -> list[bytes | None]:
    serialize = AvroSerializer(client, COLUMNS)
    return [serialize(row, USERS) for row in rows]


class TestArrowDecoded:
    def test_every_type_comes_as_spark_has_it(self, spark: SparkSession, client: RegistryClient) -> None:
        payloads = _written(client, FULL, NULLS)
        rows = _decoded(spark, plan_read(client, "users", COLUMNS), [*payloads, None])
        naive = NOW.replace(tzinfo=None)  # the session's zone is UTC
        full = rows[0]["d"].asDict(recursive=True)
        assert full["message"] is full["reason"] is None
        assert full["row"] == {
            **FULL,
            "RAW": bytearray(FULL["RAW"]),
            "SEEN": naive,
            "PARTS": [{"WHEN_": naive, "PRICES": {"a": PRICE, "b": None}}, None],
        }
        assert rows[1]["d"].asDict(recursive=True) == {"row": NULLS, "reason": None, "message": None}
        assert rows[2]["d"].asDict(recursive=True) == {"row": None, "reason": "TOMBSTONE", "message": None}

    def test_arrow_types_are_those_that_spark_takes_without_a_cast(
        self, spark: SparkSession, client: RegistryClient
    ) -> None:
        from pyspark.sql.pandas.types import to_arrow_type

        from srfix.serde.spark._pyspark.engines import decoded_type

        require_arrow()
        plan = plan_read(client, "users", COLUMNS)
        given = PlanDecoder(plan)(pa.array(_written(client, FULL), pa.binary())).type
        # PySpark 4.1 has no such parameter: there times are in UTC by default.
        utc: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
        assert given == to_arrow_type(decoded_type(plan), **utc)

    def test_batches_of_any_size_and_partitions_without_rows(self, spark: SparkSession, client: RegistryClient) -> None:
        (payload,) = _written(client, FULL)
        plan = plan_read(client, "users", parse_columns("ID BIGINT"))
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
        try:
            mixtures: list[list[bytes | None]] = [[], [None] * 20, [payload] * 20, [payload, None, b"bad"] * 5]
            for payloads in mixtures:
                rows = _decoded(spark, plan, payloads, partitions=3)
                reasons = {payload: None, None: "TOMBSTONE", b"bad": "BAD_MAGIC"}
                assert [row["d"]["reason"] for row in rows] == [reasons[each] for each in payloads]
                assert [row["d"]["row"] is None for row in rows] == [each != payload for each in payloads]
        finally:
            spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


class TestWhatTheRegistryIsAsked:
    def test_an_unknown_id_costs_a_request_a_worker_not_one_a_row(
        self, spark: SparkSession, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        columns = parse_columns("ID BIGINT")
        plan = plan_read(client, "users", columns)
        born = AvroSerializer(client, columns)({"ID": 7}, SerdeContext("born-later"))
        asked = len(registry.requests)
        for _ in range(2):
            rows = _decoded(spark, plan, [born, frame_id(77, b"\0")] * 5000, partitions=4)
            assert {row["d"]["reason"] for row in rows} == {None, "UNKNOWN_ID"}
        paths = [request.path for request in registry.requests[asked:]]
        # local[2] has two workers at a time.
        assert 1 <= paths.count("/schemas/ids/1") <= 2
        assert 1 <= paths.count("/schemas/ids/77") <= 2
        assert len(paths) <= 4
