"""The projection of a writer's schema onto columns, and the tree for writing columns under a schema. Both are frozen
and made once; engines make their plans from them.

A writer's fields are in the order of the body. A field without a `Target` is skipped; its `WriterField.type` gives its
length. Only this module decides which field feeds a column with which coercion, what a null becomes, and which types
cannot feed their column.

A column is fed if the writer's schema has a field for it, or a JSON document without a schema a key, whatever the value
is; also by the default of a reader's schema (`formats.avro.read.resolution`). If no column is fed, the record is not a
row: a row of nulls would look as if the writer had written nulls. ksqlDB makes such a row
(`ConnectDataTranslator.toKsqlStruct`), and so do its case rules here, unless every column must be fed (`strict`).
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
    """A writer's type, and whether null stands beside it."""

    @property
    def connect(self) -> ConnectType | None:
        """Its Connect type; STRUCT for a union of several types; None if every value is null."""

    @property
    def name(self) -> str | None:
        """The name of its Connect schema, if it is a logical type."""

    @property
    def is_nullable(self) -> bool:
        """Whether null stands beside it."""

    @property
    def unit(self) -> TimeUnit | None:
        """The unit of its numbers; None if the schema gives none."""

    @property
    def default(self) -> object:
        """The value that replaces null; None if null stays null."""

    @property
    def word(self) -> str:
        """The type's name in an explanation."""

    @property
    def holder(self) -> str:
        """The holder of its fields, for an error: "the writer schema", "the union"."""
        return "the writer schema"

    @property
    def defaults(self) -> Sequence[WriterField[Self]]:
        """The fields of a reader's schema that the writer lacks, and that have a default; only Avro's are resolved."""
        return ()

    @property
    def choices(self) -> Sequence[WriterField[Self]]:
        """The branches of a union that a reader's schema reads as one type; none of anything else."""
        return ()

    def refused(self, error: IncompatibleTypeError) -> Refused:
        """The refusal of the type, with the parts that are read nevertheless."""
        return Refused(error)

    def under(self, column: ColumnType) -> Self:
        """The type as a column of this type takes it."""
        return self

    def fields(self, path: str) -> Sequence[WriterField[Self]]:
        """For a STRUCT: the fields, or the branches of a union, in the writer's order."""

    def items(self) -> Self:
        """For an ARRAY: the items' type."""

    def entries(self, path: str) -> tuple[Self, Self]:
        """For a MAP: the types of keys and values."""

    def by_name(self, columns: Columns) -> Mapping[str, Column]:
        """The columns by the names with which fields are compared."""
        return {column.name: column for column in columns}

    def is_type_of(self, column: ColumnType) -> bool:
        """Whether a column is written as this type, so that values need no conversion."""


W = TypeVar("W", bound=WriterType)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterField(Generic[W]):
    """A field of a record, or a branch of a union."""

    number: int
    """Its position in the record, or the number of the branch."""
    name: str
    """The name by which columns are found."""
    written: str
    """The writer's name, if a reader's alias has replaced it."""
    type: W
    default: object = None
    """Its own default in JSON; always set for a reader's field that the writer lacks."""
    is_unresolved: bool = False
    """True for a branch of a union for which a reader's schema has no type: a row that holds it is bad."""


_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Unfed:
    """Why a writer's records are not rows. Made once, raised for each row."""

    kind: type[ColumnNotFedError]
    message: str
    columns: tuple[str, ...]

    def error(self) -> ColumnNotFedError:
        """A new error each time, because an exception that is raised twice collects tracebacks."""
        return self.kind(self.message, columns=self.columns)

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
    """Why a writer's records are not rows, or None; nothing feeds `absent` columns and fields `inside` them."""
    what = f"The {what.removeprefix('the ')}"
    if len(absent) == len(columns):
        fields = list(fields)
        why = (
            "The names differ only in letter case, which this case rule does not ignore; another rule does."
            if have_in_common(columns, fields)
            else "The record has another type, or the columns are misspelt. Leave such rows out, or name columns "
            "that the record has."
        )
        message = f"{what} feeds none of the columns {_named(columns)}: it has {_named(fields) or 'no fields'}. {why}"
        return Unfed(NothingFedError, message, tuple(columns))
    lacking = [*absent, *inside]
    if not strict or not lacking:
        return None
    message = (
        f"{what} does not feed {_named(lacking)}, but strict requires that every column is fed. It has {_named(fields)}. Leave "
        "such rows out, or read them without strict; then these columns are null."
    )
    return Unfed(ColumnNotFedError, message, tuple(lacking))


def has_rows_of_nulls(case_rule: CaseRule, *, strict: bool) -> bool:
    """True if a record that feeds no column counts as a row."""
    return not strict and case_rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020)


def _named(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(map(repr, every[:_SHOWN])) + more


Part = TypeVar("Part")
"""`Projected`, or `Written`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection(Generic[W]):
    """How the bodies of a schema are read into columns."""

    columns: Columns
    is_wrapped: bool
    """False if a body is the bare value of the only column."""
    root: Projected[W]
    """The schema: for a STRUCT of the columns, or for the only column's type."""
    unfed: Unfed | None = None
    """Why no body except null is a row: the schema feeds no column, or with `strict` not all columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKeys:
    """The keys of each document feed the columns, and the schema does not count."""

    expected: tuple[str, ...]
    holder: str
    """The holder of the keys, for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(Generic[W]):
    """A writer's type that is read for a column's type."""

    writer: W
    column: ColumnType
    path: str
    """The path, by the columns' names: `->A->ARRAY->B`, empty at the root."""
    unit: TimeUnit | None
    """The unit of the writer's numbers; None if the column's unit counts."""
    default: object
    """The value that replaces null, in the form of the writer's values; None if null stays null, or is refused."""
    how: How[W]


@dataclass(frozen=True, slots=True)
class Refused:
    """The type cannot feed the column: a row that reaches this is bad, null or not (unless `reads_null`)."""

    error: IncompatibleTypeError
    reads_null: bool = False
    """True if null is read, because a reader's schema has it."""
    has_values: bool = True
    """False if the writer's only type is null."""

    def refuse(self, _: object = None) -> NoReturn:
        """Raises a new error each time, because an exception that is raised twice collects tracebacks."""
        raise type(self.error)(self.error.message, **vars(self.error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A value without parts."""

    type: ScalarType | Decimal
    connect: ConnectType
    """The writer's Connect type: an int8 or int16 is cut from the written number."""
    name: str | None
    """The name of its Connect schema, if it is a logical type."""
    coercion: Coercion
    per_second: int
    """The writer's units per second, for a TIME or a TIMESTAMP."""
    refusal: IncompatibleTypeError | None
    """Why the column accepts null but no value; None if it accepts values."""


@dataclass(frozen=True, slots=True)
class Items(Generic[Part]):
    """The items of an ARRAY."""

    items: Part


@dataclass(frozen=True, slots=True)
class Entries(Generic[Part]):
    """The entries of a MAP. If a key occurs twice, the last value counts."""

    keys: Part
    values: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields(Generic[W]):
    """The fields of a record, or the branches of a union, for the fields of a STRUCT, or for the columns of a row."""

    columns: Columns
    fields: Sequence[WriterField[W]]
    """All fields of the writer, in the writer's order; for a union, all branches except null."""
    targets: tuple[Target[W], ...]
    """Which field feeds which column, in the order in which columns are filled."""
    absent: tuple[Absent[W], ...]
    unresolved: Mapping[int, Refused] = field(default_factory=dict)
    """The numbers of the branches that feed nothing and make the row bad (`WriterField.is_unresolved`)."""
    is_choice: bool = False
    """True for the branches of a union that feed one column, which is the value (`WriterType.choices`)."""

    def by_field(self) -> Mapping[int, tuple[Target[W], ...]]:
        """A field's number → the columns that it feeds; empty for a field that is skipped."""
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
    """False if a later field, which counts, also feeds the column: this value is read, and may be refused."""
    value: Projected[W]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(Generic[W]):
    """A column that no field feeds."""

    column: Column
    default: Target[W] | None
    """The reader's field whose default fills the column, read like a value of the field's type; None for null."""


How: TypeAlias = Refused | Scalar | Items[Projected[W]] | Entries[Projected[W]] | Fields[W]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Generic[W]):
    """How the values of a column's type, or null, are written under a type of the schema."""

    writer: W
    column: ColumnType | None
    """The column's type; None if values already have the schema's form."""
    how: WriteHow[W]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """No value is written."""

    why: str
    """The reason, which follows the value's path in the message."""
    is_null_too: bool = False
    """True if null is also not written, although the type allows it."""


@dataclass(frozen=True, slots=True)
class Free:
    """A union of several types, for values in the schema's form: the first branch that fits a value is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteScalar:
    """A value without parts."""

    logical: str | None
    """The logical type that counts; it may differ from the schema's."""
    fits: Decimal | None = None
    """The column type that a decimal must also fit."""


@dataclass(frozen=True, slots=True, eq=False)
class WriteFields(Generic[W]):
    """A record, or a STRUCT of a union's branches. One that contains itself gets its fields through `complete`."""

    fields: tuple[WriteField[W], ...] = field(default=(), repr=False)
    """All fields, in the schema's order; for a union, the branches that columns feed."""

    def complete(self, fields: tuple[WriteField[W], ...]) -> WriteFields[W]:
        """Sets the fields, once, while the tree is built."""
        object.__setattr__(self, "fields", fields)
        return self


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of the schema, not of a row."""

    json: object
    """The value in Avro's JSON for defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteField(Generic[W]):
    """A field of a record, or a branch of a union."""

    field: WriterField[W]
    column: Column | None
    """The column that feeds it; None if a row has the field's own name, or `value` is None."""
    value: Written[W] | None
    """How the value is written; None if no column feeds the field: then `missing` is written in every row."""
    null: Constant | None = None
    """The value that is written for null; None to write null."""
    missing: Constant | None = None
    """The value that is written if a row has no such key; None if the row is refused."""

    @property
    def key(self) -> str:
        return self.field.name if self.column is None else self.column.name


WriteHow: TypeAlias = Forbidden | Free | WriteScalar | Items[Written[W]] | Entries[Written[W]] | WriteFields[W]
