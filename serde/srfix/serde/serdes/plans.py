"""Columns, a schema and a half → a plan of the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from srfix.serde.arguments import type_words
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.columns.types import Columns, ScalarType, scalars_of
from srfix.serde.connect.columns import columns_of
from srfix.serde.connect.time_units import reads_units
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import CasingError, ColumnError, DecodeError, EncodeError, SchemaError, UsageError
from srfix.serde.formats.table import RESOLVING, Format, check_schema_type, module_of, schema_module_of
from srfix.serde.interface import Value
from srfix.serde.printable import path_words
from srfix.serde.schemas.models import Schema
from srfix.serde.specs import ReaderSchema, ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

EncodeOrNone: TypeAlias = Callable[[object, bytes], "bytes | None"]
"""An `Encode` that may also give None, for a row whose payload is null."""


class ColumnPlans:
    """Schemas and encoders of columns, by half; without columns, of rows with the schema's fields."""

    def __init__(self, format_: Format, spec: WriteSpec) -> None:
        self._format = format_
        self._spec = spec

    def internal_schema(self, role: Role) -> Schema:
        spec = self._spec.half(role, self._format.wraps)
        _check_local(self._format, spec.known_columns)
        module = schema_module_of(self._format)
        return Schema(text=module.internal_schema(spec, role), schema_type=str(self._format.schema_type))

    def encode(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        encode = encode_plan(self._format, schema.text, self._spec.half(role, self._format.wraps), references)
        return self._validated(encode, schema, references)

    def encode_under(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        """Under a schema that is not the columns' own."""
        check_schema_type(schema.schema_type, self._format)
        spec = self._spec.half(role, self._format.wraps)
        if spec.columns is None:
            spec = replace(spec, case_rule=CaseRule.EXACT)
            return self._validated(encode_plan(self._format, schema.text, spec, references), schema, references)
        encode = schema_module_of(self._format).encoder_under(schema.text, spec, references)
        return self._validated(encode if spec.wrapped else NoneForNull(encode, spec), schema, references)

    def _validated(self, encode: EncodeOrNone, schema: Schema, references: tuple[str, ...]) -> EncodeOrNone:
        validate = _validator(self._format, schema, references) if self._spec.validate else None
        if validate is None:
            return encode

        def encode_validated(row: object, prefix: bytes) -> bytes | None:
            payload = encode(row, prefix)
            if payload is not None:
                try:
                    validate(payload[len(prefix) :])
                except DecodeError as error:
                    raise EncodeError(error.message, paths=(str(getattr(error, "path", "")),)) from error
            return payload

        return encode_validated


def _check_local(format_: Format, columns: Columns | None) -> None:
    if columns is None or module_of(format_).HAS_LOCAL_TIMES:
        return
    if ScalarType.TIMESTAMP_NTZ in scalars_of(columns):
        raise ColumnError(
            f"{format_.value} has no local times, but a column is TIMESTAMP_NTZ. Use Avro, or declare the column as "
            "TIMESTAMP (an instant) or STRING."
        )


def usable_reader(reader_schema: str | ReaderSchema | None, case_rule: CaseRule) -> ReaderSchema | None:
    if reader_schema is None:
        return None
    if not isinstance(reader_schema, str | ReaderSchema):
        raise UsageError(
            f"reader_schema is {type_words(reader_schema)}; it must be the text of an Avro schema, or None."
        )
    reader = ReaderSchema(text=reader_schema) if isinstance(reader_schema, str) else reader_schema
    if not reads_units(case_rule):
        raise UsageError(
            f"reader_schema= needs Avro's schema resolution, but the case rule {case_rule.value!r} reads like ksqlDB, "
            "without aliases and without a reader's defaults. Leave one of them out."
        )
    try:
        schema_module_of(RESOLVING).check_schema(reader.text, reader.references)
    except SchemaError as error:
        error.args = (f"reader_schema: {error.message}",)
        raise
    return reader


def columns_of_reader(reader: ReaderSchema, wrap: bool | None) -> Columns:
    """The columns of a reader's schema. As in a plan of Spark's, instants in microseconds and local times are times.

    :raises ColumnError: if a field gives no column: its values would be missing from every row.
    """
    connect, refused = schema_module_of(RESOLVING).as_connect(reader.text, reader.references, by_units=True)
    inferred = columns_of(connect, names="keep", wrapped=wrap)
    if left_out := (*refused, *inferred.dropped):
        reasons = "; ".join(f"{path_words(part.path)}: {part.reason}" for part in left_out)
        raise ColumnError(f"reader_schema has fields that give no columns ({reasons}). Name the columns.")
    return inferred.columns


def decode_plan(format_: Format, text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    _check_local(format_, spec.columns)
    return module_of(format_).decoder(text, spec, references)


def encode_plan(format_: Format, text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> EncodeOrNone:
    _check_local(format_, spec.columns)
    encode = module_of(format_).encoder(text, spec, references)
    return encode if spec.wrapped else NoneForNull(encode, spec)


def _validator(format_: Format, schema: Schema, references: tuple[str, ...]) -> Callable[[bytes], object] | None:
    make = schema_module_of(format_).validator
    return None if make is None else make(schema.text, references=references)


def validated_decode(decode: Decode, format_: Format, schema: Schema, references: tuple[str, ...]) -> Decode:
    """The same, but each body is first checked against its writer schema, if the format has a validator."""
    validate = _validator(format_, schema, references)
    if validate is None:
        return decode

    def decode_validated(payload: bytes, body_offset: int) -> Value:
        validate(payload[body_offset:])
        return decode(payload, body_offset)

    return decode_validated


class NoneForNull:
    """Null gives a null payload, whatever the schema allows (ksqlDB's `UnwrappedSerializer`)."""

    __slots__ = ("_case_rule", "_names", "encode")

    def __init__(self, encode: Encode, spec: WriteSpec) -> None:
        self.encode = encode
        self._names = tuple(column.name for column in spec.known_columns)
        self._case_rule = spec.case_rule

    def __call__(self, row: object, prefix: bytes) -> bytes | None:
        if isinstance(row, Mapping) and all(value is None for value in row.values()) and self._is_known(row):
            return None
        return self.encode(row, prefix)

    def _is_known(self, row: Mapping[object, object]) -> bool:
        """True if the row has only the column; otherwise the format finds the error message."""
        keys = [key for key in row if isinstance(key, str)]
        with suppress(CasingError):
            return len(match_fields(self._names, keys, self._case_rule, where="the row")) == len(row)
        return False
