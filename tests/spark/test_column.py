"""`from_registry("value", plan)`: payloads decoded by an expression, by every engine; and `to_registry(columns, plan)`."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from srfix.serde import BadRowError
from srfix.serde.spark import NEWEST, bad_rows, clear_errors, good_rows, plan_read, plan_write, to_registry
from srfix.serde.subjects.names import Role
from tests.spark.conftest import RAISED
from tests.spark.reading_world import ENGINES, EngineCase, World, frame


@pytest.mark.parametrize("case", ENGINES, ids=str)
class TestColumn:
    def test_a_name_a_nested_field_and_an_expression_are_decoded(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        df = frame(spark, [world.payload(1), None, world.lower(2)]).withColumn("payload", F.struct("value"))
        plan = world.plan()
        unwrapped = F.substring(F.concat(F.lit(b"!"), "value"), 2, 1 << 30)
        read = df.select(
            "offset",
            case.read("value", plan).alias("by_name"),
            case.read("payload.value", plan).alias("nested"),
            case.read(unwrapped, plan).alias("expression"),
        )
        assert read.schema["nested"].dataType.simpleString() == "struct<ID:bigint,NAME:string>"
        rows = read.orderBy("offset").collect()
        for name in ("by_name", "nested", "expression"):
            assert [row[name] for row in rows] == [Row(ID=1, NAME="n1"), None, Row(ID=2, NAME="n2")]
        assert read.where("by_name.ID > 1").select("by_name.NAME").collect() == [Row(NAME="n2")]

    def test_a_subject_is_read_by_the_columns_of_its_newest_schema(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        df = frame(spark, [world.payload(1), None, world.lower(2)])
        column = case.read("value", "users-value", world.client)
        plan = plan_read(world.client, "users", NEWEST)
        rows = [df.select(each.alias("v")).collect() for each in (column, case.read("value", plan))]
        assert rows[0] == rows[1] != []

    def test_quarantine_is_a_struct_that_good_rows_and_bad_rows_take_apart(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        damaged = world.payload(1)[:-1]
        column = case.read("value", world.plan(), on_error="quarantine")
        read = (
            frame(spark, [world.payload(1), damaged, None]).select("offset", column.alias("v")).select("offset", "v.*")
        )
        assert [row["value"] for row in good_rows(read).orderBy("offset").collect()] == [Row(ID=1, NAME="n1"), None]
        (bad,) = bad_rows(read).collect()
        assert (bad["offset"], bytes(bad["_srfix_payload"])) == (1, damaged)
        assert bad["_srfix_reason"] in ("TRUNCATED", "DECODE_FAILED")

    def test_a_bad_row_fails_the_job_and_null_makes_it_null(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        df, plan = frame(spark, [b"\0"]), world.plan()
        with pytest.raises(BadRowError, match=r"^srfix: the value cannot be read\. TOO_SHORT: "), clear_errors():
            df.select(case.read("value", plan)).collect()
        column = case.read("value", plan, on_error="null")
        assert df.select(column.alias("v")).collect() == [Row(v=None)]

    def test_a_column_that_was_cast_to_text_is_refused(
        self, spark: SparkSession, world: World, case: EngineCase
    ) -> None:
        column = case.read(F.col("value").cast("string"), world.plan())
        with pytest.raises(RAISED, match=r"type string, but payloads are binary"):
            frame(spark, [world.payload(1)]).select(column).collect()


class TestWrittenColumn:
    ROWS = """SELECT * FROM VALUES (1L, 'a', struct(1.5D, array(true, NULL))), (2L, NULL, NULL) AS t(id, name, deep)"""
    COLUMNS = "ID BIGINT, NAME STRING, DEEP STRUCT<COL1 DOUBLE, COL2 ARRAY<BOOLEAN>>"

    def test_it_writes_what_the_serializer_writes(self, spark: SparkSession, world: World) -> None:
        plan = plan_write(world.client, "written", self.COLUMNS)
        key = plan_write(world.client, "written", "ID BIGINT KEY", role=Role.KEY)
        df = spark.sql(self.ROWS).withColumn("at", F.struct(F.struct("id", "name", "deep").alias("row")))
        parts = to_registry(["id", F.col("name"), "deep"], plan).alias("parts")
        written = df.select("*", parts, to_registry("at.row", plan).alias("row"), to_registry(["id"], key).alias("key"))
        for row in written.collect():
            values = {name: row[name] for name in ("id", "name")} | {"deep": row["deep"] and row["deep"].asDict()}
            assert bytes(row["parts"]) == bytes(row["row"]) == plan.serializer()(values, plan.context())
            assert bytes(row["key"]) == key.serializer()({"ID": row["id"]}, key.context())

    def test_a_null_row_and_a_row_of_other_types_fail_the_job(self, spark: SparkSession, world: World) -> None:
        plan = plan_write(world.client, "written", "ID BIGINT, NAME STRING")
        df = spark.sql(self.ROWS).withColumn("row", F.when(F.col("id") < 0, F.struct("id", "name")))
        with pytest.raises(BadRowError, match="The row is null"), clear_errors():
            df.select(to_registry("row", plan)).collect()
        with pytest.raises(RAISED, match="needs struct<ID:bigint,NAME:string>: cast or reorder"):
            df.select(to_registry(["name", "id"], plan)).collect()
