"""Payload → row, as confluent_kafka's `DeserializingConsumer` calls it, and as anybody can."""

from __future__ import annotations

from functools import partial

from srfix.serde._column_types import Columns, usable_columns
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Decode
from srfix.serde.errors import CasingError, DecodeError, ResolveError, SchemaError, SrfixError, WireError
from srfix.serde.formats import avro
from srfix.serde.interface import Context, Value
from srfix.serde.resolve import Resolver
from srfix.serde.subjects import Role, role_of
from srfix.serde.wire import PREFIX_ID_SIZE, SchemaId, parse, prefix_of, schema_id_of

__all__ = ["AvroDeserializer"]


class AvroDeserializer:
    """Reads Avro payloads in the registry's framing.

    `AvroDeserializer(ById(registry))` gives records as the writer has them. With `columns` a row has exactly
    those, in their order, fed by the writer's fields under the case rule; a column that no field feeds is
    None, and arrays of map entries are dicts. Thread-safe; picklable if its resolver is (the plans are made
    anew).
    """

    def __init__(
        self, resolver: Resolver, *, columns: Columns | None = None, case_rule: CaseRule = CaseRule.UNIQUE
    ) -> None:
        """:raises ColumnError: if the columns cannot be used."""
        self._resolver = resolver
        self._columns = None if columns is None else usable_columns(columns)
        self._case_rule = case_rule
        self._plans: dict[tuple[bytes, str, str], Decode] = {}

    @property
    def columns(self) -> Columns | None:
        """What every row has, in this order; None where rows are as the writer has them."""
        return self._columns

    def __call__(self, payload: bytes | None, ctx: Context) -> Value:
        """The row; None for a tombstone.

        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the resolver does not accept the schema id, or the payload names its schema
            by GUID.
        :raises SchemaError: if the writer schema is not Avro.
        :raises DecodeError: if the body is not what the writer schema says, or a writer's type cannot feed
            its column.
        :raises CasingError: if letter case leaves the match between fields and columns undecided.
        :raises RegistryError: if the registry could not be asked.
        """
        if payload is None:
            return None
        # One look-up per record, without taking the payload apart: this is the hot path.
        decode = self._plans.get((prefix_of(payload), ctx.topic, ctx.field))
        if decode is None or ctx.headers:
            return self._read(payload, ctx)
        try:
            return decode(payload, PREFIX_ID_SIZE)
        except DecodeError as error:
            raise _located(error, ctx, schema_id_of(payload)) from error

    def _read(self, payload: bytes, ctx: Context) -> Value:
        role = role_of(ctx.field)
        schema_id: SchemaId | None = None
        try:
            frame = parse(payload, headers=ctx.headers, role=role)
            assert frame is not None
            schema_id = frame.schema_id
            if schema_id is None:
                raise ResolveError(
                    f"A {role.value} of topic {ctx.topic!r} names its schema by the GUID {frame.guid} "
                    f"({frame.framing.value}); this version does not resolve GUIDs yet. Let the producer "
                    "write schema ids "
                    "(prefix framing), or read the topic with a deserializer that knows GUIDs.",
                    topic=ctx.topic,
                    role=role,
                    guid=frame.guid,
                )
            key = (prefix_of(payload), ctx.topic, ctx.field)
            decode = self._plans.get(key)
            if decode is None:
                decode = self._plans[key] = self._plan(schema_id, ctx.topic, role)
            return decode(payload, frame.body_offset)
        except _ABOUT_THE_PAYLOAD as error:
            raise _located(error, ctx, schema_id) from error

    def _plan(self, schema_id: SchemaId, topic: str, role: Role) -> Decode:
        resolved = self._resolver.resolve(schema_id, topic=topic, role=role)
        avro.check_schema(resolved.schema)
        return avro.decoder(
            resolved.schema.text, columns=self._columns, case_rule=self._case_rule, references=resolved.references
        )

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(type(self), columns=self._columns, case_rule=self._case_rule)
        return make, (self._resolver,)


_ABOUT_THE_PAYLOAD = (WireError, SchemaError, DecodeError, CasingError)


def _located(error: SrfixError, ctx: Context, schema_id: int | None) -> SrfixError:
    """The same error, saying which payload it is about."""
    carries = "" if schema_id is None else f", schema id {schema_id}"
    attributes = dict(vars(error)) | {"topic": ctx.topic, "role": role_of(ctx.field), "schema_id": schema_id}
    return type(error)(f"A {ctx.field} of topic {ctx.topic!r}{carries}: {error.message}", **attributes)
