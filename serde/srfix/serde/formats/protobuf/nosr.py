"""PROTOBUF_NOSR: messages under the columns' own schema, without a registry and without indexes (`ProtobufNoSRConverter`)."""

from __future__ import annotations

from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import ColumnError
from srfix.serde.formats.protobuf import format as framed
from srfix.serde.formats.protobuf.internal import internal_schema
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """A decoder for messages under the schema that ksqlDB would register for the columns."""
    written = WriteSpec(columns=spec.columns, wrap=spec.wrap, nullable_representation=spec.nullable_representation)
    return framed.decoder(_text(written), spec, framed=False)


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    return framed.encoder(_text(spec), spec, framed=False)


def _text(spec: WriteSpec) -> str:
    if spec.columns is None:
        raise ColumnError(
            "In the PROTOBUF_NOSR format, the bytes do not show their fields: name the columns, such as 'ID BIGINT'."
        )
    return internal_schema(spec)
