"""The arrow engine: payloads decoded by the serde, in Arrow batches, on the workers."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark._pyspark.types import struct_type
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.releases import require_arrow
from srfix.serde.wire import schema_id_header


def arrow_decoded(
    plan: ReadPlan, payload: Column, *, headers: Column | None = None, behind_barrier: bool = False
) -> Column:
    """`struct<row: struct<the plan's columns>, reason: string, message: string>` for payloads in binary.

    The row is null where there is a reason, a `batches.Reason`'s word (TOMBSTONE too), and only there. Nothing about a
    row raises: a job fails of it only if the registry cannot be asked, or a worker lacks srfix.

    Several such columns in one projection travel to the workers together.

    :param headers: the records' headers, `array<struct<key: string, value: binary>>`, for payloads whose schema is named
        there. Only headers of that name travel.
    :param behind_barrier: whether the column stands in a generator (`frames`), which nothing is pushed through that needs
        it. Else Spark is told that it is not deterministic, so that no filter on it becomes a second decoding; then filters
        on other columns have to wait for it too.
    """
    columns = [payload]
    if headers is not None:
        name = schema_id_header(plan.role)
        columns.append(F.filter(headers, lambda header: header["key"] == name))
    return _called("plan_decoder", plan, *columns, is_deterministic=behind_barrier)


def arrow_fallback(plan: ReadPlan, payload: Column) -> Column:
    """As `arrow_decoded` behind a barrier, but for payloads that are null where nothing is to be done: null for null, and a
    batch of nothing else takes no time.
    """
    return _called("fallback_decoder", plan, payload, is_deterministic=True)


def _called(factory: str, plan: ReadPlan, *columns: Column, is_deterministic: bool) -> Column:
    require_arrow()
    shipped = Shipped(f"srfix.serde.spark.worker.decode:{factory}", pickled_with_secrets(plan))
    decode = F.arrow_udf(shipped, decoded_type(plan))  # type: ignore[attr-defined]
    decoded: Column = (decode if is_deterministic else decode.asNondeterministic())(*columns)
    return decoded


def decoded_type(plan: ReadPlan) -> StructType:
    """The type of what both engines give."""
    return StructType(
        [
            StructField("row", struct_type(plan.spark_schema())),
            StructField("reason", StringType()),
            StructField("message", StringType()),
        ]
    )
