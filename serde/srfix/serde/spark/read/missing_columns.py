"""Columns that no version of a plan feeds: misspelt, or of another topic. They would be null in every row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.serde.casing import declared_name
from srfix.serde.errors import ColumnError
from srfix.serde.hints import nearest

if TYPE_CHECKING:
    from srfix.serde.spark.interface import Feed, PlannedSchema
    from srfix.serde.spark.read.plan import ReadPlan

_SHOWN: Final = 20


def check_fed(plan: ReadPlan) -> None:
    """Checks nothing where no version is known, or no version's fields are.

    :raises ColumnError: if no version feeds a column, or a field inside one.
    """
    told = [planned for planned in plan.schemas if _is_told(planned)]
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


def _is_told(planned: PlannedSchema) -> bool:
    """A root that feeds no columns at all says nothing about one of them; nor does a schema that cannot be walked."""
    return bool(planned.feeds) and not all(feed.field is None and feed.refusal is not None for feed in planned.feeds)


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
