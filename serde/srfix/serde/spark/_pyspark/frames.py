"""Payloads → rows with the struct column of either engine: in a frame, or as an expression for `select`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Final
from weakref import WeakKeyDictionary

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from srfix.serde.errors import Reason, UsageError
from srfix.serde.spark._pyspark.engines import (
    LEFT,
    PAYLOAD,
    PROBLEM,
    Decoding,
    decoded_type,
    decoding_of,
    framed_by_header,
)
from srfix.serde.spark._pyspark.jvm import Payload, in_words
from srfix.serde.spark.errors import BAD_ROW_END
from srfix.serde.spark.frame_types import quoted
from srfix.serde.spark.interface import OnBadRow, reason_columns
from srfix.serde.spark.progress import MAX_UNKNOWN_IDS
from srfix.serde.spark.read.jvm.read import EngineChoice
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.subjects.names import Role

_REFUSED: Final = (Reason.UNKNOWN_ID.value, Reason.NOT_UNDER_SUBJECT.value)
_TRACKED: Final = 10 * MAX_UNKNOWN_IDS
_HAS_TOP_K: Final = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 1)
"""`approx_top_k` exists since Spark 4.1."""


def count_columns(reason: Column, payload: Column, *, is_of_topics: bool = False) -> list[Column]:
    """Each aggregate costs time for each row."""
    never = {Reason.ENCODE_FAILED} if is_of_topics else {Reason.ENCODE_FAILED, Reason.NO_PLAN}
    errors = [one for one in Reason if one.is_error and one not in never]
    # The schema id of a payload that carries one; null if it carries a GUID.
    prefix = F.hex(F.substring(payload, 1, 5))
    id_ = F.when(prefix.startswith("00"), F.conv(F.substring(prefix, 3, 8), 16, 10).cast("bigint"))
    return [
        F.count(F.lit(1)).alias("rows"),
        _count(reason == Reason.TOMBSTONE.value).alias("tombstones"),
        _count(reason != Reason.TOMBSTONE.value).alias("bad"),
        *(_count(reason == one.value).alias(one.value) for one in errors),
        _ids(F.when(reason.isin(*_REFUSED), id_)).alias("unknown_ids"),
    ]


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))  # count_if gives each condition a column of its own first


def _ids(refused: Column) -> Column:
    # collect_set is not used, because garbage carries millions of ids, and it would hold all of them. These aggregates
    # hold at most `_TRACKED` ids.
    if _HAS_TOP_K:
        frequent = F.call_function("approx_top_k", refused, F.lit(MAX_UNKNOWN_IDS + 1), F.lit(_TRACKED))
        ids = F.transform(frequent, lambda entry: entry["item"])
        return F.slice(F.array_compact(ids), 1, MAX_UNKNOWN_IDS)
    # A bin is one id while there are fewer ids than bins; then bins are merged, and only the smallest and the greatest
    # id are known. The result is a text such as `7,8`, because the `Observation` of these PySpark versions does not
    # turn the JVM's arrays into lists.
    bins = F.histogram_numeric(refused.cast("double"), F.lit(_TRACKED))
    few = F.get(F.transform(F.array(bins), _if_few), F.lit(0))
    ends = F.array_compact(F.array_distinct(F.array(F.min(refused), F.max(refused))))
    return F.array_join(F.coalesce(few, ends), ",")


def _if_few(bins: Column) -> Column:
    """The most frequent ids; null if there are so many that bins were merged."""
    # Several partitions may count one id in separate bins, so these are merged first.
    ids = F.array_distinct(F.transform(bins, lambda one: one["x"]))

    def count(number: Column) -> Column:
        matches = F.filter(bins, lambda one: one["x"] == number)
        return F.aggregate(matches, F.lit(0.0), lambda total, one: total + one["y"])

    by_count = F.sort_array(F.transform(ids, lambda one: F.struct(count(one), one.alias("id"))), asc=False)
    frequent = F.slice(F.transform(by_count, lambda one: one["id"].cast("bigint")), 1, MAX_UNKNOWN_IDS)
    return F.when(F.size(ids) < _TRACKED, frequent)


_FRAMED: Final = "_srfix_framed"
_MADE: Final = "_srfix_made_"
_OK: Final = "_srfix_ok"
_WHY: Final = "_srfix_why"
IS_BAD: Final = "_srfix_is_bad"
"""The column that `raised_where` adds; it must be dropped."""
_HEADER: Final = "_srfix_header"
_LEFT: Final = "_srfix_left"
_MARKED: Final = "_srfix_marked"
_OURS: Final = (
    _FRAMED,
    _OK,
    _WHY,
    IS_BAD,
    _HEADER,
    _LEFT,
    _MARKED,
)
_HEADERS: Final = "headers"
_named_metrics: Final[WeakKeyDictionary[SparkSession, Counter[str]]] = WeakKeyDictionary()
"""How often a session's streams got a name for their counts."""


def decode_frame(
    df: DataFrame,
    plan: ReadPlan,
    decoding: Decoding,
    *,
    column: str | None,
    on_error: OnBadRow,
    observe: str | Observation | None,
    counts_unasked: bool = True,
) -> DataFrame:
    """If `counts_unasked` is false, the caller counts a stream's rows."""
    role, names = plan.role, reason_columns(plan.role)
    column = role.value if column is None else column
    made_names = [f"{_MADE}{number}" for number in range(len(decoding.names))]
    ours = (*_OURS, *made_names)
    check_payloads(df, column, (*ours, *astuple(names)))
    if df.isStreaming and isinstance(observe, Observation):
        raise UsageError(
            "A stream cannot use an Observation, because its micro-batches are counted one by one. Give observe a "
            "name, and look it up in the observedMetrics of the query's progress."
        )
    frame, bytes_, headers, problem = _framed(df, decoding, column)

    def raised(words: Column) -> Column:
        return F.raise_error(failure(df.columns, role, words))

    # Spark may copy a column's expression to every use of the column, and so decode for every filter on it. But it
    # computes a generator only once for each row. The generator makes one row from each struct, also from a null one.
    made = F.inline(F.array(decoding.made(bytes_, headers)))
    rows = frame.select("*", made.alias(*made_names))
    parts = dict(zip(decoding.names, map(F.col, made_names), strict=True))
    if decoding.fallback is not None:
        parts[LEFT] = F.col(_LEFT)
    if on_error == "fail" and observe is None:
        judged = decoding.judged(parts, bytes_, is_good=decoding.is_good(parts), problem=problem)
        row = decoding.row(parts)
        rows = rows.where(_or_raised(judged.is_bad, raised(judged.words)))
        return rows.withColumns({column: row, names.tombstone: row.isNull()}).drop(*ours)
    # A separate column, so that it is computed once, and occurs once in the query's text.
    rows = rows.withColumn(_OK, decoding.is_good(parts))
    judged = decoding.judged(parts, bytes_, is_good=F.col(_OK), problem=problem)
    # A null struct is a tombstone or a bad row. This column distinguishes them, even if the reasons are dropped.
    added = {names.tombstone: judged.is_tombstone}
    is_counted = counts_unasked and df.isStreaming and on_error != "fail"
    if on_error != "null" or observe is not None or is_counted:
        rows = rows.withColumn(_WHY, F.when(judged.is_bad, judged.why))  # likewise
    why, message = F.col(_WHY)["reason"], F.col(_WHY)["message"]
    reason = F.when(judged.is_tombstone, F.lit(Reason.TOMBSTONE.value)).otherwise(why)
    if observe is not None:
        rows = rows.observe(observe, *count_columns(reason, named(column)))
    elif is_counted:
        rows = rows.observe(metrics_name(df, role, plan.topic), *count_columns(reason, F.lit(b""))[:3])
    row = judged.row
    if on_error == "quarantine":
        payload = F.when(judged.is_bad, named(column))
        added = {names.reason: reason, names.message: message, names.payload: payload} | added
    if on_error == "fail":
        rows, row = raised_where(rows, judged.is_bad, raised(in_words(why, message)), row)
    return rows.withColumns({column: row} | added).drop(*ours)


def raised_where(rows: DataFrame, is_bad: Column, raised: Column, row: Column) -> tuple[DataFrame, Column]:
    # After a generator, because Spark would otherwise write the check of the row twice: for the filter and for the row.
    rows = rows.select("*", F.inline(F.array(F.struct(is_bad.alias(IS_BAD)))))
    return rows.where(_or_raised(F.col(IS_BAD), raised)), F.when(~F.col(IS_BAD), row)


def _or_raised(is_bad: Column, raised: Column) -> Column:
    """The condition of a filter. What it gives must not be used but in a CASE: of a user's condition on a plain column, Spark
    makes an IsNotNull, which `FilterExec` checks first, so that a bad row would be dropped without a word.
    """
    return F.when(~is_bad, F.lit(True)).otherwise(raised.cast("boolean"))


def _framed(df: DataFrame, decoding: Decoding, column: str) -> tuple[DataFrame, Payload, Column | None, Column | None]:
    """Also the headers for an engine that reads them; for another engine, the error of the headers."""
    has_headers, payload, problem = df.columns.count(_HEADERS) == 1, named(column), None
    if decoding.read is None:
        return df, Payload.of(payload), F.col(_HEADERS) if has_headers else None, None
    if has_headers:
        # A separate column, because the engine uses the payload in many places.
        df = df.withColumn(_FRAMED, framed_by_header(payload, F.col(_HEADERS), decoding.plan.role))
        payload, problem = F.col(_FRAMED)[PAYLOAD], F.col(_FRAMED)[PROBLEM]
    # Before the columns that Spark would otherwise send around its stage of Python.
    if (left := decoding.left(Payload.of(payload))) is not None:
        df = df.withColumn(_LEFT, left)
    frame, in_columns = Payload.of(payload).in_columns(df, _HEADER, _MARKED)
    return frame, in_columns, None, problem


def metrics_name(df: DataFrame, role: Role, topic: str) -> str:
    """The name of a stream's counts without a user's name. Spark refuses the same name twice in one query."""
    name = f"srfix {role.value}s of {topic}"
    uses = _named_metrics.setdefault(df.sparkSession, Counter())
    uses[name] += 1
    return name if uses[name] == 1 else f"{name} ({uses[name]})"


def is_bad(df: DataFrame, role: Role) -> Column:
    """For a row of a frame that was read with reasons."""
    name = reason_columns(role).reason
    if name not in df.columns:
        raise UsageError(
            f"The frame has no column {name}, so good and bad {role.value}s cannot be told apart. Read it with "
            "from_registry(…, on_error='quarantine'), and keep that column."
        )
    return is_bad_row(F.col(name))


def is_bad_row(reason: Column) -> Column:
    """False for null."""
    return reason.isNotNull() & (reason != Reason.TOMBSTONE.value)


def named(column: str) -> Column:
    return F.col(quoted(column))


def check_payloads(df: DataFrame, column: str, ours: tuple[str, ...]) -> None:
    """Once and as binary, and none of the columns that srfix adds."""
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
        type_text = fields[0].dataType.simpleString()
        raise UsageError(
            f"The column {column!r} holds {type_text[:100]}, not binary. Pass the original bytes, before any cast. "
            "Maybe the column was already decoded."
        )
    if taken := [name for name in df.columns if name in ours]:
        raise UsageError(
            f"The frame already has a column {taken[0]}, but srfix adds a column of this name. Rename or drop the "
            "frame's column. To read keys and values of one frame, use two plans with different roles."
        )


def failure(columns: Sequence[str], role: Role, words: Column) -> Column:
    """`errors` parses this text."""
    place = [
        F.coalesce(F.concat(F.lit(before), named(name).cast("string"), F.lit(after)), F.lit(""))
        for name, before, after in (
            ("topic", " of topic '", "'"),
            ("partition", ", partition ", ""),
            ("offset", ", offset ", ""),
        )
        if columns.count(name) == 1
    ]
    return F.concat(F.lit(f"srfix: the {role.value}"), *place, F.lit(" cannot be read. "), words, F.lit(BAD_ROW_END))


def decoded_column(
    payload: str | Column,
    plan: ReadPlan,
    *,
    headers: str | Column | None,
    on_error: OnBadRow,
    choose: Callable[[ReadPlan, SparkSession], EngineChoice],
) -> Column:
    decoding = decoding_of(plan, choose(plan, active_session()))
    judged = judged_payloads(decoding, _binary(as_column(payload)), None if headers is None else as_column(headers))
    return F.get(F.transform(judged, lambda one: _result(one, plan, on_error)), F.lit(0))


def judged_payloads(decoding: Decoding, payload: Column, headers: Column | None = None) -> Column:
    """An array with one struct: the row, reason and message, and the payload if it is bad."""
    framed = payload
    problem: list[Column] = []
    if headers is not None and decoding.read is not None:
        by_header = framed_by_header(payload, headers, decoding.plan.role)
        framed, problem, headers = by_header[PAYLOAD], [by_header[PROBLEM].alias(PROBLEM)], None
    made = decoding.made(Payload.of(framed), headers).alias("made")
    left = decoding.left(Payload.of(framed))
    # A lambda's variable is computed once and can be used several times.
    others = problem if left is None else [*problem, left.alias(LEFT)]
    parts = F.array(F.struct(made, framed.alias("framed"), payload.alias("payload"), *others))

    def judged(one: Column) -> Column:
        fields = {name: one["made"][name] for name in decoding.names}
        if left is not None:
            fields[LEFT] = one[LEFT]
        is_good, why = decoding.is_good(fields), one[PROBLEM] if problem else None
        judgement = decoding.judged(fields, Payload.of(one["framed"]), is_good=is_good, problem=why)
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
    before = F.lit("from_registry was given a column of the type ")
    behind = F.lit(", but payloads are binary: pass the original bytes, before any cast.")
    message = F.concat(before, F.typeof(column), behind)
    return F.when(F.typeof(column) == "binary", column.cast("binary")).otherwise(F.raise_error(message).cast("binary"))


def as_column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column


def active_session() -> SparkSession:
    try:
        return SparkSession.active()  # the thread's session, otherwise one that another thread started
    except PySparkException:
        raise UsageError(
            "There is no active Spark session, but srfix needs one to choose a column's engine. Start a session "
            "first, or use df.transform(…), which uses the frame's session."
        ) from None
