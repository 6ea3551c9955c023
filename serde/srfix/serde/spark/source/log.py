"""A topic in Kafka: its partitions and ends, asked on the driver; in Spark's workers, offsets → records."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from srfix.serde.arrow.types import arrow_type, pyarrow
from srfix.serde.errors import ClusterError, DataLossError, UsageError
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient, answered_offset
from srfix.serde.registry.secret import revealed
from srfix.serde.spark.source.offsets import Log, OffsetRange
from srfix.serde.spark.source.options import RECORD

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message
    from confluent_kafka.admin import AdminClient

_Answer = TypeVar("_Answer")

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
                    described = self._answer(future)
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
            if lacking := sorted(set(self._only or ()) - set(numbers)):
                raise UsageError(
                    f"The option assign names partition {lacking[0]} of the topic {self._topic!r}, but the topic has "
                    f"only {', '.join(map(str, numbers))}."
                )
            return None if topic_id is None else str(topic_id), numbers if self._only is None else list(self._only)

    def _offsets(self, partitions: list[int], spec: object) -> Mapping[int, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        futures = self._open().list_offsets(
            {TopicPartition(self._topic, partition): spec for partition in partitions},  # type: ignore[misc]
            isolation_level=IsolationLevel[self._isolation.name],
            request_timeout=_TIMEOUT_S,
        )
        with self._failures(f"asking for the offsets of the topic {self._topic!r}"):
            answers = {place.partition: answered_offset(self._answer(future)) for place, future in futures.items()}
        return dict(sorted(answers.items()))

    def _open(self) -> AdminClient:
        if self._admin is None:
            self._admin = _admin_of(self._client)
        self._admin.poll(0)  # librdkafka calls its error callback here
        return self._admin

    def _answer(self, future: Future[_Answer]) -> _Answer:
        """A refused log-in ends the wait. librdkafka tries again until the request's own time is over."""
        self._client.authentication_failed = False  # a stream goes on after a refusal that was over before this request
        deadline = time.monotonic() + _TIMEOUT_S + 1
        while True:
            try:
                return future.result(timeout=_POLL_S)
            except FutureTimeoutError:
                self._open()
                if self._client.authentication_failed or time.monotonic() > deadline:
                    raise

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            self._open()
            raise self._client.failed(doing, error, acl=f"Describe on topic {self._topic!r}") from None
        except FutureTimeoutError:
            is_sent = not self._client.authentication_failed
            why = f"no answer within {_TIMEOUT_S:g} s" if is_sent else "the request was not sent"
            raise self._client.failed(doing, why) from None


def _admin_of(client: ReadOnlyClient) -> AdminClient:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    # librdkafka warns about a consumer's properties on other clients.
    config = {name: value for name, value in client.config().items() if name not in _FOR_CONSUMERS}
    try:
        return AdminClient(config)
    except (KafkaException, TypeError, ValueError) as error:
        raise client.refused_config(error) from None


_PREFETCH: Final = {"queued.max.messages.kbytes": "4096", "fetch.queue.backoff.ms": "20"}
"""librdkafka's defaults fetch 64 MiB ahead and then check again after a second. The user's settings win."""
_AT_A_TIME: Final = 500
"""With this number, `consume` takes the least time per record."""
_POLL_S: Final = 0.1
_MOST_BYTES: Final = 2**25
"""A batch ends when its values have this number of bytes."""
_Headers: TypeAlias = "list[tuple[str, bytes | None]]"


def record_type(name: str) -> pa.DataType:
    return next(arrow_type(column.type, name) for column in RECORD if column.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReader:
    """Each range has its own consumer, which is assigned, never subscribed, and commits nothing."""

    topic: str
    kafka: Mapping[str, str] = field(repr=False)
    isolation: Isolation
    fail_on_data_loss: bool
    poll_timeout_s: float

    def read(self, range_: OffsetRange, names: Collection[str], at_a_time: int) -> Iterator[pa.RecordBatch]:
        """A range ends by position, so it does not wait for transaction markers or compacted records at its end."""
        client = ReadOnlyClient({**_PREFETCH, **kafka_config(self.kafka)})
        consumer = self._open(client, range_)
        waiting: list[Message] = []
        bytes_ = 0
        try:
            for some in self._consumed(client, consumer, range_, min(_AT_A_TIME, at_a_time)):
                if (waiting and len(waiting) + len(some) > at_a_time) or bytes_ >= _MOST_BYTES:
                    yield _batch(self.topic, range_.partition, waiting, names)
                    waiting, bytes_ = [], 0
                waiting += some
                bytes_ += sum(map(len, some))
            if waiting:
                yield _batch(self.topic, range_.partition, waiting, names)
        finally:
            consumer.close()

    def _open(self, client: ReadOnlyClient, range_: OffsetRange) -> Consumer:
        try:
            from confluent_kafka import Consumer, KafkaException, TopicPartition
        except ImportError as error:
            raise UsageError(
                f"Reading a topic needs confluent-kafka on the workers, which cannot be imported ({error}). Install "
                "it there, or read the topic with Spark's own Kafka source."
            ) from error
        try:
            consumer = Consumer(
                client.config(
                    isolation_level=self.isolation.value,
                    enable_partition_eof="true",
                    auto_offset_reset="error" if self.fail_on_data_loss else "earliest",
                    check_crcs="true",
                )
            )
        except (KafkaException, TypeError, ValueError) as error:
            raise client.refused_config(error) from None
        consumer.assign([TopicPartition(self.topic, range_.partition, range_.start)])
        return consumer

    def _consumed(
        self, client: ReadOnlyClient, consumer: Consumer, range_: OffsetRange, at_a_time: int
    ) -> Iterator[list[Message]]:
        position = range_.start
        silent_s = 0.0
        while position < range_.end:
            began = time.monotonic()
            some = consumer.consume(min(at_a_time, range_.end - position), _POLL_S)
            silent_s = 0.0 if some else silent_s + min(time.monotonic() - began, _POLL_S)
            if silent_s >= self.poll_timeout_s:
                raise client.failed(
                    f"reading {self.topic}[{range_.partition}]",
                    f"no record for {self.poll_timeout_s:g} s at offset {position} of {range_.end} "
                    "(kafkaConsumer.pollTimeoutMs)",
                )
            events = [message for message in some if message.error() is not None] if any(map(_error, some)) else []
            records = [message for message in some if message.error() is None] if events else some
            if records:
                position = _offset(records[-1]) + 1
                if position > range_.end:
                    records = records[: bisect_left(records, range_.end, key=_offset)]
                yield records
            for event in events:
                if position < range_.end:
                    position = max(position, self._heeded(client, event, position, range_))

    def _heeded(self, client: ReadOnlyClient, event: Message, position: int, range_: OffsetRange) -> int:
        from confluent_kafka import KafkaError

        error = event.error()
        assert error is not None
        where = f"{self.topic}[{range_.partition}]"
        if error.code() == KafkaError._PARTITION_EOF:
            end = _offset(event)
            if end >= range_.end or not self.fail_on_data_loss:
                return max(end, range_.end)
            raise self._lost(f"{where} now ends at offset {end}, but srfix was to read up to {range_.end}", range_)
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise self._lost(f"the offset {position} of {where} is gone", range_)
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED or error.retriable():
            return position  # a group is named only because librdkafka requires one
        raise client.failed(f"reading {where} at offset {position}", error, acl=f"Read on topic {self.topic!r}")

    def _lost(self, what: str, range_: OffsetRange) -> DataLossError:
        return DataLossError(
            f"Records were lost before they were read: {what}. Read again from the records that are left, or set "
            "failOnDataLoss=false to continue without the lost records.",
            topic=self.topic,
            partition=range_.partition,
        )


# Functions of the class, so that `map` makes the columns: a Python loop would take as long as the read. The types do
# not distinguish records from events, which lack some values.
_error = cast("Callable[[Message], object]", methodcaller("error"))
_offset = cast("Callable[[Message], int]", methodcaller("offset"))


def _batch(topic: str, partition: int, messages: Sequence[Message], names: Collection[str]) -> pa.RecordBatch:
    pa = pyarrow()
    columns: dict[str, Sequence[object]] = {}
    constant: dict[str, Any] = {}
    for name in names:
        match name:
            case "topic":
                constant[name] = pa.repeat(topic, len(messages))
            case "partition":
                constant[name] = pa.repeat(pa.scalar(partition, record_type(name)), len(messages))
            case "timestamp" | "timestampType" if name not in columns:
                columns |= zip(("timestampType", "timestamp"), _timestamps(messages), strict=True)
            case "headers":
                columns[name] = _headers(messages)
            case "key" | "value" | "offset":
                columns[name] = list(map(methodcaller(name), messages))
    arrays = [constant[name] if name in constant else pa.array(columns[name], record_type(name)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _timestamps(messages: Sequence[Message]) -> tuple[list[int], list[int]]:
    kinds, milliseconds = zip(*map(methodcaller("timestamp"), messages), strict=True)
    # librdkafka's number for "no timestamp" is 0, Kafka's and Spark's is -1. Without a timestamp, both give -1 ms.
    times = [time_ms * 1000 if kind else -1000 for kind, time_ms in zip(kinds, milliseconds, strict=True)]
    return [kind - 1 for kind in kinds], times


def _headers(messages: Sequence[Message]) -> list[list[dict[str, object]] | None]:
    """None if there are no headers, as in Spark's source."""
    headers = list(map(cast("Callable[[Message], _Headers | None]", methodcaller("headers")), messages))
    if not any(headers):
        return [None] * len(messages)
    return [[{"key": name, "value": value} for name, value in pairs] if pairs else None for pairs in headers]
