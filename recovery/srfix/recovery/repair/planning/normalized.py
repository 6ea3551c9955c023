"""What `normalize=true` makes of a schema text before the registry stores it (Confluent 7.1 on).

Seen on 7.9.9 and 8.3.1: an Avro schema's properties and aliases are sorted, and a look-up by the text as it was finds it all
the same; a JSON Schema's keys are sorted, and a look-up by the text as it was is 40403. How Protobuf is written anew is not
known here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final

from srfix.serde.schemas.models import Json, Schema

_OF_AVRO: Final = frozenset(
    {
        *("type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases"),
        *("default", "order"),
    }
)
"""What Avro itself knows of types and fields; all else are properties."""
_INNER: Final = frozenset({"type", "fields", "items", "values"})
"""Where further types stand, and not values."""


class AfterNormalizing(Enum):
    """What becomes of a text that a registry has answered."""

    SAME = "same"
    """It stays as it is, and keeps its id."""
    FOUND = "found"
    """It is written anew, so that its id is another one, and a look-up by the old text finds it."""
    LOST = "lost"
    """It is written anew, and a look-up by the old text does not find it, or nobody can tell."""


def after_normalizing(schema: Schema) -> AfterNormalizing:
    """What `normalize=true` makes of a schema. In doubt an Avro text does not stay the same, and is LOST where its docs or
    numbers may change, which look-ups compare (`AvroSchemaUtils.toNormalizedString`)."""
    if schema.schema_type not in ("AVRO", "JSON"):
        return AfterNormalizing.LOST
    try:
        document: Json = json.loads(schema.text)
    except (ValueError, RecursionError):
        return AfterNormalizing.LOST
    if schema.schema_type == "JSON":
        return AfterNormalizing.SAME if _is_sorted(document) else AfterNormalizing.LOST
    if _changes_values(document):
        return AfterNormalizing.LOST
    return AfterNormalizing.SAME if _is_normalized_avro(document) else AfterNormalizing.FOUND


def content_key(schema: Schema) -> str:
    """Equal for schemas that `normalize=true` makes one of: JSON with sorted keys and aliases."""
    try:
        document = _with_sorted_aliases(json.loads(schema.text))
    except (ValueError, RecursionError):
        return f"{schema.schema_type} {schema.references} {schema.text}"
    return f"{schema.schema_type} {schema.references} {json.dumps(document, sort_keys=True)}"


def _is_sorted(value: Json) -> bool:
    if isinstance(value, dict):
        return [*value] == sorted(value) and all(map(_is_sorted, value.values()))
    return all(map(_is_sorted, value)) if isinstance(value, list) else True


def _is_normalized_avro(schema: Json) -> bool:
    if isinstance(schema, list):
        return all(map(_is_normalized_avro, schema))
    if not isinstance(schema, dict):
        return True
    return _has_sorted_properties(schema) and all(
        _is_normalized_avro(value) if name in _INNER else _is_sorted(value) for name, value in schema.items()
    )


def _has_sorted_properties(schema: Mapping[str, Json]) -> bool:
    properties = [name for name in schema if name not in _OF_AVRO]
    if "logicalType" in properties and len(properties) > 1:
        return False  # in doubt: it stands first, if the registry's Avro knows it
    aliases = [str(alias) for alias in names] if isinstance(names := schema.get("aliases"), list) else []
    return properties == sorted(properties) and aliases == sorted(aliases)


def _changes_values(schema: Json) -> bool:
    """True if an empty doc goes, or a whole number may become another text as the default of a float or a double."""
    if isinstance(schema, list):
        return any(map(_changes_values, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("doc") == "" or (_holds_a_number(schema.get("default")) and _mentions_floats(schema.get("type"))):
        return True
    return any(_changes_values(value) for name, value in schema.items() if name in _INNER)


def _holds_a_number(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_a_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mentions_floats(schema: Json) -> bool:
    if isinstance(schema, dict | list):
        return any(map(_mentions_floats, schema.values() if isinstance(schema, dict) else schema))
    return schema in ("float", "double")


def _with_sorted_aliases(value: Json) -> Json:
    if isinstance(value, list):
        return [_with_sorted_aliases(each) for each in value]
    if not isinstance(value, dict):
        return value
    sorted_: dict[str, Json] = {}
    for name, each in value.items():
        if name == "aliases" and isinstance(each, list):
            sorted_[name] = [*sorted(map(str, each))]
        else:
            sorted_[name] = _with_sorted_aliases(each)
    return sorted_
