"""A plan for writing, as a text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from srfix.serde.columns import print_type
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.spark._frame_rows import frame_row
from srfix.serde.spark._write_jvm import jvm_write, write_feeds

if TYPE_CHECKING:
    from srfix.serde._columns_from_spark import SparkSchema
    from srfix.serde.spark.write_plan import WritePlan

__all__ = ["explanation"]


def explanation(plan: WritePlan, frame: SparkSchema | None, from_: str | Sequence[str] | None) -> str:
    """What `WritePlan.explain` gives."""
    lines = [
        f"The {plan.role.value}s of topic {plan.topic!r}, written in {plan.format.name}",
        *_schema(plan),
        *_rows(plan),
    ]
    if frame is not None:
        lines += _frame(plan, frame, from_)
    return "\n".join(lines)


def _schema(plan: WritePlan) -> Iterator[str]:
    if plan.settled is not None:
        published = plan.settled.published
        guid = "" if published.guid is None else f", GUID {published.guid}"
        yield f"  schema id {published.schema_id}{guid}, under subject {plan.subject!r}, in the framing {plan.framing.value!r}:"
        yield f"    {plan.settled.schema.text}"


def _rows(plan: WritePlan) -> Iterator[str]:
    if plan.columns is None:
        yield "  rows: as the schema has them, by its exact names" if plan.settled else "  rows: any"
        return
    bare = "" if plan.wrapped else "; a body is its bare value"
    yield f"  columns, matched by the case rule {plan.case_rule.value!r}{bare}:"
    for column in plan.columns:
        yield f"    {column.name} {print_type(column.type)}"


def _frame(plan: WritePlan, frame: SparkSchema, from_: str | Sequence[str] | None) -> Iterator[str]:
    yield "  of the frame:"
    row = frame_row(plan, frame, from_, plan.role.value)
    if row.struct is not None:
        yield f"    the row is the struct {row.struct!r}"
    try:
        for feed in write_feeds(plan, row):
            yield f"    {feed.column} \u2190 {feed.detail if feed.field is None else f'{feed.field} {feed.detail}'}"
        jvm_write(plan, row)
        yield "  engine: jvm, every cast is exact"
    except ColumnError as error:
        yield f"  engine: none. {error.message}"
    except EngineRefusedError as error:
        yield f"  engine: arrow; jvm cannot: {'; '.join(error.reasons)}"
