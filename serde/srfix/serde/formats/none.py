"""NONE: a key or value that nobody looks at. It has no columns (`NoneFormat`). It is read as null, whatever its bytes are, and
it is written as null (`KsqlVoidSerde`; Kafka's `VoidDeserializer` refuses bytes instead)."""

from __future__ import annotations

from collections.abc import Callable

from srfix.serde.columns.text import print_columns
from srfix.serde.columns.types import Columns
from srfix.serde.engine import Decode
from srfix.serde.errors import ColumnError
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = True


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    _refuse(spec.columns)
    return lambda payload, body_offset: None


def encoder(
    schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()
) -> Callable[[object, bytes], None]:
    _refuse(spec.columns)
    return lambda row, prefix: None


def _refuse(columns: Columns | None) -> None:
    if columns is not None:
        raise ColumnError(
            f"The NONE format can only be used when no columns are defined. Got: {print_columns(columns)}. Leave them "
            "out, or name the format that they are written in."
        )
