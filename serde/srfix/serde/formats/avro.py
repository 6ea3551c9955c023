"""Avro: the schema that columns are written under, and the codecs of any Avro schema."""

from __future__ import annotations

import json
from typing import Final, TypeAlias, assert_never

from srfix.serde._column_types import (
    Array,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.errors import ColumnError, SchemaError
from srfix.serde.formats._avro_columns import columns_from_avro
from srfix.serde.formats._avro_decode import decoder
from srfix.serde.formats._avro_encode import encoder
from srfix.serde.formats._avro_names import avro_fields, check_name
from srfix.serde.registry.models import Schema

__all__ = [
    "KSQLDB_FULL_NAME",
    "SCHEMA_TYPE",
    "check_schema",
    "columns_from_avro",
    "decoder",
    "encoder",
    "field_names",
    "internal_schema",
]

SCHEMA_TYPE: Final = "AVRO"
"""The schemaType that registries know the format by."""
KSQLDB_FULL_NAME: Final = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
"""The record name that ksqlDB writes values under (`AvroProperties`)."""

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json] | None"

_SCALARS: Final[dict[ScalarType, _Json]] = {
    ScalarType.BOOLEAN: "boolean",
    ScalarType.INTEGER: "int",
    ScalarType.BIGINT: "long",
    ScalarType.DOUBLE: "double",
    ScalarType.STRING: "string",
    ScalarType.BYTES: "bytes",
    ScalarType.DATE: {"type": "int", "logicalType": "date"},
    ScalarType.TIME: {"type": "int", "logicalType": "time-millis"},
    ScalarType.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}


def check_schema(schema: Schema) -> None:
    """:raises SchemaError: unless it is an Avro schema."""
    if schema.schema_type != SCHEMA_TYPE:
        raise SchemaError(
            f"The schema is of the type {schema.schema_type}, not {SCHEMA_TYPE}. Use the serde of that format."
        )


def field_names(schema_text: str) -> tuple[str, ...]:
    """The names of a record schema's own fields, in order.

    :raises SchemaError: if the text is not a record schema.
    """
    match _parsed(schema_text):
        case {"type": "record", "fields": list(fields)}:
            return tuple(str(field["name"]) for field in fields if isinstance(field, dict) and "name" in field)
    raise SchemaError("The schema is not an Avro record, so it has no fields.")


def _parsed(schema_text: str) -> _Json:
    try:
        schema: _Json = json.loads(schema_text)
    except ValueError as error:
        raise SchemaError(f"The schema is not JSON ({error}).") from error
    return schema


def internal_schema(columns: Columns, *, full_name: str = KSQLDB_FULL_NAME) -> str:
    """The Avro schema of columns as ksqlDB's runtime serializer registered it up to 0.28: compact, always the
    same text.

    Every field is nullable with the default null; nested records are named by their path, joined with "_"; a
    MAP is an array of `MapEntry` records. Of Connect's properties only `connect.internal.type` is there: the
    serializer ran with
    `connect.meta.data=false` until ksql#9238.

    :raises ColumnError: if a name is not one that Avro allows, two columns or nested records get the same
        name, or the columns cannot be used at all.
    """
    usable_columns(columns)
    return json.dumps(_Writer().record(columns, full_name, enclosing=None, column="the root"), separators=(",", ":"))


class _Writer:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def record(self, columns: Columns, full_name: str, *, enclosing: str | None, column: str) -> dict[str, _Json]:
        namespace, schema = self._head(full_name, enclosing, column)
        fields: list[_Json] = []
        for name, part in avro_fields(columns).items():
            check_name(name, column=part.name)
            # The path of a nested record has the name as declared, not the one with "." replaced
            # (`AvroSchemas`).
            fields.append(_field(name, self._type(part.type, f"{full_name}_{part.name}", namespace, part.name)))
        schema["fields"] = fields
        return schema

    def _head(self, full_name: str, enclosing: str | None, column: str) -> tuple[str, dict[str, _Json]]:
        namespace, _, name = full_name.rpartition(".")
        for part in (*filter(None, namespace.split(".")), name):
            check_name(part, column=column)
        if full_name in self._names:
            raise ColumnError(
                f"The columns {self._names[full_name]!r} and {column!r} both need a nested record named "
                f"{full_name!r}. "
                "Rename one of them."
            )
        self._names[full_name] = column
        schema: dict[str, _Json] = {"type": "record", "name": name}
        if namespace != (enclosing or ""):
            schema["namespace"] = namespace
        return namespace, schema

    def _type(self, type_: ColumnType, path: str, enclosing: str, column: str) -> _Json:
        match type_:
            case ScalarType():
                return _SCALARS[type_]
            case Decimal(precision, scale):
                return {"type": "bytes", "scale": scale, "precision": precision, "logicalType": "decimal"}
            case Array(items):
                return {"type": "array", "items": ["null", self._type(items, path, enclosing, column)]}
            case Map(values):
                namespace, entry = self._head(path, enclosing, column)
                entry["fields"] = [
                    _field("key", "string"),
                    _field("value", self._type(values, f"{path}_MapValue", namespace, column)),
                ]
                entry["connect.internal.type"] = "MapEntry"
                return {"type": "array", "items": entry}
            case Struct(fields):
                return self.record(fields, path, enclosing=enclosing, column=column)
            case _:
                assert_never(type_)


def _field(name: str, type_: _Json) -> _Json:
    return {"name": name, "type": ["null", type_], "default": None}
