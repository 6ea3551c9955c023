"""Writes to topics; no other part of recovery has a producer. Records are sent idempotently, and all replicas in sync
acknowledge them. No transactions are used: a restore reads uncommitted records unless the application runs
exactly-once. So for such a restore a transaction would not be all-or-nothing, and would leave aborted records that only
one kind of reader sees (DESIGN.md, "Topic plans").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from srfix.recovery.topic_plan.logs import NewRecord
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import ReadOnlyClient

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_LISTED_S: Final = 30.0
_PAUSE_S: Final = 0.05
_POLL_S: Final = 0.1


class KafkaHand(AbstractContextManager["KafkaHand"]):
    """Writes to one cluster. Properties that would join a group, commit, print or open a transaction are left out."""

    def __init__(self, config: Mapping[str, str], *, timeout_s: float = 60.0) -> None:
        self._client = ReadOnlyClient(config)
        self._timeout_s = timeout_s
        self._producer: Producer | None = None
        self._admin = self._client.admin()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KafkaHand({self._client.bootstrap_servers})"

    def create_topic(self, topic: str, partitions: int, *, replication_factor: int, configs: Mapping[str, str]) -> None:
        """Creates a topic, and returns when the cluster lists it with all its partitions, and their leaders lead."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import NewTopic

        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=dict(configs))
        doing = f"creating the topic {topic!r}"
        try:
            futures = self._admin.create_topics([wanted], request_timeout=self._timeout_s)
            futures[topic].result(self._timeout_s + 1)
        except (KafkaException, TimeoutError) as error:
            raise self._client.failed(doing, error, acl=f"Create on topic {topic!r}") from None
        self._wait_until(doing, lambda: self._partitions_of(topic) == partitions and self._is_led(topic, partitions))

    def delete_topic(self, topic: str) -> None:
        from confluent_kafka import KafkaException

        doing = f"deleting the topic {topic!r}"
        try:
            self._admin.delete_topics([topic], request_timeout=self._timeout_s)[topic].result(self._timeout_s + 1)
        except (KafkaException, TimeoutError) as error:
            raise self._client.failed(doing, error, acl=f"Delete on topic {topic!r}") from None
        self._wait_until(doing, lambda: self._partitions_of(topic) is None)

    def append(self, topic: str, records: Iterable[NewRecord]) -> int:
        producer = self._open_producer()
        refused: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                refused.append(error)

        count = 0
        for record in records:
            if refused:
                break
            is_queued = False
            while not is_queued:
                try:
                    producer.produce(
                        topic,
                        partition=record.partition,
                        key=record.key,
                        value=record.value,
                        headers=list(record.headers),
                        timestamp=record.timestamp_ms or 0,
                        on_delivery=on_delivery,
                    )
                    is_queued = True
                except BufferError:  # the queue of librdkafka is full
                    producer.poll(_POLL_S)
            producer.poll(0)
            count += 1
        left = producer.flush(self._timeout_s)
        doing = f"writing to the topic {topic!r}"
        if refused:
            raise self._client.failed(doing, refused[0], acl=f"Write on topic {topic!r}")
        if left:
            raise self._client.failed(
                doing, f"no acknowledgement of {counted(left, 'record')} in {self._timeout_s:g} s"
            )
        return count

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(_POLL_S)

    def _is_led(self, topic: str, partitions: int) -> bool:
        """False while a listed leader of a partition does not know it yet. The next step reports other errors."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        specs = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(partitions)}
        not_yet = (
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
        )
        try:
            for future in self._admin.list_offsets(specs, request_timeout=self._timeout_s).values():
                future.result(self._timeout_s + 1)
        except KafkaException as error:
            return error.args[0].code() not in not_yet
        except TimeoutError:
            return True
        return True

    def _open_producer(self) -> Producer:
        from confluent_kafka import KafkaException, Producer

        if self._producer is None:
            try:
                self._producer = Producer(
                    self._client.config(
                        enable_idempotence="true",
                        acks="all",
                        linger_ms="20",
                        message_timeout_ms=str(int(self._timeout_s * 1000)),
                    )
                )
            except (KafkaException, TypeError, ValueError) as error:
                raise self._client.refused_config(error) from None
        return self._producer

    def _partitions_of(self, topic: str) -> int | None:
        """Uses the full listing, because a question about a topic by its name can create it."""
        from confluent_kafka import KafkaException

        try:
            listed = self._admin.list_topics(timeout=self._timeout_s).topics.get(topic)
        except KafkaException as error:
            raise self._client.failed("listing the topics", error) from None
        if listed is None or listed.error is not None or any(p.leader < 0 for p in listed.partitions.values()):
            return None
        return len(listed.partitions)

    def _wait_until(self, doing: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + min(_LISTED_S, self._timeout_s)
        while not is_so():
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{doing.capitalize()}: the cluster at {self._client.bootstrap_servers} acknowledged it, but not all of "
                    "its brokers show it yet. Wait, then run the same command again."
                )
            time.sleep(_PAUSE_S)
