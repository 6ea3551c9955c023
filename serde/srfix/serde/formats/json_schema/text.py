"""Connect's schemas as JSON Schema texts: `JsonSchemaData.fromConnectSchema`, `JsonSchema.canonicalString`.

Everit's loader and builders, and org.json's objects, keep properties in HashMaps. So the text of an internal schema,
and the columns inferred from a schema without `connect.index`, are in that order, which depends only on the names. Only
with this order do the same columns give the same text, and so the same schema id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from srfix.serde.connect.java_text import java_json
from srfix.serde.connect.schema import DECIMAL_NAME, ConnectSchema, ConnectType
from srfix.serde.schemas.models import Json

OWN: Final = "io.confluent.connect.json"
"""Parameters with these names are not written."""

_DEFAULT_CAPACITY = 16
_LONGEST_CHAIN = 8
"""With a longer chain, a small table grows instead of turning the chain into a tree (`HashMap.TREEIFY_THRESHOLD`)."""
_LEAST_FOR_TREES = 64

_NULL: Final[Json] = {"type": "null"}
_WORDS: Final[dict[ConnectType, str]] = {
    **dict.fromkeys((ConnectType.INT8, ConnectType.INT16, ConnectType.INT32, ConnectType.INT64), "integer"),
    **dict.fromkeys((ConnectType.FLOAT32, ConnectType.FLOAT64), "number"),
    ConnectType.BOOLEAN: "boolean",
    ConnectType.STRING: "string",
}


def schema_text(schema: ConnectSchema) -> str:
    """`JsonSchemaData.fromConnectSchema`, `JsonSchema.canonicalString` of columns, in `ToStringVisitor`'s order."""
    return java_json(_json(schema, None))


def _json(schema: ConnectSchema, index: int | None) -> Json:
    if schema.optional:
        either: dict[str, Json] = {} if index is None else {"connect.index": index}
        either["oneOf"] = [_NULL, _plain(schema, None)]
        return either
    return _plain(schema, index)


def _plain(schema: ConnectSchema, index: int | None) -> Json:
    other: dict[str, Json] = {}
    parts: dict[str, Json] = {}
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
                entry: dict[str, Json] = {"key": _json(schema.keys, 0), "value": _json(schema.values, 1)}
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
    parameters = [name for name in schema.parameters if not name.startswith(OWN)]
    if parameters:
        # First the order of a HashMap (`Collectors.toMap`), then that of a JSONObject made from it.
        names = hash_map_order(hash_map_order(parameters), capacity=len(parameters))
        other["connect.parameters"] = {name: schema.parameters[name] for name in names}
    if index is not None:
        other["connect.index"] = index
    is_boolean = schema.type is ConnectType.BOOLEAN
    titled: dict[str, Json] = {} if is_boolean else {"type": word}
    if schema.name is not None:
        titled["title"] = schema.name
    if schema.doc is not None:
        titled["description"] = schema.doc
    # Only for a boolean, the type stands last.
    return titled | _copied(other) | parts | {"type": word}


def _in_order(named: dict[str, Json]) -> dict[str, Json]:
    return {name: named[name] for name in hash_map_order(named)}


def _copied(properties: dict[str, Json]) -> dict[str, Json]:
    """In the order of a HashMap that was copied from a HashMap (`Schema`'s constructor)."""
    names = hash_map_order(hash_map_order(properties), capacity=int(len(properties) / 0.75 + 1))
    return {name: properties[name] for name in names}


def string_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_map_order(keys: Iterable[str], *, capacity: int = _DEFAULT_CAPACITY) -> tuple[str, ...]:
    """The iteration order of a HashMap of this initial capacity that got the keys in the given order."""
    hashes = {key: (hash_ := string_hash(key)) ^ hash_ >> 16 for key in keys}
    size = 1 << max(capacity - 1, 0).bit_length()
    buckets: dict[int, list[str]] = {}
    for count, (key, hash_) in enumerate(hashes.items(), start=1):
        chain = buckets.setdefault(hash_ & size - 1, [])
        chain.append(key)
        grows = (len(chain) > _LONGEST_CHAIN and size < _LEAST_FOR_TREES) + (count * 4 > size * 3)
        for _ in range(grows):
            size *= 2
            # A bucket splits into two and keeps its order, which is the same as inserting its keys again.
            split: dict[int, list[str]] = {}
            for placed in buckets.values():
                for name in placed:
                    split.setdefault(hashes[name] & size - 1, []).append(name)
            buckets = split
    return tuple(key for index in sorted(buckets) for key in buckets[index])
