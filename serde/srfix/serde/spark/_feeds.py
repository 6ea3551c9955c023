"""Which writer field feeds which column, from a schema: what the decoders decide, in words.

The decisions are theirs: `casing.placements` through the formats' plans, `_connect_coercions`. Here they are only walked,
as far as the columns go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from srfix.serde._column_types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde._fed import Unfed, unfed
from srfix.serde._time_units import TimeUnit
from srfix.serde.casing import CaseRule
from srfix.serde.errors import DecodeError, IncompatibleTypeError, TimeUnitError
from srfix.serde.formats._avro_plan import Placed
from srfix.serde.spark.interface import Feed

__all__ = ["Feeds", "Writer", "feeds_of"]


class Writer(Protocol):
    """A writer's type, as a decoder sees it."""

    @property
    def is_nullable(self) -> bool:
        """Whether null stands beside it."""

    def refusal(self, column: ColumnType, path: str) -> IncompatibleTypeError | None:
        """Why a column does not take it, null or not; None if it does."""

    def refusal_of_values(self, column: ScalarType | Decimal, path: str) -> IncompatibleTypeError | None:
        """Why a column takes null only; None if it takes values."""

    def detail(self, column: ColumnType) -> str | None:
        """What happens to a value on the way; None if nothing does."""

    def as_written(self, column: ColumnType) -> TimeUnit | None:
        """The unit of numbers that the column does not read by it, but takes as they are; None if there is none."""

    def fields(self) -> Mapping[str, Writer]:
        """Of what a STRUCT takes: the fields, or the branches of a union, by name."""

    def written(self, field: str) -> str:
        """The writer's name of a field, where an alias gave it another."""

    def defaults(self, columns: Columns, filled: Collection[str], case_rule: CaseRule, path: str) -> Mapping[str, str]:
        """Columns that no field feeds → the default of the reader's schema, in JSON."""

    def items(self) -> Writer:
        """Of what an ARRAY takes."""

    def entries(self) -> tuple[Writer, Writer]:
        """Of what a MAP takes: keys and values."""

    def place(self, columns: Columns, case_rule: CaseRule, path: str) -> Mapping[str, Sequence[Placed]]:
        """Field → the columns that it feeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """What a schema feeds."""

    feeds: tuple[Feed, ...]
    """Every column, in order, each with those inside it."""
    unused: tuple[str, ...] = ()
    """The writer fields that feed no column."""
    problem: DecodeError | None = None
    """What no row of the schema comes past: a type, or that no column is fed."""


def feeds_of(root: Writer, columns: Columns, case_rule: CaseRule, *, wrapped: bool, strict: bool = False) -> Feeds:
    """The feeds of a schema from which a decoder could be made.

    :param strict: every column, and every field inside one, must be fed.
    """
    walk = _Walk(case_rule, strict=strict)
    if wrapped:
        walk.root(root, columns)
    else:
        (column,) = columns
        walk.value(root, column.type, _Place(column=column.name), is_certain=not root.is_nullable)
    return Feeds(feeds=tuple(walk.feeds), unused=tuple(walk.unused), problem=walk.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    column: str = ""
    field: str = ""
    path: str = ""
    """As in the decoders' errors."""

    def part(self, word: str) -> _Place:
        return _Place(column=_joined(self.column, word), field=_joined(self.field, word), path=f"{self.path}->{word}")


class _Walk:
    def __init__(self, case_rule: CaseRule, *, strict: bool) -> None:
        self.feeds: list[Feed] = []
        self.unused: list[str] = []
        self.problem: DecodeError | None = None
        self._case_rule = case_rule
        self._strict = strict

    def root(self, writer: Writer, columns: Columns) -> None:
        refused = writer.refusal(Struct(tuple(Column(column.name, column.type) for column in columns)), "")
        if refused is None:
            self._struct(writer, columns, _Place(), is_certain=True)
            found = self._unfed(writer, columns)
            # Beside null a body may be no row at all, which is a tombstone.
            if found is not None and not writer.is_nullable:
                self.problem = found.error()
            return
        self.problem = refused
        self.feeds += [Feed(column=column.name, field=None, refusal=refused.message) for column in columns]

    def _unfed(self, writer: Writer, columns: Columns) -> Unfed | None:
        names = [column.name for column in columns]
        nothing = [feed.column for feed in self.feeds if feed.field is None and feed.default is None]
        absent = [name for name in names if name in nothing]
        inside = [path for path in nothing if path not in absent]
        return unfed(names, absent, inside, writer.fields(), strict=self._strict, what="the writer schema")

    def value(
        self, writer: Writer, type_: ColumnType, place: _Place, *, is_certain: bool, over: Sequence[str] = ()
    ) -> None:
        """What feeds a column, and all inside.

        :param is_certain: whether each row comes here.
        :param over: fields that are read before, whose values this one's replaces.
        """
        refused = writer.refusal(type_, place.path)
        if refused is not None:
            if is_certain and self.problem is None:
                self.problem = refused
            self._feed(writer, type_, place, over, refused)
            return
        match type_:
            case Struct(fields):
                self._feed(writer, type_, place, over, None)
                self._struct(writer, fields, place, is_certain=is_certain and not writer.is_nullable)
            case Array(items):
                self._feed(writer, type_, place, over, None)
                self._inside(writer.items(), items, place.part("ARRAY"))
            case Map(values, keys):
                self._feed(writer, type_, place, over, None)
                key, value = writer.entries()
                self._inside(key, keys, place.part("MAP_KEY"))
                self._inside(value, values, place.part("MAP_VAL"))
            case ScalarType() | Decimal():
                refused = writer.refusal_of_values(type_, place.path)
                if refused is not None and is_certain and not writer.is_nullable and self.problem is None:
                    self.problem = refused
                self._feed(writer, type_, place, over, refused)

    def _inside(self, writer: Writer, type_: ColumnType, place: _Place) -> None:
        """Items, keys and values have a line of their own only where there is something to say of them."""
        first = len(self.feeds)
        self.value(writer, type_, place, is_certain=False)
        feed = self.feeds[first]
        if feed.detail is None and feed.refusal is None and feed.numbers is None:
            del self.feeds[first]

    def _struct(self, writer: Writer, columns: Columns, place: _Place, *, is_certain: bool) -> None:
        fields = writer.fields()
        fed = writer.place(columns, self._case_rule, place.path)
        feeders: dict[str, list[tuple[str, Placed]]] = {}
        for field in fields:
            if field not in fed:
                self.unused.append(_joined(place.field, writer.written(field)))
            for placed in fed.get(field, ()):
                feeders.setdefault(placed.column.name, []).append((field, placed))
        defaults = writer.defaults(columns, feeders, self._case_rule, place.path)
        for column in columns:
            path = _joined(place.column, column.name)
            found = feeders.get(column.name)
            if found is None:
                self.feeds.append(Feed(column=path, field=None, default=defaults.get(column.name)))
                continue
            over = [field for field, placed in found if not placed.counts]
            for field, placed in found:
                written = _joined(place.field, writer.written(field))
                below = _Place(column=path, field=written, path=f"{place.path}->{placed.avro_name}")
                if placed.counts:
                    self.value(fields[field], column.type, below, is_certain=is_certain, over=over)
                elif (refused := fields[field].refusal(column.type, below.path)) is not None:
                    # It is looked at all the same.
                    if is_certain and self.problem is None:
                        self.problem = refused
                    self._feed(fields[field], column.type, below, (), refused)

    def _feed(
        self,
        writer: Writer,
        type_: ColumnType,
        place: _Place,
        over: Sequence[str],
        refused: IncompatibleTypeError | None,
    ) -> None:
        detail, unit = writer.detail(type_), writer.as_written(type_)
        if over:
            detail = "; ".join(filter(None, (detail, f"overrides {', '.join(over)}")))
        self.feeds.append(
            Feed(
                column=place.column,
                field=place.field,
                detail=detail,
                refusal=None if refused is None else refused.message,
                other_time=refused.column_type if isinstance(refused, TimeUnitError) else None,
                numbers=None if unit is None else unit.numbers,
            )
        )


def _joined(path: str, name: str) -> str:
    return f"{path}->{name}" if path else name
