"""The Avro schema that ksqlDB registers for columns: `ConnectSchemas`, `AvroSchemas`, `AvroData.fromConnectSchema`, and
the text of `org.apache.avro.Schema.toString`, only for schemas of columns: without defaults and unions.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from srfix.serde.casing import upper_camel
from srfix.serde.columns.half import require_string_keys
from srfix.serde.columns.types import Column, Columns
from srfix.serde.connect.columns import NO_PRECISION, connect_of
from srfix.serde.connect.generations import has_connect_properties
from srfix.serde.connect.schema import (
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    LOCAL_TIMESTAMP_NAME,
    NARROW,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    map_of,
    optional,
)
from srfix.serde.errors import ColumnError
from srfix.serde.formats.avro.java_text import java_schema
from srfix.serde.formats.avro.schema import LOGICAL_OF
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role

_NAMESPACE: Final = "io.confluent.ksql.avro_schemas"
KSQLDB_FULL_NAME: Final = f"{_NAMESPACE}.KsqlDataSourceSchema"
"""ksqlDB's default record name (`AvroProperties`)."""


def key_full_name(source_name: str) -> str:
    """`AvroFormat.getKeySchemaName`, without KEY_SCHEMA_FULL_NAME: MY_TABLE gives `….avro_schemas.MyTableKey`."""
    return f"{_NAMESPACE}.{upper_camel(source_name)}Key"


def avro_fields(columns: Columns) -> dict[str, Column]:
    return dict(zip(avro_names(column.name for column in columns), columns, strict=True))


def avro_names(names: Iterable[str]) -> dict[str, str]:
    """Avro field names → declared names: "." becomes "_" (`AvroSchemas.avroCompatibleFieldName`)."""
    fields: dict[str, str] = {}
    for name in names:
        field = name.replace(".", "_")
        if field in fields:
            raise ColumnError(
                f"The columns {fields[field]!r} and {name!r} both become the Avro field {field!r}. Rename one of them."
            )
        fields[field] = name
    return fields


def check_name(name: str, *, column: str) -> str:
    """`Schema.validateName`: letters and digits are Unicode's, except those of surrogate pairs."""
    if not name:
        raise ColumnError(f"The column {column!r} is not compatible with Avro: empty name. Give it another one.")
    for index, character in enumerate(name):
        category = unicodedata.category(character) if ord(character) <= 0xFFFF else ""
        if not (character == "_" or category.startswith("L") or (index > 0 and category == "Nd")):
            where = "initial character" if index == 0 else "character"
            raise ColumnError(
                f"The column {column!r} is not compatible with Avro: illegal {where} {character!r}. Avro names "
                "have letters, digits and _, and do not start with a digit."
            )
    return name


def internal_schema(spec: WriteSpec, role: Role = Role.VALUE) -> str:
    """The Avro schema of columns as ksqlDB registers it: compact, and always the same text for the same columns.

    Every field is nullable with the default null; nested records are named by their path, joined with "_"; a MAP is an
    array of `MapEntry` records. The default is the runtime serializer's text up to 0.28. `KsqlAvroSerdeFactory` strips
    the `full_name`; for keys see `key_full_name`. An un-wrapped column is its type, which is not nullable.
    """
    half = spec.half(role)
    require_string_keys(half.known_columns, "Avro")
    name = KSQLDB_FULL_NAME if spec.full_name is None else spec.full_name.strip()
    schema = avro_compatible(connect_of(half.known_columns, wrapped=half.wrapped), name)
    meta_data = has_connect_properties(spec.generation, spec.written_by)
    return avro_text(schema, meta_data=meta_data, micros=spec.times == "micros")


def avro_compatible(schema: ConnectSchema, full_name: str) -> ConnectSchema:
    """`AvroSchemas.getAvroCompatibleConnectSchema`: STRUCTs and MAPs get names, and the root is required."""
    return _Names().root(schema, full_name)


class _Names:
    def __init__(self) -> None:
        self._named: dict[str, tuple[str, ConnectSchema]] = {}

    def root(self, schema: ConnectSchema, full_name: str) -> ConnectSchema:
        if schema.type.is_primitive:
            # The engine rebuilds the root from type, name and parameters, so the version of a logical type is lost.
            return replace(schema, optional=False, version=None) if schema.optional else schema
        return optional(self._type(schema, full_name, "the root"), optional=False)

    def _type(self, schema: ConnectSchema, path: str, column: str) -> ConnectSchema:
        match schema.type:
            case ConnectType.STRUCT:
                return self._struct(schema, path, column)
            case ConnectType.ARRAY:
                return replace(schema, value_schema=self._type(schema.values, path, column))
            case ConnectType.MAP:
                keys = self._type(schema.keys, f"{path}_MapKey", column)
                values = self._type(schema.values, f"{path}_MapValue", column)
                named = replace(map_of(keys, values, optional=schema.optional), name=path)
                return self._claim(named, column)
            case _:
                return schema

    def _struct(self, schema: ConnectSchema, path: str, column: str) -> ConnectSchema:
        fields: list[ConnectField] = []
        for (name, declared), part in zip(
            avro_names(part.name for part in schema.fields).items(), schema.fields, strict=True
        ):
            # The path of a nested record uses the declared name, in which "." is not replaced.
            type_ = self._type(part.schema, f"{path}_{declared}", declared)
            fields.append(ConnectField(check_name(name, column=declared), type_))
        return self._claim(replace(schema, name=path, fields=tuple(fields)), column)

    def _claim(self, schema: ConnectSchema, column: str) -> ConnectSchema:
        """Two nested types may share a name if they are equal: the second then refers to the first."""
        full_name = schema.name or ""
        namespace, _, name = full_name.rpartition(".")
        for part in (*filter(None, namespace.split(".")), name):
            check_name(part, column=column)
        required = optional(schema, optional=False)
        other, claimed = self._named.setdefault(full_name, (column, required))
        if claimed != required:
            raise ColumnError(
                f"The columns {other!r} and {column!r} both need a nested record named {full_name!r}. "
                "Rename one of them."
            )
        return schema


_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json] | None"

_PRIMITIVES: Final = {
    **dict.fromkeys((*NARROW, ConnectType.INT32), "int"),
    ConnectType.INT64: "long",
    ConnectType.FLOAT32: "float",
    ConnectType.FLOAT64: "double",
    ConnectType.BOOLEAN: "boolean",
    ConnectType.STRING: "string",
    ConnectType.BYTES: "bytes",
}
_LOGICAL: Final = LOGICAL_OF | {LOCAL_TIMESTAMP_NAME: "local-timestamp-micros"}
_MICROS: Final = {TIME_NAME: "time-micros", TIMESTAMP_NAME: "timestamp-micros"}
"""Connect does not know these types, so they have none of its properties."""


def avro_text(schema: ConnectSchema, *, meta_data: bool, micros: bool = False) -> str:
    """Compact, keys in Avro's order: the type's own, then AvroData's (`connect.meta.data` decides, except MapEntry)."""
    return java_schema(json.dumps(_Writer(meta_data=meta_data, micros=micros).type(schema)))


class _Writer:
    def __init__(self, *, meta_data: bool, micros: bool) -> None:
        self._meta_data = meta_data
        self._micros = micros
        self._written: dict[str, ConnectSchema] = {}

    def type(self, schema: ConnectSchema) -> _Json:
        written = self._required(optional(schema, optional=False))
        return ["null", written] if schema.optional else written

    def _required(self, schema: ConnectSchema) -> _Json:
        if self._micros and schema.name in _MICROS:
            return {"type": "long", "logicalType": _MICROS[schema.name]}
        properties = self._properties(schema)
        match schema.type:
            case ConnectType.STRUCT:
                return self._record(schema, schema.fields, properties)
            case ConnectType.ARRAY:
                return {"type": "array", "items": self.type(schema.values), **properties}
            case ConnectType.MAP if schema.keys.type is ConnectType.STRING and not schema.keys.optional:
                return {"type": "map", "values": self.type(schema.values), **properties}
            case ConnectType.MAP:
                fields = ConnectField("key", schema.keys), ConnectField("value", schema.values)
                # This is written even without meta data, because without it no reader would treat the array as a map.
                entry = self._record(schema, fields, {"connect.internal.type": "MapEntry"})
                return {"type": "array", "items": entry, **properties}
            case _:
                return {"type": _PRIMITIVES[schema.type], **properties}

    def _record(
        self, schema: ConnectSchema, fields: tuple[ConnectField, ...], properties: Mapping[str, _Json]
    ) -> _Json:
        """A record; only its name if the same record was written before."""
        full_name = schema.name or ""
        if self._written.get(full_name) == schema:
            return full_name
        self._written[full_name] = schema
        return {"type": "record", "name": full_name, "fields": list(map(self._field, fields)), **properties}

    def _field(self, field: ConnectField) -> _Json:
        default: dict[str, _Json] = {"default": None} if field.schema.optional else {}
        return {"name": field.name, "type": self.type(field.schema), **default}

    def _properties(self, schema: ConnectSchema) -> dict[str, _Json]:
        properties: dict[str, _Json] = {}
        is_decimal = schema.type is ConnectType.BYTES and schema.name == DECIMAL_NAME
        if is_decimal:
            properties["scale"] = int(schema.parameters[DECIMAL_SCALE])
            properties["precision"] = int(schema.parameters.get(DECIMAL_PRECISION, NO_PRECISION))
        if self._meta_data:
            if schema.version is not None:
                properties["connect.version"] = schema.version
            if schema.parameters:
                properties["connect.parameters"] = dict(schema.parameters)
            if schema.name is not None and schema.name != LOCAL_TIMESTAMP_NAME:
                properties["connect.name"] = schema.name
            if schema.type in NARROW:
                properties["connect.type"] = schema.type.word
        if schema.type.is_primitive and schema.name in _LOGICAL:
            properties["logicalType"] = _LOGICAL[schema.name]
        return properties
