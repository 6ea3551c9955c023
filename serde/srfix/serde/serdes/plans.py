"""Columns, a schema and a half → a plan of the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.columns.half import Half, half_of
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns, ScalarType, scalars_of
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import CasingError, ColumnError, DecodeError, EncodeError
from srfix.serde.formats.avro.read.resolution import ReaderSchema
from srfix.serde.formats.table import Format, check_schema_type, module_of, schema_module_of
from srfix.serde.interface import Value
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role

EncodeOrNone: TypeAlias = Callable[[object, bytes], "bytes | None"]
"""An `Encode` that also gives None: a row whose payload is null."""


class ColumnPlans:
    """Schemas and encoders of columns, by half; without columns, of rows as a schema has them."""

    def __init__(
        self,
        format_: Format,
        columns: Columns | None,
        wrap: bool | None,
        case_rule: CaseRule,
        internal: Mapping[str, Any],
        *,
        validate: bool = False,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> None:
        self._validate = validate
        self._cut_times = cut_times
        self._times = times
        self._format = format_
        self._columns = columns
        self._wrap = wrap
        self._case_rule = case_rule
        self._internal = internal

    def internal_schema(self, role: Role) -> Schema:
        """The columns' internal schema."""
        half = self._half(role)
        assert half is not None
        _check_local(self._format, half)
        module = schema_module_of(self._format)
        text = module.internal_schema(half.columns, role=role, wrapped=half.wrapped, **self._internal)
        return Schema(text=text, schema_type=module.SCHEMA_TYPE)

    def encode(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        """How rows are written under their own schema."""
        encode = encode_plan(
            self._format,
            schema.text,
            self._half(role),
            self._case_rule,
            references,
            cut_times=self._cut_times,
            times=self._times,
        )
        return self._validated(encode, schema, references)

    def encode_under(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        """How rows are written under another schema.

        :raises SchemaError: if it is of another format, or columns and schema do not go together.
        """
        check_schema_type(schema.schema_type, self._format)
        return self._validated(self._under(schema, references, self._half(role)), schema, references)

    def _under(self, schema: Schema, references: tuple[str, ...], half: Half | None) -> EncodeOrNone:
        if half is None:
            return encode_plan(
                self._format,
                schema.text,
                None,
                CaseRule.EXACT,
                references,
                cut_times=self._cut_times,
                times=self._times,
            )
        make = schema_module_of(self._format).encoder_under
        encode = make(
            schema.text,
            columns=half.columns,
            references=references,
            wrapped=half.wrapped,
            cut_times=self._cut_times,
            times=self._times,
        )
        return encode if half.wrapped else NoneForNull(encode, half, CaseRule.EXACT)

    def _validated(self, encode: EncodeOrNone, schema: Schema, references: tuple[str, ...]) -> EncodeOrNone:
        return _validated_encode(encode, self._format, schema, references) if self._validate else encode

    def _half(self, role: Role) -> Half | None:
        return None if self._columns is None else half_of(self._columns, role, self._wrap)


def _check_local(format_: Format, half: Half | None) -> None:
    if half is None or module_of(format_).HAS_LOCAL_TIMES:
        return
    if ScalarType.TIMESTAMP_NTZ in scalars_of(half.columns):
        raise ColumnError(
            f"{format_.value} has no local times, and a column is TIMESTAMP_NTZ. Write Avro; or take TIMESTAMP, for "
            "instants, or STRING."
        )


def decode_plan(
    format_: Format,
    text: str | None,
    half: Half | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    *,
    strict: bool = False,
    reader: ReaderSchema | None = None,
    times: Times = "datetimes",
) -> Decode:
    """A plan for reading; without a half, the body as the writer has it.

    :raises ColumnError: if the format cannot hold a column.
    """
    _check_local(format_, half)
    return module_of(format_).decoder(
        text,
        columns=None if half is None else half.columns,
        case_rule=case_rule,
        references=references,
        wrapped=half is None or half.wrapped,
        strict=strict,
        reader=reader,
        times=times,
    )


def encode_plan(
    format_: Format,
    text: str | None,
    half: Half | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    *,
    cut_times: bool = False,
    times: Times = "datetimes",
) -> EncodeOrNone:
    """A plan for writing; without a half, rows as the schema has them.

    :raises ColumnError: if the format cannot hold a column.
    """
    _check_local(format_, half)
    encode = module_of(format_).encoder(
        text,
        columns=None if half is None else half.columns,
        case_rule=case_rule,
        references=references,
        wrapped=half is None or half.wrapped,
        cut_times=cut_times,
        times=times,
    )
    return encode if half is None or half.wrapped else NoneForNull(encode, half, case_rule)


def _validated_encode(
    encode: EncodeOrNone, format_: Format, schema: Schema, references: tuple[str, ...]
) -> EncodeOrNone:
    """The same, with each body checked against the schema that it is written under, if the format has a validator.

    :raises SchemaError: if the schema cannot be validated against.
    """
    make = schema_module_of(format_).validator
    if make is None:
        return encode
    validate = make(schema.text, references=references)

    def encode_validated(row: object, prefix: bytes) -> bytes | None:
        payload = encode(row, prefix)
        if payload is not None:
            try:
                validate(payload[len(prefix) :])
            except DecodeError as error:
                raise EncodeError(error.message, paths=(str(getattr(error, "path", "")),)) from error
        return payload

    return encode_validated


def validated_decode(decode: Decode, format_: Format, schema: Schema, references: tuple[str, ...]) -> Decode:
    """The same, with each body checked first against the schema that it was written under, if the format has a validator.

    :raises SchemaError: if the schema cannot be validated against.
    """
    make = schema_module_of(format_).validator
    if make is None:
        return decode
    validate = make(schema.text, references=references)

    def decode_validated(payload: bytes, body_offset: int) -> Value:
        validate(payload[body_offset:])
        return decode(payload, body_offset)

    return decode_validated


class NoneForNull:
    """For a bare value: null is a null payload, whatever the schema allows (ksqlDB's `UnwrappedSerializer` hands it to
    serializers that give null for null)."""

    __slots__ = ("_case_rule", "_names", "encode")

    def __init__(self, encode: Encode, half: Half, case_rule: CaseRule) -> None:
        self.encode = encode
        self._names = tuple(column.name for column in half.columns)
        self._case_rule = case_rule

    def __call__(self, row: object, prefix: bytes) -> bytes | None:
        if (
            isinstance(row, Mapping)
            and all(value is None for value in row.values())
            and _is_known(row, self._names, self._case_rule)
        ):
            return None
        return self.encode(row, prefix)


def _is_known(row: Mapping[object, object], names: tuple[str, ...], case_rule: CaseRule) -> bool:
    """True if the row has nothing but the column: otherwise the format finds the words."""
    keys = [key for key in row if isinstance(key, str)]
    try:
        return len(match_fields(names, keys, case_rule, where="the row")) == len(row)
    except CasingError:
        return False
