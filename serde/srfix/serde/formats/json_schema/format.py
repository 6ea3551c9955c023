"""JSON under a registered JSON Schema, like ksqlDB's JSON_SR.

ksqlDB goes through Connect, like the registry's own converter (`JsonSchemaConverter`, with `decimal.format=NUMERIC`).
So a schema is first converted to Connect's (`json_schema.connect`), and the rules for reading and writing work on that.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Final

from srfix.serde.casing import CaseRule, match_keys
from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import Dropped, Inferred, NameRule, columns_of, connect_of
from srfix.serde.connect.schema import ConnectSchema
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.java_text import java_json
from srfix.serde.formats.json import column_decoder, column_encoder, plain_decoder, plain_encoder
from srfix.serde.formats.json_schema.connect import connect_schema
from srfix.serde.formats.json_schema.decode import connect_decoder
from srfix.serde.formats.json_schema.encode import under_encoder
from srfix.serde.formats.json_schema.text import schema_text
from srfix.serde.formats.json_schema.validate import validator
from srfix.serde.formats.json_schema.writer_type import JsonType
from srfix.serde.formats.rows.value_check import check_json_columns
from srfix.serde.projection.tree import ByKeys, Projection
from srfix.serde.projection.walk import project
from srfix.serde.schemas.references import reference_name
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

EMPTY_SCHEMA: Final = '{"type":"object"}'
HAS_LOCAL_TIMES: Final = False
values_decoder: None = None
"""A JSON body can only be read into a row."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    """Raises an error unless jsonschema-rs can validate with the text."""
    validator(schema_text, references=references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """JsonSchemaData's conversion of a schema. It converts the whole schema or nothing."""
    return connect_schema(schema_text, references), ()


def infer_columns(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
) -> Inferred:
    """The columns as ksqlDB infers them (`JsonSchemaTranslator`, `ConnectKsqlSchemaTranslator`).

    An integer is a BIGINT and a number a DOUBLE, unless `connect.type` says otherwise; an enum is a STRING; a oneOf or
    anyOf of several types is a STRUCT of them. Properties are in the order of their `connect.index`; those without one
    are in the order of Java's HashMap, as in the engine.
    """
    return columns_of(connect_schema(text, references), names=names, role=role, wrapped=wrapped)


def columns_from_json_schema(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a JSON Schema. Unlike `infer_columns`, this does not report the properties that it leaves out.

    :raises SchemaError: if the text is not a JSON Schema, or Connect refuses it.
    :raises ColumnError: if the schema gives no columns.
    """
    return infer_columns(text, names=names, references=references).columns


def has_hints(schema_text: str, references: tuple[str, ...] = ()) -> bool:
    """A JSON Schema's defaults are for writers."""
    return False


def field_names(schema_text: str) -> tuple[str, ...]:
    """The names of the properties; empty if the text has none."""
    try:
        document = json.loads(schema_text)
    except (ValueError, RecursionError):
        return ()
    properties = document.get("properties") if isinstance(document, dict) else None
    return tuple(map(str, properties)) if isinstance(properties, dict) else ()


def java_text(schema_text: str, *, has_references: bool) -> str:
    """`JsonSchema.canonicalString`: without blanks. Confluent's `Jackson.newObjectMapper` reads fractions as exact decimals."""
    try:
        return java_json(json.loads(schema_text, parse_float=Decimal))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error


def record_name(schema_text: str, references: tuple[str, ...] = ()) -> str | None:
    """The schema's `title` (`JsonSchema.name`); None if it has none."""
    try:
        document = json.loads(schema_text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    title = document.get("title") if isinstance(document, dict) else None
    return title if isinstance(title, str) else None


def internal_schema(spec: WriteSpec, role: Role = Role.VALUE) -> str:
    """The JSON Schema of columns exactly as ksqlDB registers it, so the same columns give the same id.

    Every property is a oneOf with null and has its `connect.index`; properties are in the order of Java's HashMap. A
    MAP is an array of entries. The text is the same for all generations, and for CREATE and the serializer.
    """
    half = spec.half(role)
    check_json_columns(half.known_columns, wrapped=half.wrapped)
    return schema_text(connect_of(half.known_columns, wrapped=half.wrapped))


def projection(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Projection[JsonType] | ByKeys:
    """How documents are read into columns. Under `CaseRule.KSQLDB_2020` the schema does not count."""
    return _projection(schema_text, spec, references, tuple(map(reference_name, references)))


@lru_cache(maxsize=256)
def _projection(
    schema_text: str, spec: ReadSpec, references: tuple[str, ...], names: tuple[str | None, ...]
) -> Projection[JsonType] | ByKeys:
    """The references' `names` are a key of their own, because references with equal texts compare as equal."""
    writer = JsonType(connect_schema(schema_text, references))
    if spec.case_rule is CaseRule.KSQLDB_2020:
        return ByKeys(expected=tuple(field.name for field in writer.fields("")), holder=writer.holder)
    return project(writer, spec)


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """Without columns, the parsed JSON, whatever the schema says.

    `CaseRule.KSQLDB_2020` reads like the engine up to 0.28.1, which ignores the schema (`KsqlJsonDeserializer`; as a
    MAP it accepts objects, not the entries that it writes itself). All other rules read through Connect.
    """
    if spec.columns is None:
        return plain_decoder()
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    if spec.case_rule is CaseRule.KSQLDB_2020:
        is_fed = spec.wrapped and _feeds_by_keys(schema_text, references, spec.columns)
        return column_decoder(spec, is_fed=is_fed)
    if schema_text is None:
        raise SchemaError("JSON_SR bodies cannot be read without the schema that they were written under.")
    projected = projection(schema_text, spec, references)
    assert isinstance(projected, Projection)
    return connect_decoder(projected)


def _feeds_by_keys(schema_text: str | None, references: tuple[str, ...], columns: Columns) -> bool:
    """True if a property feeds a column: then even a document without it is a row."""
    try:
        writer = connect_schema(schema_text or "{}", references)
    except SchemaError:
        return False  # the schema does not count; the document's keys do
    names, properties = [column.name for column in columns], [part.name for part in writer.fields]
    return bool(match_keys(names, properties, CaseRule.KSQLDB_2020, where="the writer schema"))


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """With columns, the schema is their internal schema; without, any value with an unambiguous form is written."""
    if spec.columns is None:
        return plain_encoder()
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_encoder(spec, maps_as_entries=True)


def encoder_under(schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """Like ksqlDB with a SCHEMA_ID: exact names, and the schema's defaults are filled in (`json_schema.encode`)."""
    check_json_columns(spec.known_columns, wrapped=spec.wrapped)
    return under_encoder(connect_schema(schema_text, references), spec)
