"""The projection of a writer's schema onto columns: frozen, made once, for engines to make their plans of.

A writer's fields stand in the order of the body; one that no `Target` names is read past, and its `WriterField.type` says how
long it is. What feeds a column by which coercion, what null is read as, and which types refuse their column, is decided
here and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeAlias, TypeVar

from srfix.serde.columns.types import Column, Columns, ColumnType, Decimal, ScalarType
from srfix.serde.connect.coercions import Coercion
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import TimeUnit
from srfix.serde.errors import IncompatibleTypeError
from srfix.serde.projection.fed import Unfed
from srfix.serde.projection.writer_type import W, WriterField

Part = TypeVar("Part")
"""`Projected`, or `Written`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[W]):
    """How bodies of a schema are read into columns."""

    columns: Columns
    """The columns of a row, in order."""
    is_wrapped: bool
    """False if a body is the bare value of the only column."""
    root: Projected[W]
    """The schema: for a STRUCT of the columns, or for the only column's type."""
    unfed: Unfed | None = None
    """Why no body that is not null is a row: the schema feeds no column, or not all of them where all were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKeys:
    """The keys of each document feed the columns, and the schema does not count."""

    expected: tuple[str, ...]
    """The keys that the schema has."""
    holder: str
    """What holds them, in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(Generic[W]):
    """A type of the writer's, for a column's."""

    writer: W
    """The writer's type."""
    column: ColumnType
    """The column's."""
    path: str
    """Where, by the columns' names: `->A->ARRAY->B`, empty at the root."""
    unit: TimeUnit | None
    """What the writer's numbers are; None where the column says so."""
    default: object
    """What null is read as, in the form that the writer's values have; None where it stays null, or is refused."""
    how: How[W]
    """What becomes of a value."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The column does not take the type: a row that comes here is bad, null or not."""

    error: IncompatibleTypeError
    """Why."""

    def refuse(self, _: object = None) -> NoReturn:
        """Raises it: a new one each time, as an exception that is raised twice collects tracebacks."""
        raise type(self.error)(self.error.message, **vars(self.error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A value without parts."""

    type: ScalarType | Decimal
    """The column's."""
    connect: ConnectType
    """The writer's, to Connect: an int8 or int16 is cut from what is written."""
    name: str | None
    """The name of its Connect schema, by which it is a logical type."""
    coercion: Coercion
    """What makes the column's value."""
    per_second: int
    """How many of the writer's numbers are a second, for a TIME or a TIMESTAMP."""
    refusal: IncompatibleTypeError | None
    """Why the column takes null, but no value; None if it takes values."""


@dataclass(frozen=True, slots=True)
class Items(Generic[Part]):
    """The items of an ARRAY."""

    items: Part
    """How each item is read, or written."""


@dataclass(frozen=True, slots=True)
class Entries(Generic[Part]):
    """The entries of a MAP. Of a key that comes twice the last value counts."""

    keys: Part
    """How each key is read, or written."""
    values: Part
    """How each value is read, or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields(Generic[W]):
    """The fields of a record, or the branches of a union, for the fields of a STRUCT, or for the columns of a row."""

    columns: Columns
    """What is filled, in order."""
    fields: Sequence[WriterField[W]]
    """All of the writer's, in the writer's order; of a union all but null."""
    targets: tuple[Target[W], ...]
    """What feeds which column, in the order in which they are filled."""
    absent: tuple[Absent[W], ...]
    """The columns that no field feeds, in order."""

    def by_field(self) -> Mapping[int, tuple[Target[W], ...]]:
        """A field's number → what it feeds; empty for one that is read past."""
        found: defaultdict[int, tuple[Target[W], ...]] = defaultdict(tuple)
        for target in self.targets:
            found[target.field.number] += (target,)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Generic[W]):
    """A column that a field feeds."""

    field: WriterField[W]
    """The field."""
    column: Column
    """The column."""
    counts: bool
    """False if a later field feeds the column too: the value is read, and may be refused, but the later one counts."""
    value: Projected[W]
    """How its value is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Generic[W]):
    """A column that no field feeds."""

    column: Column
    """The column."""
    default: Target[W] | None
    """The field of a reader's schema whose default it is in every row, read as a value of the field's type; None for null."""


How: TypeAlias = Refused | Scalar | Items[Projected[W]] | Entries[Projected[W]] | Fields[W]
"""What becomes of a value."""
