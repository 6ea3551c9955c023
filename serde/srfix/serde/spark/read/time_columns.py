"""Columns of days, times and instants that no schema of a plan has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import ScalarType
from srfix.serde.errors import ColumnError
from srfix.serde.spark.interface import Feed, PlannedSchema

_INSIDE: Final = re.compile(r"->(?:ARRAY|MAP_KEY|MAP_VAL)$")


def check_times(schemas: Iterable[PlannedSchema], topic: str) -> None:
    """Refuses a plan in which a column, or a part of one, is fed by numbers of other times only. Where another schema feeds
    it, the rows of the first are bad, and those of the other are read.

    :raises ColumnError: if there is such a column, or one takes numbers of different units as they are; the sentence names it,
        the writer's type and what to declare.
    """
    by_schema = [(planned, {feed.column: feed for feed in planned.feeds}) for planned in schemas]
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if feed.other_time is not None and not any(_is_fed(other, column) for _, other in by_schema):
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


def _is_fed(feeds: dict[str, Feed], column: str) -> bool:
    feed = feeds.get(column)
    if feed is not None:
        return feed.field is not None and feed.refusal is None
    # Items, keys and values have a line of their own only where there is something to say of them.
    outer = _INSIDE.sub("", column)
    return outer != column and _is_fed(feeds, outer)
