"""What makes a plan of no use: columns that no version feeds, misspelt or of another topic, which would be null in every row;
and columns of days, times and instants that no schema of it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from srfix.serde.casing import CaseRule, declared_name
from srfix.serde.columns.types import ScalarType
from srfix.serde.errors import ColumnError
from srfix.serde.hints import nearest
from srfix.serde.spark.interface import Feed, PlannedSchema
from srfix.serde.spark.read.decisions import ReadDecisions

_SHOWN: Final = 20
_INSIDE: Final = re.compile(r"->(?:ARRAY|MAP_KEY|MAP_VAL)$")


def check_fed(plan: ReadDecisions) -> None:
    """Checks nothing where no version is known, or no version's fields are."""
    # A root that feeds no columns at all says nothing about one of them; nor does a schema that cannot be walked.
    told = [
        planned
        for planned in plan.schemas
        if any(feed.field is not None or feed.refusal is None for feed in planned.feeds)
    ]
    missing = _missing(told) if told else []
    if not missing:
        return
    shown = ", ".join(missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
    one = len(missing) == 1
    raise ColumnError(
        f"No version of the {plan.role.value}s of topic {plan.topic!r} feeds {'the column' if one else 'the columns'} "
        f"{shown}{more}: {'it' if one else 'they'} would be null in every row.{_near(missing, told)} Asked: "
        f"{', '.join(map(repr, plan.subjects)) or 'ids alone'}. Name the fields that the writers have, give subjects= whose "
        "versions feed them, or say missing_columns='null'."
    )


def _missing(told: list[PlannedSchema]) -> list[str]:
    """Paths, without those inside of others."""
    unfed = [{feed.column for feed in planned.feeds if not _is_fed(feed)} for planned in told]
    fed = {feed.column for planned in told for feed in planned.feeds if _is_fed(feed)}
    # Where a version does not feed a STRUCT, the fields inside are not listed.
    every = dict.fromkeys(feed.column for planned in told for feed in planned.feeds)
    return [path for path in every if path not in fed and any(path in one for one in unfed)]


def _is_fed(feed: Feed) -> bool:
    return feed.field is not None or feed.default is not None


def _near(missing: list[str], told: list[PlannedSchema]) -> str:
    fields = list(dict.fromkeys(name for planned in told for name in _fields(planned)))
    by_name = {declared_name(name): name for name in reversed(fields)}
    found = [
        f"{by_name[near]!r} for {name}"
        for name in missing[:_SHOWN]
        if (near := nearest(declared_name(name), by_name, cutoff=0.7))
    ]
    return f" Did you mean {', '.join(found)}?" if found else ""


def _fields(planned: PlannedSchema) -> Iterator[str]:
    yield from planned.unused
    yield from (feed.field for feed in planned.feeds if feed.field)


def check_times(schemas: Iterable[PlannedSchema], topic: str) -> None:
    """Refuses a plan in which a column, or a part of one, is fed by numbers of other times only. Where another schema feeds
    it, the rows of the first are bad, and those of the other are read.
    """
    by_schema = [(planned, {feed.column: feed for feed in planned.feeds}) for planned in schemas]
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if feed.other_time is not None and not any(_feeds_time(other, column) for _, other in by_schema):
                raise ColumnError(
                    f"The column {column} cannot be read from topic {topic!r}, schema id {planned.schema_id}: "
                    f"{feed.refusal}{_by_ksqldb(feed.other_time)}"
                )
    _check_numbers(by_schema, topic)


def _by_ksqldb(column_type: str) -> str:
    """ksqlDB takes a number for a day, a time or an instant, and has no local times."""
    if column_type == ScalarType.TIMESTAMP_NTZ.value:
        return ""
    return f" To have the number taken as ksqlDB takes it, use the case rule {CaseRule.KSQLDB.value!r}."


def _check_numbers(by_schema: Sequence[tuple[PlannedSchema, dict[str, Feed]]], topic: str) -> None:
    """A column of numbers that are milliseconds in one row and microseconds in the next says nothing."""
    found: dict[str, dict[str, int]] = {}
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if planned.problem is None and feed.numbers is not None and feed.refusal is None:
                found.setdefault(column, {}).setdefault(feed.numbers, planned.schema_id)
    for column, numbers in found.items():
        if len(numbers) > 1:
            kinds = ", ".join(f"{kind} (schema id {schema_id})" for kind, schema_id in numbers.items())
            raise ColumnError(
                f"The column {column} would hold numbers of different units, and no row says which: in topic {topic!r} they "
                f"are {kinds}. Declare a column that is read by the unit (DATE, TIME, TIMESTAMP), or leave it out. To have the "
                f"numbers as they are, use the case rule {CaseRule.KSQLDB.value!r}."
            )


def _feeds_time(feeds: dict[str, Feed], column: str) -> bool:
    feed = feeds.get(column)
    if feed is not None:
        return feed.field is not None and feed.refusal is None
    # Items, keys and values have a line of their own only where there is something to say of them.
    outer = _INSIDE.sub("", column)
    return outer != column and _feeds_time(feeds, outer)
