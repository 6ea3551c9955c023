"""A topic's partitions and the ends of its logs, requested on the driver."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient
from srfix.serde.registry.secret import revealed
from srfix.serde.spark.source.offsets import Log

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_KAFKAS_OWN: Final = frozenset({"__consumer_offsets", "__transaction_state"})
"""The topics that `exclude.internal.topics` excludes from a consumer's pattern."""
_TIMEOUT_S: Final = 30.0
_PATIENCE_S: Final = 10.0
_FOR_CONSUMERS: Final = frozenset({"group.id", "enable.auto.commit", "enable.auto.offset.store"})


def kafka_config(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, with `env:NAME` and `file:PATH` replaced by their values in this process."""
    return {name: revealed(value) for name, value in properties.items()}


def topic_names(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Without Kafka's internal ones. It lists all topics, because asking for one by name may create it."""
    from confluent_kafka import KafkaException

    client = ReadOnlyClient(kafka_config(properties))
    admin = _admin_of(client)
    try:
        return tuple(sorted(admin.list_topics(timeout=_TIMEOUT_S).topics.keys() - _KAFKAS_OWN))
    except KafkaException as error:
        raise client.failed("listing the topics", error, acl="Describe on the topics") from None


class TopicLog:
    """Asks about one topic repeatedly. It joins no group and creates no topic."""

    def __init__(
        self, properties: Mapping[str, str], topic: str, isolation: Isolation, *, only: Sequence[int] | None = None
    ) -> None:
        """Values may be `env:NAME` or `file:PATH`. `only` are the partitions that count."""
        self._client = ReadOnlyClient(kafka_config(properties))
        self._topic = topic
        self._isolation = isolation
        self._only = only
        self._admin: AdminClient | None = None

    def now(self) -> Log:
        from confluent_kafka.admin import OffsetSpec

        topic_id, partitions = self._described()
        return Log(
            topic=self._topic,
            topic_id=topic_id,
            starts=self._offsets(partitions, OffsetSpec.earliest()),
            ends=self._offsets(partitions, OffsetSpec.latest()),
        )

    def partitions(self) -> Sequence[int]:
        return self._described()[1]

    def _described(self) -> tuple[str | None, list[int]]:
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        topics = TopicCollection([self._topic])
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            future = self._open().describe_topics(topics, request_timeout=_TIMEOUT_S)[self._topic]
            with self._failures(f"describing the topic {self._topic!r}"):
                try:
                    described = future.result(timeout=_TIMEOUT_S + 1)
                except KafkaException as error:
                    code = error.args[0].code() if error.args and hasattr(error.args[0], "code") else None
                    if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise ClusterError(
                            f"There is no topic {self._topic!r} on the Kafka cluster at "
                            f"{self._client.bootstrap_servers}, or this user is not allowed to see it. Check its "
                            "spelling, letter case and the cluster."
                        ) from None
                    if code != KafkaError.LEADER_NOT_AVAILABLE or time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)  # it was created a moment ago
                    continue
            topic_id = getattr(described, "topic_id", None)
            numbers = sorted(partition.id for partition in described.partitions)
            return None if topic_id is None else str(topic_id), self._wanted(numbers)

    def _wanted(self, numbers: list[int]) -> list[int]:
        if self._only is None:
            return numbers
        if lacking := sorted(set(self._only) - set(numbers)):
            raise UsageError(
                f"The option assign names partition {lacking[0]} of the topic {self._topic!r}, but the topic has "
                f"only {', '.join(map(str, numbers))}."
            )
        return list(self._only)

    def _offsets(self, partitions: list[int], spec: object) -> Mapping[int, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        futures = self._open().list_offsets(
            {TopicPartition(self._topic, partition): spec for partition in partitions},  # type: ignore[misc]
            isolation_level=IsolationLevel[self._isolation.name],
            request_timeout=_TIMEOUT_S,
        )
        with self._failures(f"asking for the offsets of the topic {self._topic!r}"):
            answers = {place.partition: future.result(timeout=_TIMEOUT_S + 1) for place, future in futures.items()}
        return {partition: int(answer.offset) for partition, answer in sorted(answers.items())}

    def _open(self) -> AdminClient:
        if self._admin is None:
            self._admin = _admin_of(self._client)
        self._admin.poll(0)  # librdkafka calls its error callback here
        return self._admin

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            self._open()
            raise self._client.failed(doing, error, acl=f"Describe on topic {self._topic!r}") from None
        except FutureTimeoutError:
            raise self._client.failed(doing, f"no answer within {_TIMEOUT_S:g} s") from None


def _admin_of(client: ReadOnlyClient) -> AdminClient:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    # librdkafka warns about a consumer's properties on other clients.
    config = {name: value for name, value in client.config().items() if name not in _FOR_CONSUMERS}
    try:
        return AdminClient(config)
    except (KafkaException, TypeError, ValueError) as error:
        raise client.refused_config(error) from None
