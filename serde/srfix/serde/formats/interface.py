"""What every format module exports, under these names.

| name | what |
|---|---|
| `SCHEMA_TYPE` | the schemaType that registries know the format by; None for a format without schemas |
| `HAS_LOCAL_TIMES` | whether a TIMESTAMP_NTZ column can be written and read |
| `decoder(schema_text, *, columns, case_rule, …) -> Decode` | a plan for reading bodies of one writer schema |
| `encoder(schema_text, *, columns, case_rule, …) -> Encode` | a plan for writing rows under one schema |

and those with schemas (`SchemaFormatModule`) also:

| name | what |
|---|---|
| `internal_schema(columns, *, …) -> str` | the schema that columns are written under |
| `encoder_under(schema_text, *, columns, …) -> Encode` | a plan for writing columns under a schema that exists |
| `infer_columns(text, *, names, …) -> Inferred` | the columns of a schema |
| `record_name(schema_text, references) -> str | None` | the name of a schema's record, for subjects |
| `validator(schema_text, *, references) -> Validate` | what checks bodies against a schema; None if reading does |
| `values_decoder(schema_text, *, columns, …) -> Decode | None` | a plan for typed arrays; None if rows are the only way |

`columns` are those of one half of a record, key or value. With columns a row is always a dict of all of them, in their
order, also where `wrapped=False` says that the body is the bare value of the only one. `references` are the texts that a
schema refers to, directly or not, none before those that it refers to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import Inferred, NameRule
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.engine import Decode, Encode
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.serde.formats.avro.read.resolution import ReaderSchema


class DecoderFactory(Protocol):
    """`decoder` of a format module."""

    def __call__(
        self,
        schema_text: str | None,
        *,
        columns: Columns | None,
        case_rule: CaseRule,
        references: tuple[str, ...] = (),
        wrapped: bool = True,
        strict: bool = False,
        reader: ReaderSchema | None = None,
        times: Times = "datetimes",
    ) -> Decode:
        """A decoder; made once per writer schema. What feeds none of the columns is no row of them: it is refused where it is
        met (`NothingFedError`); by ksqlDB's case rules it is a row of nulls.

        :param strict: what leaves any of the columns, or a field inside one, unfed is refused too (`ColumnNotFedError`).
        :param reader: an Avro schema whose aliases and defaults count; of no use to the other formats.
        :raises SchemaError: if the text is not a schema of the format.
        :raises ColumnError: if the format cannot hold the columns.
        :raises CasingError: if letter case leaves the match between fields and columns undecided.
        :raises IncompatibleTypeError: if a writer's type cannot feed its column.
        """


class EncoderFactory(Protocol):
    """`encoder` of a format module."""

    def __call__(
        self,
        schema_text: str | None,
        *,
        columns: Columns | None,
        case_rule: CaseRule,
        references: tuple[str, ...] = (),
        wrapped: bool = True,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> Encode:
        """An encoder; made once per schema. A time finer than what it is written as is refused, or cut if `cut_times`.

        :raises SchemaError: if the text is not a schema of the format.
        :raises ColumnError: if the format cannot hold the columns.
        """


class EncoderUnder(Protocol):
    """`encoder_under` of a format module with schemas: ksqlDB's writing with a SCHEMA_ID."""

    def __call__(
        self,
        schema_text: str,
        *,
        columns: Columns,
        references: tuple[str, ...] = (),
        wrapped: bool = True,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> Encode:
        """An encoder of columns under a schema that exists: exact names, its defaults filled in.

        :raises SchemaError: if the text is not a schema of the format, or misses a column, or needs what no column has.
        :raises EncodeError: likewise, where the format finds it so.
        """


class ValuesDecoderFactory(Protocol):
    """`values_decoder` of a format module with schemas."""

    def __call__(
        self,
        schema_text: str,
        *,
        columns: Columns,
        case_rule: CaseRule,
        references: tuple[str, ...] = (),
        strict: bool = False,
        reader: ReaderSchema | None = None,
        times: Times = "datetimes",
    ) -> Decode | None:
        """As `DecoderFactory`; what it gives is an iterable of the columns' values. None if rows are the only way."""


class InferColumns(Protocol):
    """`infer_columns` of a format module with schemas."""

    def __call__(
        self,
        text: str,
        *,
        names: NameRule = "upper",
        references: tuple[str, ...] = (),
        role: Role = Role.VALUE,
        wrapped: bool | None = None,
    ) -> Inferred:
        """The columns of a schema.

        :raises SchemaError: if the text is not a schema of the format, or one that Connect refuses.
        :raises ColumnError: if it gives no columns.
        """


Validate: TypeAlias = Callable[[object], None]
"""Bytes are a body: raises DecodeError. Anything else is an object to be written: raises EncodeError."""


class FormatModule(Protocol):
    """A format module."""

    @property
    def SCHEMA_TYPE(self) -> str | None:
        """The schemaType that registries know the format by; None for a format without schemas."""

    @property
    def HAS_LOCAL_TIMES(self) -> bool:
        """Whether a TIMESTAMP_NTZ column can be written and read."""

    @property
    def decoder(self) -> DecoderFactory:
        """Makes decoders."""

    @property
    def encoder(self) -> EncoderFactory:
        """Makes encoders."""


class SchemaFormatModule(FormatModule, Protocol):
    """A format module whose format has schemas."""

    @property
    def SCHEMA_TYPE(self) -> str:
        """The schemaType that registries know the format by."""

    @property
    def encoder_under(self) -> EncoderUnder:
        """Makes encoders under schemas that exist."""

    @property
    def infer_columns(self) -> InferColumns:
        """Infers columns from schemas."""

    @property
    def validator(self) -> Callable[..., Validate] | None:
        """Makes what checks bodies against a schema; None if every body that can be read is valid."""

    @property
    def values_decoder(self) -> ValuesDecoderFactory | None:
        """Makes decoders for typed arrays; None if rows are the only way."""

    def record_name(self, schema_text: str, references: tuple[str, ...] = ()) -> str | None:
        """The name of a schema's record, which some subjects are made of; None if it has none.

        :raises SchemaError: if the text is not a schema of the format.
        """

    def internal_schema(
        self,
        columns: Columns,
        *,
        role: Role = Role.VALUE,
        wrapped: bool | None = None,
        generation: Generation = Generation.UP_TO_0_28,
        written_by: WrittenBy = WrittenBy.SERIALIZER,
    ) -> str:
        """The schema of columns as ksqlDB writes it; `wrapped` None as it does by default. Avro's takes a `full_name`, too.

        :raises ColumnError: if the format cannot hold the columns.
        """
