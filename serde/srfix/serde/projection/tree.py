"""The projection of a writer's schema onto columns, and how columns are written under a schema: frozen, made once, for engines
to make their plans of.

A writer's fields stand in the order of the body; one that no `Target` names is read past, and its `WriterField.type` says how
long it is. What feeds a column by which coercion, what null is read as, and which types refuse their column, is decided
here and nowhere else.

A column is fed if the writer's schema has a field for it, or a JSON document without a schema a key, whatever the value is:
a field that holds null feeds its column. So does the default of a reader's schema, where the writer's record is resolved
against it (`formats.avro.read.resolution`). A row of which no column is fed is no row of these columns: another record type in
the topic, or columns that are misspelt. As a row it would be all null, as if the writer had written that. ksqlDB makes that
row (`ConnectDataTranslator.toKsqlStruct`), and so do its case rules, unless every column is asked for (`strict`).

A row's columns are written in the schema's order; a field that no column feeds is a constant. It is the walk that matches
them, by position or by name, and an engine does as the tree says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NoReturn, Protocol, Self, TypeAlias, TypeVar

from srfix.serde.casing import CaseRule, have_in_common
from srfix.serde.columns.types import Column, Columns, ColumnType, Decimal, ScalarType
from srfix.serde.connect.coercions import Coercion
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import TimeUnit
from srfix.serde.errors import ColumnNotFedError, IncompatibleTypeError, NothingFedError


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
    default: object = None
    """Its own default, in JSON, where the format knows such; that of a reader's field that the writer lacks always."""


_SHOWN: Final = 20


class Unfed:
    """Why what a writer writes is no row. Made once, raised for each row."""

    def __init__(self, kind: type[ColumnNotFedError], message: str, columns: tuple[str, ...]) -> None:
        self._kind = kind
        self._message = message
        self._columns = columns

    def error(self) -> ColumnNotFedError:
        """A new one each time: an exception that is raised twice collects tracebacks."""
        return self._kind(self._message, columns=self._columns)

    def refuse(self, _: object = None) -> NoReturn:
        raise self.error()


def unfed(
    columns: Collection[str],
    absent: Collection[str],
    inside: Iterable[str],
    fields: Iterable[str],
    *,
    strict: bool,
    what: str,
) -> Unfed | None:
    """Why a writer's rows are none; None if they are. Nothing, no default either, feeds those of the columns that are
    `absent`, and the fields `inside` of columns, by path; `fields` are what the writer has instead, and `what` has those:
    "the writer schema", "the document"."""
    what = f"The {what.removeprefix('the ')}"
    if len(absent) == len(columns):
        fields = list(fields)
        why = (
            "They differ in letter case, which the case rule does not ignore; another does."
            if have_in_common(columns, fields)
            else "Its record is of another type than theirs, or they are misspelt. Leave such rows out, or name columns that "
            "it has."
        )
        message = f"{what} feeds none of the columns {_named(columns)}: it has {_named(fields) or 'no fields'}. {why}"
        return Unfed(NothingFedError, message, tuple(columns))
    lacking = [*absent, *inside]
    if not strict or not lacking:
        return None
    message = (
        f"{what} does not feed {_named(lacking)}, but strict requires that every column is fed. It has {_named(fields)}. Leave "
        "such rows out, or read them without strict: the columns are null there."
    )
    return Unfed(ColumnNotFedError, message, tuple(lacking))


def has_rows_of_nulls(case_rule: CaseRule, *, strict: bool) -> bool:
    """True if a row of which no column is fed is a row."""
    return not strict and case_rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020)


def _named(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(map(repr, every[:_SHOWN])) + more


Part = TypeVar("Part")
"""`Projected`, or `Written`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[W]):
    """How bodies of a schema are read into columns."""

    columns: Columns
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
    column: ColumnType
    path: str
    """Where, by the columns' names: `->A->ARRAY->B`, empty at the root."""
    unit: TimeUnit | None
    """What the writer's numbers are; None where the column says so."""
    default: object
    """What null is read as, in the form that the writer's values have; None where it stays null, or is refused."""
    how: How[W]


@dataclass(frozen=True, slots=True)
class Refused:
    """The column does not take the type: a row that comes here is bad, null or not."""

    error: IncompatibleTypeError

    def refuse(self, _: object = None) -> NoReturn:
        """Raises it: a new one each time, as an exception that is raised twice collects tracebacks."""
        raise type(self.error)(self.error.message, **vars(self.error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A value without parts."""

    type: ScalarType | Decimal
    connect: ConnectType
    """The writer's, to Connect: an int8 or int16 is cut from what is written."""
    name: str | None
    """The name of its Connect schema, by which it is a logical type."""
    coercion: Coercion
    per_second: int
    """How many of the writer's numbers are a second, for a TIME or a TIMESTAMP."""
    refusal: IncompatibleTypeError | None
    """Why the column takes null, but no value; None if it takes values."""


@dataclass(frozen=True, slots=True)
class Items(Generic[Part]):
    """The items of an ARRAY."""

    items: Part


@dataclass(frozen=True, slots=True)
class Entries(Generic[Part]):
    """The entries of a MAP. Of a key that comes twice the last value counts."""

    keys: Part
    values: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields(Generic[W]):
    """The fields of a record, or the branches of a union, for the fields of a STRUCT, or for the columns of a row."""

    columns: Columns
    fields: Sequence[WriterField[W]]
    """All of the writer's, in the writer's order; of a union all but null."""
    targets: tuple[Target[W], ...]
    """What feeds which column, in the order in which they are filled."""
    absent: tuple[Absent[W], ...]
    """The columns that no field feeds, in order."""

    def by_field(self) -> Mapping[int, tuple[Target[W], ...]]:
        """A field's number → what it feeds; empty for one that is read past."""
        targets: defaultdict[int, tuple[Target[W], ...]] = defaultdict(tuple)
        for target in self.targets:
            targets[target.field.number] += (target,)
        return targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Generic[W]):
    """A column that a field feeds."""

    field: WriterField[W]
    column: Column
    counts: bool
    """False if a later field feeds the column too: the value is read, and may be refused, but the later one counts."""
    value: Projected[W]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Generic[W]):
    """A column that no field feeds."""

    column: Column
    default: Target[W] | None
    """The field of a reader's schema whose default it is in every row, read as a value of the field's type; None for null."""


How: TypeAlias = Refused | Scalar | Items[Projected[W]] | Entries[Projected[W]] | Fields[W]


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
