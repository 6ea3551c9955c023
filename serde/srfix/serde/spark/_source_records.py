"""Ranges of offsets → records, some at a time, as columns. Runs in Spark's workers."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.arrow._pyarrow import pyarrow
from srfix.serde.errors import DataLossError, UsageError
from srfix.serde.kafka_client import ReadOnlyClient
from srfix.serde.spark._source_log import kafka_config
from srfix.serde.spark._source_offsets import OffsetRange
from srfix.serde.spark._source_options import Isolation

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message

__all__ = ["RecordReader", "record_type"]

_PREFETCH: Final = {"queued.max.messages.kbytes": "4096", "fetch.queue.backoff.ms": "20"}
"""librdkafka's defaults fetch 64 MiB ahead and then look again after a second. The user's settings go before."""
_AT_A_TIME: Final = 500
"""Where `consume` costs least per record."""
_POLL_S: Final = 0.1
_MOST_BYTES: Final = 2**25
"""A batch is not made longer from this many bytes of values on."""
_LOG_APPEND_TIME: Final = 2
"""librdkafka counts timestamp types from 0 for none, Kafka and Spark from -1."""


def record_type(name: str) -> pa.DataType:
    """The Arrow type of a record's column, as Spark's Kafka source has it."""
    pa = pyarrow()
    return {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReader:
    """Reads ranges of one topic, each with a consumer of its own: assigned, never subscribed, nothing committed."""

    topic: str
    """The topic."""
    kafka: Mapping[str, str]
    """Client properties, librdkafka's names; values may be `env:NAME` or `file:PATH`."""
    isolation: Isolation
    """Whether records of open and aborted transactions are read."""
    fail_on_data_loss: bool
    """Whether records that are gone are an error."""
    poll_timeout_s: float
    """How long no record may come, in seconds."""

    def read(self, range_: OffsetRange, names: Collection[str], at_a_time: int) -> Iterator[pa.RecordBatch]:
        """The records of a range, in order: batches with the columns of these names.

        A range ends by position, so markers of transactions and compacted records at its end are not waited for.

        :raises DataLossError: if records are gone and that is to be an error.
        :raises ClusterError: if no record comes for `poll_timeout_s`, or the cluster refuses.
        :raises SecretError: if a reference among the properties cannot be read.
        :raises UsageError: if librdkafka refuses the properties, or confluent-kafka is not installed.
        """
        client = ReadOnlyClient({**_PREFETCH, **kafka_config(self.kafka)})
        consumer = self._open(client, range_)
        waiting: list[Message] = []
        bytes_ = 0
        try:
            for some in self._consumed(client, consumer, range_, min(_AT_A_TIME, at_a_time)):
                if (waiting and len(waiting) + len(some) > at_a_time) or bytes_ >= _MOST_BYTES:
                    yield _batch(self.topic, waiting, names)
                    waiting, bytes_ = [], 0
                waiting += some
                bytes_ += sum(map(len, some))
            if waiting:
                yield _batch(self.topic, waiting, names)
        finally:
            consumer.close()

    def _open(self, client: ReadOnlyClient, range_: OffsetRange) -> Consumer:
        try:
            from confluent_kafka import Consumer, KafkaException, TopicPartition
        except ImportError as error:
            raise UsageError(
                f"Reading a topic needs confluent-kafka on the workers, which cannot be imported ({error}). Install it "
                "there, or read the topic by Spark's own Kafka source."
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
            records = [message for message in some if message.error() is None]
            if records:
                position = _offset(records[-1]) + 1
                if position > range_.end:
                    records = records[: bisect_left(records, range_.end, key=_offset)]
                yield records
            for message in some:
                if message.error() is not None and position < range_.end:
                    position = max(position, self._heeded(client, message, position, range_))

    def _heeded(self, client: ReadOnlyClient, event: Message, position: int, range_: OffsetRange) -> int:
        """Where the read stands after what is not a record."""
        from confluent_kafka import KafkaError

        error = event.error()
        assert error is not None
        where = f"{self.topic}[{range_.partition}]"
        if error.code() == KafkaError._PARTITION_EOF:
            end = _offset(event)
            if end >= range_.end or not self.fail_on_data_loss:
                return max(end, range_.end)
            raise self._lost(f"{where} ends at offset {end} now; it was to be read up to {range_.end}", range_)
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise self._lost(f"the offset {position} of {where} is gone", range_)
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED or error.retriable():
            return position  # a group is named to please librdkafka only
        raise client.failed(f"reading {where} at offset {position}", error, acl=f"Read on topic {self.topic!r}")

    def _lost(self, what: str, range_: OffsetRange) -> DataLossError:
        return DataLossError(
            f"Records were lost before they were read: {what}. Read again from what is there, or go on without them by "
            "failOnDataLoss=false.",
            topic=self.topic,
            partition=range_.partition,
        )


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _batch(topic: str, messages: Sequence[Message], names: Collection[str]) -> pa.RecordBatch:
    pa = pyarrow()
    arrays = [_COLUMNS[name](topic, messages) for name in names]
    fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _timestamps(messages: Sequence[Message]) -> pa.Array:
    pa = pyarrow()
    stamps = (message.timestamp() for message in messages)
    # Without a timestamp Kafka says -1, and so does Spark: a millisecond before the epoch.
    times = [milliseconds * 1000 if kind else -1000 for kind, milliseconds in stamps]
    return pa.array(times, pa.int64()).cast(record_type("timestamp"))


def _headers(messages: Sequence[Message]) -> pa.Array:
    pa = pyarrow()
    # None where there are none, as Spark's source has it.
    headers = [_pairs(message) or None for message in messages]
    return pa.array(headers, record_type("headers"))


def _pairs(message: Message) -> list[dict[str, object]]:
    headers = cast("Sequence[tuple[str, bytes | None]]", message.headers() or ())
    return [{"key": name, "value": value} for name, value in headers]


_COLUMNS: Final[Mapping[str, Callable[[str, Sequence[Message]], pa.Array]]] = {
    "key": lambda _, messages: pyarrow().array([message.key() for message in messages], record_type("key")),
    "value": lambda _, messages: pyarrow().array([message.value() for message in messages], record_type("value")),
    "topic": lambda topic, messages: pyarrow().repeat(topic, len(messages)),
    "partition": lambda _, messages: pyarrow().array([message.partition() for message in messages], pyarrow().int32()),
    "offset": lambda _, messages: pyarrow().array([message.offset() for message in messages], pyarrow().int64()),
    "timestamp": lambda _, messages: _timestamps(messages),
    "timestampType": lambda _, messages: pyarrow().array(
        [message.timestamp()[0] - 1 for message in messages], pyarrow().int32()
    ),
    "headers": lambda _, messages: _headers(messages),
}
