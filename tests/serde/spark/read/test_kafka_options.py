"""What Spark's Kafka source is told. In pure Python."""

from __future__ import annotations

import json

import pytest

from srfix.serde.errors import UsageError
from srfix.serde.spark.read.topics import Offsets, Options, TopicsAsked, kafka_options, sink_options


def options(
    *, start: Offsets = "earliest", end: Offsets | None = "latest", more: Options | None = None
) -> dict[str, str]:
    return kafka_options(
        TopicsAsked(option="subscribe", value="users", topics=("users",)),
        bootstrap_servers="b:9092",
        starting_offsets=start,
        ending_offsets=end,
        options=more or {},
    )


class TestKafkaOptions:
    def test_headers_are_read_and_lost_data_fails_the_job(self) -> None:
        assert options() == {
            "kafka.bootstrap.servers": "b:9092",
            "subscribe": "users",
            "startingOffsets": "earliest",
            "endingOffsets": "latest",
            "includeHeaders": "true",
            "failOnDataLoss": "true",
        }
        assert "endingOffsets" not in options(end=None), "a stream has no end"

    def test_offsets_of_partitions_are_sparks_json(self) -> None:
        told = options(start={0: 23, 1: -2}, end={0: 24, 1: -1})
        assert json.loads(told["startingOffsets"]) == {"users": {"0": 23, "1": -2}}
        assert json.loads(told["endingOffsets"]) == {"users": {"0": 24, "1": -1}}

    @pytest.mark.parametrize(
        "offsets",
        [{"users": {0: 5}, 1: 7}, {0: 5, 1: {2: 3}}, {0: "5"}, {0: 2.5}, {"users": {0: None}}, {"users": 5}, {-1: 5}],
    )
    def test_what_is_no_offset_of_a_partition_is_refused(self, offsets: Offsets) -> None:
        with pytest.raises(
            UsageError, match=r"^starting_offsets= gives .*Give an offset for each partition: \{0: 23, 1: -2\}"
        ):
            options(start=offsets)

    def test_what_is_for_kafkas_client_is_passed_as_it_is(self) -> None:
        told = options(more={"kafka.sasl.jaas.config": 'x password="p";', "minPartitions": 8, "failOnDataLoss": False})
        assert told["kafka.sasl.jaas.config"] == 'x password="p";'
        assert told["minPartitions"] == "8"
        assert told["failOnDataLoss"] == "false"

    def test_an_option_replaces_ours_in_any_letters(self) -> None:
        told = options(more={"failondataloss": "false"})
        assert told["failondataloss"] == "false"
        assert "failOnDataLoss" not in told

    @pytest.mark.parametrize(
        ("name", "parameter"),
        [
            ("kafka.bootstrap.servers", "bootstrap_servers"),
            ("StartingOffsets", "starting_offsets"),
            ("endingOffsets", "ending_offsets"),
            ("subscribe", "the plans' topics"),
            ("subscribePattern", "subscribe_pattern="),
            ("assign", "assign="),
        ],
    )
    def test_what_a_parameter_says_is_no_option(self, name: str, parameter: str) -> None:
        with pytest.raises(UsageError, match=rf"^Do not give the option {name}: {parameter} already sets it\.$"):
            options(more={name: "secret"})

    def test_an_option_of_the_client_without_its_front_is_refused_without_its_value(self) -> None:
        with pytest.raises(UsageError, match=r"For the Kafka client, write kafka\.sasl\.jaas\.config\.$") as caught:
            options(more={"sasl.jaas.config": "secret"})
        assert "secret" not in str(caught.value)


class TestSinkOptions:
    def test_the_topic_is_the_plans(self) -> None:
        told = sink_options("users", bootstrap_servers="b:9092", options={"kafka.acks": "all", "includeHeaders": True})
        ours = {"kafka.bootstrap.servers": "b:9092", "topic": "users"}
        assert told == ours | {"kafka.acks": "all", "includeHeaders": "true"}

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("Topic", "Do not give the option Topic: the plan already sets it"),
            ("kafka.bootstrap.servers", r"kafka\.bootstrap\.servers: bootstrap_servers already sets it"),
            ("security.protocol", r"For the Kafka client, write kafka\.security\.protocol"),
        ],
    )
    def test_what_is_said_elsewhere_or_would_be_ignored_is_refused(self, name: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            sink_options("users", bootstrap_servers="b:9092", options={name: "x"})
