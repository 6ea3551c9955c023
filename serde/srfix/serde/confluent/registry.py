"""What the constructors take as `schema_registry_client`.

| what is passed | |
|---|---|
| `srfix.serde.registry.RegistryClient`, or anything with its methods | as it is |
| a URL, or several with commas between | a `RegistryClient` of our own |
| confluent_kafka's `SchemaRegistryClient` | through its public methods (`confluent_client`) |
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias, cast

from srfix.serde.confluent.confluent_client import ConfluentClient, ConfluentRegistry, FromConfig, metadata_of
from srfix.serde.errors import UsageError
from srfix.serde.interface import SchemaLookup, SchemaPublisher, SchemaRegistrar
from srfix.serde.registry import Registration, RegistryClient, Schema

AnyClient: TypeAlias = "SchemaLookup | ConfluentClient | str"
"""What the constructors take as `schema_registry_client`."""
Registry: TypeAlias = "RegistryClient | ConfluentRegistry"
"""A registry as the serdes ask it. A stand-in for `RegistryClient` needs the methods that its serde calls, no other."""


def registry_of(client: AnyClient | None) -> tuple[Registry, Callable[[], None]]:
    """The registry that a client stands for, and what closes a client that was made for it.

    :raises UsageError: if it is no client that can be used.
    """
    if isinstance(client, str):
        own = RegistryClient(client)
        return own, own.close
    if isinstance(client, FromConfig):
        made = client.client()
        return ConfluentRegistry(made), made.close
    if inspect.iscoroutinefunction(getattr(client, "get_schema", None)):
        raise UsageError(
            f"{type(client).__name__} is asynchronous, and these serdes are not: pass a SchemaRegistryClient or a "
            "srfix.serde.registry.RegistryClient."
        )
    if hasattr(client, "schema_by_id"):
        return cast("RegistryClient", client), _nothing
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


def register(registry: Registry, subject: str, schema: Schema, *, normalize: bool) -> Registration:
    """Registers: always sent, whatever was read before. A registry that knows `register` alone gives the id alone."""
    if isinstance(registry, SchemaPublisher):
        return registry.register_version(subject, schema, metadata=metadata_of(schema), normalize=normalize)
    schema_id = cast("SchemaRegistrar", registry).register(subject, schema)
    return Registration(schema_id=schema_id, version=None, guid=None)
