"""The names that every format module exports. A spec (`serde.specs`) is for one half of a record. With columns a row is
always a dict of all columns, in their order, even if the body is bare. Each of a schema's `references` stands after its
own references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, Unpack

from srfix.serde.connect.columns import ColumnOptions, Dropped, Inferred
from srfix.serde.connect.schema import ConnectSchema
from srfix.serde.engine import Decode, Encode
from srfix.serde.projection.tree import ByKeys, Projection
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

Validate: TypeAlias = Callable[[object], None]
"""Raises DecodeError for a body (bytes), EncodeError for any other object, which is to be written."""


class FormatModule(Protocol):
    @property
    def HAS_LOCAL_TIMES(self) -> bool:
        """Whether a TIMESTAMP_NTZ column can be written and read."""

    def decoder(self, schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
        """Once per writer schema. A body that feeds no column: `NothingFedError`, or nulls under ksqlDB's rules."""

    def encoder(self, schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
        """Makes an encoder, once per schema."""


class SchemaFormatModule(FormatModule, Protocol):
    """A format module whose format has schemas."""

    @property
    def EMPTY_SCHEMA(self) -> str:
        """A schema of a record without a field, which feeds no column."""

    @property
    def UNION_NAME(self) -> str:
        """The name of the STRUCT that represents a union of several types in Connect."""

    @property
    def validator(self) -> Callable[..., Validate] | None:
        """Makes a check of bodies against a schema; None if every readable body is valid."""

    @property
    def values_decoder(self) -> Callable[[str, ReadSpec, tuple[str, ...]], Decode | None] | None:
        """A `decoder` of the columns' values, for typed arrays; None if only rows are possible (or no function)."""

    def projection(
        self, schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()
    ) -> Projection[Any] | ByKeys:
        """How bodies of a writer schema are read into the columns. It is made once, for all uses."""

    def encoder_under(self, schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
        """Like ksqlDB with a SCHEMA_ID: exact names, and the schema's defaults are filled in."""

    def check_schema(self, schema_text: str, references: tuple[str, ...] = ()) -> None:
        """Raises an error unless the text is a schema of the format."""

    def field_names(self, schema_text: str) -> tuple[str, ...]:
        """The names of the fields of a record."""

    def java_text(self, schema_text: str, *, has_references: bool) -> str:
        """The text with which Java's readers look up a schema's version (`ParsedSchema.canonicalString`)."""

    def as_connect(
        self, schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
    ) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
        """Also the fields that Connect refuses. With `by_units`, microseconds become Connect's Timestamp, too."""

    def has_hints(self, schema_text: str, references: tuple[str, ...] = ()) -> bool:
        """Whether the schema has aliases or defaults that would count in a reader's schema."""

    def infer_columns(self, text: str, references: tuple[str, ...] = (), **options: Unpack[ColumnOptions]) -> Inferred:
        """The columns of a schema."""

    def record_name(self, schema_text: str, references: tuple[str, ...] = ()) -> str | None:
        """The record name of a schema, from which some subjects are built; None if it has none."""

    def internal_schema(self, spec: WriteSpec, role: Role = Role.VALUE) -> str:
        """The schema of the half's columns as ksqlDB writes it."""
