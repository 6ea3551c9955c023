"""Accepts a registry in every form that srfix allows.

| argument | registry that is asked |
|---|---|
| `srfix.serde.RegistryClient`, or any object with its methods | this object |
| a URL, or several separated by commas | a new `RegistryClient` |
| the configuration of confluent_kafka's client, a dict with `url` | a new `RegistryClient`, or their client (see below) |
| confluent_kafka's `SchemaRegistryClient` | this client, through its public methods (`confluent_client`) |

For a configuration that only confluent_kafka's client supports (OAuth, `mock://`, `cache.latest.ttl.sec`), srfix makes
confluent_kafka's client. A repair always uses a `RegistryClient` made from the configuration, because confluent_kafka's
client may answer a registration from its cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeAlias, cast

from srfix.serde.closing import close_nothing
from srfix.serde.errors import UsageError
from srfix.serde.interface import SchemaLookup, SchemaPublisher, SchemaRegistrar, SchemaSource
from srfix.serde.properties.registry import open_registry, registry_settings
from srfix.serde.registries.confluent_client import ConfluentClient, ConfluentRegistry, FromConfig, metadata_of
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.models import Registration, Schema

AnyClient: TypeAlias = "SchemaSource | SchemaLookup | SchemaRegistrar | ConfluentClient | Mapping[str, Any] | str"
"""The type of every argument for a registry."""
Registry: TypeAlias = "RegistryClient | ConfluentRegistry"
"""A registry in the form that the serdes use. A replacement for `RegistryClient` needs only the methods that its serde
calls."""
GivenRegistry: TypeAlias = "tuple[Registry, Callable[[], None]]"
"""The registry, and a function that closes a client that was made for it."""
_FORMS: Final = (
    "a srfix.serde.RegistryClient, a confluent_kafka SchemaRegistryClient, that client's configuration (a dict with url), "
    "or a URL"
)
_METHODS: Final = ("schema_by_id", "register", "lookup", "register_version")
_UNUSED: Final = {"cache.capacity"}
"""Keys of confluent_kafka's client that make no difference for srfix's client."""
_THEIRS_ALONE: Final = {"cache.latest.ttl.sec"}


def given_registry(client: AnyClient | None, name: str = "registry") -> GivenRegistry:
    """The registry for an argument, whose `name` is for errors; and what closes a client that was made for it."""
    if isinstance(client, str):
        registry = RegistryClient(client)
        return registry, registry.close
    if isinstance(client, FromConfig):
        made = client.registry()
        return made, made.close
    if isinstance(client, Mapping):
        return _of_config(client, name)
    if inspect.isclass(client):
        raise UsageError(
            f"{name} is the class {client.__name__}; pass an instance of it, such as {client.__name__}(…)."
        )
    if inspect.iscoroutinefunction(getattr(client, "get_schema", None)):
        raise UsageError(
            f"{type(client).__name__} is asynchronous, but these serdes are not: pass a SchemaRegistryClient or a "
            "srfix.serde.RegistryClient, or use the serdes whose names begin with Async (srfix.serde.confluent)."
        )
    if any(callable(getattr(client, method, None)) for method in _METHODS) and not isinstance(client, ConfluentClient):
        return cast("RegistryClient", client), close_nothing
    if isinstance(client, ConfluentClient):
        return ConfluentRegistry(client), close_nothing
    what = "None" if client is None else f"of the type {type(client).__name__}"
    raise UsageError(f"{name} is {what}; it must be {_FORMS}.")


def is_registry(value: object) -> bool:
    """True if it looks like a registry: a client, a configuration with a `url`, or a text that begins like a URL."""
    if isinstance(value, str):
        return value.lstrip().startswith(("http://", "https://"))
    if isinstance(value, Mapping):
        return "url" in value or "schema.registry.url" in value
    if inspect.isclass(value):
        return False
    return isinstance(value, ConfluentClient) or any(
        callable(getattr(value, method, None)) for method in (*_METHODS, "get_schema")
    )


def whole_registry(registry: object) -> object:
    """A registry for a diagnosis and a repair, which need all its methods: never confluent_kafka's client itself."""
    if isinstance(registry, ConfluentClient):
        config = registry.config()
        registry = config if isinstance(config, Mapping) else {}
        if not registry.get("url"):
            raise UsageError(
                "registry is a client of confluent_kafka without a configuration. Pass the registry's URL."
            )
    if isinstance(registry, Mapping):
        return _own_client(registry, "registry")
    return given_registry(cast("AnyClient", registry))[0]


def _of_config(config: Mapping[str, Any], name: str) -> GivenRegistry:
    if _only_theirs(config):
        made = ConfluentRegistry(_theirs(config, name))
        return made, made.close
    registry = _own_client(config, name)
    return registry, registry.close


def _only_theirs(config: Mapping[str, Any]) -> bool:
    source = str(config.get("bearer.auth.credentials.source", "STATIC_TOKEN"))
    return (
        str(config.get("url", "")).startswith("mock://")
        or source != "STATIC_TOKEN"
        or any(config.get(key) is not None for key in _THEIRS_ALONE)
    )


def _theirs(config: Mapping[str, Any], name: str) -> ConfluentClient:
    module = import_module("confluent_kafka.schema_registry")
    try:
        return cast("ConfluentClient", module.SchemaRegistryClient.new_client(dict(config)))
    except (ValueError, TypeError) as error:
        # confluent_kafka's errors name keys, but may also quote a bad URL, so the error is not shown in full.
        raise UsageError(
            f"{name} is a configuration that confluent_kafka's client does not accept ({type(error).__name__}). Its "
            f"keys are {', '.join(sorted(map(str, config)))}; look for one that is misspelt, or that needs another key."
        ) from None


def _own_client(config: Mapping[str, Any], name: str) -> RegistryClient:
    """A client of srfix from confluent_kafka's keys, or from srfix's (`srfix.serde.properties`)."""
    properties: dict[str, str] = {}
    for key, value in config.items():
        if value is None or key in _UNUSED or key in _THEIRS_ALONE:
            continue
        if not isinstance(key, str):
            raise UsageError(
                f"{name} has a key of the type {type(key).__name__}; the keys of a configuration are texts."
            )
        if key == "url" and isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            properties[key] = ",".join(value)
        elif key == "timeout" and isinstance(value, int | float) and not isinstance(value, bool):
            milliseconds = str(round(value * 1000))
            properties |= {"http.connect.timeout.ms": milliseconds, "http.read.timeout.ms": milliseconds}
        elif isinstance(value, str | int) and not isinstance(value, bool):
            properties[key] = str(value)
        else:
            raise UsageError(
                f"{name}: {key} is of the type {type(value).__name__}; it must be a text or a whole number."
            )
    try:
        settings = registry_settings(properties)
        # Without a URL, the client's own error says what is missing.
        return open_registry(settings, settings.urls or "", kafka={})
    except UsageError as error:
        error.args = (f"{name}: {error.message}",)
        raise


def portable(client: AnyClient | None) -> object:
    """The client, or an object that makes it again in another process."""
    if isinstance(client, ConfluentClient) and not hasattr(client, "schema_by_id"):
        return FromConfig.of(client)
    if isinstance(client, Mapping):
        return dict(FromConfig.of_config(client).config)
    return client


def register(registry: Registry, subject: str, schema: Schema, *, normalize: bool) -> Registration:
    """Sends the request in any case. A registry with only `register` returns only the id."""
    if isinstance(registry, SchemaPublisher):
        return registry.register_version(subject, schema, metadata=metadata_of(schema), normalize=normalize)
    schema_id = cast("SchemaRegistrar", registry).register(subject, schema)
    return Registration(schema_id=schema_id, version=None, guid=None)
