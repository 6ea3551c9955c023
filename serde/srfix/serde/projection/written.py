"""How values of columns are written under a schema: frozen, made once, for engines to make their plans of.

A row's columns are written in the schema's order; a field that no column feeds is a constant. It is the walk that matches
them, by position or by name, and an engine does as the tree says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeAlias

from srfix.serde.columns.types import Column, ColumnType, Decimal
from srfix.serde.projection.tree import Entries, Items, W, WriterField


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Generic[W]):
    """How values of a column's type are written under a type of the schema. Null is written where the type allows it."""

    writer: W
    column: ColumnType | None
    """The column's; None where values are as the schema has them."""
    how: WriteHow[W]
    """What becomes of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """No value is written."""

    why: str
    """Why, after the path of the value."""
    is_null_too: bool = False
    """Nor is null, though the type allows it."""


@dataclass(frozen=True, slots=True)
class Free:
    """A union of several types, for values as the schema has them: it is the first branch that a value fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteScalar:
    """A value without parts."""

    logical: str | None
    """The logical type that counts, which need not be the schema's."""
    fits: Decimal | None = None
    """What a decimal must fit besides the schema's type."""


@dataclass(frozen=True, slots=True, eq=False)
class WriteFields(Generic[W]):
    """A record; or a STRUCT of a union's branches, of which the one that is not null is written. Where values are as the
    schema has them a record may contain itself: it gets its fields by `complete`."""

    fields: tuple[WriteField[W], ...] = field(default=(), repr=False)
    """All fields, in the schema's order; of a union the branches that columns feed."""

    def complete(self, fields: tuple[WriteField[W], ...]) -> WriteFields[W]:
        """Gives it its fields, once, while the tree is built."""
        object.__setattr__(self, "fields", fields)
        return self


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of the schema, not of a row."""

    json: object
    """In Avro's JSON for defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteField(Generic[W]):
    """A field of a record, or a branch of a union."""

    field: WriterField[W]
    column: Column | None
    """The column that feeds it; None where a row has the field's own name, or `value` is None."""
    value: Written[W] | None
    """How; None if no column feeds it: it is `missing` in every row."""
    null: Constant | None = None
    """What null is written as; None if as null."""
    missing: Constant | None = None
    """What is written where a row has no such key; None if the row is refused."""

    @property
    def key(self) -> str:
        """Its name in a row."""
        return self.field.name if self.column is None else self.column.name


WriteHow: TypeAlias = Forbidden | Free | WriteScalar | Items[Written[W]] | Entries[Written[W]] | WriteFields[W]
