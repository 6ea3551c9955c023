"""What a plan of a foreign topic has to be: NEWEST's columns, and which plans are refused.

| refused | because |
|---|---|
| unfed | a column, or a field inside one, that no version feeds (unless missing_columns="null") |
| times | a column of days or times which nothing but numbers of another time feed; a local one, also of no time |
| units | a column of numbers which are in one unit in one version, and in another in the next |
| shared | columns with parts, of different types, that one field feeds under ksqldb-2020 |
| unreadable | no version has a row (unless missing_columns="null", or strict) |
| nothing | NEWEST, or a reader's, without a field that a column holds |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tests.serde.foreign.model import Ambiguous, could_hold, feeders, lacks, resolved
from tests.serde.foreign.schemas import Field
from tests.serde.foreign.topics import ColumnAst, ForeignTopic
from tests.serde.logical_types import Written

_TIMES: Final = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ")


def columns_of(topic: ForeignTopic) -> dict[str, ColumnAst]:
    """Those that are given, or the reader's or the newest version's, in its own letters and without what none holds."""
    if topic.columns is not None:
        return topic.columns
    of = topic.resolves_to
    assert of is not None
    return _inferred(of.fields)


def _inferred(fields: tuple[Field, ...]) -> dict[str, ColumnAst]:
    found = {each.name: _column(each) for each in fields}
    return {name: column for name, column in found.items() if column is not None}


def _column(of: Field) -> ColumnAst | None:
    match of.kind:
        case "record" | "union":
            inner = _inferred(of.fields)
            return ("STRUCT", inner) if inner else None
        case "array" | "map":
            assert of.scalar is not None
            item = _column_of(of.scalar)
            return None if item is None else (of.kind.upper(), item)
        case "scalar":
            assert of.scalar is not None
            return _column_of(of.scalar)
    return {"boolean": "BOOLEAN", "float": "DOUBLE", "double": "DOUBLE"}.get(of.kind, "STRING")


def _column_of(scalar: Written) -> str | None:
    kind = scalar.type["type"] if isinstance(scalar.type, dict) else scalar.type
    match scalar.counts:
        case "date":
            return "DATE"
        case "timestamp" if scalar.per_second <= 1_000_000:
            return "TIMESTAMP"
        case "local" if scalar.per_second <= 1_000_000:
            return "TIMESTAMP_NTZ"
        case "time" if scalar.per_second == 1_000 and "debezium" not in scalar.word:
            return None  # Connect's time of day, and Spark has no TIME
        case "decimal":
            assert isinstance(scalar.type, dict)
            return f"DECIMAL({scalar.type['precision']}, {scalar.type.get('scale', 0)})"
        case "text":
            return "STRING"
        case "bytes":
            return "BYTES"
    return "INTEGER" if kind == "int" else "BIGINT"


def refusals(topic: ForeignTopic) -> frozenset[str]:
    """Why the plan is refused; empty if it is not."""
    columns = columns_of(topic)
    if not columns:
        return frozenset({"nothing"})
    writers = [resolved(version, {}, topic.resolves_to)[0] for version in topic.versions]
    is_checked = bool(writers) and not topic.takes_missing and not topic.is_strict
    is_unreadable = is_checked and all(_gives_nothing(fields, columns, topic.rule) for fields in writers)
    # A version that is ambiguous gives no row, so it feeds nothing, and says nothing where it is alone.
    writers = [fields for fields in writers if _can_be_matched(fields, columns, topic.rule)]
    found = {"unreadable"} if is_unreadable else set()
    if writers and not topic.takes_missing and any(True for _ in _unfed(writers, columns, topic.rule)):
        found.add("unfed")
    if any(_shares(fields, columns) for fields in writers if topic.rule == "ksqldb-2020"):
        found.add("shared")
    if not topic.rule.startswith("ksqldb"):
        found |= {"times"} & set(_of_times([feed for each in writers for feed in _feeds(each, columns, topic.rule)]))
        # A version that has no rows has no numbers.
        read = [fields for fields in writers if not _has_no_row(fields, columns, topic.rule)]
        if topic.is_strict:
            read = [fields for fields in read if not lacks(fields, columns, topic.rule)]
        found |= {"units"} & set(_of_times([feed for each in read for feed in _feeds(each, columns, topic.rule)]))
    return frozenset(found)


def _shares(fields: tuple[Field, ...], columns: dict[str, ColumnAst]) -> bool:
    fed = feeders(fields, columns, "ksqldb-2020")
    for name, (of,) in fed.items():
        others = [columns[other] for other, (one,) in fed.items() if one is of and other != name]
        if any(isinstance(columns[name], tuple) and column != columns[name] for column in others):
            return True
        column = columns[name]
        if of.fields and isinstance(column, tuple) and column[0] == "STRUCT" and _shares(of.fields, column[1]):
            return True
    return False


def _can_be_matched(fields: tuple[Field, ...], columns: dict[str, ColumnAst], rule: str) -> bool:
    try:
        feeders(fields, columns, rule)
    except Ambiguous:
        return False
    return True


def _gives_nothing(fields: tuple[Field, ...], columns: dict[str, ColumnAst], rule: str) -> bool:
    if _has_no_row(fields, columns, rule):
        return True
    return not rule.startswith("ksqldb") and not any(feeders(fields, columns, rule).values())


def _has_no_row(fields: tuple[Field, ...], columns: dict[str, ColumnAst], rule: str) -> bool:
    """True if every row of the writer is bad, whatever its values are."""
    try:
        fed = feeders(fields, columns, rule)
    except Ambiguous:
        return True
    for name, found in fed.items():
        column = columns[name]
        if not all(of.reads_null or could_hold(column, of) for of in found):
            return True
        for of in found:
            is_certain = of.kind == "record" and not of.nulls
            if is_certain and isinstance(column, tuple) and _has_no_row(of.fields, column[1], rule):
                return True
    return False


def _unfed(writers: list[tuple[Field, ...]], columns: dict[str, ColumnAst], rule: str) -> Iterator[str]:
    for name, column in columns.items():
        found = [each for fields in writers if (each := _found(fields, name, columns, rule)) is not None]
        if not found:
            yield name
        elif isinstance(column, tuple) and column[0] == "STRUCT":
            inner = [each.fields for each in found if each.fields]
            if inner:
                yield from _unfed(inner, column[1], rule)


def _found(fields: tuple[Field, ...], name: str, columns: dict[str, ColumnAst], rule: str) -> Field | None:
    try:
        return feeders(fields, columns, rule).get(name, [None])[-1]
    except Ambiguous:
        # Which of them is not known: nobody may say that nothing feeds the column.
        return next((each for each in fields if each.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class _Feed:
    place: tuple[str, ...]
    column: str
    of: Field


def _feeds(fields: tuple[Field, ...], columns: dict[str, ColumnAst], rule: str) -> Iterator[_Feed]:
    try:
        found = feeders(fields, columns, rule)
    except Ambiguous:
        return
    for name, fed in found.items():
        for feed in _feed(columns[name], fed[-1], rule):
            yield replace(feed, place=(name, *feed.place))


def _feed(column: ColumnAst, of: Field, rule: str) -> Iterator[_Feed]:
    if isinstance(column, str):
        yield _Feed((), column, of)
    elif column[0] == "STRUCT":
        yield from _feeds(of.fields, column[1], rule)
    elif of.kind == column[0].lower() and isinstance(column[1], str):
        yield _Feed(("[]",), column[1], Field(name="item", kind="scalar", scalar=of.scalar))


def _of_times(feeds: list[_Feed]) -> Iterator[str]:
    for place in {feed.place for feed in feeds}:
        here = [feed for feed in feeds if feed.place == place]
        held = [feed.of for feed in here if could_hold(feed.column, feed.of)]
        units = {_unit(of) for of in held} - {None}
        if here[0].column not in _TIMES:
            if len(units) > 1:
                yield "units"
        elif not held and any(_unit(feed.of) is not None or _is_bare(feed) for feed in here):
            yield "times"


def _is_bare(feed: _Feed) -> bool:
    """True for a number that is no time at all, under a local time: ksqlDB has none that numbers could be coerced to."""
    is_number = feed.of.kind == "scalar" and feed.of.scalar is not None and feed.of.scalar.counts == ""
    return is_number and feed.column == "TIMESTAMP_NTZ"


def _unit(of: Field) -> tuple[str, object] | None:
    """What a number counts; None for what counts no time. Numbers of unknown meaning differ by their name."""
    if (
        of.kind != "scalar"
        or of.scalar is None
        or of.scalar.counts not in ("date", "time", "timestamp", "local", "never")
    ):
        return None
    if of.scalar.counts == "never":
        return "never", of.scalar.word.partition(" ")[2]
    return of.scalar.counts, of.scalar.per_second
