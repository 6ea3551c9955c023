"""The part that all serializers share: object → payload, under the schema that the configuration asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast
from uuid import UUID

from confluent_kafka.serialization import Serializer

from srfix.serde.arguments import check_callable, plain_row, usable_context
from srfix.serde.confluent.config import Conf, WrittenColumns, refuse_without_columns, settings
from srfix.serde.confluent.framing import SchemaId, add_header, required_guid, serializer_of
from srfix.serde.confluent.serde import (
    Codec,
    ConfluentSerde,
    Direction,
    check_no_columns,
    check_rules,
    make_confluents,
    missing_context,
    references_of,
)
from srfix.serde.errors import EncodeError, SchemaError, SrfixError, SubjectVersionError, UsageError
from srfix.serde.forking import ForkLock
from srfix.serde.interface import Context
from srfix.serde.registries.confluent_client import AnySchema, given_schema
from srfix.serde.registries.given import AnyClient, Registry, register
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.schemas.models import Registration, Schema, SchemaVersion
from srfix.serde.serdes.framed_serializer import FramedWriter
from srfix.serde.serdes.located_errors import written_to
from srfix.serde.serdes.plans import EncodeOrNone
from srfix.serde.subjects.names import Role, role_of
from srfix.serde.wire import Framing

ToDict: TypeAlias = "Callable[[object, Context], object]"


@dataclass(frozen=True, slots=True)
class _Target:
    encode: EncodeOrNone
    prefix: bytes
    header: UUID | None
    identity: SchemaId


@dataclass(frozen=True, slots=True)
class _Encoding:
    schema: Schema
    encode: EncodeOrNone
    record_name: str | None
    message_indexes: tuple[int, ...] | None


class ConfluentSerializer(ConfluentSerde, FramedWriter, Serializer):
    _registry: Registry
    _sources: ClassVar[str] = "schema_str (the schema to write under); columns"
    """The arguments that name the schema to write under."""

    def _begin(
        self,
        client: AnyClient | None,
        schema_str: AnySchema,
        to_dict: ToDict | None,
        conf: Conf,
        columns: WrittenColumns | None,
        codec_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes the arguments that all constructors share; `codec_options` are those of only this format's codec."""
        check_callable("to_dict", to_dict, "(object, context) -> dict")
        serde_settings = settings(self._kind, conf)
        check_no_columns(schema_str)
        schema = given_schema(schema_str, self._schema_type, self._prepare)
        self._framing = serializer_of(serde_settings.id_serializer)
        self._start(client, serde_settings, codec_options or {}, needs_client=True)
        self._schema = schema
        self._to_dict = to_dict
        self._asks_latest = bool(
            serde_settings.schema_id or serde_settings.metadata is not None or serde_settings.latest
        )
        self._columns = columns
        if columns is None and self._schema_type != "AVRO" and serde_settings.times == "integers":
            refuse_without_columns("written", {"times": serde_settings.times})
        self._encoding: dict[Role, _Encoding] = {}
        if schema is not None:
            self._check_type(schema, self._kind.value)
            check_rules(schema.rule_set, Direction.WRITE, where="The schema that was passed")
        if columns is not None:
            columns.start(
                self._schema_type,
                validate=serde_settings.validate,
                is_own=schema is None and not self._asks_latest,
                conf=conf,
                times=serde_settings.times,
            )
            for role in columns.roles if not self._asks_latest else ():
                self._encoding_of(role)
        elif schema is not None:
            self._encoding_of(Role.VALUE)
        elif not self._asks_latest:
            raise UsageError(
                f"{self._kind.value} needs one of these: {self._sources}; or, in its "
                "configuration, use.latest.version, use.latest.with.metadata or use.schema.id, to take the schema "
                "from the registry."
            )
        self._is_stable = self._is_by_topic and not (self._asks_latest and self._latest_may_change)
        self._targets: dict[tuple[str, str], _Target] = {}
        self._by_subject: dict[tuple[str, Role], _Target] = {}
        self._by_version: dict[tuple[str, Role, SchemaVersion], _Target] = {}
        self._lock = ForkLock()
        self._remember(columns, schema_str=schema_str, to_dict=to_dict, conf=conf)

    def _call(self, obj: object, ctx: Context | str | None = None) -> bytes | None:
        """The payload; None for None (a tombstone), without asking the registry. A dataclass's instance is written as
        its fields.

        :param ctx: the context, or the topic's name for its values.

        With header framing the schema's GUID is added to the context's headers.

        :raises EncodeError: if the value does not fit its schema; then nothing is registered.
        :raises RegistryError: if the registry could not be asked, or did not accept the schema.
        :raises ResolveError: if the registry does not have the version that the configuration asks for.
        :raises SchemaError: if that version does not have the serializer's type.
        :raises UsageError: if a required context is missing, or the schema carries rules.
        """
        if obj is None:
            return None
        try:
            if ctx.__class__ is str:
                ctx = usable_context(ctx)
            return self._payload(obj, ctx)  # type: ignore[arg-type]
        except SrfixError as error:
            make_confluents(error)
            raise

    if TYPE_CHECKING or not FramedWriter.IS_NATIVE:
        __call__ = _call

    def _payload(self, obj: object, ctx: Context | None) -> bytes | None:
        value = obj
        if self._to_dict is not None:
            if ctx is None:
                raise missing_context("to_dict")
            value = self._to_dict(obj, ctx)
        if value.__class__ is not dict:
            value = plain_row(value)
        try:
            target = None if ctx is None else self._targets.get((ctx.topic, ctx.field))
            if ctx is not None and target is None:
                usable_context(ctx)
        except AttributeError:
            usable_context(ctx)
            raise
        try:
            if target is None:
                target = self._target(value, ctx)
            payload = None if target is None else target.encode(value, target.prefix)
            if target is None or payload is None:
                return None  # columns: a bare null is a null payload
            if target.header is not None:
                add_header(ctx, target.header, target.identity.index_bytes)
        except EncodeError as error:
            raise written_to(error, ctx) from error
        if callable(self._framing):
            return self._framing(payload, ctx, target.identity)
        return payload

    def is_ready(self, obj: object, ctx: object) -> bool:
        """True if a call asks the registry nothing, because the topic's schema is known."""
        return obj is None or self.asks_for(obj, ctx) in self._targets

    def asks_for(self, _: object, ctx: object) -> tuple[str, str] | None:
        """A key that is equal for calls that ask the registry the same; None if it is not known."""
        topic, field = getattr(ctx, "topic", None), getattr(ctx, "field", None)
        return None if not self._is_stable or topic is None or field is None else (topic, field)

    def _role(self, ctx: Context | None) -> Role:
        return Role.VALUE if ctx is None or self._columns is None else role_of(ctx.field)

    def _encoding_of(self, role: Role) -> _Encoding:
        if role not in self._encoding:
            schema = self._schema or cast("WrittenColumns", self._columns).schema(role)
            codec = self._codec(schema, None)
            encode = self._encode(codec, schema, None, role)
            self._encoding[role] = _Encoding(schema, encode, codec.written_name, codec.message_indexes)
        return self._encoding[role]

    def _encode(self, codec: Codec, schema: Schema, subject: str | None, role: Role) -> EncodeOrNone:
        if self._columns is None:
            return codec.encoder()
        texts = dict.fromkeys(text for _, text in references_of(self._registry, schema, subject))
        return self._columns.encode(schema, tuple(texts), role)

    def _target(self, value: object, ctx: Context | None) -> _Target | None:
        role = self._role(ctx)
        encoding = None if self._asks_latest and self._schema is None else self._encoding_of(role)
        subject = self._strategy(ctx, None if encoding is None else encoding.record_name)
        if subject is None:
            raise UsageError(
                "The subject name strategy has no subject, because "
                f"{'the schema has' if encoding else 'no schema was passed, so there is'} no record name. Pass a schema of a "
                "named record (JSON: with a title), or use subject.name.strategy.type TOPIC."
            )
        if self._asks_latest:
            target = self._existing(subject, role)
        else:
            assert encoding is not None
            if (subject, role) not in self._by_subject and encoding.encode(value, b"") is None:
                return None
            target = self._own_target(subject, encoding, role, ctx)
        if self._is_stable and ctx is not None:
            self._targets[ctx.topic, ctx.field] = target
            if self._to_dict is None and target.header is None and not callable(self._framing):
                self._put_native(ctx, target.prefix, target.encode)
        return target

    def _own_target(self, subject: str, encoding: _Encoding, role: Role, ctx: Context | None) -> _Target:
        """Publishes the schema that was passed, or the columns' own: once per subject, and never for an unfit value."""
        if (subject, role) not in self._by_subject:
            with self._lock:
                if (subject, role) not in self._by_subject:
                    registration = self._published(subject, encoding.schema, ctx)
                    indexes = encoding.message_indexes
                    self._by_subject[subject, role] = self._made(encoding.encode, registration, indexes)
        return self._by_subject[subject, role]

    def _published(self, subject: str, schema: Schema, _: Context | None) -> Registration | SchemaVersion:
        if not self._settings.auto_register:
            return self._version_of(subject, schema)
        if schema.rule_set:
            raise UsageError(
                "The schema that was passed carries a rule set, which srfix does not register. Register the schema "
                "with confluent_kafka's client, and set auto.register.schemas to False."
            )
        return register(self._registry, subject, schema, normalize=self._settings.normalize)

    def _version_of(self, subject: str, schema: Schema) -> SchemaVersion:
        # A stand-in for a registry need not know `normalize`.
        more = {"normalize": True} if self._settings.normalize else {}
        return self._registry.lookup(subject, schema, deleted=False, **more)

    def _existing(self, subject: str, role: Role) -> _Target:
        """The version of the configuration: requested once per subject, or again when the client's cache expires."""
        if not self._latest_may_change and (subject, role) in self._by_subject:
            return self._by_subject[subject, role]
        with self._lock:
            version = self._version(subject)
            key = (subject, role, version)
            if key not in self._by_version:
                where = f"The schema of subject {subject!r} (id {version.schema_id})"
                self._check_type(version.schema, where)
                check_rules(version.schema.rule_set, Direction.WRITE, where=where)
                codec = self._codec(version.schema, subject)
                encode = self._encode(codec, version.schema, subject, role)
                self._by_version[key] = self._made(encode, version, codec.message_indexes)
            self._by_subject[subject, role] = self._by_version[key]
            return self._by_version[key]

    def _version(self, subject: str) -> SchemaVersion:
        schema_id = self._settings.schema_id
        if schema_id is None:
            return self._latest_of(self._registry, subject)
        registered_schema = self._registry.schema_by_id(schema_id, subject=subject)
        try:
            version = self._registry.lookup(subject, registered_schema.schema, deleted=True)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise SubjectVersionError(
                f"use.schema.id is {schema_id}, but subject {subject!r} does not hold its schema (error code "
                f"{error.error_code}). Register the schema under that subject, or name an id that it holds.",
                schema_id=schema_id,
                subject=subject,
                error_code=error.error_code,
            ) from error
        return replace(version, schema=registered_schema.schema, schema_id=registered_schema.schema_id)

    def _made(
        self, encode: EncodeOrNone, registration: Registration | SchemaVersion, indexes: tuple[int, ...] | None
    ) -> _Target:
        identity = SchemaId(self._schema_type, registration.schema_id, registration.guid)
        identity.message_indexes = None if indexes is None else [*indexes]
        prefix, header = b"", None
        match self._framing:
            case Framing.PREFIX_ID:
                prefix = identity.id_to_bytes()
            case Framing.PREFIX_GUID:
                prefix = identity.guid_to_bytes()
            case Framing.HEADER_GUID:
                header = required_guid(identity.guid)
        return _Target(encode, prefix, header, identity)

    def _check_type(self, schema: Schema, where: str) -> None:
        if schema.schema_type != self._schema_type:
            raise SchemaError(
                f"{where}: the schema has the type {schema.schema_type}, not {self._schema_type}. Use the serde "
                f"for {schema.schema_type}, or pass the Schema with schema_type={self._schema_type!r}."
            )
