"""Ranges of offsets → records, some at a time, as columns. Also captured topics: Parquet files with the columns of
Spark's Kafka source, as `df.write.parquet(…)` writes such a frame. Runs in Spark's workers."""

from __future__ import annotations

import pickle
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from srfix.serde.arrow.types import pyarrow
from srfix.serde.errors import DataLossError, UsageError
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient
from srfix.serde.spark.source.log import kafka_config
from srfix.serde.spark.source.offsets import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message


_PREFETCH: Final = {"queued.max.messages.kbytes": "4096", "fetch.queue.backoff.ms": "20"}
"""librdkafka's defaults fetch 64 MiB ahead and then check again after a second. The user's settings win."""
_AT_A_TIME: Final = 500
"""With this number, `consume` takes the least time per record."""
_POLL_S: Final = 0.1
_MOST_BYTES: Final = 2**25
"""A batch ends when its values have this number of bytes."""
_Headers: TypeAlias = "list[tuple[str, bytes | None]]"


def record_type(name: str) -> pa.DataType:
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
            "failOnDataLoss=false to continue without the lost ones.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTopic:
    parts: tuple[bytes, ...]
    names: frozenset[str]
    """The columns of the files; a folder's name may also give a column (`topic=users/`)."""


def captured_topic(path: str, names: Collection[str]) -> CapturedTopic:
    """A path on this machine and on the workers, or the URI of a file system that pyarrow knows (s3, gs, hdfs)."""
    dataset = _dataset()
    place = path if "://" in path else str(Path(path.removeprefix("file:")).absolute())
    try:
        # Spark's own files (_SUCCESS, .crc) are skipped.
        files = dataset.dataset(place, format="parquet", partitioning="hive")
    except (OSError, ValueError, pyarrow().ArrowException) as error:
        raise UsageError(
            f"The captured topic at {path!r} cannot be read: {error}. Give a Parquet file or a folder of them, with the "
            "columns of Spark's Kafka source."
        ) from error
    lacking = [name for name in names if name not in files.schema.names]
    if lacking:
        raise UsageError(
            f"The captured topic at {path!r} lacks the column {lacking[0]!r}; it has {', '.join(files.schema.names)}. Capture "
            "it by writing the frame of Spark's Kafka source, or leave the column out."
        )
    return CapturedTopic(
        parts=tuple(pickle.dumps(part) for fragment in files.get_fragments() for part in fragment.split_by_row_group()),
        names=frozenset(files.schema.names),
    )


def read_part(part: bytes, names: Sequence[str], at_a_time: int, topic: str | None) -> Iterator[pa.RecordBatch]:
    pa, dataset = pyarrow(), _dataset()
    fragment = pickle.loads(part)  # noqa: S301 - the driver's, by the same way as the code that is running
    schema = fragment.physical_schema
    for name, value in dataset.get_partition_keys(fragment.partition_expression).items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.scalar(value).type))
    wanted = None if topic is None or "topic" not in schema.names else dataset.field("topic") == topic
    for batch in dataset.Scanner.from_fragment(
        fragment, schema=schema, columns=list(names), filter=wanted, batch_size=at_a_time
    ).to_batches():
        if batch.num_rows:
            arrays = [_cast(batch.column(name), name) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _cast(array: pa.Array, name: str) -> pa.Array:
    pa = pyarrow()
    type_ = record_type(name)
    try:
        if pa.types.is_timestamp(array.type) and array.type.tz is None:
            # INT96, in which Spark writes times by default, is UTC.
            array = array.cast(pa.timestamp("us")).cast(type_)
        return array if array.type == type_ else array.cast(type_)
    except pa.ArrowException as error:
        raise UsageError(
            f"The captured topic's column {name!r} is {array.type}; it must be {type_}: {error}. Write it as Spark's Kafka "
            "source gives it."
        ) from error


def _dataset() -> ModuleType:
    pyarrow()
    return import_module("pyarrow.dataset")
