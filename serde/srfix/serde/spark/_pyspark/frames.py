"""A frame's payloads become rows: around the struct column of either engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from srfix.serde.batches import Reason
from srfix.serde.errors import UsageError
from srfix.serde.spark._frame_types import quoted
from srfix.serde.spark._pyspark.arrow import decoded_type
from srfix.serde.spark._pyspark.counts import count_columns, default_columns
from srfix.serde.spark._pyspark.engines import Decoding
from srfix.serde.spark._pyspark.header_framing import PAYLOAD, PROBLEM, framed_by_header
from srfix.serde.spark._pyspark.strict import BEYOND_PYTHON, is_pythons
from srfix.serde.spark.driver_errors import BAD_ROW_END
from srfix.serde.spark.interface import OnBadRow, reason_columns
from srfix.serde.spark.plan import ReadPlan
from srfix.serde.subjects import Role

__all__ = ["bad_rows", "decode_frame", "failure", "good_rows", "payloads_again"]

_ROW: Final = "_srfix_row"
_FRAMED: Final = "_srfix_framed"
_OK: Final = "_srfix_ok"
_HEADERS: Final = "headers"
_named_metrics: Final[WeakKeyDictionary[SparkSession, Counter[str]]] = WeakKeyDictionary()
"""How often a name was given to the counts of a session's streams."""


def decode_frame(
    df: DataFrame,
    plan: ReadPlan,
    decoding: Decoding,
    *,
    column: str | None,
    on_error: OnBadRow,
    observe: str | Observation | None,
) -> DataFrame:
    """See `reading.from_registry`."""
    role, names = plan.role, reason_columns(plan.role)
    column = role.value if column is None else column
    _check(df, column, (_ROW, _FRAMED, _OK, names.tombstone, names.reason, names.message, names.payload))
    if df.isStreaming and isinstance(observe, Observation):
        raise UsageError(
            "A stream has no Observation: its micro-batches are counted one by one. Give observe a name, and look it up in "
            "the observedMetrics of the query's progress."
        )
    rows, decoded = _decoded(df, plan, decoding, column)
    # The barrier. Spark may put a column's expression wherever the column is used, and decode for every filter on it; a
    # generator's it computes once for each row. Of one struct it makes one row, of a null struct too.
    barrier = F.inline(F.array(decoded)).alias(_ROW, names.reason, names.message)
    rows = rows.select("*", barrier).drop(_FRAMED)
    if not decoding.is_strict:
        rows = _strict(rows, plan)
    reason, message = F.col(names.reason), F.col(names.message)
    bad = _is_bad(reason)
    if observe is not None:
        rows = rows.observe(observe, *count_columns(reason, _named(column)))
    elif df.isStreaming and on_error != "fail":
        rows = rows.observe(_metrics_name(df, plan), *default_columns(reason))
    # A null struct is a tombstone or a bad row, and whatever becomes of the reasons, the frame can tell them apart.
    mark = {names.tombstone: F.coalesce(reason == Reason.TOMBSTONE.value, F.lit(False))}
    if on_error == "quarantine":
        payload = F.when(bad, _named(column))
        return rows.withColumns({column: F.col(_ROW), names.payload: payload} | mark).drop(_ROW)
    row = F.col(_ROW)
    if on_error == "fail":
        raised = F.raise_error(failure(df.columns, role, reason, message))
        # Both: the filter is there for whoever never looks at the row (a count); the row's own is for filters on the row,
        # which Spark may put first.
        rows = rows.where(F.when(bad, raised.cast("boolean")).otherwise(F.lit(True)))
        row = F.when(bad, raised.cast(rows.schema[_ROW].dataType)).otherwise(row)
    return rows.withColumns({column: row} | mark).drop(_ROW, names.reason, names.message)


def _metrics_name(df: DataFrame, plan: ReadPlan) -> str:
    """What a stream's counts are called that nobody gave a name: Spark takes no name twice in one query."""
    name = f"srfix {plan.role.value}s of {plan.topic}"
    given = _named_metrics.setdefault(df.sparkSession, Counter())
    given[name] += 1
    return name if given[name] == 1 else f"{name} ({given[name]})"


def _strict(rows: DataFrame, plan: ReadPlan) -> DataFrame:
    """The rows, those bad that hold what Python does not have."""
    names = reason_columns(plan.role)
    row, reason, message = F.col(_ROW), F.col(names.reason), F.col(names.message)
    holds = is_pythons(plan.columns, row)
    if holds is None:
        return rows
    # A column of its own: looked at once, and written once in the query's text.
    ok = F.col(_OK)
    return (
        rows.withColumn(_OK, holds)
        .withColumns(
            {
                _ROW: F.when(ok, row),
                names.reason: F.when(ok, reason).otherwise(F.lit(Reason.DECODE_FAILED.value)),
                names.message: F.when(ok, message).otherwise(F.lit(BEYOND_PYTHON)),
            }
        )
        .drop(_OK)
    )


def _decoded(df: DataFrame, plan: ReadPlan, decoding: Decoding, column: str) -> tuple[DataFrame, Column]:
    """The frame, with what the engine's column, the other result, needs of it."""
    payload = _named(column)
    headers = F.col(_HEADERS) if df.columns.count(_HEADERS) == 1 else None
    if headers is None or decoding.reads_headers:
        return df, decoding.decoded(payload, headers, quoted(column))
    # A column of its own: the engine looks at the payload in many places.
    framed, problem = F.col(_FRAMED)[PAYLOAD], F.col(_FRAMED)[PROBLEM]
    bad = F.struct(F.lit(None), F.lit(Reason.BAD_FRAMING.value), problem).cast(decoded_type(plan))
    decoded = F.when(problem.isNotNull(), bad).otherwise(decoding.decoded(framed, None, f"{_FRAMED}.{PAYLOAD}"))
    return df.withColumn(_FRAMED, framed_by_header(payload, headers, plan.role)), decoded


def good_rows(df: DataFrame, role: Role) -> DataFrame:
    """See `reading.good_rows`."""
    names = reason_columns(role)
    return df.where(~_is_bad(_reason(df, role))).drop(names.reason, names.message, names.payload)


def bad_rows(df: DataFrame, role: Role) -> DataFrame:
    """See `reading.bad_rows`."""
    return df.where(_is_bad(_reason(df, role)))


def payloads_again(df: DataFrame, role: Role, column: str) -> DataFrame:
    """The bad rows, with their bytes in the column once more, and without the columns of reasons and marks."""
    names = reason_columns(role)
    bad = bad_rows(df, role)
    if names.payload not in df.columns:
        raise UsageError(
            f"The frame has no column {names.payload}, which has the bytes of bad {role.value}s. Keep it beside "
            f"{names.reason}: bad_rows(df) has both."
        )
    added = (names.reason, names.message, names.payload, names.tombstone)
    return bad.withColumn(column, F.col(names.payload)).drop(*added)


def _reason(df: DataFrame, role: Role) -> Column:
    name = reason_columns(role).reason
    if name not in df.columns:
        raise UsageError(
            f"The frame has no column {name}, so good and bad {role.value}s cannot be told apart. Read it with "
            "from_registry(…, on_error='quarantine'), and keep that column."
        )
    return F.col(name)


def _is_bad(reason: Column) -> Column:
    return reason.isNotNull() & (reason != Reason.TOMBSTONE.value)


def _named(column: str) -> Column:
    return F.col(quoted(column))


def _check(df: DataFrame, column: str, ours: tuple[str, ...]) -> None:
    fields = [field for field in df.schema.fields if field.name == column]
    if not fields:
        raise UsageError(
            f"The frame has no column {column!r} with payloads; it has {', '.join(df.columns) or 'none'}. Name it: "
            "from_registry(plan, column=…)."
        )
    if len(fields) > 1:
        raise UsageError(
            f"The frame has {len(fields)} columns {column!r}. Rename or drop all but the one with payloads."
        )
    if not isinstance(fields[0].dataType, BinaryType):
        found = fields[0].dataType.simpleString()
        raise UsageError(
            f"The column {column!r} holds {found[:100]}, not binary: payloads are read as they came, before any cast. Was "
            "it read already?"
        )
    if taken := [name for name in df.columns if name in ours]:
        raise UsageError(
            f"The frame has a column {taken[0]} already, which is one of those that srfix adds. Rename or drop it; keys and "
            "values of one frame are read with a plan each, with different roles."
        )


def failure(columns: Sequence[str], role: Role, reason: Column, message: Column) -> Column:
    """The words for a bad row, with its place as far as the frame's columns have it. `driver_errors` reads them."""
    place = [
        F.coalesce(F.concat(F.lit(before), _named(name).cast("string"), F.lit(after)), F.lit(""))
        for name, before, after in (
            ("topic", " of topic '", "'"),
            ("partition", ", partition ", ""),
            ("offset", ", offset ", ""),
        )
        if columns.count(name) == 1
    ]
    why = F.coalesce(message, F.lit("no more is known."))
    return F.concat(
        F.lit(f"srfix: the {role.value}"),
        *place,
        F.lit(" cannot be read. "),
        reason,
        F.lit(": "),
        why,
        F.lit(BAD_ROW_END),
    )
