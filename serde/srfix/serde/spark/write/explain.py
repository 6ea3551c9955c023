"""A plan for writing, as a text for a person: ten lines at most (`summary`), or all of it (`explanation`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from srfix.serde.column_sources.from_spark import SparkSchema
from srfix.serde.columns.text import print_columns, print_type
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.spark.short_text import first_ones, short_text
from srfix.serde.spark.write.decisions import WriteDecisions
from srfix.serde.spark.write.frame_row import FrameRow, frame_row
from srfix.serde.spark.write.jvm import jvm_write, write_feeds

_FEEDS: Final = 6
"""How many columns of each kind a line names."""


def summary(plan: WriteDecisions, frame: SparkSchema | None, from_: str | Sequence[str] | None) -> str:
    """What `WritePlan.explain()` gives: at most ten lines, and the same for equal plans."""
    return short_text(_head(plan), _entries(plan, frame, from_))


def _head(plan: WriteDecisions) -> str:
    return f"The {plan.role.value}s of topic {plan.topic!r}, written in {plan.format.name}"


def _entries(
    plan: WriteDecisions, frame: SparkSchema | None, from_: str | Sequence[str] | None
) -> Iterator[tuple[str, str]]:
    if plan.settled is not None:
        yield "schema", f"id {plan.settled.published.schema_id}, under subject {plan.subject!r}"
        yield "framing", plan.framing.value
    if plan.columns is None:
        yield "columns", "as the schema has them, by its exact names" if plan.settled else "any"
    else:
        bare = "" if plan.wrapped else "; a body is its bare value"
        yield "columns", f"{print_columns(plan.columns)}{bare}"
        yield "case rule", plan.case_rule.value
    if plan.times == "integers":
        yield "times", "given as the integers that are written"
    elif plan.cut_times:
        yield "times", "cut, where they are finer than the schema's"
    if frame is None:
        yield "engines", "decided with the frame: explain(df.schema)"
        return
    row = frame_row(plan, frame, from_, plan.role.value)
    try:
        feeds = write_feeds(plan, row)
    except (ColumnError, EngineRefusedError):
        feeds = ()
    if renamed := [f"{feed.column} \u2190 {feed.field}" for feed in feeds if feed.field not in (None, feed.column)]:
        yield "renamed", first_ones(renamed, _FEEDS)
    if missing := [feed.column for feed in feeds if feed.field is None]:
        yield "not there", first_ones(missing, _FEEDS)
    yield "engine", _engine(plan, row)


def _engine(plan: WriteDecisions, row: FrameRow) -> str:
    try:
        jvm_write(plan, row)
    except ColumnError as error:
        return f"none. {error.message}"
    except EngineRefusedError as error:
        return f"arrow; jvm cannot: {'; '.join(error.reasons)}"
    return "jvm, every cast is exact"


def explanation(plan: WriteDecisions, frame: SparkSchema | None, from_: str | Sequence[str] | None) -> str:
    """What `WritePlan.explain(extended=True)` gives."""
    lines = [_head(plan), *_schema(plan), *_rows(plan)]
    if frame is not None:
        lines += _frame(plan, frame, from_)
    return "\n".join(lines)


def _schema(plan: WriteDecisions) -> Iterator[str]:
    if plan.settled is not None:
        published = plan.settled.published
        guid = "" if published.guid is None else f", GUID {published.guid}"
        yield f"  schema id {published.schema_id}{guid}, under subject {plan.subject!r}, in the framing {plan.framing.value!r}:"
        yield f"    {plan.settled.schema.text}"


def _rows(plan: WriteDecisions) -> Iterator[str]:
    if plan.columns is None:
        yield "  rows: as the schema has them, by its exact names" if plan.settled else "  rows: any"
        return
    bare = "" if plan.wrapped else "; a body is its bare value"
    yield f"  columns, matched by the case rule {plan.case_rule.value!r}{bare}:"
    for column in plan.columns:
        yield f"    {column.name} {print_type(column.type)}"


def _frame(plan: WriteDecisions, frame: SparkSchema, from_: str | Sequence[str] | None) -> Iterator[str]:
    yield "  of the frame:"
    row = frame_row(plan, frame, from_, plan.role.value)
    if row.struct is not None:
        yield f"    the row is the struct {row.struct!r}"
    try:
        for feed in write_feeds(plan, row):
            yield f"    {feed.column} \u2190 {feed.detail if feed.field is None else f'{feed.field} {feed.detail}'}"
    except EngineRefusedError:
        pass  # Spark writes no such schema at all; the engine's line says why
    yield f"  engine: {_engine(plan, row)}"
