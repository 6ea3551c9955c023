"""A schema that is about to be registered, in a file: an Avro schema, a JSON Schema, a `.proto` file, or a registry's
request, which is `{"schema": "…", "schemaType": "JSON", "references": [{"name": …, "subject": …, "version": …}]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.files import parse_json
from srfix.serde.formats.table import check_schema
from srfix.serde.schemas.models import Schema, SchemaReference

_REGISTRY_KEYS: Final = frozenset(
    ("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "subject", "guid", "ts", "deleted")
)
_JSON_SCHEMA_KEYS: Final = frozenset(
    ("$schema", "$id", "$ref", "$defs", "definitions", "properties", "additionalProperties", "allOf", "anyOf", "oneOf")
)
"""Keys that a JSON Schema uses and an Avro schema does not."""
_TYPES: Final = ("AVRO", "JSON", "PROTOBUF")


def parse_schema(text: str, *, origin: str) -> Schema:
    """The schema in a file, kept unchanged; one that refers to others is left to a registry that has them."""
    if origin.endswith(".proto"):
        schema = Schema(text=text, schema_type="PROTOBUF")
        if "import" not in text:  # only a registry request says what the imports are
            _check(schema, origin)
        return schema
    try:
        document = parse_json(text)
    except ValueError as error:
        raise UsageError(
            f"--schema {origin}: the file is not JSON ({error}). Give an Avro schema, a JSON Schema, a .proto file, or a "
            'registry request: {"schema": "…", "schemaType": "JSON", "references": […]}.'
        ) from None
    if isinstance(document, dict) and isinstance(document.get("schema"), str) and document.keys() <= _REGISTRY_KEYS:
        return _of_registry(cast("Mapping[str, object]", document), origin)
    schema = Schema(text=text, schema_type="JSON" if _is_json_schema(document, text) else "AVRO")
    _check(schema, origin)
    return schema


def _of_registry(document: Mapping[str, object], origin: str) -> Schema:
    schema_type = document.get("schemaType", "AVRO")
    if schema_type not in _TYPES:
        raise UsageError(f"--schema {origin}: schemaType {schema_type!r} is none of {', '.join(_TYPES)}.")
    listed_references = document.get("references") or []
    if not isinstance(listed_references, list):
        raise UsageError(f"--schema {origin}: references is not a list.")
    references = tuple(_reference(item, origin) for item in listed_references)
    schema = Schema(text=str(document["schema"]), schema_type=str(schema_type), references=references)
    if not references:
        _check(schema, origin)
    return schema


def _reference(item: object, origin: str) -> SchemaReference:
    match item:
        case {"name": str(name), "subject": str(subject), "version": int(version)} if not isinstance(version, bool):
            return SchemaReference(name=name, subject=subject, version=version)
    raise UsageError(f"--schema {origin}: a reference needs a name, a subject and a version number.")


def _check(schema: Schema, origin: str) -> None:
    try:
        check_schema(schema)
    except SchemaError as error:
        raise UsageError(f"--schema {origin}: {error.message}") from error
    except UsageError:  # jsonschema-rs is not installed: the registry will check the schema
        return


def _is_json_schema(document: object, text: str) -> bool:
    if not isinstance(document, dict):
        return False
    if _JSON_SCHEMA_KEYS & document.keys():
        return True
    if document.get("type") != "object":
        return False
    try:
        check_schema(Schema(text=text, schema_type="AVRO"))
    except SchemaError:
        return True
    return False
