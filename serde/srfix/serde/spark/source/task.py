"""The work of a task of `format("srfix")`, in Spark's workers: it decodes records with a plan, and gives batches of the
frame. Also captured topics: Parquet files with the columns of Spark's Kafka source, as `df.write.parquet(…)` writes it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from srfix.serde.arrow.types import arrow_schema, pyarrow, pyarrow_compute
from srfix.serde.errors import BadRowError, Reason, UsageError
from srfix.serde.spark.errors import BAD_ROW_END
from srfix.serde.spark.interface import OnBadRow
from srfix.serde.spark.source.frame import FieldKind, SourceFrame, spark_json
from srfix.serde.spark.source.log import RecordReader, record_type
from srfix.serde.spark.source.offsets import OffsetRange
from srfix.serde.spark.worker.decode import plan_decoder
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa

Part: TypeAlias = "tuple[int, int, int] | bytes | tuple[int, Part] | None"
"""Partition, start, end; a part of a file; a topic's number and a part; nothing. Can be unpickled without srfix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """Picklable."""

    frame: SourceFrame
    plan: bytes | None
    """None for raw records."""
    role: Role
    names: tuple[str, ...]
    topic: str | None
    """None for files with any topics."""
    records: RecordReader | None
    """None for files."""
    on_error: OnBadRow
    drops_tombstones: bool
    at_a_time: int

    def read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The batches of one part, each exactly of the frame's Arrow schema."""
        schema = _arrow_schema(self.frame)
        for records in self._records(part):
            batch = self._framed(records)
            # Spark accepts only exactly this schema.
            yield batch.cast(schema)

    def _records(self, part: Part) -> Iterator[pa.RecordBatch]:
        if part is None:
            return iter(())
        if isinstance(part, bytes):
            return read_part(part, self.names, self.at_a_time, self.topic)
        assert self.records is not None
        partition, start, end = cast("tuple[int, int, int]", part)
        return self.records.read(OffsetRange(partition=partition, start=start, end=end), self.names, self.at_a_time)

    def _framed(self, records: pa.RecordBatch) -> pa.RecordBatch:
        pa = pyarrow()
        if self.plan is None:
            return pa.RecordBatch.from_arrays(
                [records.column(field.source) for field in self.frame.fields],
                names=[field.name for field in self.frame.fields],
            )
        payloads = records.column(self.role.value)
        headers = records.column("headers") if "headers" in records.schema.names else None
        decoded = plan_decoder(self.plan)(payloads, headers)
        reasons = decoded.field("reason")
        if self.on_error == "fail":
            _fail_of_first(reasons, decoded.field("message"), records, self.topic, self.role)
        if self.drops_tombstones:
            compute = pyarrow_compute()
            mask = compute.fill_null(compute.not_equal(reasons, Reason.TOMBSTONE.value), True)
            records, decoded = records.filter(mask), decoded.filter(mask)
        return self._table(records, decoded)

    def _table(self, records: pa.RecordBatch, decoded: pa.StructArray) -> pa.RecordBatch:
        pa, compute = pyarrow(), pyarrow_compute()
        row, reasons = decoded.field("row"), decoded.field("reason")
        # unlike field, flatten makes the fields of a null struct null
        columns = dict(zip((column.name for column in self.frame.columns), row.flatten(), strict=True))
        of_kind = {FieldKind.REASON: reasons, FieldKind.MESSAGE: decoded.field("message")}
        arrays = []
        for field in self.frame.fields:
            match field.kind:
                case FieldKind.ROW:
                    array = columns[field.source]
                case FieldKind.METADATA:
                    array = records.column(field.source)
                case FieldKind.PAYLOAD:
                    payloads = records.column(self.role.value)
                    array = compute.if_else(reasons.is_valid(), payloads, pa.scalar(None, payloads.type))
                case kind:
                    array = of_kind[kind]
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, names=[field.name for field in self.frame.fields])


def needed_names(frame: SourceFrame, role: Role) -> tuple[str, ...]:
    shown = tuple(dict.fromkeys(field.source for field in frame.fields if field.kind is FieldKind.METADATA))
    return tuple(dict.fromkeys((role.value, *shown))) if frame.columns else shown


def _fail_of_first(
    reasons: pa.Array, messages: pa.Array, records: pa.RecordBatch, topic: str | None, role: Role
) -> None:
    for position, reason in enumerate(reasons.to_pylist() if reasons.null_count < len(reasons) else ()):
        if reason is None or not Reason(reason).is_error:
            continue
        place: Mapping[str, int | None] = {
            name: records.column(name)[position].as_py() if name in records.schema.names else None
            for name in ("partition", "offset")
        }
        where = "".join(f", {name} {number}" for name, number in place.items() if number is not None)
        raise BadRowError(
            f"srfix: the {role.value} of topic {topic!r}{where} cannot be read. {reason}: {messages[position].as_py()}"
            f"{BAD_ROW_END}",
            topic=topic,
            partition=place["partition"],
            offset=place["offset"],
            reason=Reason(reason),
        )


@lru_cache(maxsize=64)
def _arrow_schema(frame: SourceFrame) -> pa.Schema:
    return arrow_schema(spark_json(frame))


@lru_cache(maxsize=16)
def task_reader(pickled: bytes) -> Callable[[Part], Iterator[pa.RecordBatch]]:
    """Of a pickled `ReadTask`, or of those of several topics."""
    task: ReadTask | list[bytes] = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running
    if isinstance(task, ReadTask):
        return task.read
    readers = list(map(task_reader, task))

    def read(part: Part) -> Iterator[pa.RecordBatch]:
        if part is None:
            return iter(())
        number, inner = cast("tuple[int, Part]", part)
        return readers[number](inner)

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTopic:
    parts: tuple[bytes, ...]
    names: frozenset[str]
    """The columns of the files; a folder's name may also give a column (`topic=users/`)."""


def captured_topic(path: str, names: Collection[str]) -> CapturedTopic:
    """A path on this machine and on the workers, or the URI of a file system that pyarrow knows (s3, gs, hdfs)."""
    pa, dataset = pyarrow(), import_module("pyarrow.dataset")
    place = path if "://" in path else str(Path(path.removeprefix("file:")).absolute())
    try:
        # Spark's own files (_SUCCESS, .crc) are skipped.
        files = dataset.dataset(place, format="parquet", partitioning="hive")
    except (OSError, ValueError, pa.ArrowException) as error:
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
    pa, dataset = pyarrow(), import_module("pyarrow.dataset")
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
