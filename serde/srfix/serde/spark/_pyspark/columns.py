"""Payloads → rows as an expression, for `select` and `withColumn`: without a frame of their own."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from srfix.serde.batches import Reason
from srfix.serde.errors import UsageError
from srfix.serde.spark._pyspark.arrow import decoded_type
from srfix.serde.spark._pyspark.engines import Decoding, decoding_of
from srfix.serde.spark._pyspark.frames import failure
from srfix.serde.spark._pyspark.header_framing import PAYLOAD, PROBLEM, framed_by_header
from srfix.serde.spark._pyspark.strict import BEYOND_PYTHON, is_pythons
from srfix.serde.spark.interface import Engine, OnBadRow, reason_columns
from srfix.serde.spark.plan import ReadPlan

__all__ = ["decoded_column"]

_NO_BINARY: Final = (
    "from_registry was given a column of the type {}, and payloads are binary: read them as they came, before any cast."
)


def decoded_column(
    payload: str | Column,
    plan: ReadPlan,
    *,
    headers: str | Column | None,
    on_error: OnBadRow,
    engine: Engine,
    workers_have_srfix: bool | None,
) -> Column:
    """See `reading.from_registry`."""
    decoding = decoding_of(plan, _session(), engine, workers_have_srfix)
    bytes_ = _binary(_column(payload))
    decoded = _decoded(bytes_, None if headers is None else _column(headers), plan, decoding)
    # A lambda's variable is what can be looked at several times, and is computed once.
    both = F.array(F.struct(decoded.alias("decoded"), bytes_.alias("payload")))
    return F.get(F.transform(both, lambda one: _result(one, plan, decoding, on_error)), F.lit(0))


def _result(one: Column, plan: ReadPlan, decoding: Decoding, on_error: OnBadRow) -> Column:
    row, reason, message = (one["decoded"][name] for name in ("row", "reason", "message"))
    if not decoding.is_strict and (holds := is_pythons(plan.columns, row)) is not None:
        row, reason = F.when(holds, row), F.when(holds, reason).otherwise(F.lit(Reason.DECODE_FAILED.value))
        message = F.when(holds, message).otherwise(F.lit(BEYOND_PYTHON))
    bad = reason.isNotNull() & (reason != Reason.TOMBSTONE.value)
    if on_error == "quarantine":
        names = reason_columns(plan.role)
        return F.struct(
            row.alias(plan.role.value),
            reason.alias(names.reason),
            message.alias(names.message),
            F.when(bad, one["payload"]).alias(names.payload),
        )
    if on_error == "null":
        return row
    failed = F.raise_error(failure((), plan.role, reason, message)).cast(decoded_type(plan)["row"].dataType)
    return F.when(bad, failed).otherwise(row)


def _decoded(payload: Column, headers: Column | None, plan: ReadPlan, decoding: Decoding) -> Column:
    if headers is None or decoding.reads_headers:
        return decoding.decoded(payload, headers)
    framed = framed_by_header(payload, headers, plan.role)
    problem = framed[PROBLEM]
    bad = F.struct(F.lit(None), F.lit(Reason.BAD_FRAMING.value), problem).cast(decoded_type(plan))
    return F.when(problem.isNotNull(), bad).otherwise(decoding.decoded(framed[PAYLOAD], None))


def _binary(column: Column) -> Column:
    """The column; an error where it is of another type. Spark knows the type before it runs, and looks at no row for it."""
    before, behind = _NO_BINARY.split("{}")
    told = F.concat(F.lit(before), F.typeof(column), F.lit(behind))
    return F.when(F.typeof(column) == "binary", column.cast("binary")).otherwise(F.raise_error(told).cast("binary"))


def _column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column


def _session() -> SparkSession:
    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError(
            "There is no active Spark session in this thread, and a column's engine is chosen for one. Start it first, or "
            "use df.transform(from_registry(plan)), which knows the frame's."
        )
    return session
