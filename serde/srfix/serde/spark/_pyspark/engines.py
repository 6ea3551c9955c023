"""The engine for a frame or a column, and its result for payloads. The arrow engine runs the serde on Arrow batches, on
the workers. The engine in the JVM gets no headers, so a schema identity in a header is moved to the front of the
payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from srfix.serde.errors import Reason
from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.spark._pyspark.jvm import (
    Judged,
    Payload,
    has_id,
    in_words,
    is_read,
    judged,
    jvm_rows,
    row_of,
    wire_words,
)
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark._pyspark.strict import are_pythons, fields_of, struct_type
from srfix.serde.spark.read.jvm.read import EngineChoice, JvmRead
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.releases import require_arrow
from srfix.serde.subjects.names import Role
from srfix.serde.wire import PREFIX_GUID_SIZE, header_guid, schema_id_header

PAYLOAD: Final = "payload"
PROBLEM: Final = "problem"
LEFT: Final = "left"


def framed_by_header(payload: Column, headers: Column, role: Role) -> Column:
    """`struct<payload: binary, problem: string>`: the payload behind its header's GUID, or why there is no GUID."""
    name = schema_id_header(role)
    header = F.try_element_at(F.filter(headers, lambda one: one["key"] == name), F.lit(-1))  # the last one counts
    value = header["value"]
    is_guid = F.coalesce((F.length(value) >= PREFIX_GUID_SIZE) & value.startswith(F.lit(b"\1")), F.lit(False))
    before, behind = wire_words(header_guid, {name: b""}, role).split("0 bytes", 1)
    size = F.coalesce(F.concat(F.length(value).cast("string"), F.lit(" bytes")), F.lit("null"))
    problem = F.concat(F.lit(before), size, F.lit(behind))
    plain = F.struct(payload.alias(PAYLOAD), F.lit(None).cast("string").alias(PROBLEM))
    by_guid = F.struct(F.concat(value, payload).alias(PAYLOAD), F.lit(None).cast("string").alias(PROBLEM))
    unreadable = F.struct(F.lit(None).cast("binary").alias(PAYLOAD), problem.alias(PROBLEM))
    # Most records have no headers, so nothing is searched for them.
    return (
        F.when(payload.isNull() | headers.isNull() | header.isNull(), plain)
        .when(is_guid, by_guid)
        .otherwise(unreadable)
    )


def arrow_decoded(
    plan: ReadPlan, payload: Column, *, headers: Column | None = None, behind_barrier: bool = False
) -> Column:
    """`struct<row, reason: string, message: string>`: the row is null if and only if there is a reason (also
    TOMBSTONE). Without a barrier in a generator (`frames`), the column is marked as not deterministic, so that no
    filter on it causes a second decoding."""
    columns = [payload]
    if headers is not None:  # only those that name a schema are sent to the workers
        columns.append(F.filter(headers, lambda header: header["key"] == schema_id_header(plan.role)))
    return _called("plan_decoder", plan, decoded_type(plan), *columns, is_deterministic=behind_barrier)


def arrow_fallback(plan: ReadPlan, payload: Column) -> Column:
    """Null in the rows that need no decoding gives null; a batch with only nulls takes no time."""
    type_ = ArrayType(decoded_type(plan))
    return F.get(_called("fallback_decoder", plan, type_, payload, is_deterministic=True), F.lit(0))


def _called(factory: str, plan: ReadPlan, type_: DataType, *columns: Column, is_deterministic: bool) -> Column:
    require_arrow()
    shipped = Shipped(f"srfix.serde.spark.worker.decode:{factory}", pickled_with_secrets(plan))
    decode = F.arrow_udf(shipped, type_)  # type: ignore[attr-defined]
    decoded: Column = (decode if is_deterministic else decode.asNondeterministic())(*columns)
    return decoded


def decoded_type(plan: ReadPlan) -> StructType:
    row = struct_type(plan.spark_schema())
    return StructType().add("row", row).add("reason", StringType()).add("message", StringType())


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    plan: ReadPlan
    read: JvmRead | None
    """None for the arrow engine, which also reads headers."""
    fallback: Callable[[Column], Column] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return ("row", "reason", "message") if self.read is None else self.read.names

    def made(self, payload: Payload, headers: Column | None = None) -> Column:
        """`struct<names>`; it must be computed once per row: after the barrier of `frames`, or in a lambda's array."""
        if self.read is None:
            return arrow_decoded(self.plan, payload.bytes_, headers=headers, behind_barrier=True)
        return jvm_rows(self.read, payload)

    def left(self, payload: Payload) -> Column | None:
        """What the fallback makes of a payload that the jvm engine does not know; None if there is no fallback. The caller
        puts it under `LEFT` beside the parts of `made`."""
        if self.read is None or self.fallback is None:
            return None
        is_known = has_id(payload, self.read.schema_ids) if self.read.schema_ids else F.lit(False)
        return self.fallback(F.when(~is_known, payload.bytes_))

    def is_good(self, made: Mapping[str, Column]) -> Column:
        """Whether there is a row, and Python can hold all its values; never null. It deserves its own column."""
        if self.read is None:
            return made["row"].isNotNull()
        fields, columns = [made[name] for name in self.names], self.plan.columns
        holds = are_pythons(columns, fields_of(columns, fields[0]) if self.read.is_wide else fields[:-1])
        return is_read(fields) if holds is None else is_read(fields) & holds

    def row(self, made: Mapping[str, Column]) -> Column:
        """The row, or null. It is a CASE, for the reason that `frames._or_raised` gives."""
        if self.read is None:
            return F.when(made["reason"].isNull(), made["row"])
        fields = [made[name] for name in self.names]
        return row_of(self.read, fields, made.get(LEFT), is_good=is_read(fields))

    def judged(
        self,
        made: Mapping[str, Column],
        payload: Payload,
        *,
        is_good: Column,
        problem: Column | None = None,
    ) -> Judged:
        """A `problem` is the error of the payload's framing, in words."""
        if self.read is not None:
            fields = [made[name] for name in self.names]
            return judged(self.read, payload, fields=fields, left=made.get(LEFT), is_good=is_good, problem=problem)
        reason, message = made["reason"], made["message"]
        is_tombstone = F.coalesce(reason == Reason.TOMBSTONE.value, F.lit(False))
        return Judged(
            row=made["row"],
            is_bad=reason.isNotNull() & ~is_tombstone,
            is_tombstone=is_tombstone,
            why=F.struct(reason.alias("reason"), message.alias("message")),
            words=in_words(reason, message),
        )


def decoding_of(plan: ReadPlan, choice: EngineChoice) -> Decoding:
    fallback = partial(arrow_fallback, plan) if choice.fallback else None
    return Decoding(plan=plan, read=choice.read, fallback=fallback)
