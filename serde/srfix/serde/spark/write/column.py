"""How `to_registry(column, plan)` writes a row without a frame. A Column shows its type only in a frame, so the row must have
exactly the types of the plan's columns; the job checks this before it reads a row. Needs no pyspark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from srfix.serde.casing import CaseRule, are_distinct
from srfix.serde.column_sources.from_spark import spark_schema
from srfix.serde.columns.half import struct_of
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Columns, ColumnType, Struct, parts_of
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.formats.table import Format
from srfix.serde.spark.frame_types import FrameField
from srfix.serde.spark.frame_types import struct_of as frame_struct
from srfix.serde.spark.read.plan import reader_half
from srfix.serde.spark.write.decisions import FrameRow, WriteDecisions, frame_row
from srfix.serde.spark.write.jvm import JvmWrite, jvm_write
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.wire import Framing

ROW: Final = "srfix_row"
"""The name of the row in the expressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnWrite:
    struct: dict[str, object]
    """The type that the row must have, in Spark's JSON form."""
    is_exact: bool
    """Whether the letter case of names counts."""
    row: FrameRow
    write: JvmWrite


def column_write(plan: WriteDecisions) -> ColumnWrite:
    """:raises EngineRefusedError: if Spark's own Avro cannot write such rows; the error says what to do instead."""
    if plan.format is not Format.AVRO:
        raise _refused(plan, f"bodies are {plan.format.name}, but Spark writes only Avro")
    if plan.framing is Framing.HEADER_GUID:
        raise _refused(plan, "the GUID belongs to the record's headers, which are another column")
    try:
        columns = with_times(_columns(plan), plan.times)
        struct = json.loads(spark_schema(columns))
        row = frame_row(plan, frame_struct([FrameField(name=ROW, type=struct)]), ROW, ROW)
        write = jvm_write(plan, row)
    except EngineRefusedError as error:
        raise _refused(plan, *error.reasons) from error
    except ColumnError as error:
        raise _refused(plan, error.message.rstrip(".")) from error
    is_exact = plan.case_rule is CaseRule.EXACT or _has_twins(struct_of(columns))
    return ColumnWrite(struct=struct, is_exact=is_exact, row=row, write=write)


def _columns(plan: WriteDecisions) -> Columns:
    if plan.columns is not None:
        return plan.columns
    assert plan.settled is not None
    reader = ReaderSchema(text=plan.settled.schema.text, references=plan.settled.references)
    return reader_half(ReadSpec(reader_schema=reader), plan.role).known_columns


def _has_twins(type_: ColumnType) -> bool:
    """Whether two names of a STRUCT differ only by letter case."""
    is_twin = isinstance(type_, Struct) and not are_distinct([field.name for field in type_.fields])
    return is_twin or any(_has_twins(part) for _, part in parts_of(type_))


def _refused(plan: WriteDecisions, *reasons: str) -> EngineRefusedError:
    return EngineRefusedError(
        f"Only Spark's own Avro writes a Column, and it cannot write the {plan.role.value}s of topic {plan.topic!r}: "
        f"{'; '.join(reasons)}. Transform the frame instead: df.transform(to_registry(plan)).",
        reasons=reasons,
    )
