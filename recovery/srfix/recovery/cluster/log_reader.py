"""Reads logs with a consumer that joins no group and commits nothing: ranges of a partition, and single records."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.cluster.raw_record import RawRecord, raw_record
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_BATCH: Final = 500
_POLL_S: Final = 0.1
"""How long to wait for a batch that does not fill: this is the whole cost of a short range."""


class GaveUp(Exception):
    """The time to give up has come before the range was read to its end."""


def read_range(
    client: ReadOnlyClient,
    topic: str,
    partition: int,
    begin: int,
    end: int,
    *,
    timeout_s: float,
    give_up_at: float | None = None,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> Iterator[RawRecord]:
    """The records of a partition, as `Cluster.read` gives them; srfix waits at most `timeout_s` for each."""
    from confluent_kafka import KafkaError, TopicPartition

    if begin >= end:
        return
    consumer = client.consumer(
        isolation_level=isolation.value,
        enable_partition_eof="true",
        auto_offset_reset="earliest",
        queued_min_messages=str(_BATCH),
        fetch_wait_max_ms="50",
    )
    try:
        consumer.assign([TopicPartition(topic, partition, begin)])
        doing = f"reading {topic}[{partition}]"
        last_heard = time.monotonic()
        position = begin
        while True:
            left = _POLL_S if give_up_at is None else min(_POLL_S, give_up_at - time.monotonic())
            if left <= 0:
                raise GaveUp
            # `consume` waits for a batch that does not fill.
            batch = consumer.consume(min(_BATCH, end - position), left)
            if batch:
                last_heard = time.monotonic()
            elif time.monotonic() - last_heard >= timeout_s:
                raise client.failed(doing, f"no record for {timeout_s:g} s before offset {end}")
            for message in batch:
                # Checked before each record, because the caller may need long for one.
                if give_up_at is not None and time.monotonic() >= give_up_at:
                    raise GaveUp
                error, offset = message.error(), message.offset()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED and not error.retriable():
                        raise client.failed(doing, error.str())
                    continue
                if offset is None or offset >= end:
                    return
                position = offset + 1
                yield raw_record(message, partition=partition, offset=offset)
                if offset >= end - 1:
                    return
    finally:
        consumer.close()


def read_places(
    client: ReadOnlyClient, consumer: Consumer, topic: str, places: Iterable[tuple[int, int]], *, timeout_s: float
) -> Iterator[tuple[tuple[int, int], RawRecord | None]]:
    """The records at (partition, offset), in no order; None where the broker has none (any more)."""
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for partition, offset in dict.fromkeys(places):
        waiting[partition].append(offset)
    while waiting:
        wanted = {partition: offsets.popleft() for partition, offsets in waiting.items()}
        waiting = defaultdict(deque, {partition: offsets for partition, offsets in waiting.items() if offsets})
        yield from _one_each(client, consumer, topic, wanted, timeout_s)


def _one_each(
    client: ReadOnlyClient, consumer: Consumer, topic: str, wanted: dict[int, int], timeout_s: float
) -> Iterator[tuple[tuple[int, int], RawRecord | None]]:
    from confluent_kafka import KafkaError, TopicPartition

    consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in wanted.items()])
    deadline = time.monotonic() + timeout_s
    try:
        while wanted:
            partition, offset = next(iter(wanted.items()))
            doing = f"reading the record at {topic}[{partition}] offset {offset}"
            left = deadline - time.monotonic()
            if left <= 0:
                raise client.failed(doing, f"no answer in {timeout_s:g} s")
            message = consumer.poll(left)
            if message is None:
                continue
            error, message_partition, at = message.error(), message.partition(), message.offset()
            if error is not None and error.code() not in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
                if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED and not error.retriable():
                    raise client.failed(doing, error.str())
                continue
            if message_partition is None or message_partition not in wanted:
                continue  # a record after one that was already answered
            offset = wanted.pop(message_partition)
            deadline = time.monotonic() + timeout_s
            is_there = error is None and at == offset
            yield (
                (message_partition, offset),
                raw_record(message, partition=message_partition, offset=offset) if is_there else None,
            )
    finally:
        consumer.unassign()
