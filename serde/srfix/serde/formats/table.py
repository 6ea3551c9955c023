"""The formats, by the words that ksqlDB's WITH clause has for them."""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import cast

from srfix.serde.errors import UsageError
from srfix.serde.formats.interface import FormatModule, SchemaFormatModule

__all__ = ["Format", "module_of", "schema_module_of"]


class Format(Enum):
    """A format of keys or values (`FormatFactory`)."""

    AVRO = "avro"
    JSON = "json"
    JSON_SR = "json_sr"
    KAFKA = "kafka"


_MODULES = {
    Format.AVRO: "avro",
    Format.JSON: "json",
    Format.JSON_SR: "json_schema",
    Format.KAFKA: "kafka",
}


def module_of(format_: Format) -> FormatModule:
    """The module of a format, imported when it is asked for."""
    return cast("FormatModule", import_module(f"srfix.serde.formats.{_MODULES[format_]}"))


def schema_module_of(format_: Format) -> SchemaFormatModule:
    """Likewise, of a format with schemas.

    :raises UsageError: if the format has none.
    """
    module = module_of(format_)
    if module.SCHEMA_TYPE is None:
        raise UsageError(f"The format {format_.value} has no schemas. Those that have are avro and json_sr.")
    return cast("SchemaFormatModule", module)
