"""Payloads → rows as an expression for `select` and `withColumn`, without a separate frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from srfix.serde.errors import Reason, UsageError
from srfix.serde.spark._pyspark.engines import PAYLOAD, PROBLEM, Decoding, decoded_type, decoding_of, framed_by_header
from srfix.serde.spark._pyspark.frames import failure
from srfix.serde.spark._pyspark.jvm import Payload, in_words
from srfix.serde.spark.interface import OnBadRow, reason_columns
from srfix.serde.spark.read.jvm.read import EngineChoice
from srfix.serde.spark.read.plan import ReadPlan

_NO_BINARY: Final = (
    "from_registry was given a column of the type {}, but payloads are binary: pass the original bytes, before any "
    "cast."
)


def decoded_column(
    payload: str | Column,
    plan: ReadPlan,
    *,
    headers: str | Column | None,
    on_error: OnBadRow,
    choose: Callable[[ReadPlan, SparkSession], EngineChoice],
) -> Column:
    """See `reading.from_registry`."""
    decoding = decoding_of(plan, choose(plan, _session()))
    judged = judged_payloads(decoding, _binary(_column(payload)), None if headers is None else _column(headers))
    return F.get(F.transform(judged, lambda one: _result(one, plan, on_error)), F.lit(0))


def judged_payloads(decoding: Decoding, payload: Column, headers: Column | None = None) -> Column:
    """An array with one struct: the row, reason and message, and the payload if it is bad."""
    framed = payload
    problem: list[Column] = []
    if headers is not None and not decoding.reads_headers:
        by_header = framed_by_header(payload, headers, decoding.plan.role)
        framed, problem, headers = by_header[PAYLOAD], [by_header[PROBLEM].alias(PROBLEM)], None
    made = decoding.made(Payload.of(framed), headers).alias("made")
    # A lambda's variable is computed once and can be used several times.
    parts = F.array(F.struct(made, framed.alias("framed"), payload.alias("payload"), *problem))

    def judged(one: Column) -> Column:
        fields = {name: one["made"][name] for name in decoding.names}
        is_good = decoding.is_good(fields["row"])
        judgement = decoding.judged(
            fields, Payload.of(one["framed"]), is_good=is_good, problem=one[PROBLEM] if problem else None
        )
        return F.struct(
            judgement.row.alias("row"),
            F.when(judgement.is_bad, judgement.why).alias("why"),
            judgement.is_tombstone.alias("is_tombstone"),
            one["payload"].alias("payload"),
        )

    def verdict(one: Column) -> Column:
        why, reason = one["why"], one["why"]["reason"]
        return F.struct(
            one["row"].alias("row"),
            F.when(one["is_tombstone"], F.lit(Reason.TOMBSTONE.value)).otherwise(reason).alias("reason"),
            why["message"].alias("message"),
            F.when(why.isNotNull(), one["payload"]).alias("payload"),
        )

    return F.transform(F.transform(parts, judged), verdict)


def _result(one: Column, plan: ReadPlan, on_error: OnBadRow) -> Column:
    row, reason, message = one["row"], one["reason"], one["message"]
    if on_error == "quarantine":
        names = reason_columns(plan.role)
        return F.struct(
            row.alias(plan.role.value),
            reason.alias(names.reason),
            message.alias(names.message),
            one["payload"].alias(names.payload),
        )
    if on_error == "null":
        return row
    failed = F.raise_error(failure((), plan.role, in_words(reason, message))).cast(decoded_type(plan)["row"].dataType)
    return F.when(one["payload"].isNotNull(), failed).otherwise(row)


def _binary(column: Column) -> Column:
    """Spark knows the type before it runs, so this check reads no row."""
    before, behind = _NO_BINARY.split("{}")
    message = F.concat(F.lit(before), F.typeof(column), F.lit(behind))
    return F.when(F.typeof(column) == "binary", column.cast("binary")).otherwise(F.raise_error(message).cast("binary"))


def _column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column


def _session() -> SparkSession:
    try:
        return SparkSession.active()  # the thread's session, otherwise one that another thread started
    except PySparkException:
        raise UsageError(
            "There is no active Spark session, but srfix needs one to choose a column's engine. Start a session "
            "first, or use df.transform(from_registry(plan)), which uses the frame's session."
        ) from None
