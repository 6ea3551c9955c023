"""What every format module exports, under these names: `FormatModule`; and those with schemas, `SchemaFormatModule`.

A spec (`serde.specs`) is that of one half of a record, key or value. With columns a row is always a dict of all of them, in
their order, also where the body is the bare value of the only one. `references` are the texts that a schema refers to,
directly or not, none before those that it refers to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from srfix.serde.connect.columns import Dropped, Inferred, NameRule
from srfix.serde.connect.schema import ConnectSchema
from srfix.serde.engine import Decode, Encode
from srfix.serde.projection.tree import ByKeys, Projection
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

Validate: TypeAlias = Callable[[object], None]
"""Bytes are a body: raises DecodeError. Anything else is an object to be written: raises EncodeError."""


class FormatModule(Protocol):
    """A format module."""

    @property
    def HAS_LOCAL_TIMES(self) -> bool:
        """Whether a TIMESTAMP_NTZ column can be written and read."""

    def decoder(self, schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
        """A decoder; made once per writer schema. What feeds none of the columns is no row of them: it is refused where it is
        met (`NothingFedError`); by ksqlDB's case rules it is a row of nulls.
        """

    def encoder(self, schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
        """An encoder; made once per schema."""


class SchemaFormatModule(FormatModule, Protocol):
    """A format module whose format has schemas."""

    @property
    def EMPTY_SCHEMA(self) -> str:
        """A schema of a record without a field, which feeds no column."""

    @property
    def UNION_NAME(self) -> str:
        """The name of the STRUCT that stands for a union of several types, in Connect."""

    @property
    def validator(self) -> Callable[..., Validate] | None:
        """Makes what checks bodies against a schema; None if every body that can be read is valid."""

    @property
    def values_decoder(self) -> Callable[[str, ReadSpec, tuple[str, ...]], Decode | None] | None:
        """Makes decoders for typed arrays, as `decoder`: what one gives is an iterable of the columns' values, or it is None
        if rows are the only way. None if they always are."""

    def projection(
        self, schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()
    ) -> Projection[Any] | ByKeys:
        """How bodies of a writer schema are read into the columns: made once, whatever is made of it."""

    def encoder_under(self, schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
        """An encoder of columns under a schema that exists, ksqlDB's writing with a SCHEMA_ID: exact names, its defaults
        filled in.
        """

    def check_schema(self, schema_text: str, references: tuple[str, ...] = ()) -> None:
        """Nothing, if the text is a schema of the format."""

    def field_names(self, schema_text: str) -> tuple[str, ...]:
        """The names of the fields of a record."""

    def java_text(self, schema_text: str, *, has_references: bool) -> str:
        """The text that Java's readers look a schema's version up by (`ParsedSchema.canonicalString`)."""

    def as_connect(
        self, schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
    ) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
        """The schema as Connect's, without the fields that Connect refuses, and those.

        :param by_units: instants in microseconds are Connect's Timestamp, too.
        """

    def has_hints(self, schema_text: str, references: tuple[str, ...] = ()) -> bool:
        """Whether it has aliases or defaults that would count if it were a reader's."""

    def infer_columns(
        self,
        text: str,
        *,
        names: NameRule = "upper",
        references: tuple[str, ...] = (),
        role: Role = Role.VALUE,
        wrapped: bool | None = None,
    ) -> Inferred:
        """The columns of a schema."""

    def record_name(self, schema_text: str, references: tuple[str, ...] = ()) -> str | None:
        """The name of a schema's record, which some subjects are made of; None if it has none."""

    def internal_schema(self, spec: WriteSpec, role: Role = Role.VALUE) -> str:
        """The schema of columns as ksqlDB writes it: those of the half, if both are there."""
