"""Connect's schemas as JSON Schema texts: `JsonSchemaData.fromConnectSchema`, `JsonSchema.canonicalString`."""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias

from srfix.serde.connect.schema import DECIMAL_NAME, ConnectSchema, ConnectType
from srfix.serde.formats.json_schema.order import hash_map_order

_OWN: Final = "io.confluent.connect.json"
"""Parameters with these names are not written."""

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json]"
_NULL: Final[_Json] = {"type": "null"}
_WORDS: Final[dict[ConnectType, str]] = {
    ConnectType.INT8: "integer",
    ConnectType.INT16: "integer",
    ConnectType.INT32: "integer",
    ConnectType.INT64: "integer",
    ConnectType.FLOAT32: "number",
    ConnectType.FLOAT64: "number",
    ConnectType.BOOLEAN: "boolean",
    ConnectType.STRING: "string",
}


def schema_text(schema: ConnectSchema) -> str:
    """`JsonSchemaData.fromConnectSchema`, `JsonSchema.canonicalString`, only for columns: no enums, unions, defaults.

    Keys are in the order of Everit's `ToStringVisitor`, properties in the order of its HashMap.
    """
    text = json.dumps(_json(schema, None), separators=(",", ":"), ensure_ascii=False)
    return _CONTROL.sub(lambda match: match[0].upper().replace("U", "u"), text)


# Jackson writes such an escape with capitals. Text after an escaped backslash is not an escape.
_CONTROL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u00[01][0-9a-f]")


def _json(schema: ConnectSchema, index: int | None) -> _Json:
    if schema.optional:
        either: dict[str, _Json] = {} if index is None else {"connect.index": index}
        either["oneOf"] = [_NULL, _plain(schema, None)]
        return either
    return _plain(schema, index)


def _plain(schema: ConnectSchema, index: int | None) -> _Json:
    other: dict[str, _Json] = {}
    parts: dict[str, _Json] = {}
    word = _WORDS.get(schema.type)
    match schema.type:
        case ConnectType.BYTES:
            word = "number" if schema.name == DECIMAL_NAME else "string"
            other["connect.type"] = "bytes"
        case ConnectType.ARRAY:
            word = "array"
            parts["items"] = _json(schema.values, None)
        case ConnectType.MAP:
            other["connect.type"] = "map"
            if schema.keys.type is ConnectType.STRING and not schema.keys.optional:
                word = "object"
                parts["additionalProperties"] = _json(schema.values, None)
            else:
                word = "array"
                entry: dict[str, _Json] = {"key": _json(schema.keys, 0), "value": _json(schema.values, 1)}
                parts["items"] = {"type": "object", "properties": _in_order(entry)}
        case ConnectType.STRUCT:
            word = "object"
            named = {part.name: _json(part.schema, place) for place, part in enumerate(schema.fields)}
            if named:
                parts["properties"] = _in_order(named)
        case ConnectType.BOOLEAN | ConnectType.STRING:
            pass
        case number:
            other["connect.type"] = number.word
    assert word is not None
    if schema.version is not None:
        other["connect.version"] = schema.version
    parameters = [name for name in schema.parameters if not name.startswith(_OWN)]
    if parameters:
        # First the order of a HashMap (`Collectors.toMap`), then that of a JSONObject made from it.
        names = hash_map_order(hash_map_order(parameters), capacity=len(parameters))
        other["connect.parameters"] = {name: schema.parameters[name] for name in names}
    if index is not None:
        other["connect.index"] = index
    is_boolean = schema.type is ConnectType.BOOLEAN
    titled: dict[str, _Json] = {} if is_boolean else {"type": word}
    if schema.name is not None:
        titled["title"] = schema.name
    if schema.doc is not None:
        titled["description"] = schema.doc
    # Only for a boolean, the type stands last.
    return titled | _copied(other) | parts | {"type": word}


def _in_order(named: dict[str, _Json]) -> dict[str, _Json]:
    return {name: named[name] for name in hash_map_order(named)}


def _copied(properties: dict[str, _Json]) -> dict[str, _Json]:
    """In the order of a HashMap that was copied from a HashMap (`Schema`'s constructor)."""
    names = hash_map_order(hash_map_order(properties), capacity=int(len(properties) / 0.75 + 1))
    return {name: properties[name] for name in names}
