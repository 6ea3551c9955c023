"""Rows → payloads, in frames."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import BinaryType, StringType, StructType

from srfix.serde.errors import Reason
from srfix.serde.spark._pyspark.frames import as_column, is_bad_row, named
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark.frame_types import sql_text
from srfix.serde.spark.interface import ReasonColumns, reason_columns
from srfix.serde.spark.write.column import ROW, ColumnWrite
from srfix.serde.spark.write.decisions import FrameRow, bad_row_words
from srfix.serde.spark.write.jvm import JvmWrite
from srfix.serde.spark.write.plan import WritePlan

_ENCODED = StructType().add("payload", BinaryType()).add("message", StringType())
_PAYLOAD = "_srfix_encoded_payload"
_MESSAGE = "_srfix_encoded_message"
_SINK = ("key", "value", "partition", "headers")
_NOT_ASKED = (
    "The row is null. If it is written, it deletes its key. If you want that, set null_rows='tombstone'; otherwise "
    "leave the row out."
)
_NOT_MARKED = (
    "The row is null, but not marked as a tombstone. It may be a row that could not be read, or that a join made. "
    "If srfix wrote this row, the row would delete its key. Leave the row out; or, if you want to delete the key, set the "
    "column with the mark to true."
)
_NULL_ROW = (
    "The row is null. If it is written, it deletes its key. Leave the row out; or, if you want to delete the key, use "
    "df.transform(to_registry(plan, null_rows='tombstone'))."
)
_CAST = "cast or reorder the columns, or use df.transform(to_registry(plan)), which does that."
_HEADERS = "array<struct<key: string, value: binary>>"


def arrow_written(plan: WritePlan, row: FrameRow) -> Column:
    """`struct<payload: binary, message: string>`: one of them is null; for a null row, both."""
    encode = F.arrow_udf(  # type: ignore[attr-defined]
        Shipped("srfix.serde.spark.worker.encode:plan_encoder", pickle.dumps(plan)), _ENCODED
    )
    struct = F.struct(*(named(field.name) for field in row.fields)) if row.struct is None else named(row.struct)
    encoded: Column = encode(struct)
    return encoded


def jvm_written(plan: WritePlan, write: JvmWrite) -> Column:
    payload = _framed(plan, write, F.expr(write.row))
    return payload if write.is_null is None else F.when(~F.expr(write.is_null), payload)


def _framed(plan: WritePlan, write: JvmWrite, row: Column) -> Column:
    body = row if write.is_raw else to_avro(row, write.schema)
    if write.skipped:
        body = F.substring(body, 1 + write.skipped, 1 << 30)
    return F.concat(F.lit(plan.prefix), body) if plan.prefix else body


def written_column(column: str | Column | Sequence[str | Column], plan: WritePlan, made: ColumnWrite) -> Column:
    """Spark knows the row's type before it runs, so the check of it reads no row."""
    struct = F.struct(*column) if isinstance(column, list | tuple) else as_column(cast("str | Column", column))
    type_ = StructType.fromJson(made.struct)
    found, wanted = F.typeof(struct), type_.simpleString()
    is_type = found == wanted if made.is_exact else F.lower(found) == F.lower(F.lit(wanted))
    before, behind = "to_registry was given a row of the type ", f", but the plan needs {wanted}: {_CAST}"
    other = F.raise_error(F.concat(F.lit(before), found, F.lit(behind))).cast(type_)
    row = F.when(is_type, struct.cast(type_)).otherwise(other)
    sql_before, sql_behind = bad_row_words(plan, made.row.place)
    refused = f"raise_error(concat({sql_before}, {sql_text(_NULL_ROW)}, {sql_behind}))"
    cases = f"WHEN {made.row.is_null} THEN {refused} WHEN {made.write.is_null} THEN NULL ELSE {made.write.row}"
    # A lambda's variable is computed once, and can be used several times.
    bound = F.call_function("transform", F.array(row), F.expr(f"{ROW} -> CASE {cases} END"))
    return _framed(plan, made.write, F.get(bound, F.lit(0)))


def encode_frame(
    df: DataFrame,
    plan: WritePlan,
    row: FrameRow,
    write: JvmWrite | None,
    *,
    into: str,
    may_be_tombstones: bool,
    is_quarantine: bool,
) -> DataFrame:
    """Without instructions for Spark's Avro, the arrow engine writes."""
    names = reason_columns(plan.role)
    message: Column | None = None
    rows = df
    if write is not None:
        payload = jvm_written(plan, write)
    elif is_quarantine:
        # Because of the barrier, a filter on the reason does not encode twice: Spark computes a generator's struct once
        # for each row.
        rows = df.select("*", F.inline(F.array(arrow_written(plan, row))).alias(_PAYLOAD, _MESSAGE))
        payload, message = F.col(_PAYLOAD), F.col(_MESSAGE)
    else:
        # Without the barrier, key and value are sent to the workers together.
        encoded = arrow_written(plan, row)
        payload, message = encoded["payload"], encoded["message"]
    if row.is_null is not None:
        is_null = F.expr(row.is_null)
        no_row = F.when(is_null, _why_not(row, may_be_tombstones=may_be_tombstones))
        message = no_row if message is None else no_row.otherwise(message)
        payload = F.when(~is_null, payload)
    if message is None:
        out = rows.withColumn(into, payload)
    elif is_quarantine:
        reason = F.when(message.isNotNull(), F.lit(Reason.ENCODE_FAILED.value))
        out = rows.withColumns({into: payload, names.reason: reason, names.message: message})
    else:
        before, behind = (F.expr(words) for words in bad_row_words(plan, row.place))
        failure = F.raise_error(F.concat(before, message, behind)).cast("binary")
        out = rows.withColumn(into, F.when(message.isNotNull(), failure).otherwise(payload))
    out = out.drop(_PAYLOAD, _MESSAGE)
    return out if plan.record_header is None else _with_header(out, plan, into)


def taken_apart(
    df: DataFrame, own_columns: Sequence[str], written: Mapping[str, str], reasons: Sequence[ReasonColumns]
) -> tuple[DataFrame, DataFrame]:
    """The good rows with the columns for Kafka's sink, and the bad rows in their original form."""
    is_written = reduce(and_, (F.col(names.reason).isNull() for names in reasons))
    sink = [F.col(written.get(name, name)).alias(name) for name in _SINK if name in written or name in df.columns]
    whys = [F.col(name) for names in reasons for name in (names.reason, names.message)]
    return df.where(is_written).select(*sink), df.where(~is_written).select(*map(named, own_columns), *whys)


def _why_not(row: FrameRow, *, may_be_tombstones: bool) -> Column:
    """Only a row that was a tombstone when it was read deletes its key; any other may be unreadable, or of a join."""
    refused = F.expr(sql_text(_NOT_ASKED))
    if may_be_tombstones:
        assert row.is_marked is not None
        refused = F.when(~F.expr(row.is_marked), F.expr(sql_text(_NOT_MARKED)))
    if row.reason is None:
        return refused
    reason = named(row.reason)
    unread = F.concat(F.lit("The row could not be read ("), reason, F.lit("). Leave such rows out (good_rows)."))
    return F.when(is_bad_row(reason), unread).otherwise(refused)


def _with_header(df: DataFrame, plan: WritePlan, into: str) -> DataFrame:
    """Behind the other headers, replacing an existing one, and not on a tombstone."""
    assert plan.record_header is not None
    name, value = plan.record_header
    ours = F.array(F.struct(F.lit(name).alias("key"), F.lit(value).alias("value"))).cast(_HEADERS)
    has_headers = "headers" in df.columns
    headers = F.col("headers").cast(_HEADERS) if has_headers else F.lit(None).cast(_HEADERS)
    other_headers = F.filter(F.coalesce(headers, F.array().cast(_HEADERS)), lambda header: header["key"] != name)
    return df.withColumn("headers", F.when(named(into).isNull(), headers).otherwise(F.concat(other_headers, ours)))
