"""The session that all other tests here stand on."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from srfix.fixtures.broker.kraft import KraftBroker


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
