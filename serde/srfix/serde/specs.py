"""The user's settings for reading and writing, before any schema. A field has the name of the constructors' keyword;
formats ignore the settings of others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from srfix.serde.casing import CaseRule
from srfix.serde.columns.half import half_of
from srfix.serde.columns.times import WrittenTimes, with_times
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Role

NullableRepresentation: TypeAlias = Literal["optional", "wrapper"]
"""ksqlDB's `VALUE_PROTOBUF_NULLABLE_REPRESENTATION`: `optional` fields of proto3, or messages such as
`google.protobuf.StringValue`. Without either, a null is not written, and is read as 0 or empty."""


def given_representation(word: object, *, is_protobuf: bool) -> NullableRepresentation | None:
    if word is not None and not is_protobuf:
        raise UsageError("nullable_representation is only for Protobuf under the columns' own schema. Leave it out.")
    if word is None or word in get_args(NullableRepresentation):
        return cast("NullableRepresentation | None", word)
    raise UsageError(f"nullable_representation is 'optional', 'wrapper' or None, not {word!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSchema:
    """An Avro schema whose aliases and defaults count. Picklable."""

    text: str
    """The schema's text."""
    references: tuple[str, ...] = ()
    """The texts of its references; each one stands after its own references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpec:
    """The description of rows, for reading or writing. Picklable."""

    columns: Columns | None = None
    """The columns of a row: marked columns of both halves, or (after `half`) of one half; None for rows with the
    schema's fields."""
    wrap: bool | None = None
    """False if a body is the bare value of the only column; None for ksqlDB's default, which `half` resolves."""
    case_rule: CaseRule = CaseRule.UNIQUE
    """The rule that matches the names of fields, or a row's keys, to the columns."""
    times: WrittenTimes = "datetimes"
    """`"integers"` if a DATE, TIME or TIMESTAMP is the integer in the record; `"micros"` only for a writer."""
    nullable_representation: NullableRepresentation | None = None
    """Protobuf: how a null differs from a default value."""
    delimiter: str | None = None
    """DELIMITED: the separator between fields, with SPACE and TAB by name; None for a comma."""

    @property
    def wrapped(self) -> bool:
        """For a half: False if a body is the bare value of the only column."""
        return self.columns is None or self.wrap is not False

    @property
    def known_columns(self) -> Columns:
        """The columns, if it is known that rows have columns."""
        assert self.columns is not None
        return self.columns

    @property
    def row_columns(self) -> Columns | None:
        """The columns of the rows: with `times="integers"`, integers replace DATE, TIME and TIMESTAMP."""
        return None if self.columns is None else with_times(self.columns, self.times)

    def half(self, role: Role, wraps: bool | None = None) -> Self:
        """The same, only for keys or only for values; `wraps` is the format's own default (None: ksqlDB's)."""
        if self.columns is None:
            return self
        half = half_of(self.columns, role, wraps if self.wrap is None else self.wrap)
        return replace(self, columns=half.columns, wrap=half.wrapped)

    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults, as a constructor's keywords."""
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return {name: value for name, value, default in values if value != default}


class HasColumns:
    """A serde with a spec."""

    _spec: RowSpec

    @property
    def columns(self) -> Columns | None:
        """All columns, of key and value; None if rows have the writer's fields."""
        return self._spec.row_columns

    def columns_of(self, role: Role) -> Columns | None:
        """The columns of every key, or of every value, in order; None if rows have the writer's fields.

        :raises ColumnError: if there is no column for this half, or it cannot be used.
        """
        return self._spec.half(role).row_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec(RowSpec):
    strict: bool = False
    """True to refuse a writer that leaves any column, or an inner field, unfed (`ColumnNotFedError`)."""
    reader_schema: ReaderSchema | None = None
    """Avro: the schema whose aliases and defaults count."""
    validate: bool = False
    """JSON Schema: True if every body is checked first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec(RowSpec):
    generation: Generation = Generation.UP_TO_0_28
    written_by: WrittenBy = WrittenBy.SERIALIZER
    """Which of ksqlDB's two writers made the schema."""
    full_name: str | None = None
    """Avro: the internal schema's record name with its namespace; None for ksqlDB's name."""
    cut_times: bool = False
    """True to cut times that are finer than the written unit; otherwise they are refused."""
    validate: bool = False
