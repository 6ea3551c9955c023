"""confluent_kafka's `SchemaRegistryClient` behind our protocol, through its public methods.

That client answers a registration, and a look-up, from what it has read before: `get_schema(id, subject)` and then
`register_schema(subject, …)` sends nothing (2.16, `_SchemaCache.get_id_by_schema`). So its caches are emptied
(`clear_caches`) before each registration and look-up, and after each schema that is read under a subject; the serdes
remember what they found themselves, so that is once per id, or subject.

Nothing here imports confluent_kafka, except to make the `Schema` objects that its client wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Literal, Protocol, TypeVar, cast, runtime_checkable
from uuid import UUID

from srfix.serde.confluent._known import ConfluentSchema, GivenSchema, KnownSchema, schema_from
from srfix.serde.errors import SecretError, SrfixError, UsageError
from srfix.serde.registry._unknown_ids import note_write
from srfix.serde.registry._urls import without_user_info
from srfix.serde.registry.errors import RegistryProtocolError, RegistryUnreachableError, answer_error_class
from srfix.serde.registry.models import SchemaVersion
from srfix.serde.subjects import Role, Subject, context_alone
from srfix.serde.wire import SchemaId

__all__ = ["ConfluentClient", "ConfluentRegistry", "FromConfig"]

_T = TypeVar("_T")


@runtime_checkable
class ConfluentClient(Protocol):
    """confluent_kafka's client, by the names that tell it."""

    def config(self) -> object: ...
    def clear_caches(self) -> None: ...
    def close(self) -> None: ...
    @property
    def get_schema(self) -> Callable[..., object]: ...
    @property
    def get_schema_by_guid(self) -> Callable[..., object]: ...
    @property
    def register_schema_full_response(self) -> Callable[..., object]: ...
    @property
    def lookup_schema(self) -> Callable[..., object]: ...
    @property
    def get_latest_version(self) -> Callable[..., object]: ...
    @property
    def get_latest_with_metadata(self) -> Callable[..., object]: ...
    @property
    def get_version(self) -> Callable[..., object]: ...
    @property
    def get_associations_by_resource_name(self) -> Callable[..., object]: ...


class _Registered(Protocol):
    subject: str | None
    version: int | None
    schema_id: int | None
    guid: str | None
    schema: ConfluentSchema


class ConfluentRegistry:
    """confluent_kafka's client."""

    def __init__(self, client: ConfluentClient) -> None:
        self._client = client
        config = _config(client)
        self._urls = _urls(config)
        self._latest_may_change = config.get("cache.latest.ttl.sec") is not None

    @property
    def latest_may_change(self) -> bool:
        """True if `cache.latest.ttl.sec` is set."""
        return self._latest_may_change

    def by_id(self, schema_id: int, subject: str | None) -> KnownSchema:
        """See `Registry`."""

        def ask() -> KnownSchema:
            context = context_alone(subject)
            found = cast("ConfluentSchema", self._client.get_schema(schema_id, context))
            if context is not None:
                self._client.clear_caches()
            return KnownSchema(schema=schema_from(found), schema_id=schema_id, original=found)

        return self._asked(f"schemas/ids/{schema_id}", ask)

    def by_guid(self, guid: UUID) -> KnownSchema:
        """See `Registry`."""

        def ask() -> KnownSchema:
            found = cast("ConfluentSchema", self._client.get_schema_by_guid(str(guid)))
            return KnownSchema(schema=schema_from(found), guid=guid, original=found)

        return self._asked(f"schemas/guids/{guid}", ask)

    def register(self, subject: str, given: GivenSchema, *, normalize: bool) -> KnownSchema:
        """See `Registry`."""

        def ask() -> KnownSchema:
            schema = _confluent_schema(given)
            self._client.clear_caches()
            try:
                answer = self._client.register_schema_full_response(subject, schema, normalize_schemas=normalize)
            finally:
                note_write()
            return self._known(answer, given)

        return self._asked(f"subjects/{subject}/versions", ask, method="POST")

    def lookup(
        self, subject: str, given: GivenSchema, *, normalize: bool = False, deleted: bool = False
    ) -> KnownSchema:
        """See `Registry`."""

        def ask() -> KnownSchema:
            schema = _confluent_schema(given)
            self._client.clear_caches()
            answer = self._client.lookup_schema(subject, schema, normalize_schemas=normalize, deleted=deleted)
            return self._known(answer, given)

        return self._asked(f"subjects/{subject}", ask, method="POST")

    def latest(self, subject: str) -> KnownSchema:
        """See `Registry`."""
        return self._asked(
            f"subjects/{subject}/versions/latest", lambda: self._known(self._client.get_latest_version(subject), None)
        )

    def latest_with_metadata(self, subject: str, properties: Mapping[str, str]) -> KnownSchema:
        """See `Registry`."""
        return self._asked(
            f"subjects/{subject}/metadata",
            lambda: self._known(self._client.get_latest_with_metadata(subject, dict(properties), deleted=True), None),
        )

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """See `Registry`."""

        def ask() -> SchemaVersion:
            latest = version == "latest"
            answer = (
                self._client.get_latest_version(subject)
                if latest
                else self._client.get_version(subject, version, deleted)
            )
            found = cast("_Registered", answer)
            known = self._known(found, None)
            return SchemaVersion(
                subject=Subject(found.subject or subject),
                version=cast("int", found.version),
                schema_id=SchemaId(cast("int", known.schema_id)),
                schema=known.schema,
                guid=None if known.guid is None else str(known.guid),
            )

        return self._asked(f"subjects/{subject}/versions/{version}", ask)

    def associated(self, topic: str, role: Role, namespace: str) -> tuple[Subject, ...]:
        """See `Registry`."""

        def ask() -> tuple[Subject, ...]:
            try:
                found = self._client.get_associations_by_resource_name(
                    resource_name=topic,
                    resource_namespace=namespace,
                    resource_type="topic",
                    association_types=[role.value],
                    offset=0,
                    limit=-1,
                )
            except Exception as error:
                if getattr(error, "http_status_code", None) == 404:
                    return ()
                raise
            return tuple(Subject(str(getattr(one, "subject", ""))) for one in cast("Sequence[object]", found))

        return self._asked(f"associations/resources/{namespace}/{topic}", ask)

    def _known(self, answer: object, given: GivenSchema | None) -> KnownSchema:
        found = cast("_Registered", answer)
        # An answer to a registration need not repeat the schema.
        complete = getattr(found.schema, "schema_str", None) is not None
        if not complete and given is None:
            raise RegistryProtocolError(
                status=200, content_type="", beginning="", url=self._urls, problem="it has no schema"
            )
        return KnownSchema(
            schema=schema_from(found.schema) if complete or given is None else given.schema,
            schema_id=found.schema_id,
            guid=None if found.guid is None else UUID(found.guid),
            version=found.version,
            original=found.schema if complete or given is None else given.original,
        )

    def _asked(self, path: str, ask: Callable[[], _T], *, method: str = "GET") -> _T:
        """The client's answer, its errors as ours."""
        try:
            return ask()
        except SrfixError:
            raise
        except Exception as error:
            status, code = (getattr(error, name, None) for name in ("http_status_code", "error_code"))
            if isinstance(status, int) and isinstance(code, int):
                words = str(getattr(error, "error_message", ""))
                kind = answer_error_class(status, code)
                raise kind(status, code, words, f"{self._urls}/{path}", method=method) from error
            if type(error).__module__.partition(".")[0].startswith("httpx"):
                raise RegistryUnreachableError(
                    ((self._urls, type(error).__name__),),
                    request=f"{method} {path}",
                    outcome_unknown=True,
                    write=method != "GET",
                ) from error
            raise


class FromConfig:
    """A confluent_kafka client that is made anew, in another process, from its configuration."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self._config = dict(config)

    @classmethod
    def of(cls, client: ConfluentClient) -> FromConfig:
        """What can travel of a client.

        :raises SecretError: if its configuration holds secrets: they would travel in clear.
        :raises UsageError: if it is a mock, whose schemas would stay behind.
        """
        config = _config(client)
        urls = str(config.get("url"))
        if urls.startswith("mock://"):
            raise UsageError("A mock:// registry lives in one process: its serdes cannot be sent to another one.")
        secret = sorted(name for name in config if _SECRET_WORDS & set(name.split(".")))
        if secret or "@" in urls:
            what = ", ".join(secret) or "the URL"
            raise SecretError(
                f"The SchemaRegistryClient's configuration holds secrets ({what}), which would travel in clear. Pass a "
                "srfix.serde.registry.RegistryClient whose password is env:NAME or file:PATH."
            )
        return cls(config)

    def client(self) -> ConfluentClient:
        """A new client."""
        module = import_module("confluent_kafka.schema_registry")
        return cast("ConfluentClient", module.SchemaRegistryClient.new_client(dict(self._config)))


_SECRET_WORDS = {"password", "secret", "token", "info", "custom"}
"""Parts of the client's keys that stand for secrets: basic.auth.user.info, ssl.key.password, bearer.auth.token …"""


def _config(client: ConfluentClient) -> Mapping[str, object]:
    config = client.config()
    return config if isinstance(config, Mapping) else {}


def _urls(config: Mapping[str, object]) -> str:
    urls = config.get("url") or "the confluent_kafka client"
    return ",".join(
        without_user_info(url) for url in (urls.split(",") if isinstance(urls, str) else map(str, _listed(urls)))
    )


def _listed(urls: object) -> Sequence[object]:
    return urls if isinstance(urls, list | tuple) else (urls,)


def _confluent_schema(given: GivenSchema) -> object:
    """The schema as confluent_kafka's own: its client keeps them as keys."""
    if given.original is not None:
        return given.original
    module = import_module("confluent_kafka.schema_registry")
    references = [
        module.SchemaReference(name=part.name, subject=part.subject, version=part.version)
        for part in given.schema.references
    ]
    return module.Schema(given.schema.text, given.schema.schema_type, references)
