"""The session that all other tests here stand on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from srfix.fixtures.broker.kraft.broker import KraftBroker


def test_the_session_has_avro_and_kafka(spark: SparkSession, broker: KraftBroker) -> None:
    numbers = spark.range(1).select(from_avro(F.lit(b"\x0e"), '"int"').alias("n"))
    assert [row["n"] for row in numbers.collect()] == [7]
    broker.create_topic("session-has-kafka", partitions=1)
    topic = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", "session-has-kafka")
        .load()
    )
    assert topic.count() == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux tells what a process has mapped")
def test_its_java_maps_the_classes_that_the_first_session_left(spark: SparkSession) -> None:
    archive = os.environ["SPARK_SUBMIT_OPTS"].partition("SharedArchiveFile=")[2].split()[0]
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    assert archive in Path(f"/proc/{process}/maps").read_text()
