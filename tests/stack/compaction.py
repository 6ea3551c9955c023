"""A topic that the broker compacts now, and how far it has got."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from srfix.fixtures.broker.kraft import KraftBroker

TIMEOUT_S: Final = 120.0
SEGMENT_BYTES: Final = 20_000
"""Small: what is behind the newest segment can be compacted, the newest never is."""
COMPACT: Final[Mapping[str, str]] = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
}


def configure(broker: KraftBroker, topic: str, settings: Mapping[str, str]) -> None:
    """Changes settings of a topic that exists."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(30)


def offsets(broker: KraftBroker, topic: str) -> dict[int, list[int]]:
    """Per partition the offsets of its records, without those that compaction has removed."""
    found: dict[int, list[int]] = {}
    client = {"bootstrap.servers": broker.bootstrap_servers, "enable.partition.eof": True, "log_level": 0}
    consumer = Consumer({**client, "group.id": "offsets", "enable.auto.commit": False})
    try:
        for partition in consumer.list_topics(topic).topics[topic].partitions:
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            found[partition] = []
            # The end of a partition is a message with an error.
            while (message := consumer.poll(30)) is not None and message.error() is None:
                offset = message.offset()
                assert offset is not None
                found[partition].append(offset)
            assert message is not None, f"{topic}[{partition}] does not come to its end"
    finally:
        consumer.close()
    return found


def wait_until(condition: Callable[[], bool], *, timeout_s: float = TIMEOUT_S) -> None:
    """Returns once it holds; fails when it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.05)
