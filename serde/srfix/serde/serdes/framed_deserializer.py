"""Framed payload → row: one plan per schema, topic and field, and the common code of the deserializers of all formats with
schemas."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Final, Self
from uuid import UUID

from srfix.serde.arguments import flag, flag_or_none, member, usable_context, usable_payload
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.casing import CaseRule
from srfix.serde.closing import Closing
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.times import Times, given_times
from srfix.serde.engine import Decode
from srfix.serde.errors import SrfixError
from srfix.serde.formats.table import Format, check_schema_type, format_of, schema_module_of
from srfix.serde.interface import Context, Value
from srfix.serde.native import kernel, native_codec_of
from srfix.serde.registries.given import AnyClient
from srfix.serde.resolve.policies import Resolver, accepted, usable_policy
from srfix.serde.serdes.located_errors import ABOUT_THE_PAYLOAD, read_from
from srfix.serde.serdes.plans import columns_of_reader, decode_plan, usable_reader, validated_decode
from srfix.serde.serdes.row_reader import RowReader
from srfix.serde.specs import HasColumns, ReaderSchema, ReadSpec
from srfix.serde.subjects.names import Role, role_of
from srfix.serde.wire import PREFIX_ID_SIZE, frame_guid, header_guid, parse, prefix_id_bytes, prefix_of, schema_id_of

if TYPE_CHECKING:

    class _Base:
        def _put(self, topic: str, field: str, schema_id: int, decoder: object, most: int, /) -> None: ...

else:
    # Its calls do the same as `_call`, but without Python, for the schema ids for which it has a program.
    _Base = object if kernel() is None else kernel().Reader


class FramedReader(RowReader, _Base):
    """The part that depends neither on how a schema is found nor on how it is used."""

    IS_NATIVE: Final = not TYPE_CHECKING and _Base is not object
    """Whether a call goes to the kernel, which calls `_call` for the payloads that it does not read."""
    _about: ClassVar[tuple[type[SrfixError], ...]] = ABOUT_THE_PAYLOAD
    """The errors to which the payload's topic, half and schema are added."""
    _is_stable = True
    """False if a schema may have a different plan for each record."""
    _gives_rows = True
    """False if a call converts the row to another object, because the kernel's calls give rows."""

    def _forget_plans(self) -> None:
        self._plans: dict[tuple[bytes, str, str], Decode] = {}
        self._plans_by_identity: dict[tuple[int | UUID, str, str], Decode] = {}

    def _call(self, payload: bytes | None, ctx: Context | str) -> Value:
        """The row; None for a tombstone, and without columns also for a framed null.

        :param ctx: the context, or the topic's name for its values.

        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the resolver does not accept the schema id or GUID.
        :raises SchemaError: if the writer schema has another format.
        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        :raises DecodeError: if the body does not match the writer schema, or a writer's type cannot feed its column.
        :raises CasingError: if letter case makes the match between fields and columns ambiguous.
        :raises RegistryError: if the registry could not be asked.
        :raises UsageError: if a subject strategy has no subject for the schema.
        """
        if payload is None:
            return None
        # The hot path: one look-up per record, without parsing the payload.
        if isinstance(ctx, str):
            ctx = usable_context(ctx)
        try:
            decode = self._plans.get((prefix_of(payload), ctx.topic, ctx.field))
            headers = ctx.headers
        except (AttributeError, TypeError):
            usable_context(ctx)
            if isinstance(payload, bytes):
                raise
            return self._call(usable_payload(payload), ctx)
        if decode is None:
            return self._read(payload if isinstance(payload, bytes) else usable_payload(payload), usable_context(ctx))
        if headers and self._is_named_by_header(ctx):
            return self._read(payload, ctx)
        try:
            return decode(payload, PREFIX_ID_SIZE)
        except self._about as error:
            raise read_from(error, ctx, schema_id_of(payload)) from error

    if TYPE_CHECKING or not IS_NATIVE:
        __call__ = _call

    def _read(self, payload: bytes, ctx: Context | None) -> Value:
        identity: int | UUID | None = None
        try:
            identity, body, body_offset = self._unframed(payload, ctx)
            return self._decode(identity, ctx, payload, body_offset)(body, body_offset)
        except self._about as error:
            raise read_from(error, ctx, identity) from error

    def _decode(self, identity: int | UUID, ctx: Context | None, payload: bytes, body_offset: int) -> Decode:
        if ctx is None or not self._is_stable:
            return self._plan(identity, ctx)
        where = (identity, ctx.topic, ctx.field)
        decode = self._plans_by_identity.get(where)
        if decode is None:
            decode = self._plan(identity, ctx)
            most = payload_bounds().plans
            remember(self._plans_by_identity, where, decode, most)
            if body_offset == PREFIX_ID_SIZE:
                remember(self._plans, (prefix_of(payload), ctx.topic, ctx.field), decode, most)
                native = native_codec_of(decode)
                if native is not None and self._gives_rows and isinstance(identity, int):
                    self._put(ctx.topic, ctx.field, identity, native, most)
        return decode

    def _unframed(self, payload: bytes, ctx: Context | None) -> tuple[int | UUID, bytes, int]:
        """The schema's identity, the bytes that hold the body, and the body's offset in them."""
        frame = parse(payload) if ctx is None else parse(payload, headers=ctx.headers, role=self._role(ctx))
        assert frame is not None
        return frame.identity, frame.payload, frame.body_offset

    def _is_named_by_header(self, ctx: Context) -> bool:
        try:
            return header_guid(ctx.headers, self._role(ctx)) is not None
        except SrfixError:
            return True  # `_unframed` raises the error of a bad header

    def _role(self, ctx: Context) -> Role:
        return role_of(ctx.field)

    def _plan(self, identity: int | UUID, ctx: Context | None) -> Decode:
        raise NotImplementedError


class FramedDeserializer(FramedReader, HasColumns, Closing):
    """Reads payloads that name their schema by id or by GUID, in front of the body or in a header.

    Thread-safe; picklable if its resolver is (the plans are then made again).
    """

    _spec: ReadSpec
    _formats: Collection[Format] = ()

    def __init__(
        self,
        resolver: Resolver | AnyClient,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        strict: bool = False,
        reader_schema: str | ReaderSchema | None = None,
        times: Times = "datetimes",
    ) -> None:
        """
        :param resolver: decides which ids are accepted. A registry in any form means `ById` with it.
        :param columns: the columns of a row: parsed, text, a dataclass, or a StructType (its names stay unchanged).
        :param strict: refuses a record that leaves any column unfed (`ColumnNotFedError`).
        :param reader_schema: an Avro schema whose aliases, defaults and promotions count (Avro's schema resolution).
            Without columns, a row has this schema's fields, or with `wrap=False` the bare value as ROWVAL.
        :param times: `"integers"` gives a DATE, TIME or TIMESTAMP as the integer in the record
            (`srfix.serde.columns.times`).
        :raises ColumnError: if the columns cannot be used.
        :raises SchemaError: if the reader's schema is not an Avro schema.
        :raises UsageError: if there is a reader's schema together with one of ksqlDB's case rules; if `times` is an
            unknown word, or an argument has the wrong type.
        """
        case_rule = member("case_rule", CaseRule, case_rule)
        self._take(resolver)
        reader = usable_reader(reader_schema, case_rule)
        if reader is not None and columns is None:
            columns = columns_of_reader(reader, wrap)
        self._spec = ReadSpec(
            columns=None if columns is None else given_columns(columns),
            case_rule=case_rule,
            wrap=flag_or_none("wrap", wrap),
            strict=flag("strict", strict),
            reader_schema=reader,
            times=given_times(times),
        )

    @classmethod
    def of_spec(cls, resolver: Resolver, spec: ReadSpec, formats: Collection[Format] | None = None) -> Self:
        """A deserializer from a checked spec. It reads `formats`, by default those of the class."""
        made = cls.__new__(cls)
        made._take(resolver)
        made._spec = spec
        made._formats = made._formats if formats is None else formats
        return made

    def _take(self, resolver: Resolver | AnyClient) -> None:
        self._resolver = usable_policy(resolver)
        if self._resolver is not resolver and isinstance(self._resolver, Closing):
            self._close = self._resolver.close
        self._forget_plans()

    def values_decode(self, payload: bytes, ctx: Context) -> Decode | None:
        """For typed arrays: the decoder of values for all payloads with this one's schema id; None: rows only."""
        frame, role = parse(payload), role_of(ctx.field)
        makers = {format_: schema_module_of(format_).values_decoder for format_ in self._formats}
        if frame is None or frame.schema_id is None or self._spec.columns is None or not any(makers.values()):
            return None
        resolved = self._resolver.resolve(frame.schema_id, topic=ctx.topic, role=role)
        format_ = format_of(resolved.schema.schema_type)
        spec, make = self._spec.half(role, format_.wraps), makers.get(format_)
        return make(resolved.schema.text, spec, resolved.references) if spec.wrapped and make is not None else None

    def native_decode(self, identity: int | UUID, ctx: Context) -> object:
        """For typed arrays: the kernel's decoder for a schema, by its id or GUID; None if Python reads it."""
        prefix = prefix_id_bytes(identity) if isinstance(identity, int) else frame_guid(identity)
        try:
            return native_codec_of(self._decode(identity, ctx, prefix, len(prefix)))
        except self._about as error:
            raise read_from(error, ctx, identity) from error

    def _plan(self, identity: int | UUID, ctx: Context | None) -> Decode:
        assert ctx is not None
        role = self._role(ctx)
        resolved = accepted(self._resolver, identity, topic=ctx.topic, role=role)
        schema = resolved.schema
        if len(self._formats) == 1:
            (format_,) = self._formats
            check_schema_type(schema.schema_type, format_)
        else:
            format_ = format_of(schema.schema_type)
        decode = decode_plan(format_, schema.text, self._spec.half(role, format_.wraps), resolved.references)
        return validated_decode(decode, format_, schema, resolved.references) if self._spec.validate else decode

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of_spec, (self._resolver, self._spec, self._formats)
