"""Spark's side of `format("srfix")`: writers. They travel as the readers do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from srfix.serde.errors import EngineRefusedError
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark.releases import lacks_source_stream_writer
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import source_options
from srfix.serde.spark.source.write import planned_write

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

try:  # PySpark 4.1 and newer
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:
    HAS_STREAM_WRITER = False
else:
    HAS_STREAM_WRITER = True

register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_WRITER: Final = "srfix.serde.spark.source.write:task_writer"


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceArrowWriter:
    """What writes once."""
    return BatchWriter(_shipped(options, schema, overwrite=overwrite))


def stream_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceStreamArrowWriter:
    """What writes a stream."""
    if not HAS_STREAM_WRITER:
        lacking = str(lacks_source_stream_writer())
        raise EngineRefusedError(
            f"{lacking}. Write each micro-batch: writeStream.foreachBatch(lambda df, _: "
            'df.write.format("srfix").options(…).mode("append").save()).',
            reasons=(f"{lacking}.",),
        )
    return StreamWriter(_shipped(options, schema, overwrite=overwrite))


def _shipped(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> Shipped:
    found = source_options(options, Use.WRITE)
    return Shipped(_WRITER, planned_write(found, schema.jsonValue(), overwrite=overwrite))


class BatchWriter(DataSourceArrowWriter):
    """Writes a frame, each record at least once."""

    def __init__(self, write: Shipped) -> None:
        self._write = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Writes what one task has. When it returns, every record is acknowledged: there is nothing left to commit."""
        self._write(iterator)
        return WriterCommitMessage()


if HAS_STREAM_WRITER:

    class StreamWriter(DataSourceStreamArrowWriter):
        """Writes micro-batches, each record at least once: a micro-batch that failed is written again."""

        def __init__(self, write: Shipped) -> None:
            self._batch = BatchWriter(write)

        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            """See `BatchWriter.write`."""
            return self._batch.write(iterator)

        def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
            """Nothing is left to do."""

        def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
            """What was written stays: the batch is written again."""
