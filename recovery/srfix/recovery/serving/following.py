"""Reads the logs of the partitions that a member holds, from where each was left, and goes on with what comes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

_TOGETHER: Final = 5_000
"""How many messages are taken together."""
_POLL_S: Final = 0.05
_LIMITS_EVERY_S: Final = 1.0
_FETCHED_KBYTES: Final = 16_384
"""How much the client reads ahead: the broker is asked for no more until these are applied."""

Place: TypeAlias = tuple[Topic, int]
Committed: TypeAlias = Callable[[str, Collection[Place]], Mapping[Place, int | None]]
"""A group and partitions → the offsets that it has committed."""


class Follower:
    """One consumer, on a thread of its own, for all partitions of a member. It joins no group and commits nothing.

    :param isolation: whether it reads records of aborted and open transactions.
    :param committed: asked about every second, for the stores that are read up to the committed offsets.
    """

    def __init__(self, client: ReadOnlyClient, *, isolation: Isolation, committed: Committed) -> None:
        from confluent_kafka import Consumer, KafkaException

        self._client = client
        self._committed = committed
        self._wanted: tuple[ServedPartition, ...] = ()
        self._parts: dict[Place, list[ServedPartition]] = {}
        self._limits: dict[Place, int] = {}
        self._paused: set[Place] = set()
        self._asked_limits = 0.0
        self._has_changed = Event()
        self._is_over = Event()
        self._lock = Lock()
        self.problem: SrfixError | None = None
        """Why nothing more is read, or None: an error of the cluster is tried again."""
        try:
            self._consumer: Consumer = Consumer(
                client.config(
                    isolation_level=isolation.value,
                    enable_partition_eof="true",
                    auto_offset_reset="error",
                    queued_max_messages_kbytes=str(_FETCHED_KBYTES),
                    fetch_wait_max_ms="100",
                )
            )
        except (KafkaException, TypeError, ValueError) as error:
            raise client.refused_config(error) from None
        self._thread = Thread(target=self._run, name="srfix-serve-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def follow(self, partitions: Iterable[ServedPartition]) -> None:
        """From now on reads these partitions, and no others; those that are left out may be closed when it returns."""
        with self._lock:
            self._wanted = tuple(partitions)
            self._has_changed.clear()
        if self._thread.is_alive():
            while not self._has_changed.wait(_POLL_S) and self._thread.is_alive():
                pass

    def close(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                if not self._has_changed.is_set():
                    self._assign()
                self._ask_limits()
                self._take(self._consumer.consume(_TOGETHER, _POLL_S))
                self.problem = None
            except SrfixError as error:
                self.problem = error
                self._is_over.wait(1)
            except Exception as error:  # noqa: BLE001  (the thread must not end in silence)
                self.problem = ClusterError(f"srfix stopped reading: {type(error).__name__}: {error}")
                self._has_changed.set()
                return

    def _assign(self) -> None:
        with self._lock:
            wanted = self._wanted
            self._parts = defaultdict(list)
            for partition in wanted:
                self._parts[partition.served.topic, partition.number].append(partition)
            self._paused.clear()
            self._consumer.assign([self._start(place) for place in self._parts])
            self._has_changed.set()

    def _start(self, place: Place) -> TopicPartition:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        offset = min(part.offset for part in self._parts[place])
        return TopicPartition(*place, offset or OFFSET_BEGINNING)

    def _ask_limits(self) -> None:
        """For stores that end at committed offsets: moves their ends, and goes on with those that waited."""
        limited: dict[str, list[Place]] = defaultdict(list)
        for place, parts in self._parts.items():
            for part in parts:
                if part.served.until is Until.COMMITTED:
                    limited[part.served.application].append(place)
        if not limited or time.monotonic() - self._asked_limits < _LIMITS_EVERY_S:
            return
        for group, places in limited.items():
            for place, offset in self._committed(group, places).items():
                self._limits[place] = offset or 0
                for part in self._parts[place]:
                    part.end = max(self._limits[place], part.offset)
                if place in self._paused and min(part.offset for part in self._parts[place]) < self._limits[place]:
                    self._consumer.seek(self._start(place))
                    self._consumer.resume([self._start(place)])
                    self._paused.discard(place)
        self._asked_limits = time.monotonic()

    def _take(self, messages: list[Message]) -> None:
        batches: dict[Place, list[Message]] = defaultdict(list)
        for message in messages:
            if message.error() is None:
                batches[message.topic(), message.partition()].append(message)  # type: ignore[index]
        for place, batch in batches.items():
            self._apply(place, batch)
        for message in messages:
            if message.error() is not None:
                self._take_event(message)
        for place, parts in self._parts.items():
            if place not in self._limits:
                self._see_end(place, parts)

    def _see_end(self, place: Place, parts: list[ServedPartition]) -> None:
        from confluent_kafka import TopicPartition

        _low, high = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
        if high >= 0:
            for part in parts:
                part.end = max(high, part.end or 0)

    def _apply(self, place: Place, batch: list[Message]) -> None:
        limit = self._limits.get(place)
        for part in self._parts.get(place, ()):
            if part.served.until is Until.COMMITTED and limit is None:
                self._wait(place)
                return
            start, end = part.offset, None
            if limit is not None and (batch[-1].offset() or 0) >= limit:
                end = limit
            mine = [message for message in batch if (message.offset() or 0) >= start]
            if end is not None:
                mine = [message for message in mine if (message.offset() or 0) < end]
            if mine or (end is not None and end > start):
                try:
                    part.apply(mine, offset=end)
                    part.problem = None
                except SrfixError as error:
                    part.problem = error.message
                    self._wait(place)
                    raise
            if end is not None:
                self._wait(place)

    def _wait(self, place: Place) -> None:
        from confluent_kafka import TopicPartition

        self._consumer.pause([TopicPartition(*place)])
        self._paused.add(place)

    def _take_event(self, message: Message) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        place = (Topic(message.topic() or ""), message.partition() or 0)
        if error is None:
            return
        if error.code() == KafkaError._PARTITION_EOF:
            offset = message.offset() or 0
            for part in self._parts.get(place, ()):
                if offset > part.offset and part.served.until is Until.END:
                    part.apply((), offset=offset)  # what ends a transaction has offsets, and no record
                part.end = max(offset, part.end or 0) if part.served.until is Until.END else part.end
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            for part in self._parts.get(place, ()):
                part.start_anew(f"the log no longer has the offset {part.offset}")
            self._consumer.seek(self._start(place))
        elif not error.retriable() and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise self._client.failed(f"reading {place[0]}[{place[1]}]", error)
