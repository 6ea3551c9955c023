"""Reading records of a topic as they are: no group is joined, nothing is committed."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from srfix.recovery._kafka_client import ReadOnlyClient
from srfix.recovery.cluster import Cluster, RawRecord
from srfix.recovery.topic_lookup import partitions_of
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer

__all__ = ["RecordRange", "read_records"]

_BATCH: Final = 500
_POLL_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRange:
    """Which records of a topic."""

    topic: str
    """The topic."""
    partition: int | None = None
    """The partition; None for all of them."""
    from_offset: int | None = None
    """The first offset, inclusive; None for the start of each log."""
    last: bool = False
    """True for the newest records instead of the first ones."""
    max_records: int = 20
    """How many at most, in all partitions together."""


def read_records(config: Mapping[str, str], wanted: RecordRange, *, timeout_s: float = 15.0) -> Iterator[RawRecord]:
    """The records up to the ends that the logs have when the reading begins, by partition and offset.

    Records of open and aborted transactions are among them (read_uncommitted). The newest ones are those with the
    highest timestamps, and at most `max_records` offsets from the end of their partition.

    :param config: librdkafka's configuration names, as for `Cluster`.
    :param timeout_s: how long a question may take, and how long no record may arrive before the end of a log.
    :raises UsageError: if the topic or partition does not exist, or an offset lies beyond the end of its log.
    :raises ClusterError: if the cluster does not answer, or no record arrives for that long.
    """
    with Cluster(config, timeout_s=timeout_s) as cluster:
        partitions = partitions_of(cluster, wanted.topic)
        if wanted.partition is not None:
            if wanted.partition not in partitions:
                raise UsageError(
                    f"The topic {wanted.topic!r} has the partitions 0 to {len(partitions) - 1}; {wanted.partition} is "
                    "none of them."
                )
            partitions = (wanted.partition,)
        logs = cluster.watermarks(wanted.topic, partitions)
    begins = {partition: _begin(wanted, *logs[partition]) for partition in partitions}
    if wanted.from_offset is not None and all(begins[p] >= logs[p][1] > 0 for p in partitions):
        ends = ", ".join(f"{logs[p][1]} in partition {p}" for p in partitions)
        raise UsageError(
            f"Nothing is there from offset {wanted.from_offset} on: the log of {wanted.topic!r} ends at {ends}."
        )
    reader = _Reader(ReadOnlyClient(config), wanted.topic, timeout_s)
    if wanted.last:
        records = (record for p in partitions for record in reader.read(p, begins[p], logs[p][1]))
        newest = heapq.nlargest(wanted.max_records, records, key=lambda r: (r.timestamp or 0, r.partition, r.offset))
        yield from sorted(newest, key=lambda record: (record.partition, record.offset))
        return
    left = wanted.max_records
    for partition in partitions:
        for record in reader.read(partition, begins[partition], logs[partition][1]):
            yield record
            left -= 1
            if not left:
                return


def _begin(wanted: RecordRange, start: int, end: int) -> int:
    if wanted.last:
        return max(start, end - wanted.max_records)
    return max(start, wanted.from_offset or 0)


class _Reader:
    """Reads one partition after the other."""

    def __init__(self, client: ReadOnlyClient, topic: str, timeout_s: float) -> None:
        self._client = client
        self._topic = topic
        self._timeout_s = timeout_s

    def read(self, partition: int, begin: int, end: int) -> Iterator[RawRecord]:
        """The records from `begin` (inclusive) to `end` (exclusive)."""
        if begin >= end:
            return
        consumer = self._open()
        try:
            yield from self._consume(consumer, partition, begin, end)
        finally:
            consumer.close()

    def _open(self) -> Consumer:
        from confluent_kafka import Consumer, KafkaException

        try:
            return Consumer(
                self._client.config(
                    isolation_level="read_uncommitted",
                    enable_partition_eof="true",
                    auto_offset_reset="earliest",
                    queued_min_messages=str(_BATCH),
                    fetch_wait_max_ms="50",
                )
            )
        except (KafkaException, TypeError, ValueError) as error:
            raise self._client.refused_config(error) from None

    def _consume(self, consumer: Consumer, partition: int, begin: int, end: int) -> Iterator[RawRecord]:
        from confluent_kafka import KafkaError, TopicPartition

        consumer.assign([TopicPartition(self._topic, partition, begin)])
        doing = f"reading {self._topic}[{partition}]"
        last_heard = time.monotonic()
        while True:
            batch = consumer.consume(_BATCH, _POLL_S)
            if batch:
                last_heard = time.monotonic()
            elif time.monotonic() - last_heard >= self._timeout_s:
                raise self._client.failed(doing, f"no record for {self._timeout_s:g} s before offset {end}")
            for message in batch:
                error, offset = message.error(), message.offset()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    if error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED and not error.retriable():
                        raise self._client.failed(doing, error.str())
                    continue
                if offset is None or offset >= end:
                    return
                _, timestamp = message.timestamp()
                yield RawRecord(
                    partition=partition,
                    offset=offset,
                    key=message.key(),
                    value=message.value(),
                    headers=tuple(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
                    timestamp=timestamp if timestamp >= 0 else None,
                )
                if offset >= end - 1:
                    return
