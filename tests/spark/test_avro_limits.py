"""Records of ten bytes that claim 2³⁰ items, in sessions with and without bounds. In processes of their own: without a bound,
and with Spark's own Avro, the JVM ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from parts.jars import spark_jars
from srfix.fixtures.fetching import fetch
from srfix.serde import EngineRefusedError
from srfix.serde.spark import choose_engine, from_registry
from srfix.serde.spark._pyspark.sessions import has_class
from srfix.serde.spark.avro_limits import ENDS_SKIPPING, KNOWS_ITEMS
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import array, record
from tests.serde.spark.read.jvm.plans import plan_of
from tests.spark.conftest import RELEASE
from tests.spark.test_packages import lines_of

ROOT: Final = str(Path(__file__).parents[2])
SCRIPT: Final = """
    import logging, os, sys
    from pyspark.sql import SparkSession
    from srfix.serde.spark import choose_engine, from_registry, start_session
    from tests.serde.avro_schemas import array, record
    from tests.serde.spark.read.jvm.plans import plan_of

    logging.basicConfig(level="WARNING", stream=sys.stdout, format="%(message).40s")
    config = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m", "spark.jars": os.environ["JARS"], "spark.log.level": "OFF",
    }
    own, engine = os.environ["OWN"] == "yes", os.environ["ENGINE"]
    if own:
        spark = start_session("bounded", master="local[1]", packages=(), config=config)
    else:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = SparkSession.builder.master("local[1]").config(map=config).getOrCreate()
    plan = plan_of("A ARRAY<INT>, B STRING, C BYTES", record(a=array("int")), record(b="string"), record(c="bytes"))
    huge = "8080808008"
    bodies = [
        bytes.fromhex("0000000001" + huge + "02"), bytes.fromhex("0000000002" + huge), bytes.fromhex("0000000003" + huge),
        bytes.fromhex("0000000002" + "0278"),
    ]
    choice = choose_engine(plan, spark, engine)
    print(choice.engine, choice.fallback)
    frame = spark.createDataFrame([(body,) for body in bodies], "value binary")
    for row in frame.transform(from_registry(plan, on_error="quarantine", engine=engine)).collect():
        print(row["_srfix_reason"], row["value"] and row["value"]["B"])
    numbers = choose_engine(plan_of("A INT", record(a="int", b="string")), spark)
    print(numbers.engine, numbers.fallback)
    print("The JVM lives:", spark.range(3).count())
"""


def ran(tmp_path: Path, *, own: bool, engine: str) -> list[str]:
    jars = ",".join(map(str, fetch(spark_jars(RELEASE))))
    lines = lines_of(
        SCRIPT,
        tmp_path,
        JARS=jars,
        OWN="yes" if own else "no",
        ENGINE=engine,
        PYTHONPATH=os.pathsep.join([ROOT, *sys.path]),
    )
    return [line for line in lines if not line.startswith("Using Spark")]


def test_whether_avro_knows_a_bound_on_items_is_seen_by_its_class(spark: SparkSession) -> None:
    assert has_class(spark, *KNOWS_ITEMS)
    assert not has_class(spark, "org.apache.avro.OfLater", "'checkMaxStringLength', 1L")


def test_an_avro_that_skips_arrays_backwards_is_not_taken_for_what_would_be_skipped(
    spark: SparkSession,
) -> None:
    plan = plan_of("A INT", record(a="int", b=array("int")))
    if has_class(spark, *ENDS_SKIPPING):
        # A block of one item and of minus two bytes: back to where it began.
        frame = spark.createDataFrame([(frame_id(1, b"\x02\x01\x03\x00"),)], "value binary")
        read = from_registry(plan, engine="jvm", on_error="quarantine", workers_have_srfix=False)
        (row,) = frame.transform(read).collect()  # the size is taken at its word, or is none: what counts is the end
        assert row["_srfix_reason"] in (None, "DECODE_FAILED")
        return
    assert RELEASE == "3.5"
    with pytest.raises(EngineRefusedError, match=r"Avro is older than 1\.12"):
        choose_engine(plan, spark)
    assert choose_engine(plan, spark, "jvm").engine == "jvm"  # with a warning
    assert choose_engine(plan_of("A INT, B ARRAY<INT>", record(a="int", b=array("int"))), spark).engine == "jvm"


def test_in_a_session_of_others_auto_reads_with_arrow_and_warns(tmp_path: Path) -> None:
    if lacks_arrow() is not None:
        with pytest.raises(AssertionError, match=r"EngineRefusedError: Neither engine can read"):
            ran(tmp_path, own=False, engine="auto")
        return
    warning, engine, *rows, numbers, lives = ran(tmp_path, own=False, engine="auto")
    assert warning.startswith("Spark's JVMs run without org.apache.avro")
    assert engine == "arrow False"
    assert rows[-1] == "None x"
    assert all(row.endswith(" None") and not row.startswith("None") for row in rows[:-1])
    assert numbers == "jvm True"  # nothing that it wants has a length
    assert lives == "The JVM lives: 3"


def test_in_a_session_of_start_session_the_jvm_engine_reads_them_as_bad_rows(tmp_path: Path) -> None:
    bad = ["DECODE_FAILED None"] * 3
    jvm = f"jvm {lacks_arrow() is None}"
    assert ran(tmp_path, own=True, engine="auto") == [jvm, *bad, "None x", jvm, "The JVM lives: 3"]


def test_without_a_bound_the_jvm_engine_that_was_named_ends_with_them(tmp_path: Path) -> None:
    """What the two others are about. Red once Avro takes no memory before it reads: then no session needs a bound."""
    with pytest.raises(AssertionError, match=r"OutOfMemoryError|Py4J|Connection|JVM|java"):
        ran(tmp_path, own=False, engine="jvm")
