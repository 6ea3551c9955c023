"""Rows → a topic: the decisions of `format("srfix")` before it writes, and the work of its tasks. A record is written at
least once: a task that fails half-way runs again from its start. No pyspark here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.arrow.types import pyarrow, pyarrow_compute, reason_fields
from srfix.serde.column_sources.from_spark import columns_from_spark
from srfix.serde.errors import ClusterError, EncodeError, Reason, UsageError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.spark.frame_types import FrameField, fields_of, struct_of
from srfix.serde.spark.interface import reason_columns
from srfix.serde.spark.source.frame import fixed_subject, registry_of
from srfix.serde.spark.source.log import TopicLog, kafka_config
from srfix.serde.spark.source.names import Tombstones, in_options_words
from srfix.serde.spark.source.options import SourceOptions
from srfix.serde.spark.worker.encode import plan_encoder
from srfix.serde.spark.worker.pickled import made_once
from srfix.serde.spark.write.plan import WritePlan, plan_write
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import KafkaError, Message, Producer

_WRITABLE: Final = ("key", "value", "partition", "timestamp", "headers")
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "partition": ("integer",),
    "timestamp": ("timestamp",),
}
_FORCED: Final[Mapping[str, str | bool]] = {
    "acks": "all",
    "enable.idempotence": True,
    "allow.auto.create.topics": False,
    "log_level": "0",
}
_DEFAULTS: Final[Mapping[str, str]] = {"partitioner": "murmur2_random", "linger.ms": "50"}
"""Java's partitioner puts equal keys where other writers put them. The user's settings win."""
_SHOWN_FAILURES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """Picklable."""

    topic: str
    kafka: Mapping[str, str] = field(repr=False)
    plan: bytes | None
    """None for raw records."""
    role: Role
    rows: tuple[str, ...]
    metadata: Mapping[str, str]
    """The record's column → the frame's."""
    reason: str | None
    mark: str | None
    writes_tombstones: bool

    def write(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Returns when each record is acknowledged."""
        delivery = _Delivery(self.topic, self.kafka)
        try:
            for batch in batches:
                delivery.send(self._records(batch))
        finally:
            # Records that were sent before an error stay sent. In both cases no record stays in flight.
            delivery.producer.flush()
        return delivery.done()

    def _records(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        columns = {name: self._metadata(batch, name, column) for name, column in self.metadata.items()}
        if self.plan is not None:
            columns[self.role.value] = self._payloads(batch, self.plan).to_pylist()
        if (self.plan is None or self.role is Role.KEY) and not self.writes_tombstones and None in columns["value"]:
            position = columns["value"].index(None)
            raise EncodeError(f"Row {position} of the batch: the value is NULL. {_TO_DELETE}")
        names = list(columns)
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))

    def _metadata(self, batch: pa.RecordBatch, name: str, column: str) -> list[object]:
        pa, array = pyarrow(), batch.column(column)
        if name in ("key", "value"):
            return array.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]
        if name == "timestamp":
            milliseconds = array.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
            return [0 if value is None else value for value in milliseconds.to_pylist()]
        if name == "partition":
            return [-1 if value is None else value for value in array.to_pylist()]
        return [[(pair["key"], pair["value"]) for pair in pairs or ()] for pairs in array.to_pylist()]

    def _payloads(self, batch: pa.RecordBatch, plan: bytes) -> pa.Array:
        rows = batch.select(list(self.rows))
        is_nothing = reduce(pyarrow_compute().and_, (column.is_null() for column in rows.columns))
        nothing = self._tombstones(batch, is_nothing.to_pylist())
        if not self.writes_tombstones and any(nothing):
            position = nothing.index(True)
            is_said = self.reason is not None and batch.column(self.reason)[position].is_valid
            problem = f"{self.reason} is TOMBSTONE" if is_said else f"{self.mark} is true"
            raise EncodeError(f"Row {position} of the batch: {problem}. {_TO_DELETE}")
        return plan_encoder(plan).payloads(rows, nothing)

    def _tombstones(self, batch: pa.RecordBatch, empty: list[bool]) -> list[bool]:
        """The tombstones: rows that are marked as tombstones, and are null in every column."""
        words = [None] * len(empty) if self.reason is None else batch.column(self.reason).to_pylist()
        marks = [None] * len(empty) if self.mark is None else batch.column(self.mark).to_pylist()
        for position, word in enumerate(words):
            if word is not None and word != Reason.TOMBSTONE.value:
                raise EncodeError(
                    f"Row {position} of the batch could not be read ({self.reason} is {word}), so there is nothing to "
                    "write. Leave such rows out."
                )
        if self.reason is None and self.mark is None and any(empty):
            raise EncodeError(
                f"Row {empty.index(True)} of the batch: every column is NULL. It may have been a tombstone, a row that could "
                "not be read or a row of nulls. Keep the column _srfix_reason of the frame that was read, or add a column "
                "_srfix_reason STRING (TOMBSTONE for a tombstone, NULL for a row of nulls)."
            )
        return [
            is_empty and (word is not None or bool(mark))
            for is_empty, word, mark in zip(empty, words, marks, strict=True)
        ]


_TO_DELETE: Final = "If srfix wrote this row, the row would delete its key. Leave it out, or set tombstones=write."


class _Delivery:
    def __init__(self, topic: str, properties: Mapping[str, str]) -> None:
        try:
            from confluent_kafka import KafkaException, Producer
        except ImportError as error:
            raise UsageError(
                f"Writing a topic needs confluent-kafka on the workers, which cannot be imported ({error}). Install "
                "it there, or write with Spark's own Kafka sink."
            ) from error
        self._topic = topic
        self._sent = 0
        self._failed = 0
        self._failures: dict[str, None] = {}
        config = kafka_config(properties)
        try:
            # A client-level error shows up as failed deliveries.
            self.producer: Producer = Producer({**_DEFAULTS, **config, **_FORCED, "error_cb": lambda _: None})
        except (KafkaException, TypeError, ValueError) as error:
            raise ReadOnlyClient(config).refused_config(error) from None  # it hides secrets

    def send(self, records: Iterator[dict[str, Any]]) -> None:
        for record in records:
            while True:
                try:
                    self.producer.produce(self._topic, on_delivery=self._delivered, **record)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self._sent += 1
        self.producer.poll(0)
        if self._failed:
            self.done()

    def done(self) -> int:
        if self._failed:
            raise ClusterError(
                f"{self._failed} of {self._sent} records were not written to the topic {self._topic!r}: "
                f"{'; '.join(self._failures)}. The other records may have been written; if you write them again, the topic "
                "may have them twice."
            )
        return self._sent

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            if len(self._failures) < _SHOWN_FAILURES:
                self._failures[f"partition {message.partition()}: {error.str()}"] = None


def planned_write(options: SourceOptions, schema: Mapping[str, object], *, overwrite: bool) -> bytes:
    """When this returns, the subject holds the schema, and the topic exists."""
    if overwrite:
        raise UsageError('srfix cannot overwrite a topic, only append to it. Give .mode("append").')
    fields = {field.name: field for field in fields_of(schema)}
    metadata = _raw_metadata(fields) if options.is_raw else _metadata(options, fields)
    for name, column in metadata.items():
        if name in _TYPES and fields[column].type not in _TYPES[name]:
            raise UsageError(
                f"The column {column!r} must be {' or '.join(_TYPES[name])}, to be the record's {name}. Cast it."
            )
    abouts: tuple[str, ...] = ()
    mark: str | None = None
    rows: tuple[str, ...] = ()
    if not options.is_raw:
        abouts, mark = _abouts(fields), reason_columns(options.role).tombstone
        if mark not in fields or fields[mark].type != "boolean":
            mark = None
        rows = tuple(name for name in fields if name not in {*metadata.values(), *abouts, mark})
        if not rows:
            raise UsageError(
                "All columns of the frame are metadata, reasons or the tombstone mark, so no column is left for the row. "
                "Add the row's columns, or write format=raw, which encodes nothing."
            )
    topic = options.required_topic()
    TopicLog(options.kafka, topic, options.isolation).partitions()
    task = WriteTask(
        topic=topic,
        kafka=dict(options.kafka),
        plan=None if options.is_raw else pickle.dumps(_plan(options, [fields[name] for name in rows])),
        role=options.role,
        rows=rows,
        metadata=metadata,
        reason=abouts[0] if abouts else None,
        mark=mark,
        writes_tombstones=options.tombstones is Tombstones.WRITE,
    )
    return pickle.dumps(task)


def _plan(options: SourceOptions, fields: Sequence[FrameField]) -> WritePlan:
    assert options.format is not None
    with in_options_words():
        return plan_write(
            registry_of(options),
            options.required_topic(),
            columns_from_spark(struct_of(fields), names="keep") if options.columns is None else options.columns,
            role=options.role,
            format=options.format,
            subjects=fixed_subject(options),
            case_rule=options.case_rule,
            wrap=options.wrap,
            register=options.register,
            times=options.times,
            delimiter=options.delimiter,
        )


def _raw_metadata(fields: Mapping[str, FrameField]) -> dict[str, str]:
    extra_columns = [name for name in fields if name not in _WRITABLE]
    if extra_columns or "value" not in fields:
        problem = (
            f"also has {', '.join(extra_columns)}. Drop or rename these"
            if extra_columns
            else "lacks the column value. Add it"
        )
        raise UsageError(
            f"To write raw records, the frame may have only the columns {', '.join(_WRITABLE)}, and must have the "
            f"column value; it {problem}."
        )
    return {name: name for name in _WRITABLE if name in fields}


def _metadata(options: SourceOptions, fields: Mapping[str, FrameField]) -> dict[str, str]:
    wanted = tuple(name for name in options.metadata or () if name != options.role.value)
    other = Role.KEY.value if options.role is Role.VALUE else Role.VALUE.value
    writable = (other, *(name for name in _WRITABLE if name not in ("key", "value")))
    columns = {name: f"{options.metadata_prefix}{name}" for name in wanted}
    for name, column in columns.items():
        if name not in writable:
            raise UsageError(
                f"srfix cannot write a record's {name}. The metadata that it can write is "
                f"{', '.join(sorted(writable))}. Drop the column {column!r} and leave it out of metadata."
            )
        if column not in fields:
            raise UsageError(f"metadata names the column {column!r}, but the frame has only {', '.join(fields)}.")
    if options.role is Role.KEY and "value" not in columns:
        raise UsageError("A record with only a key would be a tombstone. Add the word value to the option metadata.")
    return columns


def _abouts(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Only with the column of reasons; their names are those of this source."""
    names = astuple(reason_fields(()))
    return tuple(name for name in names if name in fields) if names[0] in fields else ()


task_writer: Callable[[bytes], Callable[[Iterable[pa.RecordBatch]], int]] = made_once(attrgetter("write"))
