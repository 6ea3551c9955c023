"""JSON with a registry: ksqlDB's JSON_SR, and any JSON Schema.

ksqlDB goes through Connect, as the registry's own converter does (`JsonSchemaConverter`, with
`decimal.format=NUMERIC`). So a schema is first made Connect's (`json_schema.connect`), and the rules of reading and
writing are rules on that.
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
"""A JSON body is read into a row alone."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    """:raises SchemaError: if the text is not a JSON Schema that can be validated against.
    :raises UsageError: if jsonschema-rs is not installed.
    """
    validator(schema_text, references=references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """What JsonSchemaData makes of a schema: all of it, or nothing."""
    return connect_schema(schema_text, references), ()


def infer_columns(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
) -> Inferred:
    """The columns of a JSON Schema as ksqlDB infers them, through Connect's (`JsonSchemaTranslator`,
    `ConnectKsqlSchemaTranslator`), and the properties that no column type holds.

    Required or not makes no difference: every column may be null. An integer is a BIGINT and a number a DOUBLE unless
    `connect.type` says otherwise; an enum is a STRING; a oneOf or anyOf of several types a STRUCT of them. Properties
    stand by their `connect.index`, those without one in the order of Java's HashMap, as in the engine.

    :param names: `upper` names columns as unquoted identifiers would, `keep` as the properties are named.
    :param references: the texts that the schema refers to, by name (`ReferenceText`) or with an `$id`.
    :param role: names the one column of an un-wrapped schema: ROWKEY or ROWVAL.
    :param wrapped: False takes the whole schema as the type of one column. None is ksqlDB's default: it does so for every
        key, a record's too, and for no value.
    """
    return columns_of(connect_schema(text, references), names=names, role=role, wrapped=wrapped)


def columns_from_json_schema(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a JSON Schema, without a word about the properties that are left out: see `infer_columns`.

    :raises SchemaError: if the text is not a JSON Schema, or one that Connect refuses.
    :raises ColumnError: if it gives no columns.
    """
    return infer_columns(text, names=names, references=references).columns


def has_hints(schema_text: str, references: tuple[str, ...] = ()) -> bool:
    """A JSON Schema's defaults are for writers."""
    return False


def field_names(schema_text: str) -> tuple[str, ...]:
    """The names of the properties; none of a text that has none."""
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
    """The schema's `title` (`JsonSchema.name`); None without one."""
    try:
        document = json.loads(schema_text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    title = document.get("title") if isinstance(document, dict) else None
    return title if isinstance(title, str) else None


def internal_schema(spec: WriteSpec, role: Role = Role.VALUE) -> str:
    """The JSON Schema of columns as ksqlDB registers it, to the letter: the same columns give the same id.

    Every property is a oneOf with null and has its `connect.index`; properties stand in the order of Java's HashMap. A
    MAP is an array of entries. The text is the same for all generations, CREATE and serializer.

    Un-wrapped, a single column stands without an object around it; its type, or null, is the schema then. The columns
    are those of the half `role`: a key holds no MAP.
    """
    half = spec.half(role)
    check_json_columns(half.known_columns, wrapped=half.wrapped)
    return schema_text(connect_of(half.known_columns, wrapped=half.wrapped))


def projection(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Projection[JsonType] | ByKeys:
    """How documents are read into columns. By `CaseRule.KSQLDB_2020` the schema does not count."""
    return _projection(schema_text, spec, references, tuple(map(reference_name, references)))


@lru_cache(maxsize=256)
def _projection(
    schema_text: str, spec: ReadSpec, references: tuple[str, ...], names: tuple[str | None, ...]
) -> Projection[JsonType] | ByKeys:
    """:param names: of the references, which are equal if their texts are."""
    writer = JsonType(connect_schema(schema_text, references))
    if spec.case_rule is CaseRule.KSQLDB_2020:
        return ByKeys(expected=tuple(field.name for field in writer.fields("")), holder=writer.holder)
    return project(writer, spec)


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """A decoder. Without columns it gives the parsed JSON, whatever the schema says: fractions are floats, whole
    numbers exact.

    With columns, `CaseRule.KSQLDB_2020` reads as the engine did up to 0.28.1: the JSON behind the schema id, and the
    schema does not count (`KsqlJsonDeserializer`; it takes objects for a MAP, and not the entries that it writes
    itself). All other rules read through Connect under the writer's schema (`json_schema.decode`). `references` are the
    texts that the schema refers to, by name (`ReferenceText`) or with an `$id`.
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
    """True if the schema has a property for any of the columns: a document that leaves it out is a row of theirs."""
    try:
        writer = connect_schema(schema_text or "{}", references)
    except SchemaError:
        return False  # the schema does not count; the document's keys do
    names, properties = [column.name for column in columns], [part.name for part in writer.fields]
    return bool(match_keys(names, properties, CaseRule.KSQLDB_2020, where="the writer schema"))


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder. Without columns it takes whatever has one JSON: no NaN, no bytes, no dates.

    With columns, the schema is their internal schema: keys of a row are matched to them by the case rule, a column that
    the row lacks is written as null, and so are nulls; a MAP is an array of entries. For another schema see
    `encoder_under`.
    """
    if spec.columns is None:
        return plain_encoder()
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_encoder(spec, maps_as_entries=True)


def encoder_under(schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder of columns under a schema that exists, as ksqlDB writes with a SCHEMA_ID: exact names, its defaults
    filled in (`json_schema.encode`).
    """
    check_json_columns(spec.known_columns, wrapped=spec.wrapped)
    return under_encoder(connect_schema(schema_text, references), spec)
