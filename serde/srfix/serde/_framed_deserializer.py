"""Framed payload → row: what the deserializers of all formats with schemas have in common."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any
from uuid import UUID

from srfix.serde._column_types import Columns
from srfix.serde._given_columns import GivenColumns, given_columns
from srfix.serde._half import half_of
from srfix.serde._locating import ABOUT_THE_PAYLOAD, read_from
from srfix.serde._plans import decode_plan, validated_decode
from srfix.serde._resolved import Identity, ResolvedSchema
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode
from srfix.serde.errors import SrfixError
from srfix.serde.formats._avro_columns import columns_from_avro
from srfix.serde.formats._avro_resolution import ReaderSchema, usable_reader
from srfix.serde.formats.table import Format, check_schema_type, format_of
from srfix.serde.interface import Context, Value
from srfix.serde.resolve import Resolver
from srfix.serde.subjects import Role, role_of
from srfix.serde.wire import PREFIX_ID_SIZE, Frame, header_guid, parse, prefix_of, schema_id_of

__all__ = ["FramedDeserializer"]


class FramedDeserializer:
    """Reads payloads that name their schema, by id or by GUID, in front or in a header.

    Thread-safe; picklable if its resolver is (the plans are made anew).
    """

    _formats: Collection[Format] = ()
    _validate = False

    def __init__(
        self,
        resolver: Resolver,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule = CaseRule.UNIQUE,
        wrap: bool | None = None,
        strict: bool = False,
        reader_schema: str | ReaderSchema | None = None,
    ) -> None:
        """
        :param columns: what a row has: parsed, text, or a StructType (its names stay as they are).
        :param strict: what leaves any of the columns unfed is no row (`ColumnNotFedError`).
        :param reader_schema: an Avro schema whose aliases and defaults count (Avro's schema resolution). Without columns a
            row has its fields.
        :raises ColumnError: if the columns cannot be used.
        :raises SchemaError: if the reader's schema is none of Avro.
        :raises UsageError: if there is a reader's schema, and ksqlDB's own case rules.
        """
        self._resolver = resolver
        self._reader = usable_reader(reader_schema, case_rule)
        if self._reader is not None and columns is None:
            columns = columns_from_avro(self._reader.text, names="keep", references=self._reader.references)
        self._columns = None if columns is None else given_columns(columns)
        self._case_rule = case_rule
        self._wrap = wrap
        self._strict = strict
        self._plans: dict[tuple[bytes, str, str], Decode] = {}
        self._guid_plans: dict[tuple[UUID, str, str], Decode] = {}

    @property
    def columns(self) -> Columns | None:
        """All columns, of both halves; None where rows are as the writer has them."""
        return self._columns

    def columns_of(self, role: Role) -> Columns | None:
        """What every key, or every value, has, in this order; None where rows are as the writer has them.

        :raises ColumnError: if there is no column for this half, or it cannot be used.
        """
        return None if self._columns is None else half_of(self._columns, role, self._wrap).columns

    def __call__(self, payload: bytes | None, ctx: Context) -> Value:
        """The row; None for a tombstone, and without columns for a null that its writer framed.

        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the resolver does not accept the schema id or GUID.
        :raises SchemaError: if the writer schema is of another format.
        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        :raises DecodeError: if the body is not what the writer schema says, or a writer's type cannot feed
            its column.
        :raises CasingError: if letter case leaves the match between fields and columns undecided.
        :raises RegistryError: if the registry could not be asked.
        :raises UsageError: if a subject strategy has no subject for it.
        """
        if payload is None:
            return None
        # One look-up per record, without taking the payload apart: this is the hot path.
        decode = self._plans.get((prefix_of(payload), ctx.topic, ctx.field))
        if decode is None or (ctx.headers and self._is_named_by_header(ctx)):
            return self._read(payload, ctx)
        try:
            return decode(payload, PREFIX_ID_SIZE)
        except ABOUT_THE_PAYLOAD as error:
            raise read_from(error, ctx, schema_id_of(payload)) from error

    def values_decode(self, payload: bytes, ctx: Context) -> Decode | None:
        """For typed arrays: what gives the columns' values of all payloads with this one's schema id, in their order, as
        `formats._avro_decode.values_decoder` says; None where rows are the only way.

        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the resolver does not accept the schema id.
        :raises SchemaError: if the writer schema cannot be read.
        :raises CasingError: if letter case leaves the match between fields and columns undecided.
        :raises RegistryError: if the registry could not be asked.
        """
        from srfix.serde.formats._avro_decode import values_decoder

        frame, role = parse(payload), role_of(ctx.field)
        if frame is None or frame.schema_id is None or self._columns is None or Format.AVRO not in self._formats:
            return None
        half = half_of(self._columns, role, self._wrap)
        resolved = self._resolver.resolve(frame.schema_id, topic=ctx.topic, role=role)
        if not half.wrapped or format_of(resolved.schema.schema_type) is not Format.AVRO:
            return None
        return values_decoder(
            resolved.schema.text,
            columns=half.columns,
            case_rule=self._case_rule,
            references=resolved.references,
            strict=self._strict,
            reader=self._reader,
        )

    def _is_named_by_header(self, ctx: Context) -> bool:
        try:
            return header_guid(ctx.headers, role_of(ctx.field)) is not None
        except SrfixError:
            return True  # whatever it is, it is met again

    def _read(self, payload: bytes, ctx: Context) -> Value:
        role = role_of(ctx.field)
        identity: Identity | None = None
        try:
            frame = parse(payload, headers=ctx.headers, role=role)
            assert frame is not None
            identity = frame.guid if frame.schema_id is None else frame.schema_id
            return self._decode(frame, ctx, role)(payload, frame.body_offset)
        except ABOUT_THE_PAYLOAD as error:
            raise read_from(error, ctx, identity) from error

    def _decode(self, frame: Frame, ctx: Context, role: Role) -> Decode:
        if frame.guid is not None:
            by_guid = (frame.guid, ctx.topic, ctx.field)
            decode = self._guid_plans.get(by_guid)
            if decode is None:
                resolved = self._resolver.resolve_guid(frame.guid, topic=ctx.topic, role=role)
                decode = self._plan(resolved, role)
                remember(self._guid_plans, by_guid, decode, payload_bounds().plans)
            return decode
        assert frame.schema_id is not None
        by_id = (prefix_of(frame.payload), ctx.topic, ctx.field)
        decode = self._plans.get(by_id)
        if decode is None:
            resolved = self._resolver.resolve(frame.schema_id, topic=ctx.topic, role=role)
            decode = self._plan(resolved, role)
            remember(self._plans, by_id, decode, payload_bounds().plans)
        return decode

    def _plan(self, resolved: ResolvedSchema, role: Role) -> Decode:
        schema = resolved.schema
        if len(self._formats) == 1:
            (format_,) = self._formats
            check_schema_type(schema.schema_type, format_)
        else:
            format_ = format_of(schema.schema_type)
        half = None if self._columns is None else half_of(self._columns, role, self._wrap)
        decode = decode_plan(
            format_, schema.text, half, self._case_rule, resolved.references, strict=self._strict, reader=self._reader
        )
        if self._validate and format_ is Format.JSON_SR:
            return validated_decode(decode, schema, resolved.references)
        return decode

    def __reduce__(self) -> tuple[object, ...]:
        options: dict[str, Any] = {"columns": self._columns, "case_rule": self._case_rule, "wrap": self._wrap}
        if self._strict:
            options["strict"] = True
        if self._reader is not None:
            options["reader_schema"] = self._reader
        if self._validate:
            options["validate"] = True
        return partial(type(self), **options), (self._resolver,)
