"""The captured topic in the wheel: Spark's readers without Kafka."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.captured import CapturedUsers
from srfix.serde.registry import RegistryClient
from srfix.serde.spark import bad_rows, from_registry, good_rows, plan_read

COLUMNS = "USERID BIGINT, FULLNAME STRING"
USERS = [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10]


def test_a_frame_of_it_is_read_by_a_plan(spark: SparkSession) -> None:
    with CapturedUsers() as users, RegistryClient(users.registry_url) as registry:
        plan = plan_read(registry, users.topic, COLUMNS)
        read = spark.read.parquet(users.path).transform(from_registry(plan, on_error="quarantine"))
        found = good_rows(read).select("value.*").where(F.col("USERID").isNotNull()).collect()
        assert sorted(row["USERID"] for row in found) == USERS
        reasons = {row["offset"]: row["_srfix_reason"] for row in bad_rows(read).collect()}
        assert len(reasons) == 2


def test_the_source_reads_it_where_it_stands(spark: SparkSession) -> None:
    with CapturedUsers() as users:
        reader = spark.read.format("srfix").options(**users.options()).option("on.error", "quarantine")
        read = reader.option("columns", COLUMNS).load()
        assert sorted(row["USERID"] for row in read.collect() if row["USERID"] is not None) == USERS
        reasons = sorted(row["_srfix_reason"] for row in read.collect() if row["_srfix_reason"] is not None)
        assert reasons == ["BAD_MAGIC", "TOMBSTONE", "TOMBSTONE", "TRUNCATED"]
