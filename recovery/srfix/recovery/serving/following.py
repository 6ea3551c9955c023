"""Reads the logs of the partitions that a member holds, from where each was left, and goes on with what comes."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Final, TypeAlias

from confluent_kafka import (
    OFFSET_BEGINNING,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import ReadOnlyClient, answered_offset
from srfix.serde.subjects.names import Topic

_TOGETHER: Final = 2_000
"""How many messages are taken together."""
_POLL_S: Final = 0.05
_AGAIN_S: Final = 1.0
_TIMEOUT_S: Final = 5.0
_NEVER: Final = float("inf")
_MADE_AGAIN: Final = "its topic was deleted and made again"
_FETCHED_KBYTES: Final = 16_384
"""How much the client reads ahead: the broker is asked for no more until these are applied."""

Place: TypeAlias = tuple[Topic, int]
Committed: TypeAlias = Callable[[str, Collection[Place]], Mapping[Place, int | None]]
"""A group and partitions → the offsets that it has committed."""


class Follower:
    """One consumer, on a thread of its own, for the partitions of a store. It joins no group and commits nothing.

    Whatever fails is read again, from the offset that a partition has: a record is passed over only if it was applied.

    :param committed: asked for a store that is read up to the committed offsets.
    :raises UsageError: if librdkafka does not take the configuration.
    """

    def __init__(self, client: ReadOnlyClient, served: ServedStore, *, committed: Committed) -> None:
        self._client = client
        self._served = served
        self._committed = committed
        self._topic_id = served.topic_id
        """That of the topic whose records were read; None if topics have none."""
        self._parts: dict[int, ServedPartition] = {}
        self._has_changed = False
        self._met: dict[int, int] = {}
        """Where the consumer met the end of a log, of which every record before it was applied."""
        self._waiting: dict[int, float] = {}
        """Partitions that are not read now, and when they are again; `_NEVER` for one that waits until its limit moves."""
        self._is_over = Event()
        self._lock = Lock()
        self.added = range(0)
        """The partitions that the topic got since it was looked at: nobody reads them."""
        self._problem: SrfixError | None = None
        """Why nothing more is read, or None. It is tried again."""
        self._admin = client.admin()
        self._consumer = client.consumer(
            isolation_level=served.isolation.value,
            enable_partition_eof="true",
            auto_offset_reset="error",
            queued_max_messages_kbytes=str(_FETCHED_KBYTES),
            fetch_wait_max_ms="100",
            fetch_queue_backoff_ms="10",  # by default a full queue costs a second
        )
        self._thread = Thread(target=self._run, name=f"srfix-serve-{served.name}", daemon=True)
        self._thread.start()

    def follow(self, partitions: Iterable[ServedPartition]) -> None:
        """From now on reads these partitions, and no others; those that are left out may be closed when it returns."""
        with self._lock:
            before, self._parts = self._parts, {part.number: part for part in partitions}
            self._has_changed = True
            if self._topic_id != self._served.topic_id:
                for number in self._parts.keys() - before.keys():
                    self._parts[number].start_anew(_MADE_AGAIN)

    def look(self) -> None:
        """Asks where the logs end, or up to where they are to be read, and waits for the answer.

        :raises SrfixError: if this is not known of each partition, or if nothing more can be read.
        """
        parts, asked_s = self._parts, time.monotonic()
        places = [(self._served.topic, number) for number in parts]
        problem = self._problem
        try:
            self._see_topic()
        except SrfixError as error:
            problem = error
        if self._served.until is Until.COMMITTED:
            application, topic = self._served.application, self._served.topic
            offsets = self._committed(application, places)
            if set(offsets.values()) == {None} and all(part.end is None for part in parts.values()):
                next(iter(parts.values())).notes.append(
                    f"{application} has committed no offset of {topic}, so that a restore loads no rows. With --until end "
                    "srfix shows all"
                )
            for (_topic, number), offset in offsets.items():
                parts[number].see_end(offset or 0, asked_s)
        elif places:
            futures = self._admin.list_offsets(
                {TopicPartition(*place): OffsetSpec.latest() for place in places},
                isolation_level=IsolationLevel[self._served.isolation.name],
                request_timeout=_TIMEOUT_S,
            )
            for asked, future in futures.items():
                try:
                    parts[asked.partition].see_end(answered_offset(future.result(_TIMEOUT_S + 1)), asked_s)
                except (KafkaException, TimeoutError) as error:
                    problem = problem or self._client.failed(
                        f"asking for the end of {asked.topic}[{asked.partition}]", error
                    )
        if problem is not None:
            raise problem

    def _see_topic(self) -> None:
        """Reads the topic from its start if it is not the one that was read before, by its id."""
        topic = self._served.topic
        if self._topic_id is None:
            return
        (future,) = self._admin.describe_topics(TopicCollection([topic]), request_timeout=_TIMEOUT_S).values()
        try:
            described = future.result(_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as error:
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise ClusterError(
                    f"There is no topic {topic!r} any more. Its rows stay as they are. If it is made again, srfix reads it "
                    "from its start."
                ) from None
            acl = f"Describe on topic {topic!r}"
            raise self._client.failed(f"asking about the topic {topic!r}", error, acl=acl) from None
        if str(described.topic_id) != self._topic_id:
            with self._lock:
                self._has_changed = True
                for part in self._parts.values():
                    part.start_anew(_MADE_AGAIN)
                self._topic_id = str(described.topic_id)
        count, now = self._served.partitions, len(described.partitions)
        self.added = range(count, now)
        if count != now:
            raise ClusterError(
                f"The topic {topic!r} has {counted(now, 'partition')} now, and had {count}, so that keys may be where this "
                "member does not look. Restart `srfix serve`."
            )

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                messages = self._consumer.consume(_TOGETHER, _POLL_S)
                self._problem = None
                with self._lock:
                    if self._has_changed:
                        self._begin()
                    else:
                        self._take(messages)
                    self._go_on()
            except Exception as error:  # noqa: BLE001  (of whatever kind: the thread must not end in silence)
                failed = self._client.failed("following the topics", error)
                self._problem = error if isinstance(error, SrfixError) else failed
                self._has_changed = True
                self._is_over.wait(_AGAIN_S)

    def _begin(self) -> None:
        self._consumer.unassign()
        with suppress(KafkaException):  # otherwise the client asks about a topic that is new to it only after a while
            self._consumer.list_topics(self._served.topic, timeout=_AGAIN_S)
        self._waiting = dict.fromkeys(self._parts, 0.0)
        self._has_changed = False

    def _take(self, messages: list[Message]) -> None:
        batches: dict[int, list[Message]] = defaultdict(list)
        events: list[Message] = []
        for message in messages:
            (events if message.error() is not None else batches[message.partition() or 0]).append(message)
        for number, batch in batches.items():
            if number not in self._waiting:
                self._apply(self._parts[number], batch)
        for event in events:
            self._take_event(event)

    def _apply(self, part: ServedPartition, batch: list[Message]) -> None:
        given = (batch[-1].offset() or 0) + 1
        after = min(given, self._limit(part))
        try:
            if part.offset < after:
                if part.offset > (batch[0].offset() or 0) or after < given:
                    batch = [message for message in batch if part.offset <= (message.offset() or 0) < after]
                part.apply(batch, offset=after)
            part.problem = None
        except SrfixError as error:
            part.problem = error.message
        if part.offset < after:
            self._wait(part, time.monotonic() + _AGAIN_S)  # it failed, or another member has written, and is not as far
        elif after < given:
            self._wait(part, _NEVER)

    def _limit(self, part: ServedPartition) -> int:
        return part.end or 0 if self._served.until is Until.COMMITTED else sys.maxsize

    def _wait(self, part: ServedPartition, until_s: float) -> None:
        self._consumer.incremental_unassign([TopicPartition(self._served.topic, part.number)])
        self._waiting[part.number] = until_s

    def _go_on(self) -> None:
        """Reads on, from the offset that a partition has, where it was time to wait for. Goes to the end of a log, or to its
        limit, if no record is before it: what ends a transaction has offsets, but no record, and neither has what was
        compacted away."""
        for number, part in self._parts.items():
            until_s = self._waiting.get(number)
            if until_s is None:
                end = min(self._met.get(number, 0), self._limit(part))
                if part.offset < end:
                    part.apply((), offset=end)
            elif until_s <= time.monotonic() or (until_s == _NEVER and part.offset < self._limit(part)):
                start = TopicPartition(self._served.topic, number, part.offset or OFFSET_BEGINNING)
                self._consumer.incremental_assign([start])
                del self._waiting[number]
                self._met.pop(number, None)

    def _take_event(self, message: Message) -> None:
        error, number, topic = message.error(), message.partition(), message.topic()
        part = self._parts.get(-1 if number is None else number)
        if error is None:
            return
        if error.code() == KafkaError._PARTITION_EOF:
            if part is not None and part.number not in self._waiting:
                self._met[part.number] = message.offset() or 0
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            if part is not None:
                part.start_anew(f"its log does not have, or no longer has, the offset {part.offset}")
                self._wait(part, 0.0)
        elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED and not error.retriable():  # it is in no group
            failed = self._client.failed(f"reading {topic}[{number}]", error, acl=f"Read on topic {topic!r}")
            if part is None:
                self._problem = failed
            else:
                part.problem = failed.message  # librdkafka says it once; it holds until records come
