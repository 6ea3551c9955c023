"""Which schemas a plan holds: those of its subjects' versions, and of the ids that were named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from srfix.serde.batches.rows import reason_of
from srfix.serde.errors import (
    CasingError,
    ColumnError,
    NoSubjectError,
    ResolveError,
    SchemaError,
    SrfixError,
)
from srfix.serde.formats.table import check_schema_type, format_of
from srfix.serde.resolve.policies import PlannablePolicy
from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered
from srfix.serde.serdes.plans import decode_plan
from srfix.serde.spark.interface import PlannedRefusal, PlannedSchema
from srfix.serde.spark.read.decisions import ReadDecisions
from srfix.serde.spark.read.feeds import Feeds, planned_feeds
from srfix.serde.spark.read.plan_registry import Asked, listed, side_by_side
from srfix.serde.wire import SchemaId

P = TypeVar("P", bound=ReadDecisions)
"""A plan."""


def filled(plan: P, asked: Asked, ids: Iterable[SchemaId]) -> P:
    """The plan with all versions of its subjects, and with these ids; what it holds already is kept."""
    versions = tuple(listed(asked, plan.subjects, plan.listed))
    schemas = {planned.schema_id: planned for planned in plan.schemas}
    refusals: list[PlannedRefusal] = []
    wanted = sorted({*ids, *(version.schema_id for version in versions)} - schemas.keys())
    if isinstance(plan.policy, PlannablePolicy):
        answers = side_by_side(lambda one: _resolved(plan, asked, one), wanted)
    else:
        answers = [_resolved(plan, asked, one) for one in wanted]
    for schema_id, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, PlannedRefusal):
            refusals.append(answer)
        else:
            schemas[schema_id] = _planned(plan, *answer)
    in_order = tuple(schemas[schema_id] for schema_id in sorted(schemas))
    return replace(plan, listed=versions, schemas=in_order, refusals=tuple(refusals))


def _resolved(
    plan: ReadDecisions, asked: Asked, schema_id: SchemaId
) -> tuple[ResolvedSchema, SecondAnswered | None] | PlannedRefusal:
    """What the policy says of an id; of a policy of this package's a copy for each id, so that none waits for another."""
    seconds: list[SecondAnswered] = []
    policy = plan.policy
    assert policy is not None
    if isinstance(policy, PlannablePolicy):
        policy = policy.over(asked, on_second=seconds.append)
    try:
        resolved = policy.resolve(schema_id, topic=plan.topic, role=plan.role)
    except (ResolveError, NoSubjectError) as error:
        reason = reason_of(error)
        assert reason is not None
        return PlannedRefusal(schema_id=schema_id, reason=reason, error=error)
    return resolved, seconds[-1] if seconds else None


def _planned(plan: ReadDecisions, resolved: ResolvedSchema, second: SecondAnswered | None) -> PlannedSchema:
    schema, format_ = resolved.schema, None
    feeds = Feeds(feeds=())
    problem: SrfixError | None
    try:
        format_ = format_of(schema.schema_type)
        if plan.format is not None:
            check_schema_type(schema.schema_type, plan.format)
        decode_plan(format_, schema.text, plan.spec, resolved.references)
        feeds = planned_feeds(format_, resolved, plan.spec)
        problem = feeds.problem
    except (SchemaError, CasingError) as error:
        problem = error
    except ColumnError as error:
        error.args = (f"Schema id {resolved.schema_id} of topic {plan.topic!r}: {error.message}",)
        raise
    return PlannedSchema(
        resolved=resolved,
        format=format_,
        feeds=feeds.feeds,
        unused=feeds.unused,
        problem=problem,
        second=second,
    )
