"""What every format module exports, under these names.

| name | what |
|---|---|
| `SCHEMA_TYPE` | the schemaType that registries know the format by; None for a format without schemas |
| `decoder(schema_text, *, columns, case_rule, references, wrapped) -> Decode` | a plan for reading bodies |
| `encoder(schema_text, *, columns, case_rule, references, wrapped) -> Encode` | a plan for writing rows |

and where it has schemas, too (avro, json_schema):

| name | what |
|---|---|
| `internal_schema(columns, *, role, wrapped, generation, written_by, …) -> str` | the schema of columns |
| `encoder_under(schema_text, *, columns, references) -> Encode` | a plan for writing columns under a schema that exists |

With columns a row is always a dict of all of them, in their order; `wrapped=False` says that the bytes hold the bare
value of the only one.
"""

from __future__ import annotations

from typing import Protocol

from srfix.serde._column_types import Columns
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode, Encode
from srfix.serde.generations import Generation, WrittenBy
from srfix.serde.subjects import Role

__all__ = ["DecoderFactory", "EncoderFactory", "FormatModule", "InternalSchema", "SchemaFormatModule", "UnderFactory"]


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
    ) -> Decode:
        """A decoder; made once per writer schema."""


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
    ) -> Encode:
        """An encoder; made once per schema."""


class UnderFactory(Protocol):
    """`encoder_under` of a format module with schemas."""

    def __call__(self, schema_text: str, *, columns: Columns, references: tuple[str, ...] = ()) -> Encode:
        """An encoder; made once per schema."""


class InternalSchema(Protocol):
    """`internal_schema` of a format module with schemas."""

    def __call__(
        self,
        columns: Columns,
        *,
        role: Role = Role.VALUE,
        wrapped: bool = True,
        generation: Generation = Generation.UP_TO_0_28,
        written_by: WrittenBy = WrittenBy.SERIALIZER,
    ) -> str:
        """The text, the same one for the same columns."""


class FormatModule(Protocol):
    """A format."""

    SCHEMA_TYPE: str | None
    """Its schemaType; None for a format without schemas."""
    decoder: DecoderFactory
    """Makes decoders."""
    encoder: EncoderFactory
    """Makes encoders."""


class SchemaFormatModule(FormatModule, Protocol):
    """A format with schemas."""

    internal_schema: InternalSchema
    """The schema of columns."""
    encoder_under: UnderFactory
    """Makes encoders under a schema that exists."""
