"""The name under which Spark finds `format("srfix")`.

Spark imports every `pyspark_…` module at the first look-up of any format, so this one is small: what does the work is
imported when it is asked for. `srfix.serde.spark.source` says what there is to ask for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
    )
    from pyspark.sql.types import StructType

# It travels to the workers along with each reader: by value, so that a worker without srfix gets as far as our message.
register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class DefaultSource(DataSource):
    """Topics by way of a schema registry: `spark.read.format("srfix")`."""

    @classmethod
    def name(cls) -> str:
        return "srfix"

    def schema(self) -> StructType:
        from srfix.serde.spark._pyspark.source import source_schema

        return source_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from srfix.serde.spark._pyspark.source import batch_reader

        return batch_reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from srfix.serde.spark._pyspark.source import stream_reader

        return stream_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from srfix.serde.spark._pyspark.source import batch_writer

        return batch_writer(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from srfix.serde.spark._pyspark.source import stream_writer

        return stream_writer(self.options, schema, overwrite=overwrite)
