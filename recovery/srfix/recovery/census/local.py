"""A census in this process: one consumer reads the whole topic, once. Memory per key of 20 bytes that is live or
pending: 130 bytes, twice that while a dict grows, in the native kernel 100; in Python another 16 bytes a record where
ids change from record to record. CPU: about twice a bare `consume(500)` loop, with the kernel a tenth or two more than
the loop (tests/bench).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Protocol, cast

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from srfix.recovery.census.counting import ColumnReader, Columns, PartitionCounter
from srfix.recovery.census.interface import (
    Census,
    CensusProgress,
    CensusRequest,
    PartitionCensus,
    RoleCensus,
    Tally,
    role_census,
)
from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.errors import ClusterError
from srfix.serde.native import kernel
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers
from srfix.serde.wire_peek import PeekedId, SchemaIdPeek, peek_headers

_BATCH: Final = 500
"""The number of records per `consume` that costs least per record (measured with librdkafka 2.16)."""
_LONG_RUN: Final = 50
"""A run of at least this number of records of one partition is counted by itself, because its records are mostly alike."""
_PREFETCH: Final = {"queued.max.messages.kbytes": "4096", "fetch.queue.backoff.ms": "20"}
"""librdkafka's defaults fetch 64 MiB ahead and then look again after a second: the records have left the processor's
cache by then, and the read waits. Measured: a fifth less CPU, a third of the time. The user's settings win."""
_POLL_S: Final = 0.1
"""How long to wait for a batch that does not fill: compaction and transactions leave offsets without a record."""
_PROGRESS_EVERY_S: Final = 0.25

# Every record has a partition and an offset; an event may have none. The types do not distinguish the two.
_partition_of = cast("Callable[[Message], int]", Message.partition)
_offset_of = cast("Callable[[Message], int]", Message.offset)


@dataclass(slots=True, kw_only=True)
class NativeColumns:
    offsets: Sequence[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    ids: tuple[list[PeekedId], list[PeekedId]] | None
    """The ids and marks of keys and of values; None if the payloads alone show them."""


def native_columns(
    *,
    offsets: Sequence[int],
    keys: list[bytes | None],
    values: list[bytes | None],
    headers: Sequence[Headers] | None = None,
    one_partition: bool = False,
) -> NativeColumns:
    """Turns a batch of records into columns, as `ColumnReader` does."""
    if headers is None:
        return NativeColumns(offsets=offsets, keys=keys, values=values, ids=None)
    key_ids = peek_headers(headers, SchemaIdPeek()(keys), Role.KEY)
    value_ids = peek_headers(headers, SchemaIdPeek()(values), Role.VALUE)
    return NativeColumns(offsets=offsets, keys=keys, values=values, ids=(key_ids, value_ids))


class NativeCounter:
    """Counts one partition's records in the native kernel, as `PartitionCounter` does, at a third of the cost."""

    def __init__(self, restore_limit: int | None) -> None:
        native: Any = kernel()
        self._is_restored = restore_limit is not None
        self._counter = native.PartitionCounter(restore_limit)

    def add(self, records: NativeColumns, start: int, stop: int) -> None:
        offsets = records.offsets
        key_ids, value_ids = records.ids or (None, None)
        self._counter.add(
            offsets[0] if offsets else 0,
            None if isinstance(offsets, range) else offsets,
            records.keys,
            records.values,
            key_ids,
            value_ids,
            start,
            stop,
        )

    def result(self) -> tuple[int, RoleCensus, RoleCensus]:
        records, *roles = self._counter.result()
        keys, values = (
            role_census({peeked: Tally(*counts) for peeked, *counts in of_role}, is_restored=self._is_restored)
            for of_role in roles
        )
        return records, keys, values


class LocalCensus:
    """Counts topics with one consumer, assigned and never subscribed: it joins no group, and commits nothing.

    :param config: librdkafka's configuration names, as for `Cluster`.
    :param timeout_s: how long a question about the topic may take.
    :param stall_timeout_s: how long to wait for the next record before the end of the log.
    """

    def __init__(self, config: Mapping[str, str], *, timeout_s: float = 15.0, stall_timeout_s: float = 30.0) -> None:
        self._config = {**_PREFETCH, **config}
        self._timeout_s = timeout_s
        self._stall_timeout_s = stall_timeout_s
        self._client = ReadOnlyClient(config)
        self._cluster: Cluster | None = None
        """One client for all topics: to connect a new one takes longer than to read most topics."""

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_cluster": None}  # another process opens its own

    def __repr__(self) -> str:
        return f"LocalCensus({self._client.bootstrap_servers})"

    def count(
        self,
        request: CensusRequest,
        *,
        on_progress: Callable[[CensusProgress], None] | None = None,
        spent_s: float = 0.0,
    ) -> Census:
        """Reads every partition from its start to the end it had when the read began.

        A partition counts as read when the consumer's position has reached that end, so transaction markers there do
        not matter. If the log's start moves meanwhile, srfix reads on from the new start. If an open transaction hides
        the rest of a log from READ_COMMITTED for `stall_timeout_s`, srfix stops reading that partition early. When a
        limit of the request is reached, srfix also stops every partition that it has not read to its end.

        :param on_progress: called at most four times a second, and at the end.
        :param spent_s: how much of the request's deadline is gone already.
        :raises AccessDeniedError: if this user may not read the topic.
        :raises ClusterError: if the cluster does not answer, the topic or a partition does not exist, no
            record arrives for `stall_timeout_s`, or a log goes back while it is read (recreated, truncated).
        """
        # the time that a slow broker needs to answer the ends counts towards the deadline
        began = time.monotonic() - spent_s
        if self._cluster is None:
            self._cluster = Cluster(self._config, timeout_s=self._timeout_s)
        watermarks = self._cluster.watermarks(request.topic, request.partitions)
        client = ReadOnlyClient(self._config)
        options = client, request, watermarks, self._stall_timeout_s, on_progress, began
        if kernel() is None:
            return _Read(ColumnReader(), PartitionCounter, *options).run()
        return _Read(native_columns, NativeCounter, *options).run()


class _Counter(Protocol):
    def add(self, records: Any, start: int, stop: int) -> None:
        """Counts columns of the kind that the same engine makes."""

    def result(self) -> tuple[int, RoleCensus, RoleCensus]: ...


class _Read:
    def __init__(
        self,
        columns: Callable[..., Columns | NativeColumns],
        counter: Callable[[int | None], _Counter],
        client: ReadOnlyClient,
        request: CensusRequest,
        watermarks: Mapping[int, tuple[int, int]],
        stall_timeout_s: float,
        on_progress: Callable[[CensusProgress], None] | None,
        began: float,
    ) -> None:
        self._client = client
        self._request = request
        self._watermarks = watermarks
        self._stall_timeout_s = stall_timeout_s
        self._on_progress = on_progress
        self._columns = columns
        self._counters = {
            partition: counter(request.restore_limit(partition, end)) for partition, (_, end) in watermarks.items()
        }
        self._next = {partition: start for partition, (start, _) in watermarks.items()}
        self._unread = {partition: end for partition, (start, end) in watermarks.items() if start < end}
        self._waiting: dict[int, int] = {}
        self._stopped_early: dict[int, str] = {}
        self._records = 0
        self._began = self._reported = began

    def run(self) -> Census:
        if self._unread:
            consumer = self._open_consumer()
            try:
                self._consume(consumer)
            finally:
                consumer.close()
        self._report(time.monotonic())
        return Census(
            topic=self._request.topic,
            isolation=self._request.isolation,
            partitions=tuple(self._result(partition) for partition in sorted(self._watermarks)),
        )

    def _open_consumer(self) -> Consumer:
        consumer = self._client.consumer(
            isolation_level=self._request.isolation.value,
            enable_partition_eof="true",
            auto_offset_reset="earliest",
            check_crcs="true",  # as Java's restore consumer does
        )
        consumer.assign(
            [TopicPartition(self._request.topic, partition, self._next[partition]) for partition in self._unread]
        )
        return consumer

    def _consume(self, consumer: Consumer) -> None:
        now = time.monotonic()
        silent_s = 0.0
        most, deadline_s = self._request.max_records, self._request.deadline_s
        patience_s = _POLL_S
        while self._unread:
            # No batch is larger than the rest, because `consume` waits until a batch is full.
            size = min(_BATCH, sum(end - self._next[partition] for partition, end in self._unread.items()))
            if most is not None:
                size = min(size, most - self._records)
                if size <= 0:
                    self._stop(f"the limit of {counted(most, 'record')} (--max-records) was reached")
                    return
            if deadline_s is not None:
                patience_s = min(_POLL_S, self._began + deadline_s - now)
                if patience_s <= 0:
                    self._stop(f"the deadline of {deadline_s:g} s (--deadline) was reached")
                    return
            batch = consumer.consume(size, patience_s)
            before, now = now, time.monotonic()
            # Only time spent waiting counts: while this process is suspended (Ctrl-Z), no broker is slow.
            silent_s = 0.0 if batch else silent_s + min(now - before, patience_s)
            if silent_s >= self._stall_timeout_s:
                self._stalled()
                return
            # Errors come between the records, with the error's text as their value. They are handled after the records,
            # because the end of a partition is reported after its last record. Events have no keys, so a batch without
            # a null key has no event.
            events: list[Message] = []
            keys = list(map(Message.key, batch))
            if not all(keys) and any(map(Message.error, batch)):
                events = [message for message in batch if message.error() is not None]
                batch = [message for message in batch if message.error() is None]
                keys = list(map(Message.key, batch))
            if batch:
                self._take(consumer, batch, keys)
            for event in events:
                self._heed(event)
            if now - self._reported >= _PROGRESS_EVERY_S:
                self._report(now)

    def _take(self, consumer: Consumer, batch: list[Message], keys: list[bytes | None]) -> None:
        """Counts the records of a batch that are before the ends of their partitions."""
        # Column by column: a loop over the messages in Python would cost several times as much.
        partitions = list(map(_partition_of, batch))
        one_run = partitions.count(partitions[0]) == len(partitions)
        values = list(map(Message.value, batch))
        headers = list(map(Message.headers, batch)) if any(map(Message.headers, batch)) else None
        together: Columns | NativeColumns | None = None
        start = 0
        for partition, run in [(partitions[0], batch)] if one_run else groupby(partitions):
            stop = start + len(list(run))
            if stop - start >= _LONG_RUN:
                records = self._columns(
                    offsets=_offsets(batch[start:stop]),
                    keys=keys[start:stop],
                    values=values[start:stop],
                    headers=None if headers is None else headers[start:stop],
                    one_partition=True,
                )
                self._take_run(consumer, partition, records, 0, stop - start)
            else:
                if together is None:
                    offsets = list(map(_offset_of, batch))
                    together = self._columns(offsets=offsets, keys=keys, values=values, headers=headers)
                self._take_run(consumer, partition, together, start, stop)
            start = stop

    def _take_run(
        self, consumer: Consumer, partition: int, records: Columns | NativeColumns, start: int, stop: int
    ) -> None:
        end = self._unread.get(partition)
        if end is None:  # others write faster than srfix reads
            consumer.pause([TopicPartition(self._request.topic, partition)])
            return
        first, last = records.offsets[start], records.offsets[stop - 1]
        if first < self._next[partition]:
            raise ClusterError(
                f"The log of {self._request.topic}[{partition}] went back from offset {self._next[partition]} to {first} "
                "while srfix read it: the topic was recreated, or the log truncated. Find out which, then run again."
            )
        if last >= end:
            stop = bisect_left(records.offsets, end, start, stop)
        self._counters[partition].add(records, start, stop)
        self._records += stop - start
        self._next[partition] = last + 1
        self._waiting.pop(partition, None)
        if last >= end - 1:
            del self._unread[partition]

    def _heed(self, event: Message) -> None:
        error = event.error()
        if error is None or error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED or error.retriable():
            return  # a group is named to please librdkafka only
        partition, position = _partition_of(event), _offset_of(event)
        if error.code() != KafkaError._PARTITION_EOF:
            doing = f"reading {self._request.topic}[{partition}] at offset {position}"
            raise self._client.failed(doing, error, acl=f"Read on topic {self._request.topic!r}")
        end = self._unread.get(partition)
        if end is not None and position >= end:
            del self._unread[partition]
        elif end is not None and position >= self._next[partition]:
            self._waiting[partition] = position

    def _stalled(self) -> None:
        silent = sorted(partition for partition in self._unread if partition not in self._waiting)
        if silent:
            partition = silent[0]
            raise self._client.failed(
                f"reading {self._request.topic}[{partition}]",
                f"no record for {self._stall_timeout_s:g} s at offset {self._next[partition]} of {self._unread[partition]}",
            )
        for partition, position in self._waiting.items():
            if self._request.isolation is Isolation.READ_COMMITTED:
                why = f"an open transaction hides the records from offset {position} on"
            else:
                why = f"the log ends at offset {position} now"
            self._stopped_early[partition] = f"{why}; the log ended at {self._unread[partition]} when the read began"
        self._unread.clear()

    def _stop(self, why: str) -> None:
        """Gives up the unread offsets, and says which they are."""
        for partition, end in self._unread.items():
            self._stopped_early[partition] = f"offsets {self._next[partition]} to {end - 1} were not read: {why}"
        self._unread.clear()

    def _report(self, now: float) -> None:
        self._reported = now
        if self._on_progress is not None:
            offsets = sum(end - start for start, end in self._watermarks.values())
            self._on_progress(self._request.progress(self._records, offsets, now - self._began))

    def _result(self, partition: int) -> PartitionCensus:
        start, end = self._watermarks[partition]
        records, keys, values = self._counters[partition].result()
        return PartitionCensus(
            partition=partition,
            start_offset=start,
            end_offset=end,
            committed_offset=(self._request.committed or {}).get(partition),
            restore_limit=self._request.restore_limit(partition, end),
            records=records,
            keys=keys,
            values=values,
            stopped_early=self._stopped_early.get(partition),
        )


def _offsets(batch: list[Message]) -> Sequence[int]:
    """The offsets of one partition's messages. Only if offsets are missing in between, each message is asked."""
    first, last = _offset_of(batch[0]), _offset_of(batch[-1])
    return range(first, last + 1) if last - first == len(batch) - 1 else list(map(_offset_of, batch))
