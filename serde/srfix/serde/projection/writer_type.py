"""A writer's type as the walk sees it, whatever the format: what Connect makes of it, and what is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from srfix.serde.columns.types import Column, Columns, ColumnType
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import TimeUnit


class WriterType(Protocol):
    """A type, and whether null stands beside it."""

    @property
    def connect(self) -> ConnectType | None:
        """Its Connect type; STRUCT for a union of several types; None where every value is null."""

    @property
    def name(self) -> str | None:
        """The name of its Connect schema, which says that it is a logical type."""

    @property
    def is_nullable(self) -> bool:
        """Whether null stands beside it."""

    @property
    def unit(self) -> TimeUnit | None:
        """What the schema says that its numbers are; None if it says nothing."""

    @property
    def default(self) -> object:
        """What null is read as; None where it stays null."""

    @property
    def word(self) -> str:
        """The type, in an explanation."""

    @property
    def holder(self) -> str:
        """What holds its fields, in an error: "the writer schema", "the union"."""

    @property
    def defaults(self) -> Sequence[WriterField[Self]]:
        """The fields of a reader's schema that the writer lacks, and that have a default."""

    def fields(self, path: str) -> Sequence[WriterField[Self]]:
        """Of what a STRUCT takes: the fields, or the branches of a union, in the writer's order."""

    def items(self) -> Self:
        """Of what an ARRAY takes."""

    def entries(self, path: str) -> tuple[Self, Self]:
        """Of what a MAP takes: keys and values."""

    def by_name(self, columns: Columns) -> Mapping[str, Column]:
        """The columns by the names that fields are compared with."""

    def is_type_of(self, column: ColumnType) -> bool:
        """Whether it is the type that a column is written as: values are what they were."""


W = TypeVar("W", bound=WriterType)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterField(Generic[W]):
    """A field of a record, or a branch of a union."""

    number: int
    """Its place in the record; the number of the branch."""
    name: str
    """The name by which columns are found."""
    written: str
    """The writer's name for it, where a reader's alias gave it another."""
    type: W
    """Its type."""
    default: object = None
    """Its own default, in JSON, where the format knows such; that of a reader's field that the writer lacks always."""
