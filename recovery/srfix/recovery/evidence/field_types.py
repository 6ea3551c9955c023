"""Whether a field of one type can feed a column of another type; if not, the two schemas describe different things.

| the writer's | feeds |
|---|---|
| int, long, float, double | each other, and string |
| boolean | boolean and string |
| string, bytes, enum, fixed | each other |
| record, array, map | the same; ksqlDB writes a map as an array of entries |

That is what Avro's schema resolution and ksqlDB's coercions allow together (`ConnectDataTranslator.validateSchema`):
both refuse any other pair. A union feeds every column that one of its branches can feed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from srfix.serde.schemas.models import Json, Schema

_NUMBERS: Final = frozenset({"int", "long", "float", "double"})
_TEXTS: Final = frozenset({"string", "bytes", "enum", "fixed"})
_LISTS: Final = frozenset({"array", "map"})
_NAMED: Final = frozenset({"record"})
_ANY: Final = frozenset({"any"})


def field_types(schema: Schema) -> Mapping[str, frozenset[str]]:
    """For each field of an Avro record, the types that its values can have; empty for other schemas."""
    if schema.schema_type != "AVRO":
        return {}
    try:
        document = json.loads(schema.text)
    except (ValueError, RecursionError):
        return {}
    match document:
        case {"type": "record", "fields": list(fields)}:
            return {
                str(field["name"]): _types(field.get("type"))
                for field in fields
                if isinstance(field, dict) and "name" in field
            }
    return {}


def can_feed(writer: frozenset[str] | None, column: frozenset[str] | None) -> bool:
    """True if a value of one of the writer's types may become a value of the column; also if either type is not known."""
    if not writer or not column or "any" in writer | column:
        return True
    return any(_feeds(one, other) for one in writer for other in column)


def _feeds(one: str, other: str) -> bool:
    if one == other:
        return True
    if one in _NUMBERS:
        return other in _NUMBERS or other == "string"
    if one == "boolean":
        return other == "string"
    return any(one in kinds and other in kinds for kinds in (_TEXTS, _LISTS))


def _types(document: Json) -> frozenset[str]:
    match document:
        case list():
            return frozenset().union(*map(_types, document)) - {"null"}
        case {"type": inner}:
            return _types(inner)
        case str() if document in _NUMBERS | _TEXTS | _LISTS | _NAMED | {"boolean", "null"}:
            return frozenset({document})
    return _ANY  # a named type that is defined elsewhere
