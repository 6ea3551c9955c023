"""PROTOBUF: messages under a schema in the registry, with message indexes before the body. ksqlDB reads and writes them through
Connect, with the converter of Confluent's registry (`ProtobufConverter`, `ProtobufData`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Unpack

from srfix.serde.columns.half import require_string_keys
from srfix.serde.columns.types import Columns, usable_columns
from srfix.serde.connect.columns import ColumnOptions, Dropped, Inferred, NameRule, columns_of
from srfix.serde.connect.schema import ConnectSchema
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import SchemaError
from srfix.serde.formats.protobuf.bodies import body_decoder
from srfix.serde.formats.protobuf.connect import UNION_NAME as UNION_NAME
from srfix.serde.formats.protobuf.connect import ProtoType, connect_schema
from srfix.serde.formats.protobuf.decode import column_reader
from srfix.serde.formats.protobuf.descriptors import Compiled, compiled
from srfix.serde.formats.protobuf.encode import column_encoder, message_encoder
from srfix.serde.formats.protobuf.internal import internal_schema as internal_schema
from srfix.serde.formats.protobuf.plain import plain_reader
from srfix.serde.interface import Value
from srfix.serde.projection.tree import Projection
from srfix.serde.projection.walk import project
from srfix.serde.specs import ReadSpec, WriteSpec

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

EMPTY_SCHEMA: Final = 'syntax = "proto3";\n\nmessage Empty {}\n'
HAS_LOCAL_TIMES: Final = False
values_decoder: None = None
validator: None = None
"""None: every body that the runtime can read is valid."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    compiled(schema_text, references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """The Connect schema that ProtobufData makes of a schema's first message."""
    schema = compiled(schema_text, references)
    return connect_schema(schema, schema.message()), ()


def infer_columns(
    text: str,
    references: tuple[str, ...] = (),
    *,
    full_name: str | None = None,
    unwrap_primitives: bool = True,
    **options: Unpack[ColumnOptions],
) -> Inferred:
    """The columns of the message that `full_name` names (VALUE_SCHEMA_FULL_NAME; its package may be left out), or of the
    first; also those of a key. ksqlDB 0.26 and later wants a name if a schema has several top-level messages or enums."""
    schema = compiled(text, references)
    connect = connect_schema(schema, schema.as_ksqldb_finds(full_name), unwrap_primitives=unwrap_primitives)
    options["wrapped"] = options.get("wrapped") is not False
    return columns_of(connect, **options)


def columns_from_protobuf(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    full_name: str | None = None,
    unwrap_primitives: bool = True,
) -> Columns:
    """The columns of the message that `full_name` names (with or without its package), or of the first message. ksqlDB
    0.26 and later does not take the first of several top-level messages and enums: it wants a full name. Unlike
    `infer_columns`, this does not report the fields that it leaves out.

    :param unwrap_primitives: whether `google.protobuf.StringValue` and the like become primitive columns, as in ksqlDB 0.25
        and later; otherwise STRUCT<VALUE T>, which statements of older servers have. Deserializers read both.
    :raises SchemaError: if the text is not a Protobuf schema, or has no such message.
    :raises ColumnError: if the message gives no columns.
    :raises UsageError: if the libraries of the extra `protobuf` are not installed.
    """
    return infer_columns(
        text, names=names, references=references, full_name=full_name, unwrap_primitives=unwrap_primitives
    ).columns


def has_hints(schema_text: str, references: tuple[str, ...] = ()) -> bool:
    return False


def field_names(schema_text: str) -> tuple[str, ...]:
    """The first message's; a SchemaError if the text imports a file of another schema."""
    return tuple(field.name for field in compiled(schema_text, ()).message().fields)


def java_text(schema_text: str, *, has_references: bool) -> str:
    """The text, unchanged: Confluent's registry reformats each text that it is sent, so each form finds the version."""
    return schema_text


def record_name(schema_text: str, references: tuple[str, ...] = ()) -> str | None:
    """The full name of the first message, or of the first enum if there is no message (`ProtobufSchema.name`)."""
    file = compiled(schema_text, references).file
    types = [*file.message_types_by_name.values(), *file.enum_types_by_name.values()]
    return types[0].full_name if types else None


def projection(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Projection[ProtoType]:
    return _projection(schema_text, spec, references, (0,))


@lru_cache(maxsize=256)
def _projection(
    schema_text: str, spec: ReadSpec, references: tuple[str, ...], indexes: tuple[int, ...]
) -> Projection[ProtoType]:
    schema = compiled(schema_text, references)
    return project(ProtoType.of_message(schema, schema.message(indexes), is_bare=not spec.wrapped), spec)


def decoder(
    schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = (), *, framed: bool = True
) -> Decode:
    """Without columns, a message is a dict of its fields. `framed`: whether message indexes stand before the body."""
    if schema_text is None:
        raise SchemaError("PROTOBUF bodies cannot be read without the schema that they were written under.")
    schema, text = compiled(schema_text, references), schema_text

    def make(indexes: tuple[int, ...]) -> Callable[[bytes], Value]:
        message = schema.message(indexes)
        if spec.columns is None:
            return plain_reader(message)
        return column_reader(message, _projection(text, spec, references, indexes), spec.case_rule)

    return body_decoder(make, framed=framed)


def encoder(
    schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = (), *, framed: bool = True
) -> Encode:
    """The first message; without columns, a dict of the fields of it, or of the message that `full_name` names."""
    if schema_text is None:
        raise SchemaError("PROTOBUF bodies cannot be written without a schema.")
    schema = compiled(schema_text, references)
    if spec.columns is None:
        chosen = _chosen(schema, spec)
        return message_encoder(chosen, schema.indexes(chosen) if framed else None)
    require_string_keys(usable_columns(spec.columns), "Protobuf")
    return column_encoder(schema, schema.message(), spec, framed=framed)


def encoder_under(schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """Writes the first message, or the one that `full_name` names (ksqlDB's VALUE_SCHEMA_FULL_NAME)."""
    schema = compiled(schema_text, references)
    return column_encoder(schema, _chosen(schema, spec), spec)


def _chosen(schema: Compiled, spec: WriteSpec) -> Descriptor:
    return schema.named(schema.as_ksqldb_finds(spec.full_name).full_name)  # message indexes reach no import
