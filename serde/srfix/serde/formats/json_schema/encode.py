"""Rows → JSON under an existing JSON Schema, like ksqlDB with a KEY_SCHEMA_ID or VALUE_SCHEMA_ID
(`ConnectSRSchemaDataTranslator`, then `JsonSchemaData.fromConnectData`).

Columns and properties are matched by their exact names, and must have the same Connect type. For a null in the row, the
property's default is written, otherwise null if the schema allows it; otherwise the row is refused. A property without
a column gets its default, or null if the schema allows it; otherwise it is left out. If the schema requires such a
property, nothing can be written under the schema.

ksqlDB refuses a STRUCT if its schema differs from its own in any detail; here its fields are matched like those of the
row.
"""

from __future__ import annotations

from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Array, Column, ColumnType, Map, Struct, type_name
from srfix.serde.connect.columns import connect_schema_of
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, ConnectSchema, ConnectType
from srfix.serde.engine import Encode
from srfix.serde.errors import SchemaError
from srfix.serde.formats.json import check_encoder, column_check
from srfix.serde.formats.json_schema.connect import is_required, is_union
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck, array_check, entries_check, map_check
from srfix.serde.formats.rows.value_check import Convert, Misfit, ValueCheck
from srfix.serde.specs import WriteSpec

_LOGICAL: Final = (DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME)


def under_encoder(schema: ConnectSchema, spec: WriteSpec) -> Encode:
    """An encoder for rows of the columns under a schema. If un-wrapped, it writes the bare value of the only column."""
    if spec.wrapped:
        return check_encoder(_value(schema, Struct(spec.known_columns), "", spec))
    (column,) = spec.known_columns
    check = _with_null(schema, column.type, "", spec)
    record = RecordCheck(CaseRule.EXACT)
    record.set_fields([FieldCheck(name=column.name, field=column.name, check=check, when_missing=None)])
    return check_encoder(record.check, single=column.name)


def _value(schema: ConnectSchema, column: ColumnType, path: str, spec: WriteSpec) -> ValueCheck:
    """The check for values that are not null."""
    wanted = connect_schema_of(column)
    is_other_kind = is_union(schema) or _logical(schema) != _logical(wanted)
    if schema.type is not wanted.type or is_other_kind:
        raise SchemaError(
            f"The schema has the type {_words(schema)} at {path or 'the root'}, but the column is "
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

    def of(convert: Convert) -> Convert:
        def converted(value: object) -> object:
            if value is not None:
                return convert(value)
            if default is None and not nullable:
                raise Misfit([("", "is null; the schema neither allows null nor has a default")])
            return default

        return converted

    return check.within(of)


def _struct(schema: ConnectSchema, column: Struct, path: str, spec: WriteSpec) -> ValueCheck:
    types = {part.name: part.type for part in column.fields}
    fields = {part.name: part.schema for part in schema.fields}
    missed = [name for name in types if name not in fields]
    if missed:
        raise SchemaError(
            f"The schema{f' at {path}' if path else ''} misses a property named exactly {missed[0]!r}, which the columns "
            f"have. It has: {', '.join(fields) or 'none'}."
        )
    record = RecordCheck(CaseRule.EXACT)
    checks = {name: _with_null(fields[name], type_, f"{path}->{name}", spec) for name, type_ in types.items()}
    record.set_fields(
        FieldCheck(name=name, field=name, check=check, when_missing=None) for name, check in checks.items()
    )
    defaults: dict[str, object] = {}
    for name, part in fields.items():
        if name in types:
            continue
        if part.default is not None or part.optional:
            defaults[name] = part.default
        elif is_required(schema, name):
            raise SchemaError(
                f"The schema requires the property {path}->{name}, but the property has no default, and no column "
                "feeds it. Declare it as a column."
            )
    order = tuple(name for name in fields if name in types or name in defaults)

    def of(convert: Convert) -> Convert:
        def converted(row: object) -> object:
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

        return converted

    return record.check.within(of)
