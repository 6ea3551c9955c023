"""The formats by name, each module loaded when it is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.errors import SchemaError, UsageError

if TYPE_CHECKING:
    from srfix.serde.formats.interface import FormatModule, SchemaFormatModule
    from srfix.serde.schemas.models import Schema


class Format(Enum):
    """What bodies are written in, by ksqlDB's names in lower case."""

    AVRO = "avro"
    JSON_SR = "json_sr"
    JSON = "json"
    KAFKA = "kafka"


_MODULES: Final = {Format.AVRO: "avro", Format.JSON_SR: "json_schema", Format.JSON: "json", Format.KAFKA: "kafka"}
_BY_SCHEMA_TYPE: Final = {"AVRO": Format.AVRO, "JSON": Format.JSON_SR}


def module_of(format_: Format) -> FormatModule:
    """The module of a format."""
    return cast("FormatModule", import_module(f"{__package__}.{_MODULES[format_]}"))


def schema_module_of(format_: Format) -> SchemaFormatModule:
    """The module of a format that has schemas.

    :raises UsageError: if the format has none.
    """
    if format_ not in _BY_SCHEMA_TYPE.values():
        raise UsageError(
            f"The format {format_.value} has no schemas. Those that have: "
            f"{', '.join(known.value for known in _BY_SCHEMA_TYPE.values())}."
        )
    return cast("SchemaFormatModule", module_of(format_))


def check_schema_type(schema_type: str, format_: Format) -> None:
    """:raises SchemaError: if a schema of that schemaType is not one of the format's."""
    wanted = module_of(format_).SCHEMA_TYPE
    if schema_type != wanted:
        raise SchemaError(f"The schema is of the type {schema_type}, not {wanted}. Use the serde of that format.")


def record_name(schema: Schema, references: tuple[str, ...] = ()) -> str | None:
    """The name of a schema's record, as Confluent's RecordNameStrategy has it (`ParsedSchema.name`); None if it has none, or
    the type has no serde here (PROTOBUF).

    :raises SchemaError: if the text is not a schema of its type.
    """
    format_ = _BY_SCHEMA_TYPE.get(schema.schema_type)
    return None if format_ is None else schema_module_of(format_).record_name(schema.text, references)


def as_readers_ask(schema: Schema) -> Schema:
    """The schema with the text that Java's readers look its version up by (`ParsedSchema.canonicalString`), whichever text of
    it a registry keeps and answers.

    Of AVRO that is `Schema.toString()`, of JSON the document without blanks. A text that is none stays as it is: readers get
    no further than parsing it. So does PROTOBUF, which srfix does not parse: whether a registry that keeps texts as they were
    sent has it as readers write it is not known.
    """
    text = _java_text(schema.schema_type, schema.text, bool(schema.references))
    return schema if text == schema.text else replace(schema, text=text)


@lru_cache(maxsize=1024)
def _java_text(schema_type: str, text: str, has_references: bool) -> str:
    from srfix.serde.formats.avro import java_json, java_schema

    try:
        if schema_type == "AVRO":
            return java_schema(text, None if has_references else ())
        if schema_type == "JSON":
            # Confluent's `Jackson.newObjectMapper` reads fractions as exact decimals.
            return java_json(json.loads(text, parse_float=Decimal))
    except (SchemaError, ValueError, RecursionError):
        pass
    return text


def format_of(schema_type: str) -> Format:
    """The format of a registry's schemaType.

    :raises SchemaError: if there is no serde for it (PROTOBUF).
    """
    known = _BY_SCHEMA_TYPE.get(schema_type)
    if known is None:
        raise SchemaError(
            f"The schema is of the type {schema_type}, for which there is no serde here; there are those of "
            f"{' and '.join(_BY_SCHEMA_TYPE)}."
        )
    return known
