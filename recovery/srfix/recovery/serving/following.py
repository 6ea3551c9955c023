"""Reads the logs of the partitions that a member holds, from where each was left, and goes on with what comes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from threading import Event, Lock, Thread
from typing import Any, Final, TypeAlias

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec, TopicDescription

from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient
from srfix.serde.subjects.names import Topic

_TOGETHER: Final = 5_000
"""How many messages are taken together."""
_POLL_S: Final = 0.05
_LOOK_EVERY_S: Final = 1.0
_AGAIN_S: Final = 1.0
_TIMEOUT_S: Final = 5.0
_NEVER: Final = float("inf")
_FOLLOWING: Final = "following the topics"
_TOPICS: Final = "asking about the topics"
_FETCHED_KBYTES: Final = 16_384
"""How much the client reads ahead: the broker is asked for no more until these are applied."""

Place: TypeAlias = tuple[Topic, int]
Committed: TypeAlias = Callable[[str, Collection[Place]], Mapping[Place, int | None]]
"""A group and partitions → the offsets that it has committed."""


class Follower:
    """One consumer, on a thread of its own, for all partitions of a member. It joins no group and commits nothing.

    Whatever fails is read again, from the offset that a partition has: a record is passed over only if it was applied.

    :param isolation: whether it reads records of aborted and open transactions.
    :param committed: asked about every second, for the stores that are read up to the committed offsets.
    """

    def __init__(self, client: ReadOnlyClient, *, isolation: Isolation, committed: Committed) -> None:
        self._client = client
        self._isolation = isolation
        self._committed = committed
        self._wanted: tuple[ServedPartition, ...] = ()
        self._parts: dict[Place, list[ServedPartition]] = {}
        self._next: dict[Place, int] = {}
        """The consumer has given every record before this offset, from the offset on at which it began."""
        self._limits: dict[Place, int] = {}
        self._ends: dict[Place, int] = {}
        """Where the consumer last met the end of a log."""
        self._waiting: dict[Place, float] = {}
        """Partitions that are paused, and when they go on; `_NEVER` for one that waits until its limit moves."""
        self._looked_s = -_NEVER
        self._asked: dict[Place, Future[ListOffsetsResultInfo]] = {}
        self._described: dict[str, Future[TopicDescription]] = {}
        self._ids: dict[str, str] = {}
        """Of topics that have an id: that of the topic whose records were read."""
        self._has_changed = Event()
        self._is_over = Event()
        self._lock = Lock()
        self._problems: dict[str, SrfixError] = {}
        """Why nothing more is read, by what found it. It is tried again."""
        try:
            self._consumer: Consumer = Consumer(
                client.config(
                    isolation_level=isolation.value,
                    enable_partition_eof="true",
                    auto_offset_reset="error",
                    queued_max_messages_kbytes=str(_FETCHED_KBYTES),
                    fetch_wait_max_ms="100",
                    fetch_queue_backoff_ms="10",  # by default a full queue costs a second
                )
            )
            self._admin: AdminClient = AdminClient(client.config())
        except (KafkaException, TypeError, ValueError) as error:
            raise client.refused_config(error) from None
        self._thread = Thread(target=self._run, name="srfix-serve-follower", daemon=True)

    @property
    def problem(self) -> SrfixError | None:
        return next(iter(self._problems.copy().values()), None)

    def start(self) -> None:
        self._thread.start()

    def follow(self, partitions: Iterable[ServedPartition]) -> None:
        """From now on reads these partitions, and no others; those that are left out may be closed when it returns."""
        with self._lock:
            self._wanted = tuple(partitions)
            self._has_changed.clear()
        while self._thread.is_alive() and not self._has_changed.wait(_POLL_S):
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
                self._look()
                for place in [place for place, until_s in self._waiting.items() if until_s <= time.monotonic()]:
                    self._go_on(place)
                messages = self._consumer.consume(_TOGETHER, _POLL_S)
                self._problems.pop(_FOLLOWING, None)
                self._take(messages)
            except Exception as error:  # noqa: BLE001  (of whatever kind: the thread must not end in silence)
                failed = self._client.failed(_FOLLOWING, error)
                self._problems[_FOLLOWING] = error if isinstance(error, SrfixError) else failed
                self._is_over.wait(_AGAIN_S)
                self._has_changed.clear()

    def _assign(self) -> None:
        with self._lock:
            self._parts = {}
            for partition in self._wanted:
                served = partition.served
                self._parts.setdefault((served.topic, partition.number), []).append(partition)
                if served.topic_id is not None:
                    self._ids.setdefault(served.topic, served.topic_id)
            for known in (self._next, self._limits, self._ends, self._waiting, self._asked):
                known.clear()
            self._consumer.assign([self._start(place) for place in self._parts])
            self._looked_s = -_NEVER
            self._has_changed.set()

    def _start(self, place: Place) -> TopicPartition:
        self._next[place] = min(part.offset for part in self._parts[place])
        return TopicPartition(*place, self._next[place] or OFFSET_BEGINNING)

    def _wait(self, place: Place, seconds: float = _NEVER) -> None:
        self._consumer.pause([TopicPartition(*place)])
        self._waiting[place] = time.monotonic() + seconds

    def _go_on(self, place: Place) -> None:
        """Reads on from the offset that its partitions have."""
        start = self._start(place)
        self._consumer.seek(start)
        self._consumer.resume([start])
        self._waiting.pop(place, None)

    def _look(self) -> None:
        """Asks about every second where the logs end, or up to where they are to be read."""
        asked: list[Future[Any]] = [*self._asked.values(), *self._described.values()]
        if asked and all(future.done() for future in asked):
            self._problems.pop(_TOPICS, None)
            for place, future in self._asked.items():
                error = future.exception()
                if error is None:
                    self._see(place, future.result().offset)
                elif isinstance(error, Exception):
                    self._problems[_TOPICS] = self._client.failed(
                        f"asking for the end of {place[0]}[{place[1]}]", error
                    )
            self._see_topics()
            self._asked, self._described = {}, {}
        if self._asked or self._described or time.monotonic() - self._looked_s < _LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        limited: dict[str, list[Place]] = defaultdict(list)
        unlimited: list[Place] = []
        for place, (part, *_others) in self._parts.items():
            (limited[part.served.application] if part.served.until is Until.COMMITTED else unlimited).append(place)
        self._ask_ends(unlimited)
        topics = TopicCollection(sorted(self._ids))
        self._described = self._admin.describe_topics(topics, request_timeout=_TIMEOUT_S) if self._ids else {}
        for group, places in limited.items():
            try:
                self._limits.update({place: offset or 0 for place, offset in self._committed(group, places).items()})
                self._problems.pop(group, None)
            except SrfixError as error:
                self._problems[group] = error
                continue
            for place in places:
                self._see(place, self._limits[place])
                if self._waiting.get(place) == _NEVER and self._next_to_apply(place) < self._limits[place]:
                    self._go_on(place)
                self._pass_gap(place)

    def _see_topics(self) -> None:
        """Reads a topic from its start if it is not the one that was read before, by its id."""
        for topic, future in self._described.items():
            error = future.exception()
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._problems[_TOPICS] = ClusterError(
                    f"There is no topic {topic!r} any more. Its rows stay as they are. If it is made again, srfix reads it "
                    "from its start."
                )
                continue
            if isinstance(error, Exception):
                acl = f"Describe on topic {topic!r}"
                self._problems[_TOPICS] = self._client.failed(f"asking about the topic {topic!r}", error, acl=acl)
                continue
            for place in [place for place in self._parts if place[0] == topic]:
                count, now = self._parts[place][0].served.partitions, len(future.result().partitions)
                if count != now:
                    self._problems[_TOPICS] = ClusterError(
                        f"The topic {topic!r} has {now} partitions now, and had {count}, so that keys may be where this member "
                        "does not look. Restart `srfix serve`."
                    )
                if str(future.result().topic_id) != self._ids[topic]:
                    for part in self._parts[place]:
                        part.start_anew("its topic was deleted and made again")
                    self._go_on(place)
            self._ids[topic] = str(future.result().topic_id)

    def _ask_ends(self, places: Collection[Place]) -> None:
        if not places:
            return
        futures = self._admin.list_offsets(
            {TopicPartition(*place): OffsetSpec.latest() for place in places},
            isolation_level=IsolationLevel[self._isolation.name],
            request_timeout=_TIMEOUT_S,
        )
        self._asked.update({(Topic(asked.topic), asked.partition): future for asked, future in futures.items()})

    def _see(self, place: Place, end: int) -> None:
        for part in self._parts[place]:
            part.see_end(end, self._looked_s)

    def _next_to_apply(self, place: Place) -> int:
        return min(part.offset for part in self._parts[place])

    def _take(self, messages: list[Message]) -> None:
        batches: dict[Place, list[Message]] = defaultdict(list)
        for message in messages:
            if message.error() is None:
                batches[message.topic(), message.partition()].append(message)  # type: ignore[index]
        for place, batch in batches.items():
            if place not in self._waiting:
                self._apply(place, batch)
        for message in messages:
            if message.error() is not None:
                self._take_event(message)

    def _apply(self, place: Place, batch: list[Message]) -> None:
        parts = self._parts[place]
        after = self._next[place] = (batch[-1].offset() or 0) + 1
        if parts[0].served.until is Until.COMMITTED:
            after = min(after, self._limits.get(place, 0))
        for part in parts:
            try:
                if part.offset < after:
                    mine = [message for message in batch if part.offset <= (message.offset() or 0) < after]
                    part.apply(mine, offset=after)
                part.problem = None
            except SrfixError as error:
                part.problem = error.message
        if self._next_to_apply(place) < after:
            self._wait(place, _AGAIN_S)  # it failed, or another member has written, and is not as far
        elif after < self._next[place]:
            self._wait(place)

    def _pass_gap(self, place: Place) -> None:
        """Goes to the end of the log, or to the limit, if no record is before it: what ends a transaction has offsets, but
        no record, and neither has what was compacted away."""
        end = self._ends.get(place, 0)
        if self._parts[place][0].served.until is Until.COMMITTED:
            end = min(end, self._limits.get(place, 0))
        if place not in self._waiting and self._next[place] <= self._next_to_apply(place):
            for part in self._parts[place]:
                if part.offset < end:
                    part.apply((), offset=end)

    def _take_event(self, message: Message) -> None:
        error = message.error()
        place = (Topic(message.topic() or ""), message.partition() or 0)
        if error is None:
            return
        if error.code() == KafkaError._PARTITION_EOF:
            if place in self._parts:
                self._ends[place] = message.offset() or 0
                self._pass_gap(place)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            for part in self._parts.get(place, ()):
                part.start_anew(f"its log does not have, or no longer has, the offset {part.offset}")
            if place in self._parts:
                self._go_on(place)
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            pass  # it is in no group
        elif not error.retriable():
            failed = self._client.failed(f"reading {place[0]}[{place[1]}]", error, acl=f"Read on topic {place[0]!r}")
            if place not in self._parts:
                self._problems[_FOLLOWING] = failed
            for part in self._parts.get(place, ()):
                part.problem = failed.message  # librdkafka says it once; it holds until records come
