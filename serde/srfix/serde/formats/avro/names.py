"""Avro names of columns and of the records in them, as in ksqlDB and Avro's Java library."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeAlias

from srfix.serde.casing import upper_camel
from srfix.serde.columns.types import Column, Columns
from srfix.serde.errors import ColumnError, SchemaError

_Json: TypeAlias = "str | int | list[_Json] | dict[str, _Json] | None"

_NAMESPACE: Final = "io.confluent.ksql.avro_schemas"
KSQLDB_FULL_NAME: Final = f"{_NAMESPACE}.KsqlDataSourceSchema"
"""ksqlDB's default record name (`AvroProperties`)."""


def key_full_name(source_name: str) -> str:
    """`AvroFormat.getKeySchemaName`, without KEY_SCHEMA_FULL_NAME: MY_TABLE gives `….avro_schemas.MyTableKey`."""
    return f"{_NAMESPACE}.{upper_camel(source_name)}Key"


def avro_fields(columns: Columns) -> dict[str, Column]:
    """A mapping from Avro field names to columns: see `avro_names`."""
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
        if not (_is_letter(character) or character == "_" or (index > 0 and _is_digit(character))):
            where = "initial character" if index == 0 else "character"
            raise ColumnError(
                f"The column {column!r} is not compatible with Avro: illegal {where} {character!r}. Avro names "
                "have letters, digits and _, and do not start with a digit."
            )
    return name


def split_full_name(full_name: str) -> tuple[str, str]:
    """The namespace, which may be empty, and the name."""
    namespace, _, name = full_name.rpartition(".")
    return namespace, name


def _is_letter(character: str) -> bool:
    return ord(character) <= 0xFFFF and unicodedata.category(character).startswith("L")


def _is_digit(character: str) -> bool:
    return ord(character) <= 0xFFFF and unicodedata.category(character) == "Nd"


def field_names(schema_text: str) -> tuple[str, ...]:
    """The names of a record schema's own fields, in order."""
    try:
        schema: _Json = json.loads(schema_text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema is not JSON ({error}).") from error
    match schema:
        case {"type": "record", "fields": list(fields)}:
            return tuple(str(field["name"]) for field in fields if isinstance(field, dict) and "name" in field)
    raise SchemaError("The schema is not an Avro record, so it has no fields.")
