"""Captured topics: Parquet files with the columns of Spark's Kafka source, as `df.write.parquet(…)` writes such a frame."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.errors import UsageError
from srfix.serde.spark.source.records import record_type

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTopic:
    """The files of a captured topic."""

    parts: tuple[bytes, ...]
    """Their row groups, one by one: what `read_part` takes."""
    names: frozenset[str]
    """The columns that they have; a folder may have them in its name (`topic=users/`)."""


def captured_topic(path: str, names: Collection[str]) -> CapturedTopic:
    """A file, or all Parquet files below a folder.

    :param path: a path on this machine and on the workers', or the URI of a file system that pyarrow knows (s3, gs, hdfs).
    :param names: the record's columns that are needed.
    """
    dataset = _dataset()
    place = path if "://" in path else str(Path(path.removeprefix("file:")).absolute())
    try:
        # Spark's own files (_SUCCESS, .crc) are passed over.
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
    """The records of one row group: batches with the columns of these names.

    :param topic: read the records of this topic only, where the files say theirs.
    """
    dataset = _dataset()
    fragment = pickle.loads(part)  # noqa: S301 - the driver's, by the same way as the code that is running
    schema = _with_partitions(fragment)
    wanted = None if topic is None or "topic" not in schema.names else dataset.field("topic") == topic
    for batch in dataset.Scanner.from_fragment(
        fragment, schema=schema, columns=list(names), filter=wanted, batch_size=at_a_time
    ).to_batches():
        if batch.num_rows:
            yield _as_records(batch, names)


def _with_partitions(fragment: pa.dataset.Fragment) -> pa.Schema:
    pa = pyarrow()
    known = _dataset().get_partition_keys(fragment.partition_expression)
    schema = fragment.physical_schema
    for name, value in known.items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.scalar(value).type))
    return schema


def _as_records(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    pa = pyarrow()
    arrays = [_cast(batch.column(name), name) for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([pa.field(name, record_type(name)) for name in names]))


def _cast(array: pa.Array, name: str) -> pa.Array:
    pa = pyarrow()
    type_ = record_type(name)
    try:
        if pa.types.is_timestamp(array.type) and array.type.tz is None:
            # INT96, in which Spark writes times unless told otherwise, is UTC.
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
