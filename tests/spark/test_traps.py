"""The traps of Spark, of its Avro, its data sources and its packaging: what Spark does by itself, and what is done about it.

Where a later Spark does otherwise, a test here fails, and what was done about it may go. How the jvm engine gets around
those of Spark's Avro: `test_jvm_engine`.
"""

from __future__ import annotations

import decimal
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from srfix.serde import ColumnError, EngineRefusedError
from srfix.serde.spark import Engine, plan_write, start_session, to_registry
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.spark.releases import lacks_source
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import record
from tests.serde.fakes import MemoryRegistry
from tests.serde.spark.read.jvm.plans import plan_of
from tests.spark.conftest import RAISED
from tests.spark.parity import HAS_ARROW
from tests.spark.payloads import payload_of

ROOT: Final = Path(__file__).parents[2]
MILLIS: Final = 1_592_265_600_000
PRICE: Final = '{"type":"record","name":"R","fields":[{"name":"a","type":%s}]}'
"""A record of a field, for Spark."""


def of(type_: str) -> str:
    return PRICE % type_


class TestReading:
    def test_what_spark_s_avro_does_by_itself(self, spark: SparkSession) -> None:
        price, long = of('{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}'), of('"long"')
        millis = of('{"type":"long","logicalType":"timestamp-millis"}')
        spelt = of('["null","long"],"default":null').replace('"a"', '"A"')
        at = payload_of(1, record(a="long"), {"a": MILLIS})[5:]

        def read(body: bytes, writer: str, reader: str | None = None) -> Column:
            options = {"mode": "PERMISSIVE"} if reader is None else {"mode": "FAILFAST", "avroSchema": reader}
            return from_avro(F.lit(body), writer, options)

        null = F.lit(None).cast("struct<a: int>")
        made: dict[str, tuple[Column, object]] = {
            "a failure is a struct of nulls": (read(b"\x10ab", of('"string"')), Row(a=None)),
            "a reader's field in other letters is null": (read(b"\x0e", long, spelt), Row(A=None)),
            "a target's scale shifts decimals": (
                read(b"\x04\x04\xd2", price, price.replace('"scale":2', '"scale":4')),
                Row(a=decimal.Decimal("0.1234")),
            ),
            "a target's unit scales times": (
                F.year(read(at, millis, millis.replace("millis", "micros"))["a"]),
                1970,
            ),
            "bytes left over are not noticed": (read(b"\x02rest", of('"int"')), Row(a=1)),
            "try_cast makes fields null": (
                F.expr("try_cast(named_struct('a', 5000000000L, 'b', 1L) AS STRUCT<a: INT, b: INT>)"),
                Row(a=None, b=1),
            ),
            "a null struct becomes a tombstone": (F.concat(F.lit(frame_id(1, b"")), to_avro(null)), None),
        }
        columns = [column.alias(name) for name, (column, _) in made.items()]
        (row,) = spark.range(1).select(*columns).collect()
        assert row.asDict() == {name: wanted for name, (_, wanted) in made.items()}

    def test_a_positional_cast_that_narrows_fails_the_job(self, spark: SparkSession) -> None:
        before = spark.conf.get("spark.sql.ansi.enabled") or "false"
        spark.conf.set("spark.sql.ansi.enabled", "true")  # as it is by default from Spark 4.0 on
        try:
            with pytest.raises(RAISED, match="CAST_OVERFLOW"):
                spark.sql("SELECT CAST(named_struct('a', id + 5000000000L) AS STRUCT<a: INT>) FROM range(1)").collect()
        finally:
            spark.conf.set("spark.sql.ansi.enabled", before)
        with pytest.raises(EngineRefusedError):
            jvm_read(plan_of("A STRUCT<B INT>", record(a=record("I", b="long"))))


class TestWriting:
    def test_case_sensitive_sessions_write_the_same_bytes(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", "USERID INT, NESTED STRUCT<ZIP INT>")
        frame = spark.sql("SELECT 7 AS userId, named_struct('zip', 8) AS nested")
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            engines: list[Engine] = ["jvm", "arrow"] if HAS_ARROW else ["jvm"]
            written = [frame.transform(to_registry(plan, engine=each)).select("value").collect() for each in engines]
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
        assert [[bytes(row["value"]) for row in rows] for rows in written] == [
            [frame_id(1, b"\x02\x0e\x02\x02\x10")]
        ] * len(engines)

    def test_a_timestamp_is_not_written_as_a_plain_long(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", schema=of('"long"'))
        frame = spark.sql("SELECT TIMESTAMP'2020-01-01 00:00:00' AS a")
        with pytest.raises(ColumnError, match=r"a is timestamp, which cannot be written as long"):
            frame.transform(to_registry(plan))


class TestDataSource:
    @pytest.mark.skipif(lacks_source() is not None, reason=str(lacks_source()))
    def test_without_read_limits_the_source_reads_all_there_is(self) -> None:
        """As on PySpark 4.1."""
        code = (
            "import sys, pyspark.sql.datasource\n"
            "sys.modules['pyspark.sql.streaming.datasource'] = None\n"
            "from srfix.serde.spark._pyspark import source\n"
            "print(source.HAS_ADMISSION_CONTROL, hasattr(source, 'LimitedStreamReader'))"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert ran.stdout.split() == ["False", "False"], ran.stderr

    def test_nothing_private_of_pyspark_is_used(self) -> None:
        private = re.compile(r"\._(jvm|jdf|jc|jsc|jsparkSession|sc)\b|\bsparkContext\b|SimpleDataSource")
        sources = [
            *(ROOT / "serde" / "srfix" / "serde" / "spark").rglob("*.py"),
            *(ROOT / "recovery" / "srfix" / "recovery").rglob("*spark*.py"),
            ROOT / "serde" / "pyspark_srfix.py",
        ]
        assert len(sources) > 20
        found = {path.name: private.findall(path.read_text(encoding="utf-8")) for path in sources}
        # Progress and interruption of jobs, and a plan that is made and not printed: on classic sessions alone, for which all
        # three ask first.
        assert {name for name, uses in found.items() if uses} == {"sessions.py", "spark_topic.py"}


class TestPackaging:
    def test_workers_of_a_local_session_run_this_python(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PYSPARK_PYTHON")
        assert start_session("again", master="local[2]", packages=()) is spark
        assert os.environ["PYSPARK_PYTHON"] == sys.executable

    def test_pandas_is_pinned_below_3(self) -> None:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        (pandas,) = (need for need in extras["spark"] if need.startswith("pandas"))
        assert pandas.endswith("<3")
