"""Reads payloads of several topics in one frame: each row with its topic's plan, and the frame only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Final

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from srfix.serde.column_sources.from_spark import spark_schema
from srfix.serde.errors import EngineRefusedError, Reason, UsageError
from srfix.serde.spark._pyspark import frames
from srfix.serde.spark._pyspark.engines import Decoding
from srfix.serde.spark._pyspark.jvm import case, in_words
from srfix.serde.spark._pyspark.strict import struct_type
from srfix.serde.spark.interface import OnBadRow, reason_columns
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.read.topics import TopicPlans

_PART: Final = "_srfix_topic_"
_NO_PLAN: Final = (
    "The read has no plan for this topic. Make a plan for this topic (plan_read), pass it with the other plans, and start "
    "again. A stream continues from its checkpoint."
)


def decode_topics(
    df: DataFrame,
    plans: TopicPlans,
    decoding_of: Callable[[ReadPlan], Decoding],
    *,
    column: str | None,
    on_error: OnBadRow,
    observe: str | Observation | None,
) -> DataFrame:
    """Each plan gets the payloads of its topics, and null for the others, which costs almost nothing."""
    role, names = plans.role, reason_columns(plans.role)
    column = role.value if column is None else column
    _check_topic(df)
    shared = plans.shared
    of = [F.col("topic").isin(*topics) for _, topics in shared]
    parts = [f"{_PART}{number}" for number in range(len(shared))]
    frames.check_payloads(df, column, (*parts, *astuple(names)))
    # Only counting and quarantine need the reasons. If a query does neither, bad rows raise an error when they are
    # read.
    inner: OnBadRow = "fail" if on_error == "fail" and observe is None else "quarantine"
    rows, payload = df, frames.named(column)
    for (plan, topics), part, is_its in zip(shared, parts, of, strict=True):
        try:
            decoding = decoding_of(plan)
        except EngineRefusedError as error:
            raise EngineRefusedError(f"The topic {topics[0]!r}: {error.message}", reasons=error.reasons) from None
        rows = frames.decode_frame(
            rows.withColumn(part, F.when(is_its, payload)),
            plan,
            decoding,
            column=part,
            on_error=inner,
            observe=None,
            counts_unasked=False,
        )
        rows = rows.withColumnsRenamed({name: part + name for name in astuple(names) if name in rows.columns})
    is_planned = F.coalesce(F.col("topic").isin(*plans.by_topic), F.lit(False))
    is_unplanned = payload.isNotNull() & ~is_planned
    row = F.coalesce(*(_row(plan, plans, part) for (plan, _), part in zip(shared, parts, strict=True)))
    added = {names.tombstone: payload.isNull() | _by_topic(of, parts, names.tombstone, F.lit(False))}
    reason = message = F.lit(None).cast("string")
    if inner == "quarantine":
        is_null = F.when(payload.isNull(), F.lit(Reason.TOMBSTONE.value))
        reason = F.coalesce(is_null, _by_topic(of, parts, names.reason, F.lit(Reason.NO_PLAN.value)))
        message = _by_topic(of, parts, names.message, F.when(is_unplanned, F.lit(_NO_PLAN)))
        if observe is not None:
            rows = rows.observe(observe, *frames.count_columns(reason, payload, is_of_topics=True))
        elif df.isStreaming and on_error != "fail":
            name = frames.metrics_name(df, role, plans.name)
            rows = rows.observe(name, *frames.count_columns(reason, F.lit(b""))[:3])
    if on_error == "quarantine":
        bad = F.when(is_unplanned, payload)
        bad_payload = F.coalesce(*(F.col(part + names.payload) for part in parts), bad)
        added = {names.reason: reason, names.message: message, names.payload: bad_payload} | added
    if on_error == "fail":
        words = F.lit(f"{Reason.NO_PLAN.value}: {_NO_PLAN}")
        is_bad = is_unplanned
        if inner == "quarantine":
            is_bad, words = frames.is_bad_row(reason), in_words(reason, message)
        raised = F.raise_error(frames.failure(df.columns, role, words))
        rows, row = frames.raised_where(rows, is_bad, raised, row)
    ours = [name for name in rows.columns if name.startswith(_PART)]
    return rows.withColumns({column: row} | added).drop(frames.IS_BAD, *ours)


def _row(plan: ReadPlan, plans: TopicPlans, part: str) -> Column:
    if plan.columns == plans.columns:
        return F.col(part)
    plan_names = {column.name for column in plan.columns}
    fields = [
        (F.col(part).getField(name) if name in plan_names else F.lit(None).cast(type_)).alias(name)
        for name, type_ in ((field.name, field.dataType) for field in struct_type(spark_schema(plans.columns)))
    ]
    return F.when(F.col(part).isNotNull(), F.struct(*fields))


def _by_topic(of: Sequence[Column], parts: Sequence[str], name: str, otherwise: Column) -> Column:
    return case(zip(of, (F.col(part + name) for part in parts), strict=True)).otherwise(otherwise)


def _check_topic(df: DataFrame) -> None:
    fields = [field for field in df.schema.fields if field.name == "topic"]
    if len(fields) != 1 or not isinstance(fields[0].dataType, StringType):
        raise UsageError(
            "Plans of several topics need one column 'topic' of strings, but the frame has none, or several. "
            "Spark's Kafka source has this column: keep it until the rows are read."
        )
