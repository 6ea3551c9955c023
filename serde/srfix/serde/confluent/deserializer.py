"""What both deserializers share: payload → object, as the schemas that the configuration asks for have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast
from uuid import UUID

from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.confluent.config import Conf, check_callable, settings
from srfix.serde.confluent.confluent_client import AnySchema, given_schema
from srfix.serde.confluent.framing import SchemaId, deserializer_of, header_role
from srfix.serde.confluent.registry import AnyClient, Registry
from srfix.serde.confluent.rules import Direction, check_migrations, check_rules
from srfix.serde.confluent.serde import Codec, ConfluentSerde, MakeCodec
from srfix.serde.engine import Decode
from srfix.serde.errors import (
    MalformedHeaderError,
    RegistryError,
    ResolveError,
    SubjectVersionError,
    UsageError,
    WireError,
)
from srfix.serde.formats.table import check_schema_type, format_of
from srfix.serde.interface import Context, GuidSource, Value
from srfix.serde.registry import RegistryAnswerError, Schema, SchemaNotFoundError, SchemaVersion, SubjectNotFoundError
from srfix.serde.resolve import words_for
from srfix.serde.serdes import ABOUT_THE_PAYLOAD, FramedReader
from srfix.serde.subjects import Role
from srfix.serde.wire import Framing, given_schema_id, header_guid, parse, schema_id_header

FromDict: TypeAlias = "Callable[[Value, Context], object]"
_Identity: TypeAlias = "int | UUID"
_Writer: TypeAlias = "tuple[Schema, Codec]"


class ConfluentDeserializer(ConfluentSerde, FramedReader):
    """The part that is the same for each format."""

    _about = (*ABOUT_THE_PAYLOAD, ResolveError)

    def _begin(
        self, client: AnyClient | None, schema_str: AnySchema, from_dict: FromDict | None, conf: Conf, make: MakeCodec
    ) -> None:
        check_callable("from_dict", from_dict, "(dict, context) -> object")
        asked = settings(self._kind, conf)
        given = given_schema(schema_str, self._schema_type, self._prepare)
        framings = deserializer_of(asked.id_deserializer)
        self._identify = None if isinstance(framings, frozenset) else framings
        self._framings = framings if isinstance(framings, frozenset) else frozenset[Framing]()
        if client is None and given is None:
            raise UsageError("schema_registry_client is needed where there is no schema_str: schemas are found by id.")
        self._start(client, asked, make, needs_client=False)
        self._format = format_of(self._schema_type)
        self._from_dict = from_dict
        self._given: Codec | None = None
        if given is not None:
            check_rules(given.rule_set, Direction.READ, where="The reader schema that was passed")
            self._given = self._codec(given, None)
        self._asks_latest = asked.metadata is not None or asked.latest
        self._is_stable = self._is_by_topic and not (self._asks_latest and self._latest_may_change)
        self._forget_plans()
        self._made: dict[tuple[_Identity, str | None, SchemaVersion | None], Decode] = {}
        self._latest: dict[str, SchemaVersion] = {}
        self._writers: dict[tuple[_Identity, str | None], _Writer] = {}

    def __call__(self, data: bytes | None, ctx: Context | None = None) -> object:  # type: ignore[override]
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
        value = self._read(data, None) if ctx is None else self._row(data, ctx)
        if self._from_dict is None:
            return value
        if ctx is None:
            raise UsageError("from_dict is called with a context, and there is none. Pass a SerializationContext.")
        return self._from_dict(value, ctx)

    _row = FramedReader.__call__

    def _role(self, ctx: Context) -> Role:
        return header_role(ctx)

    def _is_named_by_header(self, ctx: Context) -> bool:
        return Framing.HEADER_GUID in self._framings and super()._is_named_by_header(ctx)

    def _unframed(self, payload: bytes, ctx: Context | None) -> tuple[_Identity, bytes, int]:
        if self._identify is not None:
            found = SchemaId(self._schema_type)
            rest = self._identify(payload, ctx, found)
            identity = found.guid if found.id is None else found.id
            if identity is None:
                raise UsageError(
                    "schema.id.deserializer has set neither id nor guid of the schema_id that it was given."
                )
            return identity, rest if isinstance(rest, bytes) else rest.read(), 0
        headers = ctx.headers if ctx is not None and Framing.HEADER_GUID in self._framings else None
        role = header_role(ctx)
        if self._framings == {Framing.HEADER_GUID} and header_guid(headers, role) is None:
            raise MalformedHeaderError(
                f"The record has no header {schema_id_header(role)}, where its schema's GUID must be."
            )
        frame = parse(payload, headers=headers, role=role)
        assert frame is not None
        if frame.framing not in self._framings:
            raise WireError(
                f"The payload has the framing {frame.framing.value}; schema.id.deserializer reads "
                f"{', '.join(sorted(one.value for one in self._framings))} only."
            )
        return frame.identity, payload, frame.body_offset

    def _plan(self, identity: _Identity, ctx: Context | None) -> Decode:
        if self._registry is None:  # JSON: the reader's schema is all there is
            return cast("Codec", self._given).decoder(None)
        subject = None if ctx is None else self._strategy(ctx, None)
        writer = self._writer(self._registry, identity, subject)
        if subject is None and ctx is not None:
            subject = self._strategy(ctx, writer[1].record_name)
        latest = None
        if self._asks_latest and subject is not None:
            if self._latest_may_change or subject not in self._latest:
                self._latest[subject] = self._latest_of(self._registry, subject)
            latest = self._latest[subject]
        key = (identity, subject, latest)
        decode = self._made.get(key)
        if decode is None:
            schema, codec = writer
            check_rules(schema.rule_set, Direction.READ, where=f"The {words_for(identity)}")
            reader = self._given
            if latest is not None and subject is not None:
                reader = self._latest_reader(self._registry, identity, schema, subject, latest)
            decode = codec.decoder(reader)
            remember(self._made, key, decode, payload_bounds().plans)
        return decode

    def _latest_reader(
        self, registry: Registry, identity: _Identity, writer: Schema, subject: str, latest: SchemaVersion
    ) -> Codec:
        """The subject's latest version, if no rules stand between the writer's schema and it."""
        check_schema_type(latest.schema.schema_type, self._format)
        where = f"The schema of subject {subject!r} (id {latest.schema_id})"
        check_rules(latest.schema.rule_set, Direction.READ, where=where)
        schema_id = None if isinstance(identity, UUID) else identity
        try:
            source = registry.lookup(subject, writer, deleted=True)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise SubjectVersionError(
                f"A record is to be read as the latest version of subject {subject!r} has it, but that subject does not hold "
                f"the schema that it was written under (id {schema_id}, error code {error.error_code}). Register it there, or "
                "read without use.latest.version.",
                schema_id=schema_id,
                subject=subject,
                error_code=error.error_code,
            ) from error
        check_migrations(registry, subject, source.version, latest)
        return self._codec(latest.schema, subject)

    def _writer(self, registry: Registry, identity: _Identity, subject: str | None) -> _Writer:
        key = (identity, subject)
        found = self._writers.get(key)
        if found is None:
            schema = _schema(registry, identity, subject)
            check_schema_type(schema.schema_type, self._format)
            found = (schema, self._codec(schema, subject))
            remember(self._writers, key, found, payload_bounds().plans)
        return found


def _schema(registry: Registry, identity: _Identity, subject: str | None) -> Schema:
    try:
        if not isinstance(identity, UUID):
            return registry.schema_by_id(given_schema_id(identity), subject=subject).schema
        if isinstance(registry, GuidSource):
            return registry.schema_by_guid(str(identity))
    except RegistryAnswerError as error:
        if error.status != 404:
            raise
        raise ResolveError(
            f"The registry does not know {words_for(identity)} (error code {error.error_code}). Check that it is the "
            "registry that the records were written with; if it is, the schema was deleted for good, and only its text can "
            "bring it back.",
            error_code=error.error_code,
        ) from error
    raise RegistryError(f"{type(registry).__name__} does not resolve GUIDs; the payload carries {identity}.")


def _bytes(data: object) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise UsageError(f"A payload is of the type {type(data).__name__}; it must be bytes, or None for a tombstone.")
