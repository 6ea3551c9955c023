"""Connect's schemas as Avro's: `AvroData.fromConnectSchema`, and the text that `org.apache.avro.Schema.toString` gives.

For what columns become: no defaults, no unions, and a name on every STRUCT.
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    LOCAL_TIMESTAMP_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectSchema,
    ConnectType,
    optional,
)
from srfix.serde.formats.avro.names import split_full_name

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json] | None"

_PRIMITIVES: Final = {
    ConnectType.INT8: "int",
    ConnectType.INT16: "int",
    ConnectType.INT32: "int",
    ConnectType.INT64: "long",
    ConnectType.FLOAT32: "float",
    ConnectType.FLOAT64: "double",
    ConnectType.BOOLEAN: "boolean",
    ConnectType.STRING: "string",
    ConnectType.BYTES: "bytes",
}
_NARROW: Final = (ConnectType.INT8, ConnectType.INT16)
_LOGICAL: Final = {
    DECIMAL_NAME: "decimal",
    DATE_NAME: "date",
    TIME_NAME: "time-millis",
    TIMESTAMP_NAME: "timestamp-millis",
    LOCAL_TIMESTAMP_NAME: "local-timestamp-micros",
}


def avro_text(schema: ConnectSchema, *, meta_data: bool) -> str:
    """The schema text, compact, its keys in Avro's order: the type's own, then properties as AvroData adds them.

    :param meta_data: whether Connect's properties are written (`connect.meta.data`); `connect.internal.type` always is.
    """
    return json.dumps(_Writer(meta_data=meta_data).type(schema, ""), separators=(",", ":"), ensure_ascii=False)


class _Writer:
    def __init__(self, *, meta_data: bool) -> None:
        self._meta_data = meta_data
        self._written: dict[str, ConnectSchema] = {}

    def type(self, schema: ConnectSchema, space: str) -> _Json:
        written = self._required(optional(schema, optional=False), space)
        return ["null", written] if schema.optional else written

    def _required(self, schema: ConnectSchema, space: str) -> _Json:
        match schema.type:
            case ConnectType.STRUCT:
                return self._record(schema, space)
            case ConnectType.ARRAY:
                return {"type": "array", "items": self.type(schema.values, space), **self._properties(schema)}
            case ConnectType.MAP if schema.keys.type is ConnectType.STRING and not schema.keys.optional:
                return {"type": "map", "values": self.type(schema.values, space), **self._properties(schema)}
            case ConnectType.MAP:
                return {"type": "array", "items": self._entry(schema, space), **self._properties(schema)}
            case _:
                properties = self._properties(schema)
                word = _PRIMITIVES[schema.type]
                return {"type": word, **properties} if properties else word

    def _record(self, schema: ConnectSchema, space: str) -> _Json:
        head, own_space = self._head(schema, space)
        if isinstance(head, str):
            return head
        head["fields"] = [self._field(part.name, part.schema, own_space) for part in schema.fields]
        return {**head, **self._properties(schema)}

    def _entry(self, schema: ConnectSchema, space: str) -> _Json:
        head, own_space = self._head(schema, space)
        if isinstance(head, str):
            return head
        head["fields"] = [
            self._field("key", schema.keys, own_space),
            self._field("value", schema.values, own_space),
        ]
        # Not gated by meta data: without it the array would not be a map to any reader.
        return {**head, "connect.internal.type": "MapEntry"}

    def _head(self, schema: ConnectSchema, space: str) -> tuple[str | dict[str, _Json], str]:
        """How a record begins and the namespace within; its bare name if the same record was written before."""
        full_name = schema.name or ""
        namespace, name = split_full_name(full_name)
        if self._written.get(full_name) == schema:
            return (name if namespace in ("", space) else full_name), space
        self._written[full_name] = schema
        head: dict[str, _Json] = {"type": "record", "name": name}
        if namespace != space:
            head["namespace"] = namespace
        return head, namespace

    def _field(self, name: str, schema: ConnectSchema, space: str) -> _Json:
        written: dict[str, _Json] = {"name": name, "type": self.type(schema, space)}
        if schema.optional:
            written["default"] = None
        return written

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
            if schema.type in _NARROW:
                properties["connect.type"] = schema.type.word
        if schema.type.is_primitive and schema.name in _LOGICAL:
            properties["logicalType"] = _LOGICAL[schema.name]
        return properties
