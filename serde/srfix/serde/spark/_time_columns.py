"""Columns of days, times and instants that no schema of a plan has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.errors import ColumnError
from srfix.serde.spark.interface import Feed, PlannedSchema

__all__ = ["check_times"]

_INSIDE: Final = re.compile(r"->(?:ARRAY|MAP_KEY|MAP_VAL)$")


def check_times(schemas: Iterable[PlannedSchema], topic: str) -> None:
    """Refuses a plan in which a column, or a part of one, is fed by numbers of other times only. Where another schema feeds
    it, the rows of the first are bad, and those of the other are read.

    :raises ColumnError: if there is such a column; the sentence names it, the writer's type and what to declare.
    """
    by_schema = [(planned, {feed.column: feed for feed in planned.feeds}) for planned in schemas]
    for planned, feeds in by_schema:
        for column, feed in feeds.items():
            if feed.is_other_time and not any(_is_fed(other, column) for _, other in by_schema):
                raise ColumnError(
                    f"The column {column} cannot be read from topic {topic!r}, schema id {planned.schema_id}: "
                    f"{feed.refusal} To have the number taken as ksqlDB takes it, use the case rule "
                    f"{CaseRule.KSQLDB.value!r}."
                )


def _is_fed(feeds: dict[str, Feed], column: str) -> bool:
    feed = feeds.get(column)
    if feed is not None:
        return feed.field is not None and feed.refusal is None
    # Items, keys and values have a line of their own only where there is something to say of them.
    outer = _INSIDE.sub("", column)
    return outer != column and _is_fed(feeds, outer)
