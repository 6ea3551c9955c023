"""JSON under a registered JSON Schema, like ksqlDB's JSON_SR, through Connect, like the registry's own converter
(`JsonSchemaConverter`, with `decimal.format=NUMERIC`).

Under an existing schema (`encoder_under`: `ConnectSRSchemaDataTranslator`, then `JsonSchemaData.fromConnectData`)
columns and properties have the same names and Connect types. For a null, the property's default is written, otherwise
null if the schema allows it; otherwise the row is refused. So is a property without a column, but without a default it
may be left out, unless the schema requires it. ksqlDB refuses a STRUCT if its schema differs in any detail; here its
fields are matched like a row's.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache, partial
from typing import Final, Unpack

from srfix.serde.casing import CaseRule, match_keys
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Map, Struct, type_name
from srfix.serde.connect.columns import (
    ColumnOptions,
    Dropped,
    Inferred,
    NameRule,
    columns_of,
    connect_of,
    connect_schema_of,
)
from srfix.serde.connect.java_text import java_json, no_constant
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, ConnectSchema, ConnectType
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import SchemaError
from srfix.serde.formats import json as plain_json
from srfix.serde.formats.json import check_encoder, column_check, column_decoder, column_encoder
from srfix.serde.formats.json_schema.connect import JsonType, connect_schema, is_required, is_union
from srfix.serde.formats.json_schema.decode import connect_decoder
from srfix.serde.formats.json_schema.text import schema_text
from srfix.serde.formats.json_schema.validate import validator
from srfix.serde.formats.rows.checks import array_check, entries_check, map_check, record_of
from srfix.serde.formats.rows.value_check import Convert, Misfit, ValueCheck, check_json_columns
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import ByKeys, Projection
from srfix.serde.projection.walk import project
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

EMPTY_SCHEMA: Final = '{"type":"object"}'
HAS_LOCAL_TIMES: Final = False
values_decoder: None = None
"""A JSON body can only be read into a row."""
_LOGICAL: Final = (DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME)


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    validator(schema_text, references=references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """JsonSchemaData's conversion of a schema. It converts the whole schema or nothing."""
    return connect_schema(schema_text, references), ()


def infer_columns(text: str, references: tuple[str, ...] = (), **options: Unpack[ColumnOptions]) -> Inferred:
    """The columns as ksqlDB infers them (`JsonSchemaTranslator`, `ConnectKsqlSchemaTranslator`). A oneOf or anyOf of
    several types is a STRUCT. Properties without a `connect.index` are in the order of Java's HashMap."""
    return columns_of(connect_schema(text, references), **options)


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
    try:
        document = json.loads(schema_text)
    except (ValueError, RecursionError):
        return ()
    properties = document.get("properties") if isinstance(document, dict) else None
    return tuple(map(str, properties)) if isinstance(properties, dict) else ()


def java_text(schema_text: str, *, has_references: bool) -> str:
    """`JsonSchema.canonicalString`: without blanks. Confluent's `Jackson.newObjectMapper` reads fractions as exact decimals."""
    try:
        return java_json(json.loads(schema_text, parse_float=Decimal, parse_constant=no_constant))
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
    """The JSON Schema of columns exactly as ksqlDB registers it, in all generations: every property is a oneOf with
    null and has its `connect.index`; properties are in the order of Java's HashMap."""
    half = spec.half(role)
    check_json_columns(half.known_columns, wrapped=half.wrapped)
    return schema_text(connect_of(half.known_columns, wrapped=half.wrapped))


@lru_cache(maxsize=256)
def projection(schema_text: str, spec: ReadSpec, references: tuple[str, ...] = ()) -> Projection[JsonType] | ByKeys:
    """How documents are read into columns. Under `CaseRule.KSQLDB_2020` the schema does not count."""
    writer = JsonType(connect_schema(schema_text, references))
    if spec.case_rule is CaseRule.KSQLDB_2020:
        return ByKeys(expected=tuple(field.name for field in writer.fields("")), holder=writer.holder)
    return project(writer, spec)


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """Without columns, the parsed JSON. `CaseRule.KSQLDB_2020` ignores the schema, like ksqlDB up to 0.28.1
    (`KsqlJsonDeserializer`); all other rules read through Connect."""
    if spec.columns is None:
        return plain_json.decoder(None, spec)
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
        return plain_json.encoder(None, spec)
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_encoder(spec, maps_as_entries=True)


def encoder_under(schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    check_json_columns(spec.known_columns, wrapped=spec.wrapped)
    schema = connect_schema(schema_text, references)
    if spec.wrapped:
        return check_encoder(_value(schema, Struct(spec.known_columns), "", spec))
    (column,) = spec.known_columns
    check = _with_null(schema, column.type, "", spec)
    record = record_of(spec.case_rule, {column.name: check})
    return check_encoder(record.check, single=column.name)


def _value(schema: ConnectSchema, column: ColumnType, path: str, spec: WriteSpec) -> ValueCheck:
    wanted = connect_schema_of(column)
    is_other_kind = is_union(schema) or _logical(schema) != _logical(wanted)
    if schema.type is not wanted.type or is_other_kind:
        raise SchemaError(
            f"The schema has the type {_words(schema)} at {path_words(path)}, but the column is "
            f"{type_name(column)}, which is written as {_words(wanted)}. Declare the column with the schema's type."
        )
    match column:
        case Struct():
            return _struct(schema, column, path, spec)
        case Array(items):
            return array_check(_with_null(schema.values, items, f"{path}->ARRAY", spec))
        case Map(values, keys):
            written = _with_null(schema.values, values, f"{path}->MAP_VAL", spec)
            if schema.keys.type is ConnectType.STRING and not schema.keys.optional:
                return map_check(written)
            key = _with_null(schema.keys, keys, f"{path}->MAP_KEY", spec)
            return entries_check(key, written, null_keys=schema.keys.optional)
        case _:
            (shown,) = with_times((Column("_", column),), spec.times)
            return column_check(shown.type, cut_times=spec.cut_times)


def _logical(schema: ConnectSchema) -> str | None:
    return schema.name if schema.name in _LOGICAL else None


def _words(schema: ConnectSchema) -> str:
    return f"{schema.type.word} ({schema.name})" if schema.name else schema.type.word


def _with_null(schema: ConnectSchema, column: ColumnType, path: str, spec: WriteSpec) -> ValueCheck:
    check = _value(schema, column, path, spec)
    default, nullable = schema.default, schema.optional

    def of_null() -> object:
        if default is None and not nullable:
            raise Misfit([("", "is null; the schema neither allows null nor has a default")])
        return default

    return check.within(lambda convert: lambda value: of_null() if value is None else convert(value))


def _struct(schema: ConnectSchema, column: Struct, path: str, spec: WriteSpec) -> ValueCheck:
    types = {part.name: part.type for part in column.fields}
    fields = {part.name: part.schema for part in schema.fields}
    missed = [name for name in types if name not in fields]
    if missed:
        raise SchemaError(
            f"The columns have {missed[0]!r}, but the schema{f' at {path_words(path)}' if path else ''} has no property with "
            f"exactly this name. It has: {', '.join(fields) or 'none'}."
        )
    checks = {name: _with_null(fields[name], type_, f"{path}->{name}", spec) for name, type_ in types.items()}
    defaults: dict[str, object] = {}
    for name, part in fields.items():
        if name in types:
            continue
        if part.default is not None or part.optional:
            defaults[name] = part.default
        elif is_required(schema, name):
            raise SchemaError(
                f"The schema requires the property {path_words(f'{path}->{name}')}, but the property has no default, and no "
                "column feeds it. Declare it as a column."
            )
    order = tuple(name for name in fields if name in types or name in defaults)

    def converted(convert: Convert, row: object) -> object:
        values = convert(row)
        assert isinstance(values, dict)
        written: dict[str, object] = {}
        for name in order:
            if name in values and values[name] is not None:
                written[name] = values[name]
            elif name in types:
                # A missing column counts as null: its default is written, or the row is refused.
                try:
                    written[name] = checks[name].fast(None)
                except Misfit as misfit:
                    raise Misfit(misfit.under(f"->{name}")) from None
            else:
                written[name] = defaults[name]
        return written

    return record_of(spec.case_rule, checks).check.within(lambda convert: partial(converted, convert))
