"""Fills a plan with schemas (those of its subjects' versions, and of the named ids), describes which writer field feeds
which column, and refuses columns that no version feeds, and those of days, times and instants that no schema has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, TypeVar

from srfix.serde.casing import CaseRule, declared_name, match_keys
from srfix.serde.columns.types import ScalarType, type_name
from srfix.serde.connect.time_units import as_written
from srfix.serde.errors import (
    CasingError,
    ColumnError,
    DecodeError,
    IncompatibleTypeError,
    NoSubjectError,
    ResolveError,
    SchemaError,
    TimeUnitError,
)
from srfix.serde.formats.table import Format, check_schema_type, format_of, schema_module_of
from srfix.serde.hints import nearest
from srfix.serde.projection.tree import ByKeys, Entries, Fields, Items, Projected, Projection, Refused, Scalar, W
from srfix.serde.resolve.policies import PlannablePolicy
from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered
from srfix.serde.serdes.plans import decode_plan
from srfix.serde.spark.interface import Feed, PlannedRefusal, PlannedSchema, first_ones
from srfix.serde.spark.read.decisions import PlanLookups, ReadDecisions, listed, side_by_side
from srfix.serde.specs import ReadSpec
from srfix.serde.wire import SchemaId

_SHOWN_CHARACTERS: Final = 40
_BY_KEYS: Final = "by each document's keys, whatever the schema says"


def planned_feeds(format_: Format, resolved: ResolvedSchema, spec: ReadSpec) -> PlannedSchema:
    """The problem is a type, or that no column is fed."""
    projection = schema_module_of(format_).projection(resolved.schema.text, spec, resolved.references)
    planned = PlannedSchema(resolved=resolved, format=format_)
    if isinstance(projection, ByKeys):
        return replace(planned, feeds=_by_keys(projection, spec))
    walk = _walked(projection)
    return replace(planned, feeds=tuple(walk.feeds), unused=tuple(walk.unused), problem=walk.problem)


def _by_keys(documents: ByKeys, spec: ReadSpec) -> tuple[Feed, ...]:
    """The schema does not count; it only shows the expected keys."""
    columns = [column.name for column in spec.known_columns]
    if not spec.wrapped:
        return (Feed(column=columns[0], field="", detail=_BY_KEYS),)
    keys = match_keys(columns, documents.expected, spec.case_rule, where=documents.holder)
    return tuple(Feed(column=column, field=keys.get(column), detail=_BY_KEYS) for column in columns)


def _walked(projection: Projection[W]) -> _Walk:
    walk, root = _Walk(), projection.root
    is_certain = not root.writer.is_nullable
    if not projection.is_wrapped:
        walk.bare = projection.columns[0].name
        walk.value(root, "", is_certain=is_certain)
    elif isinstance(root.how, Fields):
        walk.fields(root.how, "", "", is_certain=not root.how.is_choice)
        # If null is allowed, a body may be null, which is a tombstone.
        if projection.unfed is not None and is_certain:
            walk.problem = projection.unfed.error()
    elif isinstance(root.how, Refused):
        error = root.how.error
        walk.problem = None if root.how.reads_null else error
        walk.feeds += [Feed(column=one.name, field=None, refusal=error.message) for one in projection.columns]
    return walk


class _Walk:
    def __init__(self) -> None:
        self.bare = ""
        """The column that the root feeds, if the root is not a record of columns."""
        self.feeds: list[Feed] = []
        self.unused: list[str] = []
        self.problem: DecodeError | None = None

    def value(self, value: Projected[W], field: str, *, is_certain: bool, over: Sequence[str] = ()) -> None:
        """`is_certain`: every row reaches the field's path. Its value replaces those of the fields `over`."""
        how, is_value = value.how, is_certain and not value.writer.is_nullable
        if isinstance(how, Refused):
            error = how.error if how.has_values else None
            self._feed(value, field, over, error, is_certain=is_certain and not how.reads_null)
            return
        self._feed(value, field, over, how.refusal if isinstance(how, Scalar) else None, is_certain=is_value)
        match how:
            case Fields():
                self.fields(how, self._column(value), field, is_certain=is_value and not how.is_choice)
            case Items(items):
                self._inside(items, _joined(field, "ARRAY"))
            case Entries(keys, values):
                self._inside(keys, _joined(field, "MAP_KEY"))
                self._inside(values, _joined(field, "MAP_VAL"))

    def _inside(self, value: Projected[W], field: str) -> None:
        """Items, keys and values have their own line only if there is something to say about them."""
        first = len(self.feeds)
        self.value(value, field, is_certain=False)
        feed = self.feeds[first]
        if feed.detail is None and feed.refusal is None and feed.numbers is None:
            del self.feeds[first]

    def fields(self, of: Fields[W], column: str, field: str, *, is_certain: bool) -> None:
        """`column` is the path of the STRUCT; empty for a row's columns."""
        fed = of.by_field()
        for part in of.fields:
            if part.number in of.unresolved:
                refusal = of.unresolved[part.number].error.message
                self.feeds.append(Feed(column=column, field=_joined(field, part.written), refusal=refusal))
            elif not fed[part.number]:
                self.unused.append(_joined(field, part.written))
        absent = {one.column.name: one for one in of.absent}
        in_order = sorted(of.targets, key=lambda target: target.field.number)
        for one in of.columns:
            if one.name in absent:
                default = absent[one.name].default
                shown = None if default is None else _shown(default.field.default)
                self.feeds.append(Feed(column=_joined(column, one.name), field=None, default=shown))
            targets = [target for target in in_order if target.column is one]
            over = [target.field.name for target in targets if not target.counts]
            for target in targets:
                written = _joined(field, target.field.written)
                if target.counts:
                    self.value(target.value, written, is_certain=is_certain, over=over)
                elif isinstance(target.value.how, Refused):
                    # Its type is checked nevertheless.
                    self._feed(target.value, written, (), target.value.how.error, is_certain=is_certain)

    def _feed(
        self,
        value: Projected[W],
        field: str,
        over: Sequence[str],
        refused: IncompatibleTypeError | None,
        *,
        is_certain: bool,
    ) -> None:
        if refused is not None and is_certain and self.problem is None:
            self.problem = refused
        unit, column = as_written(value.unit, value.column), value.column
        details = [] if value.writer.is_type_of(column) else [f"{value.writer.word} to {type_name(column)}"]
        if value.default is not None:
            details.append(f"null as {_shown(value.default)}")
        if over:
            details.append(f"overrides {', '.join(over)}")
        self.feeds.append(
            Feed(
                column=self._column(value),
                field=field,
                detail="; ".join(details) or None,
                refusal=None if refused is None else refused.message,
                other_time=refused.column_type if isinstance(refused, TimeUnitError) else None,
                numbers=None if unit is None else unit.numbers,
            )
        )

    def _column(self, value: Projected[W]) -> str:
        return (self.bare + value.path).removeprefix("->")


def _joined(path: str, name: str) -> str:
    return f"{path}->{name}" if path else name


def _shown(default: object) -> str:
    shown = json.dumps(default, ensure_ascii=False, default=str)
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"


P = TypeVar("P", bound=ReadDecisions)


def filled(plan: P, lookups: PlanLookups, ids: Iterable[SchemaId]) -> P:
    """The plan with all versions of its subjects, and with these ids. Schemas that it already has are kept."""
    versions = tuple(listed(lookups, plan.subjects, plan.listed))
    schemas = {planned.schema_id: planned for planned in plan.schemas}
    refusals: list[PlannedRefusal] = []
    wanted = sorted({*ids, *(version.schema_id for version in versions)} - schemas.keys())
    if isinstance(plan.policy, PlannablePolicy):
        answers = side_by_side(lambda one: _resolved(plan, lookups, one), wanted)
    else:
        answers = [_resolved(plan, lookups, one) for one in wanted]
    for schema_id, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, PlannedRefusal):
            refusals.append(answer)
        else:
            schemas[schema_id] = _planned(plan, *answer)
    in_order = tuple(schemas[schema_id] for schema_id in sorted(schemas))
    return replace(plan, listed=versions, schemas=in_order, refusals=tuple(refusals))


def _resolved(
    plan: ReadDecisions, lookups: PlanLookups, schema_id: SchemaId
) -> tuple[ResolvedSchema, SecondAnswered | None] | PlannedRefusal:
    """For a policy of this package, each id uses a copy, so that no id waits for another."""
    seconds: list[SecondAnswered] = []
    policy = plan.policy
    assert policy is not None
    if isinstance(policy, PlannablePolicy):
        policy = policy.over(lookups, on_second=seconds.append)
    try:
        resolved = policy.resolve(schema_id, topic=plan.topic, role=plan.role)
    except (ResolveError, NoSubjectError) as error:
        reason = error.row_reason
        assert reason is not None
        return PlannedRefusal(schema_id=schema_id, reason=reason, error=error)
    return resolved, seconds[-1] if seconds else None


def _planned(plan: ReadDecisions, resolved: ResolvedSchema, second: SecondAnswered | None) -> PlannedSchema:
    schema, format_ = resolved.schema, None
    try:
        format_ = format_of(schema.schema_type)
        if plan.format is not None:
            check_schema_type(schema.schema_type, plan.format)
        decode_plan(format_, schema.text, plan.spec, resolved.references)
        return replace(planned_feeds(format_, resolved, plan.spec), second=second)
    except (SchemaError, CasingError) as error:
        return PlannedSchema(resolved=resolved, format=format_, problem=error, second=second)
    except ColumnError as error:
        error.args = (f"Schema id {resolved.schema_id} of topic {plan.topic!r}: {error.message}",)
        raise


_SHOWN_COLUMNS: Final = 20
_INSIDE: Final = re.compile(r"->(?:ARRAY|MAP_KEY|MAP_VAL)$")


def check_fed(plan: ReadDecisions) -> None:
    """Does nothing if no version, or no version's field list, is known."""
    # A root that feeds no columns says nothing about a single column; neither does a schema that cannot be walked.
    schemas = [
        planned
        for planned in plan.schemas
        if any(feed.field is not None or feed.refusal is None for feed in planned.feeds)
    ]
    missing = _missing(schemas) if schemas else []
    if not missing:
        return
    one, named = len(missing) == 1, first_ones(missing, _SHOWN_COLUMNS)
    raise ColumnError(
        f"No version of the {plan.role.value}s of topic {plan.topic!r} feeds "
        f"{'the column' if one else 'the columns'} {named}: {'it' if one else 'they'} would be null in every "
        f"row.{_near(missing, schemas)} srfix looked under "
        f"{', '.join(map(repr, plan.subjects)) or 'no subject, only for ids'}. Use the writers' field names, give "
        "subjects= whose versions have these fields, or set missing_columns='null'."
    )


def check_readable(plan: ReadDecisions) -> None:
    """Does nothing if no version is known, or an id was refused, which the policy may accept later; nor for `strict`,
    because a later version may feed all columns."""
    if not plan.schemas or plan.strict or plan.refusals or any(planned.problem is None for planned in plan.schemas):
        return
    first = plan.schemas[0]
    assert first.problem is not None
    raise ColumnError(
        f"No version of the {plan.role.value}s of topic {plan.topic!r} can be read into these columns. Schema id "
        f"{first.schema_id}: {first.problem.message} Declare other columns, or set missing_columns='null': then every row "
        "of these versions is a bad row."
    )


def _missing(schemas: list[PlannedSchema]) -> list[str]:
    """Without those within other missing paths."""
    unfed = [{feed.column for feed in planned.feeds if not _is_fed(feed)} for planned in schemas]
    fed = {feed.column for planned in schemas for feed in planned.feeds if _is_fed(feed)}
    # If a version does not feed a STRUCT, its inner fields are not listed.
    every = dict.fromkeys(feed.column for planned in schemas for feed in planned.feeds)
    return [path for path in every if path not in fed and any(path in one for one in unfed)]


def _is_fed(feed: Feed) -> bool:
    return feed.field is not None or feed.default is not None


def _near(missing: list[str], schemas: list[PlannedSchema]) -> str:
    feeds = ((*planned.unused, *(feed.field for feed in planned.feeds)) for planned in schemas)
    by_name = {declared_name(name): name for name in reversed([*dict.fromkeys(filter(None, chain(*feeds)))])}
    suggestions = [
        f"{by_name[near]!r} for {name}"
        for name in missing[:_SHOWN_COLUMNS]
        if (near := nearest(declared_name(name), by_name, cutoff=0.7))
    ]
    return f" Did you mean {', '.join(suggestions)}?" if suggestions else ""


def check_times(schemas: Iterable[PlannedSchema], topic: str) -> None:
    """If another schema can feed the column, only the rows of the first are bad, and the plan is not refused."""
    by_schema = [(planned, {feed.column: feed for feed in planned.feeds}) for planned in schemas]
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if feed.other_time is not None and not any(_feeds_time(other, column) for _, other in by_schema):
                # ksqlDB treats a number as a day, a time or an instant, and has no local times.
                is_local = feed.other_time == ScalarType.TIMESTAMP_NTZ.value
                hint = f" To read the number as ksqlDB does, use the case rule {CaseRule.KSQLDB.value!r}."
                raise ColumnError(
                    f"The column {column} cannot be read from topic {topic!r}, schema id {planned.schema_id}: "
                    f"{feed.refusal}{'' if is_local else hint}"
                )
    _check_numbers(by_schema, topic)


def _check_numbers(by_schema: Sequence[tuple[PlannedSchema, dict[str, Feed]]], topic: str) -> None:
    """A column is useless if its numbers are milliseconds in one row and microseconds in the next."""
    numbers_by_column: dict[str, dict[str, int]] = {}
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if planned.problem is None and feed.numbers is not None and feed.refusal is None:
                numbers_by_column.setdefault(column, {}).setdefault(feed.numbers, planned.schema_id)
    for column, numbers in numbers_by_column.items():
        if len(numbers) > 1:
            kinds = ", ".join(f"{kind} (schema id {schema_id})" for kind, schema_id in numbers.items())
            raise ColumnError(
                f"The column {column} would hold numbers with different units, and a row would not show its unit: in "
                f"topic {topic!r} they are {kinds}. Declare a column that uses the unit (DATE, TIME, TIMESTAMP), or "
                f"leave it out. To read the numbers unchanged, use the case rule {CaseRule.KSQLDB.value!r}."
            )


def _feeds_time(feeds: dict[str, Feed], column: str) -> bool:
    feed = feeds.get(column)
    if feed is not None:
        return feed.field is not None and feed.refusal is None
    # Items, keys and values have their own line only if there is something to say about them.
    outer = _INSIDE.sub("", column)
    return outer != column and _feeds_time(feeds, outer)
