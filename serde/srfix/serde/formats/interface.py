"""What every format module exports, under these names.

| name | what |
|---|---|
| `SCHEMA_TYPE` | the schemaType that registries know the format by |
| `internal_schema(columns, *, …) -> str` | the schema that columns are written under |
| `decoder(schema_text, *, columns, case_rule) -> Decode` | a plan for reading bodies of one writer schema |
| `encoder(schema_text, *, columns, case_rule) -> Encode` | a plan for writing rows under one schema |
"""

from __future__ import annotations

from typing import Protocol

from srfix.serde._column_types import Columns
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode, Encode

__all__ = ["DecoderFactory", "EncoderFactory"]


class DecoderFactory(Protocol):
    """`decoder` of a format module."""

    def __call__(self, schema_text: str, *, columns: Columns | None, case_rule: CaseRule) -> Decode:
        """A decoder; made once per writer schema."""


class EncoderFactory(Protocol):
    """`encoder` of a format module."""

    def __call__(self, schema_text: str, *, columns: Columns | None, case_rule: CaseRule) -> Encode:
        """An encoder; made once per schema."""
