"""What both deserializers share: payload → object, as the schemas that the configuration asks for have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from uuid import UUID

from srfix.serde._locating import read_from
from srfix.serde._resolved import words_for
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.confluent._config import Settings, check_callable
from srfix.serde.confluent._framing import SchemaId, deserializer_of, header_role
from srfix.serde.confluent._known import GivenSchema, KnownSchema
from srfix.serde.confluent._migrations import check_migrations
from srfix.serde.confluent._references import References, references_of
from srfix.serde.confluent._registry import AnyClient, Registry, portable, registry_of
from srfix.serde.confluent._rules import Direction, check_rules
from srfix.serde.confluent._serializer import latest_of
from srfix.serde.confluent._strategies import strategy_of
from srfix.serde.engine import Decode
from srfix.serde.errors import (
    DecodeError,
    MalformedHeaderError,
    ResolveError,
    SchemaError,
    UsageError,
    WireError,
)
from srfix.serde.formats.table import check_schema_type, format_of
from srfix.serde.interface import Context, Value
from srfix.serde.registry.errors import RegistryAnswerError
from srfix.serde.subjects import Role
from srfix.serde.wire import (
    PREFIX_ID_SIZE,
    Framing,
    given_schema_id,
    header_guid,
    parse,
    prefix_of,
    schema_id_header,
    schema_id_of,
)

__all__ = ["CompileDecoder", "ConfluentDeserializer", "FromDict", "Readable"]

FromDict: TypeAlias = "Callable[[Value, Context], object]"


class Readable(Protocol):
    """A schema that is ready to read with."""

    @property
    def record_name(self) -> str | None:
        """Its record's name."""


CompileDecoder: TypeAlias = "Callable[[Readable | None, Readable | None], Decode]"
"""Writer and reader schema → decoder; None for no writer where there is no registry, no reader where it is the writer."""
_Parse: TypeAlias = "Callable[[str, References], Readable]"
_Identity: TypeAlias = "int | UUID | None"


@dataclass(frozen=True, slots=True)
class _Writer:
    """A schema that payloads name."""

    known: KnownSchema
    readable: Readable


class ConfluentDeserializer:
    """The part that is the same for each format."""

    _remake: Callable[[AnyClient | None], ConfluentDeserializer]

    def _start(
        self,
        schema_type: str,
        client: AnyClient | None,
        given: GivenSchema | None,
        settings: Settings,
        from_dict: FromDict | None,
        parse_: _Parse,
        compile_: CompileDecoder,
    ) -> None:
        check_callable("from_dict", from_dict, "(dict, context) -> object")
        self._framings, self._identify = deserializer_of(settings.id_deserializer)
        self._client = client
        self._registry: Registry | None = None
        self._close: Callable[[], None] = lambda: None
        if client is not None:
            self._registry, self._close = registry_of(client)
        elif given is None:
            raise UsageError("schema_registry_client is needed where there is no schema_str: schemas are found by id.")
        self._schema_type = schema_type
        self._format = format_of(schema_type)
        self._settings = settings
        self._from_dict = from_dict
        self._parse = parse_
        self._compile = compile_
        self._cluster_id: Callable[[], str | None] | None = None
        self._strategy = strategy_of(
            settings.strategy,
            settings.strategy_type,
            settings.strategy_conf,
            registry=self._registry,
            client=client,
            cluster_id=lambda: None if self._cluster_id is None else self._cluster_id(),
        )
        self._given: Readable | None = None
        if given is not None:
            check_rules(given.schema.rule_set, Direction.READ, where="The reader schema that was passed")
            self._given = parse_(given.schema.text, references_of(self._registry, given.schema, None))
        self._asks_latest = settings.metadata is not None or settings.latest
        may_change = self._asks_latest and self._registry is not None and self._registry.latest_may_change
        self._is_stable = self._strategy.is_stable and not may_change
        self._by_prefix: dict[tuple[bytes, str, str], Decode] = {}
        self._by_identity: dict[tuple[_Identity, str, str], Decode] = {}
        self._reads_headers = Framing.HEADER_GUID in self._framings
        self._plans: dict[tuple[_Identity, str | None, KnownSchema | None], Decode] = {}
        self._latest: dict[str, KnownSchema] = {}
        self._writers: dict[tuple[_Identity, str | None], _Writer] = {}

    def __call__(self, data: bytes | None, ctx: Context | None = None) -> object:
        """The row, or what `from_dict` makes of it; None for None (a tombstone).

        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the registry does not know its schema, or not under the subject that is asked.
        :raises SchemaError: if its schema is not of the deserializer's type.
        :raises DecodeError: if the body is not what the schema says.
        :raises RegistryError: if the registry could not be asked.
        :raises UsageError: if the context is missing where it is needed, or the schema carries rules.
        """
        if data is None:
            return None
        if data.__class__ is not bytes:
            data = _bytes(data)
        decode = None
        # The hot path: one look-up per record, without taking the payload apart.
        if ctx is not None and (not ctx.headers or not self._reads_headers or not _names_schema(ctx)):
            decode = self._by_prefix.get((prefix_of(data), ctx.topic, ctx.field))
        if decode is None:
            value = self._read(data, ctx)
        else:
            try:
                value = decode(data, PREFIX_ID_SIZE)
            except DecodeError as error:
                raise read_from(error, ctx, schema_id_of(data)) from error
        if self._from_dict is None:
            return value
        if ctx is None:
            raise UsageError("from_dict is called with a context, and there is none. Pass a SerializationContext.")
        return self._from_dict(value, ctx)

    def close(self) -> None:
        """Closes the connections of a client that was made for this serde, from a URL; one that was passed is its owner's."""
        self._close()

    def set_cluster_id_resolver(self, resolver: Callable[[], str | None]) -> None:
        """What tells the Kafka cluster's id to the strategy ASSOCIATED; confluent_kafka's consumers call this."""
        self._cluster_id = resolver

    def _read(self, data: bytes, ctx: Context | None) -> Value:
        identity: _Identity = None
        try:
            identity, payload, offset = self._unframed(data, ctx)
            key = (identity, ctx.topic, ctx.field) if self._is_stable and ctx is not None else None
            decode = self._by_identity.get(key) if key is not None else None
            if decode is None:
                decode = self._plan(identity, ctx)
                if key is not None and ctx is not None:
                    remember(self._by_identity, key, decode, payload_bounds().plans)
                    if offset == PREFIX_ID_SIZE:
                        by_prefix = (prefix_of(data), ctx.topic, ctx.field)
                        remember(self._by_prefix, by_prefix, decode, payload_bounds().plans)
            return decode(payload, offset)
        except (WireError, ResolveError, SchemaError, DecodeError) as error:
            raise read_from(error, ctx, identity) from error

    def _unframed(self, data: bytes, ctx: Context | None) -> tuple[_Identity, bytes, int]:
        """The schema's identity, and where the body is."""
        if self._identify is not None:
            found = SchemaId(self._schema_type)
            rest = self._identify(data, ctx, found)
            body = rest if isinstance(rest, bytes) else rest.read()
            if found.id is None and found.guid is None:
                raise UsageError(
                    "schema.id.deserializer has set neither id nor guid of the schema_id that it was given."
                )
            return (found.guid if found.id is None else found.id), body, 0
        if self._reads_headers and ctx is not None and ctx.headers:
            guid = _guid(ctx)
            if guid is not None:
                return guid, data, 0
        if self._framings == {Framing.HEADER_GUID}:
            role = Role.VALUE if ctx is None else header_role(ctx)
            raise MalformedHeaderError(
                f"The record has no header {schema_id_header(role)}, where its schema's GUID must be."
            )
        frame = parse(data)
        assert frame is not None
        if frame.framing not in self._framings:
            raise WireError(
                f"The payload has the framing {frame.framing.value}; schema.id.deserializer reads "
                f"{', '.join(sorted(one.value for one in self._framings))} only."
            )
        return (frame.guid if frame.schema_id is None else frame.schema_id), data, frame.body_offset

    def _plan(self, identity: _Identity, ctx: Context | None) -> Decode:
        subject = None if ctx is None else self._strategy(ctx, None)
        writer = self._writer(identity, subject)
        if subject is None and writer is not None and ctx is not None:
            subject = self._strategy(ctx, writer.readable.record_name)
        latest = self._latest_of(subject)
        key = (identity if writer is not None else None, subject, latest)
        decode = self._plans.get(key)
        if decode is None:
            decode = self._made(identity, subject, writer, latest)
            remember(self._plans, key, decode, payload_bounds().plans)
        return decode

    def _made(
        self, identity: _Identity, subject: str | None, writer: _Writer | None, latest: KnownSchema | None
    ) -> Decode:
        if writer is not None:
            check_schema_type(writer.known.schema.schema_type, self._format)
            assert identity is not None
            check_rules(writer.known.schema.rule_set, Direction.READ, where=f"The {words_for(identity)}")
        reader = self._given
        if latest is not None and subject is not None and self._registry is not None and writer is not None:
            where = f"The schema of subject {subject!r} (id {latest.schema_id})"
            check_schema_type(latest.schema.schema_type, self._format)
            check_rules(latest.schema.rule_set, Direction.READ, where=where)
            check_migrations(self._registry, subject, writer.known, latest)
            reader = self._parse(latest.schema.text, references_of(self._registry, latest.schema, subject))
        return self._compile(None if writer is None else writer.readable, reader)

    def _latest_of(self, subject: str | None) -> KnownSchema | None:
        if subject is None or self._registry is None or not self._asks_latest:
            return None
        if self._registry.latest_may_change or subject not in self._latest:
            self._latest[subject] = latest_of(self._registry, self._settings, subject)
        return self._latest[subject]

    def _writer(self, identity: _Identity, subject: str | None) -> _Writer | None:
        """The schema that a payload names; None without a registry."""
        if self._registry is None or identity is None:
            return None
        key = (identity, subject)
        found = self._writers.get(key)
        if found is None:
            try:
                if isinstance(identity, UUID):
                    known = self._registry.by_guid(identity)
                else:
                    known = self._registry.by_id(given_schema_id(identity), subject)
            except RegistryAnswerError as error:
                if error.status != 404:
                    raise
                raise _unknown(identity, error) from error
            check_schema_type(known.schema.schema_type, self._format)
            readable = self._parse(known.schema.text, references_of(self._registry, known.schema, subject))
            found = _Writer(known, readable)
            remember(self._writers, key, found, payload_bounds().plans)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return self._remake, (portable(self._client),)


def _guid(ctx: Context) -> UUID | None:
    return header_guid(ctx.headers, header_role(ctx))


def _names_schema(ctx: Context) -> bool:
    """True if a header does, be it malformed: what is wrong with it is said by who reads it."""
    try:
        return _guid(ctx) is not None
    except MalformedHeaderError:
        return True


def _bytes(data: object) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise UsageError(f"A payload is of the type {type(data).__name__}; it must be bytes, or None for a tombstone.")


def _unknown(identity: int | UUID, error: RegistryAnswerError) -> ResolveError:
    return ResolveError(
        f"The registry does not know {words_for(identity)} (error code {error.error_code}). Check that it is the "
        "registry that the records were written with; if it is, the schema was deleted for good, and only its text can "
        "bring it back.",
        error_code=error.error_code,
    )
