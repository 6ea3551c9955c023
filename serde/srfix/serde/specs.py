"""How records are read and written, as it was asked for: one value each way. It is made once, where a person says it (a
serde's constructor, `plan_read`, `plan_write`), and handed down to the format. It says nothing of a particular schema.

A field is called as the constructors' keyword. What only one format knows is here too: the others do not look at it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from srfix.serde.casing import CaseRule
from srfix.serde.columns.half import half_of
from srfix.serde.columns.times import Times, with_times
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Role

NullableRepresentation: TypeAlias = Literal["optional", "wrapper"]
"""ksqlDB's `VALUE_PROTOBUF_NULLABLE_REPRESENTATION`: `optional` fields of proto3, or messages such as
`google.protobuf.StringValue`. Without either a null is written as nothing, and read as 0 or empty."""


def given_representation(word: object, *, is_protobuf: bool) -> NullableRepresentation | None:
    """:raises UsageError: if it is no word for one, or the serde has nothing to do with Protobuf."""
    if word is not None and not is_protobuf:
        raise UsageError("nullable_representation is Protobuf's. Leave it out.")
    if word is None or word in get_args(NullableRepresentation):
        return cast("NullableRepresentation | None", word)
    raise UsageError(f"nullable_representation is 'optional', 'wrapper' or None, not {word!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSchema:
    """An Avro schema whose aliases and defaults count. Picklable."""

    text: str
    """Its text."""
    references: tuple[str, ...] = ()
    """The texts that it refers to, none before those that it refers to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpec:
    """What rows are, read or written. Picklable."""

    columns: Columns | None = None
    """What a row has: of both halves, marked, or (`half`) of one; None for rows as the schema has them."""
    wrap: bool | None = None
    """False if a body is the bare value of the only column; None is ksqlDB's default, which `half` settles."""
    case_rule: CaseRule = CaseRule.UNIQUE
    """How the names of fields, or of a row's keys, are matched to the columns."""
    times: Times = "datetimes"
    """`"integers"` if a DATE, TIME or TIMESTAMP is the integer that stands in the record."""
    nullable_representation: NullableRepresentation | None = None
    """Protobuf: what tells a null from a default."""
    delimiter: str | None = None
    """DELIMITED: what stands between fields, SPACE and TAB by their names; None for a comma."""

    @property
    def wrapped(self) -> bool:
        """Of a half: False if a body is the bare value of the only column."""
        return self.columns is None or self.wrap is not False

    @property
    def known_columns(self) -> Columns:
        """The columns, where rows are known to have some."""
        assert self.columns is not None
        return self.columns

    @property
    def row_columns(self) -> Columns | None:
        """The columns as rows have them: with `times="integers"` no DATE, TIME or TIMESTAMP is left."""
        return None if self.columns is None else with_times(self.columns, self.times)

    def half(self, role: Role, wraps: bool | None = None) -> Self:
        """The same for keys, or for values, alone.

        :param wraps: the format's own default (`Format.wraps`); None is ksqlDB's.
        """
        if self.columns is None:
            return self
        half = half_of(self.columns, role, wraps if self.wrap is None else self.wrap)
        return replace(self, columns=half.columns, wrap=half.wrapped)

    def options(self) -> dict[str, Any]:
        """What differs from the defaults, as a constructor's keywords."""
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return {name: value for name, value, default in values if value != default}


class HasColumns:
    """A serde of such a value."""

    _spec: RowSpec

    @property
    def columns(self) -> Columns | None:
        """All columns, of both halves; None where rows are as the writer has them."""
        return self._spec.row_columns

    def columns_of(self, role: Role) -> Columns | None:
        """What every key, or every value, has, in this order; None where rows are as the writer has them.

        :raises ColumnError: if there is no column for this half, or it cannot be used.
        """
        return self._spec.half(role).row_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec(RowSpec):
    """How bodies are read."""

    strict: bool = False
    """True if a writer that leaves any column, or a field inside one, unfed has no rows (`ColumnNotFedError`)."""
    reader_schema: ReaderSchema | None = None
    """Avro: the schema whose aliases and defaults count."""
    validate: bool = False
    """JSON Schema: True if every body is checked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec(RowSpec):
    """How rows are written."""

    generation: Generation = Generation.UP_TO_0_28
    """Which ksqlDB's internal schema is written under."""
    written_by: WrittenBy = WrittenBy.SERIALIZER
    """Which of its two writers'."""
    full_name: str | None = None
    """Avro: the internal schema's record name with its namespace; None is ksqlDB's."""
    cut_times: bool = False
    """True if times finer than what they are written as are cut; refused otherwise."""
    validate: bool = False
    """JSON Schema: True if every body is checked."""
