"""Types of a Spark frame, by the JSON form that Spark documents (`StructType.jsonValue`). Needs no pyspark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from srfix.serde.column_sources.from_spark import SparkSchema, SparkStructType
from srfix.serde.errors import SchemaError

FrameType: TypeAlias = "str | Mapping[str, object]"
"""A type in Spark's JSON form: a word, or an object with the word `struct`, `array` or `map` as its `type`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameField:
    name: str
    type: FrameType


def frame_fields(schema: SparkSchema) -> tuple[FrameField, ...]:
    if isinstance(schema, SparkStructType):
        return fields_of(schema.jsonValue())
    return fields_of(json.loads(schema) if isinstance(schema, str) else schema)


def fields_of(struct: FrameType) -> tuple[FrameField, ...]:
    fields = struct.get("fields") if isinstance(struct, Mapping) and struct.get("type") == "struct" else None
    if not isinstance(fields, list):
        raise SchemaError("The schema is not the JSON form of a Spark struct. Give a StructType, or its jsonValue().")
    return tuple(FrameField(name=str(field["name"]), type=field["type"]) for field in fields)


def struct_of(fields: Iterable[FrameField]) -> dict[str, object]:
    """A struct of the fields, each nullable and without metadata: the inverse of `fields_of`."""
    return {
        "type": "struct",
        "fields": [{"name": field.name, "type": field.type, "nullable": True, "metadata": {}} for field in fields],
    }


def word_of(type_: FrameType) -> str:
    """Such as `struct` or `decimal(10,2)`; for a user-defined type, the word of its underlying type."""
    if isinstance(type_, str):
        return "string" if _CHARACTERS.fullmatch(type_) else _WORDS.get(type_, type_)
    return word_of(cast("FrameType", type_["sqlType"])) if type_["type"] == "udt" else str(type_["type"])


def ddl(type_: FrameType) -> str:
    if isinstance(type_, str):
        return _SQL_WORDS.get(type_, type_)
    match type_["type"]:
        case "struct":
            fields = ", ".join(f"{quoted(field.name)}: {ddl(field.type)}" for field in fields_of(type_))
            return f"struct<{fields}>"
        case "array":
            return f"array<{ddl(cast('FrameType', type_['elementType']))}>"
        case "map":
            keys, values = cast("FrameType", type_["keyType"]), cast("FrameType", type_["valueType"])
            return f"map<{ddl(keys)}, {ddl(values)}>"
        case "udt":
            return ddl(cast("FrameType", type_["sqlType"]))
        case other:
            return str(other)


_CHARACTERS: Final = re.compile(r"(?:var)?char\([0-9]+\)|string collate .*")
_WORDS: Final = {"decimal": "decimal(10,0)", "timestamp_ltz": "timestamp"}
_SQL_WORDS: Final = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def sql_text(text: str) -> str:
    """A text as a literal of Spark's SQL, whatever `spark.sql.parser.escapedStringLiterals` is."""
    if text.isascii() and text.isprintable() and "'" not in text and "\\" not in text:
        return f"'{text}'"
    return f"decode(X'{text.encode().hex()}', 'UTF-8')"
