"""Avro: the schema that columns are written under, and the codecs of any Avro schema."""

from __future__ import annotations

import json
from typing import Final, TypeAlias

from srfix.serde.errors import SchemaError
from srfix.serde.formats._avro_columns import columns_from_avro, infer_avro
from srfix.serde.formats._avro_decode import decoder
from srfix.serde.formats._avro_encode import encoder
from srfix.serde.formats._avro_internal import internal_schema
from srfix.serde.formats._avro_names import KSQLDB_FULL_NAME, key_full_name
from srfix.serde.formats._avro_under import encoder_under

__all__ = [
    "KSQLDB_FULL_NAME",
    "SCHEMA_TYPE",
    "columns_from_avro",
    "decoder",
    "encoder",
    "encoder_under",
    "field_names",
    "infer_avro",
    "internal_schema",
    "key_full_name",
]

SCHEMA_TYPE: Final = "AVRO"
"""The schemaType that registries know the format by."""

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json] | None"


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
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema is not JSON ({error}).") from error
    return schema
