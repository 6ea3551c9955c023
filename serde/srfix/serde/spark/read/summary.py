"""A read plan in at most ten lines: what `ReadPlan.explain()` gives. All of it is in `read.explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from srfix.serde.batches.rows import reason_of
from srfix.serde.columns.text import print_columns
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.spark.read.decisions import ReadDecisions
from srfix.serde.spark.read.explain import format_words, policy_words, resolution_words, versions_words
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.spark.short_text import first_ones, short_text

_IDS: Final = 8
"""How many ids a line names."""


def summary(plan: ReadDecisions) -> str:
    """The same text for equal plans, without a line's end at its own."""
    rule = "" if plan.format is not None and plan.format.is_bare else f", case rule {plan.case_rule.value}"
    return short_text(f"The {plan.role.value}s of topic {plan.topic!r}: {format_words(plan)}{rule}", _entries(plan))


def _entries(plan: ReadDecisions) -> Iterator[tuple[str, str]]:
    resolution, left_out = resolution_words(plan), ""
    if plan.newest is not None and plan.newest.dropped:
        left_out = f"; left out {', '.join(dropped.path for dropped in plan.newest.dropped)}"
    if resolution is not None:
        yield "resolution", f"{resolution}{left_out}"
    bare = "" if plan.wrapped else "; a body is its bare value"
    times = "times as the integers in the record; " if plan.times == "integers" else ""
    yield "columns", f"{times}{print_columns(plan.columns)}{bare}"
    if plan.newest is not None and resolution is None:
        yield "newest", f"version {plan.newest.version} of {plan.newest.subject!r}{left_out}"
    if plan.policy is not None:
        yield "policy", policy_words(plan)
        ids = _ids(planned.schema_id for planned in plan.schemas if planned.problem is None)
        yield "reads", f"{ids or 'no id'}, of {', '.join(versions_words(plan))}"
    bad: dict[str, list[int]] = {}
    for planned in plan.schemas:
        if planned.problem is not None and (reason := reason_of(planned.problem)) is not None:
            bad.setdefault(reason.value, []).append(planned.schema_id)
    if bad:
        yield "bad rows", "; ".join(f"{_ids(ids)} ({reason})" for reason, ids in bad.items())
    if plan.refusals:
        yield "refused", _ids(refusal.schema_id for refusal in plan.refusals)
    if empty := "; ".join(_empty(plan)):
        yield "null", empty
    yield "engines", _engines(plan)


def _empty(plan: ReadDecisions) -> Iterator[str]:
    """Columns that no field feeds, with the ids of whose rows that is so."""
    for column in plan.columns:
        ids = [
            planned.schema_id
            for planned in plan.schemas
            if planned.problem is None
            and any(feed.column == column.name and feed.field is None for feed in planned.feeds)
        ]
        if ids:
            yield f"{column.name} ({_ids(ids)})"


def _engines(plan: ReadDecisions) -> str:
    try:
        plan.spark_schema()
    except ColumnError as error:
        return f"none: {error.message}"
    try:
        jvm_read(plan)
    except EngineRefusedError as error:
        return f"arrow; jvm refuses: {error.reasons[0]}"
    return "jvm and arrow"


def _ids(ids: Iterable[int]) -> str:
    found = sorted(ids)
    if not found:
        return ""
    return f"{'id' if len(found) == 1 else 'ids'} {first_ones(map(str, found), _IDS)}"
