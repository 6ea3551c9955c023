"""Reads framed payloads with one plan per schema, topic and field: the work per record of each deserializer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final
from uuid import UUID

from srfix.serde.arguments import usable_context, usable_payload
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.engine import Decode
from srfix.serde.errors import SrfixError
from srfix.serde.interface import Context, Value
from srfix.serde.native import kernel, native_decoder_of
from srfix.serde.serdes.located_errors import ABOUT_THE_PAYLOAD, read_from
from srfix.serde.serdes.row_reader import RowReader
from srfix.serde.subjects.names import Role, role_of
from srfix.serde.wire import PREFIX_ID_SIZE, header_guid, parse, prefix_of, schema_id_of

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
                native = native_decoder_of(decode)
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
