"""What Kafka's client says through Spark, and what it is here. Real ones are in tests/spark/test_kafka_errors.py."""

from __future__ import annotations

import pytest

from srfix.serde.errors import AccessDeniedError, ClusterError, SrfixError, UsageError
from srfix.serde.spark.errors import kafka_error_of, srfix_error_of

KAFKAS = "An error occurred while calling o1.executedPlan.\n: org.apache.kafka.common."
CONFIG = f"{KAFKAS}config.ConfigException: "


class TestKafkaErrorOf:
    @pytest.mark.parametrize(
        ("said", "kind", "words"),
        [
            ("errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.", ClusterError,
             "The topic 'users' is not in the Kafka cluster at b:9092, "),
            ("errors.TimeoutException: Timed out waiting for a node assignment. Call: listNodes", ClusterError,
             "No broker of the Kafka cluster at b:9092 answered about the topic 'users' in time."),
            ("errors.TimeoutException: Partition 2 of topic users with partition count 1 is not present in metadata after "
             "60000 ms.", ClusterError, "A row names partition 2 of the topic 'users', which has one partition, 0."),
            ("errors.TimeoutException: Topic users not present in metadata after 60000 ms.", ClusterError,
             "The Kafka cluster at b:9092 gave no information about the topic 'users' in time: the topic does not exist "),
            ("KafkaException: Failed\nCaused by: org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls "
             "given in bootstrap.servers", ClusterError, "Spark does not find the Kafka cluster at b:9092: "),
            ("errors.TopicAuthorizationException: Not authorized to access topics: [users]", AccessDeniedError,
             "Spark is not allowed to read the topic 'users' in the Kafka cluster at b:9092. The ACL to ask for is Describe "
             "and Read on the topic 'users'."),
            ("errors.GroupAuthorizationException: Not authorized to access group: spark-kafka-1", AccessDeniedError,
             "Spark is not allowed to read the topic 'users'"),
            ("errors.SaslAuthenticationException: Authentication failed: Invalid username or password", ClusterError,
             "Spark reached the Kafka cluster at b:9092, but it refused the credentials."),
            ("errors.SslAuthenticationException: SSL handshake failed", ClusterError, "Spark reached the Kafka cluster at "),
        ],
    )  # fmt: skip
    def test_it_says_what_where_and_what_next(self, said: str, kind: type[SrfixError], words: str) -> None:
        error = kafka_error_of(KAFKAS + said, of_topic="the topic 'users'", servers="b:9092")
        assert type(error) is kind
        assert error.message.startswith(words)
        assert "org.apache" not in error.message

    def test_who_writes_is_told_what_to_write_with(self) -> None:
        said = "errors.TopicAuthorizationException: Not authorized to access topics: [users]"
        error = kafka_error_of(KAFKAS + said, of_topic="the topic 'users'", servers="b:9092", writes=True)
        assert isinstance(error, AccessDeniedError)
        assert error.acl == "Describe and Write on the topic 'users'"
        assert error.message.startswith("Spark is not allowed to write the topic 'users'")

    @pytest.mark.parametrize(
        ("said", "named"),
        [
            ("Invalid value hunter2 for configuration security.protocol: String must be", "kafka.security.protocol"),
            ('Missing required configuration "key.deserializer" which has hunter2', "kafka.key.deserializer"),
            ("hunter2 cannot be", "one of the options kafka."),
        ],
    )
    def test_an_option_is_named_and_its_value_is_not(self, said: str, named: str) -> None:
        error = kafka_error_of(CONFIG + said)
        assert type(error) is UsageError
        assert named in error.message
        assert "hunter2" not in error.message
        jaas = "java.lang.IllegalArgumentException: Could not find a 'KafkaClient' entry in the JAAS configuration."
        assert "kafka.sasl.jaas.config" in str(kafka_error_of(jaas))

    @pytest.mark.parametrize("said", ["", "The topic is not there.", "java.util.concurrent.TimeoutException: no Kafka"])
    def test_what_is_not_kafkas_is_left_alone(self, said: str) -> None:
        assert kafka_error_of(said) is None

    def test_a_streams_end_is_known_by_the_same(self) -> None:
        said = (
            "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: org.apache.kafka.common.errors."
            "UnknownTopicOrPartitionException: This server does not host this topic-partition. SQLSTATE: XXKST"
        )
        error = srfix_error_of(RuntimeError(said))
        assert type(error) is ClusterError
        assert error.message.startswith("The topic is not in the Kafka cluster, ")
