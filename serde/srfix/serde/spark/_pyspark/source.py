"""Spark's side of `format("srfix")`: readers and writers. They are sent to the workers by value, and what they call as
bytes (`shipping.Shipped`), so that a worker without srfix can show srfix's message about the installation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from srfix.serde.errors import EngineRefusedError, UsageError
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark._pyspark.strict import struct_type
from srfix.serde.spark.releases import lacks_source_stream_writer
from srfix.serde.spark.source.frame import SourceFrame, frame_of, spark_json
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import SourceOptions, source_options
from srfix.serde.spark.source.reads import (
    BatchRead,
    StreamRead,
    StreamReads,
    batch_read,
    columns_of_topics,
    stream_read,
)
from srfix.serde.spark.source.write import planned_write

if TYPE_CHECKING:
    import pyarrow as pa

try:  # PySpark 4.2 and newer
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:
    HAS_ADMISSION_CONTROL = False
else:
    HAS_ADMISSION_CONTROL = True

HAS_STREAM_WRITER: Final = hasattr(datasource, "DataSourceStreamArrowWriter")
"""In PySpark 4.1 and newer."""

register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_READER: Final = "srfix.serde.spark.source.task:task_reader"
_WRITER: Final = "srfix.serde.spark.source.write:task_writer"


def source_schema(options: Mapping[str, str]) -> StructType:
    return _struct_type(frame_of(columns_of_topics(source_options(options, Use.SCHEMA))))


def batch_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    settings = source_options(options, Use.BATCH)
    return BatchReader(batch_read(settings, _frame(settings, schema)))


def stream_reader(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    settings = source_options(options, Use.STREAM)
    frame = _frame(settings, schema)
    if HAS_ADMISSION_CONTROL:
        return LimitedStreamReader(stream_read(settings, frame), settings.max_offsets_per_trigger)
    if settings.max_offsets_per_trigger is not None:
        raise UsageError("The option maxOffsetsPerTrigger needs PySpark 4.2 or newer. Leave it out.")
    return StreamReader(stream_read(settings, frame))


def _frame(options: SourceOptions, schema: StructType) -> SourceFrame:
    if options.is_raw or options.columns is None:
        return frame_of(options, schema.jsonValue())
    default = frame_of(options)
    return default if schema == _struct_type(default) else frame_of(options, schema.jsonValue())


def _struct_type(frame: SourceFrame) -> StructType:
    return struct_type(spark_json(frame))


class WorkerReader(DataSourceReader):
    def __init__(self, read: Shipped) -> None:
        self._read = read

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batches: Iterator[pa.RecordBatch] = self._read(partition.value)
        return batches

    def __reduce__(self) -> tuple[object, ...]:
        return WorkerReader, (self._read,)


class BatchReader(WorkerReader):
    def __init__(self, read: BatchRead) -> None:
        super().__init__(Shipped(_READER, read.task))
        self._parts = read.parts

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in self._parts]


class AnyStreamReader(DataSourceStreamReader):
    def __init__(self, read: StreamRead | StreamReads) -> None:
        self._stream = read
        self._worker = WorkerReader(Shipped(_READER, read.task))

    def initialOffset(self) -> dict[str, object]:
        return self._stream.initial()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        return [InputPartition(part) for part in self._stream.parts(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._worker.read(partition)

    def __reduce__(self) -> tuple[object, ...]:
        return self._worker.__reduce__()


class StreamReader(AnyStreamReader):
    """Reads all available records each time, as in PySpark 4.1."""

    def latestOffset(self) -> dict[str, object]:  # type: ignore[override]
        return self._stream.latest()


if HAS_ADMISSION_CONTROL:

    class LimitedStreamReader(AnyStreamReader, SupportsTriggerAvailableNow):
        """Reads a stream, at most a number of offsets at a time; it can stop at the records that are there now."""

        def __init__(self, read: StreamRead | StreamReads, limit: int | None) -> None:
            super().__init__(read)
            self._limit = limit

        def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
            return self._stream.latest(start, limit.max_rows if isinstance(limit, ReadMaxRows) else None)

        def getDefaultReadLimit(self) -> ReadLimit:
            return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

        def prepareForTriggerAvailableNow(self) -> None:
            self._stream.until_now()

        def reportLatestOffset(self) -> dict[str, object]:
            """The end of the topic, from which progress reports compute the lag."""
            return self._stream.behind()


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceArrowWriter:
    return BatchWriter(_shipped(options, schema, overwrite=overwrite))


def stream_writer(
    options: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> datasource.DataSourceStreamArrowWriter:
    if not HAS_STREAM_WRITER:
        lacking = str(lacks_source_stream_writer())
        raise EngineRefusedError(
            f"{lacking}. Write each micro-batch: writeStream.foreachBatch(lambda df, _: "
            'df.write.format("srfix").options(…).mode("append").save()).',
            reasons=(f"{lacking}.",),
        )
    return StreamWriter(_shipped(options, schema, overwrite=overwrite))


def _shipped(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> Shipped:
    settings = source_options(options, Use.WRITE)
    return Shipped(_WRITER, planned_write(settings, schema.jsonValue(), overwrite=overwrite))


class TaskWriter:
    """Writes rows, each record at least once: a task or micro-batch that failed is written again."""

    def __init__(self, write: Shipped) -> None:
        self._write = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """When it returns, every record is acknowledged, so there is nothing left to commit."""
        self._write(iterator)
        return WriterCommitMessage()


class BatchWriter(TaskWriter, DataSourceArrowWriter):
    """Its rows are a frame's."""


if HAS_STREAM_WRITER:

    class StreamWriter(TaskWriter, datasource.DataSourceStreamArrowWriter):
        """Its rows are those of micro-batches."""
