"""What both serializers share: object → payload, under the schema that the configuration asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from srfix.serde._locating import written_to
from srfix.serde.confluent._config import Kind, Settings, check_callable
from srfix.serde.confluent._framing import SchemaId, SerializeId, add_header, required_guid, serializer_of
from srfix.serde.confluent._known import GivenSchema, KnownSchema
from srfix.serde.confluent._references import References, references_of
from srfix.serde.confluent._registry import AnyClient, Registry, portable, registry_of
from srfix.serde.confluent._rules import Direction, check_rules
from srfix.serde.confluent._strategies import strategy_of
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError, SchemaError, SubjectVersionError, UsageError
from srfix.serde.forking import ForkLock
from srfix.serde.interface import Context
from srfix.serde.registry.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.registry.models import Schema
from srfix.serde.wire import Framing

__all__ = ["CompileEncoder", "ConfluentSerializer", "ToDict"]

ToDict: TypeAlias = "Callable[[object, Context], object]"
CompileEncoder: TypeAlias = "Callable[[str, References], tuple[Encode, str | None]]"
"""Schema text and what it refers to → its encoder, and its record name."""


@dataclass(frozen=True, slots=True)
class _Target:
    """What the records of a subject are written under."""

    encode: Encode
    prefix: bytes
    """Written before the body."""
    header: UUID | None
    """Put into the record's headers."""
    identity: SchemaId


class ConfluentSerializer:
    """The part that is the same for each format."""

    _remake: Callable[[AnyClient], ConfluentSerializer]

    def _start(
        self,
        kind: Kind,
        schema_type: str,
        client: AnyClient,
        given: GivenSchema | None,
        settings: Settings,
        to_dict: ToDict | None,
        compile_: CompileEncoder,
    ) -> None:
        check_callable("to_dict", to_dict, "(object, context) -> dict")
        self._framing: Framing | SerializeId = serializer_of(settings.id_serializer)
        self._client = client
        self._registry, self._close = registry_of(client)
        self._schema_type = schema_type
        self._given = given
        self._settings = settings
        self._to_dict = to_dict
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
        self._asks_latest = bool(settings.schema_id or settings.metadata is not None or settings.latest)
        self._own: tuple[Encode, str | None] | None = None
        if given is not None:
            _check_type(given.schema, schema_type, kind.value)
            check_rules(given.schema.rule_set, Direction.WRITE, where="The schema that was passed")
            self._own = self._compiled(given.schema, None)
        elif not self._asks_latest:
            raise UsageError(
                f"{kind.value} needs schema_str, a schema to write under; or use.latest.version, use.latest.with.metadata or "
                "use.schema.id in its configuration, by which the registry has it."
            )
        self._is_stable = self._strategy.is_stable and not (self._asks_latest and self._registry.latest_may_change)
        self._targets: dict[tuple[str, str], _Target] = {}
        self._by_subject: dict[str, _Target] = {}
        self._by_version: dict[tuple[str, KnownSchema], _Target] = {}
        self._lock = ForkLock()

    def __call__(self, obj: object, ctx: Context | None = None) -> bytes | None:
        """The payload; None for None (a tombstone), without asking the registry.

        With header framing the schema's GUID is added to the context's headers.

        :raises EncodeError: if the value does not fit its schema; nothing is registered for one that does not.
        :raises RegistryError: if the registry could not be asked, or did not take the schema.
        :raises ResolveError: if it does not have what the configuration asks for.
        :raises SchemaError: if what it has is not of the serializer's type.
        :raises UsageError: if the context is missing where it is needed, or the schema carries rules.
        """
        if obj is None:
            return None
        value = obj
        if self._to_dict is not None:
            if ctx is None:
                raise UsageError("to_dict is called with a context, and there is none. Pass a SerializationContext.")
            value = self._to_dict(obj, ctx)
        target = None if ctx is None else self._targets.get((ctx.topic, ctx.field))
        try:
            if target is None:
                target = self._target(value, ctx)
            payload = target.encode(value, target.prefix)
            if target.header is not None:
                add_header(ctx, target.header)
        except EncodeError as error:
            raise written_to(error, ctx) from error
        if callable(self._framing):
            return self._framing(payload, ctx, target.identity)
        return payload

    def close(self) -> None:
        """Closes the connections of a client that was made for this serde, from a URL; one that was passed is its owner's."""
        self._close()

    def set_cluster_id_resolver(self, resolver: Callable[[], str | None]) -> None:
        """What tells the Kafka cluster's id to the strategy ASSOCIATED; confluent_kafka's producers call this."""
        self._cluster_id = resolver

    def _target(self, value: object, ctx: Context | None) -> _Target:
        record_name = None if self._own is None else self._own[1]
        subject = self._strategy(ctx, record_name)
        if subject is None:
            raise UsageError(
                "The subject name strategy has no subject for this schema: it has no record name"
                f"{'' if self._own else ', since none was passed'}. Pass a schema of a named record (JSON: with a title), or "
                "use subject.name.strategy.type TOPIC."
            )
        target = self._latest(subject) if self._asks_latest else self._registered(subject, value)
        if self._is_stable and ctx is not None:
            self._targets[ctx.topic, ctx.field] = target
        return target

    def _registered(self, subject: str, value: object) -> _Target:
        assert self._own is not None
        assert self._given is not None
        target = self._by_subject.get(subject)
        if target is not None:
            return target
        encode = self._own[0]
        encode(value, b"")
        with self._lock:
            if subject not in self._by_subject:
                normalize = self._settings.normalize
                if self._settings.auto_register:
                    if self._given.schema.rule_set:
                        raise UsageError(
                            "The schema that was passed carries a rule set, which is not registered from here. Register it "
                            "with confluent_kafka's client, and set auto.register.schemas to False."
                        )
                    known = self._registry.register(subject, self._given, normalize=normalize)
                else:
                    known = self._registry.lookup(subject, self._given, normalize=normalize)
                self._by_subject[subject] = self._made(encode, known, known.schema_id)
        return self._by_subject[subject]

    def _latest(self, subject: str) -> _Target:
        if not self._registry.latest_may_change and subject in self._by_subject:
            return self._by_subject[subject]
        with self._lock:
            known = self._version(subject)
            key = (subject, known)
            if key not in self._by_version:
                where = f"The schema of subject {subject!r} (id {known.schema_id})"
                _check_type(known.schema, self._schema_type, where)
                check_rules(known.schema.rule_set, Direction.WRITE, where=where)
                encode, _ = self._compiled(known.schema, subject)
                self._by_version[key] = self._made(encode, known, known.schema_id)
            self._by_subject[subject] = self._by_version[key]
            return self._by_version[key]

    def _version(self, subject: str) -> KnownSchema:
        schema_id = self._settings.schema_id
        if schema_id is None:
            return latest_of(self._registry, self._settings, subject)
        known = self._registry.by_id(schema_id, subject)
        try:
            found = self._registry.lookup(subject, known.given, deleted=True)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise SubjectVersionError(
                f"use.schema.id is {schema_id}, but subject {subject!r} does not hold its schema (error code "
                f"{error.error_code}). Register the schema under that subject, or name an id that it holds.",
                schema_id=schema_id,
                subject=subject,
                error_code=error.error_code,
            ) from error
        return KnownSchema(
            schema=known.schema, schema_id=schema_id, guid=found.guid, version=found.version, original=known.original
        )

    def _compiled(self, schema: Schema, subject: str | None) -> tuple[Encode, str | None]:
        return self._compile(schema.text, references_of(self._registry, schema, subject))

    def _made(self, encode: Encode, known: KnownSchema, schema_id: int | None) -> _Target:
        identity = SchemaId(self._schema_type, schema_id, known.guid)
        prefix, header = b"", None
        match self._framing:
            case Framing.PREFIX_ID:
                prefix = identity.id_to_bytes()
            case Framing.PREFIX_GUID:
                prefix = identity.guid_to_bytes()
            case Framing.HEADER_GUID:
                header = required_guid(known.guid)
        return _Target(encode, prefix, header, identity)

    def __reduce__(self) -> tuple[object, ...]:
        return self._remake, (portable(self._client),)


def latest_of(registry: Registry, settings: Settings, subject: str) -> KnownSchema:
    """The version that `use.latest.with.metadata`, else `use.latest.version`, means."""
    if settings.metadata is not None:
        return registry.latest_with_metadata(subject, settings.metadata)
    return registry.latest(subject)


def _check_type(schema: Schema, schema_type: str, where: str) -> None:
    if schema.schema_type != schema_type:
        raise SchemaError(
            f"{where}: the schema is of the type {schema.schema_type}, not {schema_type}. Use the serde of that format, or "
            f"pass the Schema with schema_type={schema_type!r}."
        )
