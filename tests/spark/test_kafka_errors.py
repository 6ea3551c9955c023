"""Topics and brokers that are not there: errors of ours, in any thread, and no trace of Java's."""

from __future__ import annotations

from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.spark.reading import read_stream, read_topic
from tests.spark.reading_world import World


class TestReadTopic:
    def test_a_topic_that_is_not_there_is_named(self, spark: SparkSession, broker: KraftBroker, world: World) -> None:
        missing = f"missing-{uuid4().hex[:8]}"
        payload = world.payload(1, topic=missing)  # registers
        assert payload
        plan = world.plan(topic=missing)
        for read in (read_topic, read_stream):
            with pytest.raises(
                ClusterError, match=rf"^The topic '{missing}' is not in the Kafka cluster at "
            ) as caught:
                read(spark, plan, bootstrap_servers=broker.bootstrap_servers)
            assert "\tat " not in str(caught.value)

    def test_a_broker_that_is_not_there_ends_within_its_bound(self, spark: SparkSession, world: World) -> None:
        impatient = {"kafka.default.api.timeout.ms": "2000", "kafka.request.timeout.ms": "1500"}
        with pytest.raises(ClusterError, match=r"at 127\.0\.0\.1:1 answered"):
            read_topic(spark, world.plan(), bootstrap_servers="127.0.0.1:1", options=impatient)
        with pytest.raises(ClusterError, match=r"does not find .*nowhere\.invalid:9092"):
            read_topic(spark, world.plan(), bootstrap_servers="nowhere.invalid:9092", options=impatient)

    def test_an_option_that_kafka_refuses_is_named_without_its_value(
        self, spark: SparkSession, broker: KraftBroker, world: World
    ) -> None:
        options = {"kafka.security.protocol": "HUNTER2"}
        with pytest.raises(
            UsageError, match=r"^Kafka's client refuses the value of kafka\.security\.protocol"
        ) as caught:
            read_topic(spark, world.plan(), bootstrap_servers=broker.bootstrap_servers, options=options)
        assert "HUNTER2" not in str(caught.value)
