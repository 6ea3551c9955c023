"""What the serdes ask a registry, whoever's client it is.

| what is passed | |
|---|---|
| `srfix.serde.registry.RegistryClient`, or anything with its methods | as it is |
| a URL, or several with commas between | a `RegistryClient` of our own |
| confluent_kafka's `SchemaRegistryClient` | through its public methods (`_confluent_client`) |
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast, runtime_checkable
from uuid import UUID

from srfix.serde.confluent._confluent_client import ConfluentClient, ConfluentRegistry, FromConfig
from srfix.serde.confluent._known import GivenSchema, KnownSchema
from srfix.serde.errors import RegistryError, UsageError
from srfix.serde.interface import SchemaLookup
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import EndpointNotSupportedError, RegistryAnswerError
from srfix.serde.registry.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.subjects import Role, Subject
from srfix.serde.wire import SchemaId

__all__ = ["AnyClient", "Registry", "portable", "registry_of"]

AnyClient: TypeAlias = "SchemaLookup | ConfluentClient | str"
"""What the constructors take as `schema_registry_client`."""


class Registry(Protocol):
    """A registry as the serdes ask it; every method raises `RegistryError`."""

    @property
    def latest_may_change(self) -> bool:
        """True if `latest` is to be asked for every record: the client decides how long its answer holds."""

    def by_id(self, schema_id: int, subject: str | None) -> KnownSchema:
        """The schema behind an id; the subject picks the context."""

    def by_guid(self, guid: UUID) -> KnownSchema:
        """The schema behind a GUID."""

    def register(self, subject: str, given: GivenSchema, *, normalize: bool) -> KnownSchema:
        """Registers: always sent, whatever was read before."""

    def lookup(
        self, subject: str, given: GivenSchema, *, normalize: bool = False, deleted: bool = False
    ) -> KnownSchema:
        """The version of the subject that holds this content."""

    def latest(self, subject: str) -> KnownSchema:
        """The subject's latest version."""

    def latest_with_metadata(self, subject: str, properties: Mapping[str, str]) -> KnownSchema:
        """The subject's highest version with these metadata properties, soft-deleted ones included."""

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """A version of a subject."""

    def associated(self, topic: str, role: Role, namespace: str) -> tuple[Subject, ...]:
        """The subjects that are associated with a topic; none where the registry answers 404."""


def registry_of(client: AnyClient) -> tuple[Registry, Callable[[], None]]:
    """The registry that a client stands for, and what closes a client that was made for it.

    :raises UsageError: if it is no client that can be used.
    """
    if isinstance(client, str):
        own = RegistryClient(client)
        return OursRegistry(own), own.close
    if isinstance(client, FromConfig):
        made = client.client()
        return ConfluentRegistry(made), made.close
    if inspect.iscoroutinefunction(getattr(client, "get_schema", None)):
        raise UsageError(
            f"{type(client).__name__} is asynchronous, and these serdes are not: pass a SchemaRegistryClient or a "
            "srfix.serde.registry.RegistryClient."
        )
    if hasattr(client, "schema_by_id"):
        return OursRegistry(cast("SchemaLookup", client)), _nothing
    if isinstance(client, ConfluentClient):
        return ConfluentRegistry(client), _nothing
    raise UsageError(
        f"schema_registry_client is of the type {type(client).__name__}; it must be a srfix.serde.registry.RegistryClient, "
        "a confluent_kafka SchemaRegistryClient, or a URL."
    )


def _nothing() -> None:
    """A client that was passed is its owner's."""


def portable(client: AnyClient | None) -> object:
    """The client, or what stands for it in another process.

    :raises SecretError: if it is confluent_kafka's and holds secrets.
    """
    if isinstance(client, str | None) or hasattr(client, "schema_by_id") or isinstance(client, FromConfig):
        return client
    return FromConfig.of(client)


@runtime_checkable
class _RegistersVersions(Protocol):
    register_version: object


@dataclass(frozen=True, slots=True)
class OursRegistry:
    """Our own client."""

    client: SchemaLookup
    """The client."""

    @property
    def latest_may_change(self) -> bool:
        """False: a latest version is kept as confluent_kafka's client keeps it unless told otherwise."""
        return False

    def by_id(self, schema_id: int, subject: str | None) -> KnownSchema:
        """See `Registry`."""
        found: RegisteredSchema = self.client.schema_by_id(schema_id, subject=subject)
        return KnownSchema(schema=found.schema, schema_id=schema_id)

    def by_guid(self, guid: UUID) -> KnownSchema:
        """See `Registry`."""
        ask = getattr(self.client, "schema_by_guid", None)
        if ask is None:
            raise RegistryError(f"{type(self.client).__name__} does not resolve GUIDs; the payload carries {guid}.")
        return KnownSchema(schema=cast("Schema", ask(str(guid))), guid=guid)

    def register(self, subject: str, given: GivenSchema, *, normalize: bool) -> KnownSchema:
        """See `Registry`."""
        if not isinstance(self.client, _RegistersVersions):  # a stand-in that knows `register` only
            plain = cast("SchemaId", self.client.register(subject, given.schema))  # type: ignore[attr-defined]
            return KnownSchema(schema=given.schema, schema_id=plain)
        client = cast("RegistryClient", self.client)
        answer = client.register_version(subject, given.schema, metadata=given.metadata, normalize=normalize)
        guid = None if answer.guid is None else UUID(answer.guid)
        return KnownSchema(schema=given.schema, schema_id=answer.schema_id, guid=guid, version=answer.version)

    def lookup(
        self, subject: str, given: GivenSchema, *, normalize: bool = False, deleted: bool = False
    ) -> KnownSchema:
        """See `Registry`."""
        client = cast("RegistryClient", self.client)
        more = {"normalize": True} if normalize else {}
        return KnownSchema.of(client.lookup(subject, given.schema, deleted=deleted, **more))

    def latest(self, subject: str) -> KnownSchema:
        """See `Registry`."""
        return KnownSchema.of(self.client.version(subject, "latest"))

    def latest_with_metadata(self, subject: str, properties: Mapping[str, str]) -> KnownSchema:
        """See `Registry`."""
        client = cast("RegistryClient", self.client)
        return KnownSchema.of(client.latest_with_metadata(subject, properties, deleted=True))

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """See `Registry`."""
        return self.client.version(subject, version, deleted=deleted)

    def associated(self, topic: str, role: Role, namespace: str) -> tuple[Subject, ...]:
        """See `Registry`."""
        client = cast("RegistryClient", self.client)
        try:
            return client.associated_subjects(topic, role, namespace=namespace)
        except EndpointNotSupportedError:
            return ()
        except RegistryAnswerError as error:
            if error.status == 404:
                return ()
            raise
