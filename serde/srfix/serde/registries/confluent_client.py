"""Adapts confluent_kafka's `SchemaRegistryClient` to srfix's protocol through its public methods, and converts its
`Schema`.

That client answers a registration or a look-up from its cache: `register_schema(subject, …)` after `get_schema(id,
subject)` sends nothing (2.16, `_SchemaCache.get_id_by_schema`). So this adapter empties its caches (`clear_caches`)
before each registration and look-up, and after each read of a schema under a subject. The serdes have their own caches,
so this happens only once per id or subject.

Its cache also does not know formats: confluent_kafka's Protobuf serdes ask for descriptors (`serialized`), srfix for
texts, and each would get the other's. So the adapter also empties the caches after it used a Protobuf schema, and asks
again for a descriptor. Only with `cache.latest.ttl.sec`, a latest version stays, because srfix asks for every record.

Nothing here imports confluent_kafka, except to make the `Schema` objects that its client wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, runtime_checkable

from srfix.serde.errors import SchemaError, SecretError, SrfixError, UsageError
from srfix.serde.registry.http.urls import without_user_info
from srfix.serde.registry.unknown_ids import note_write
from srfix.serde.schemas.errors import RegistryProtocolError, RegistryUnreachableError, answer_error_class
from srfix.serde.schemas.models import Json, RegisteredSchema, Registration, Schema, SchemaReference, SchemaVersion
from srfix.serde.subjects.names import Role, Subject, context_alone
from srfix.serde.wire import SchemaId


@runtime_checkable
class ConfluentSchema(Protocol):
    """The part of confluent_kafka's `Schema` that srfix reads."""

    @property
    def schema_str(self) -> str | None: ...
    @property
    def schema_type(self) -> str | None: ...
    @property
    def references(self) -> object: ...
    @property
    def metadata(self) -> object: ...
    @property
    def rule_set(self) -> object: ...


_PROTOBUF: Final = "PROTOBUF"
_PROTO_MARKS: Final = frozenset("{;")
"""Characters of which .proto text has at least one, and the base64 of a descriptor none."""
AnySchema: TypeAlias = "str | Schema | ConfluentSchema | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirSchema(Schema):
    """A schema that came as a confluent_kafka object. Its client gets the same object back, with rules and metadata."""

    original: ConfluentSchema = field(compare=False)


def given_schema(value: AnySchema, schema_type: str, prepare: Callable[[str], str]) -> Schema | None:
    """The schema that was passed to a constructor; None for None. `prepare` changes a plain text before it is sent."""
    if isinstance(value, Schema | None):
        return value
    if isinstance(value, str):
        return Schema(text=prepare(value), schema_type=schema_type)
    if isinstance(value, ConfluentSchema):
        return schema_from(value)
    raise UsageError(
        f"schema_str is of the type {type(value).__name__}; it must be a text, a Schema of confluent_kafka or of "
        "srfix.serde, or None."
    )


def schema_from(value: ConfluentSchema) -> TheirSchema:
    if value.schema_str is None:
        raise SchemaError("The Schema has no schema_str. Give it the schema's text.")
    return TheirSchema(
        text=value.schema_str,
        schema_type=value.schema_type or "AVRO",
        references=tuple(_reference(part) for part in cast("Sequence[object]", value.references or ())),
        rule_set=_plain(value.rule_set),
        original=value,
    )


def metadata_of(schema: Schema) -> Mapping[str, Json] | None:
    """The metadata with which to register a schema, in the REST interface's form; None if there is none."""
    return _plain(schema.original.metadata) if isinstance(schema, TheirSchema) else None


def _reference(part: object) -> SchemaReference:
    name, subject, version = (getattr(part, key, None) for key in ("name", "subject", "version"))
    if not isinstance(name, str) or not isinstance(subject, str) or not isinstance(version, int):
        raise SchemaError(
            f"A reference needs name, subject and version; this one has {name!r}, {subject!r}, {version!r}."
        )
    return SchemaReference(name=name, subject=subject, version=version)


def _plain(value: object) -> Mapping[str, Json] | None:
    if value is None or isinstance(value, Mapping):
        return value
    return cast("Callable[[], dict[str, Json]]", value.to_dict)()  # type: ignore[attr-defined]


def confluent_schema(schema: Schema) -> object:
    if isinstance(schema, TheirSchema):
        return schema.original
    module = import_module("confluent_kafka.schema_registry")
    references = [
        module.SchemaReference(name=part.name, subject=part.subject, version=part.version) for part in schema.references
    ]
    return module.Schema(schema.text, schema.schema_type, references)


@runtime_checkable
class ConfluentClient(Protocol):
    """The methods by which srfix recognises confluent_kafka's client."""

    def config(self) -> object: ...
    def clear_caches(self) -> None: ...
    def close(self) -> None: ...
    def get_schema(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_schema_by_guid(self, *args: Any, **kwargs: Any) -> Any: ...
    def register_schema_full_response(self, *args: Any, **kwargs: Any) -> Any: ...
    def lookup_schema(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_latest_version(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_latest_with_metadata(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_version(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_versions(self, *args: Any, **kwargs: Any) -> Any: ...
    def get_associations_by_resource_name(self, *args: Any, **kwargs: Any) -> Any: ...


class ConfluentRegistry:
    def __init__(self, client: ConfluentClient) -> None:
        self._client = client
        config = _config(client)
        self._urls = _urls(config)
        self.latest_may_change: Final[bool] = config.get("cache.latest.ttl.sec") is not None
        """True if the client decides how long a latest version is valid: then it is asked for every record."""

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        with self._asking(f"schemas/ids/{schema_id}"):
            context = context_alone(subject)
            schema = self._text(partial(self._client.get_schema, schema_id, context))
            if context is not None:
                self._client.clear_caches()
            return RegisteredSchema(schema_id=SchemaId(schema_id), schema=schema_from(schema))

    def schema_by_guid(self, guid: str) -> Schema:
        with self._asking(f"schemas/guids/{guid}"):
            return schema_from(self._text(partial(self._client.get_schema_by_guid, guid)))

    def register_version(
        self, subject: str, schema: Schema, *, metadata: object = None, normalize: bool = False
    ) -> Registration:
        """See `SchemaPublisher`. The metadata is in the original schema object."""
        with self._asking(f"subjects/{subject}/versions", "POST"):
            theirs = confluent_schema(schema)
            self._client.clear_caches()
            try:
                answer = self._client.register_schema_full_response(subject, theirs, normalize_schemas=normalize)
            finally:
                note_write()
            self._keep_out(schema.schema_type)
            return Registration(schema_id=answer.schema_id, version=answer.version, guid=answer.guid)

    def register(self, subject: str, schema: Schema) -> SchemaId:
        return SchemaId(self.register_version(subject, schema).schema_id)

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """A subject's version numbers; a Spark plan needs them."""
        with self._asking(f"subjects/{subject}/versions"):
            listed = self._client.get_versions(subject, deleted=True) if deleted else self._client.get_versions(subject)
            return tuple(listed)

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False) -> SchemaVersion:
        with self._asking(f"subjects/{subject}", "POST"):
            theirs = confluent_schema(schema)
            self._client.clear_caches()
            answer = self._client.lookup_schema(subject, theirs, normalize_schemas=normalize, deleted=deleted)
            self._keep_out(schema.schema_type)
            return self._version(subject, answer, schema)

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        with self._asking(f"subjects/{subject}/versions/{version}"):
            if version == "latest":
                return self._version(
                    subject, self._text(partial(self._client.get_latest_version, subject), latest=True)
                )
            return self._version(subject, self._text(partial(self._client.get_version, subject, version, deleted)))

    def latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = False
    ) -> SchemaVersion:
        with self._asking(f"subjects/{subject}/metadata"):
            ask = partial(self._client.get_latest_with_metadata, subject, dict(properties), deleted=deleted)
            return self._version(subject, self._text(ask, latest=True))

    def associated_subjects(self, topic: str, role: Role, *, namespace: str = "-") -> tuple[Subject, ...]:
        with self._asking(f"associations/resources/{namespace}/{topic}"):
            associations = self._client.get_associations_by_resource_name(
                resource_name=topic,
                resource_namespace=namespace,
                resource_type="topic",
                association_types=[role.value],
                offset=0,
                limit=-1,
            )
            return tuple(Subject(str(getattr(one, "subject", ""))) for one in associations)

    def close(self) -> None:
        self._client.close()

    def __reduce__(self) -> tuple[object, ...]:
        return FromConfig.registry, (FromConfig.of(self._client),)

    def _text(self, ask: Callable[[], Any], *, latest: bool = False) -> Any:
        """A Schema or a version, in which a Protobuf schema is a text if the registry has it so."""
        answer = ask()
        schema: ConfluentSchema = getattr(answer, "schema", answer)
        if schema.schema_type == _PROTOBUF and not _PROTO_MARKS & {*(schema.schema_str or "")}:
            self._client.clear_caches()
            answer = ask()
        if not (latest and self.latest_may_change):
            self._keep_out(schema.schema_type)
        return answer

    def _keep_out(self, schema_type: str | None) -> None:
        if schema_type == _PROTOBUF:
            self._client.clear_caches()

    def _version(self, subject: str, answer: Any, lookup_schema: Schema | None = None) -> SchemaVersion:
        """Converts an answer. The answer to a look-up need not repeat the schema."""
        schema = lookup_schema if getattr(answer.schema, "schema_str", None) is None else schema_from(answer.schema)
        if schema is None:
            raise RegistryProtocolError(
                status=200, content_type="", beginning="", url=self._urls, problem="it has no schema"
            )
        return SchemaVersion(
            subject=Subject(answer.subject or subject),
            version=answer.version,
            schema_id=answer.schema_id,
            schema=schema,
            guid=answer.guid,
        )

    @contextmanager
    def _asking(self, path: str, method: str = "GET") -> Iterator[None]:
        try:
            yield
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


@dataclass(frozen=True, slots=True)
class FromConfig:
    """A confluent_kafka client that another process makes again from its configuration."""

    config: Mapping[str, object] = field(repr=False)
    """The configuration, without secrets."""

    @classmethod
    def of(cls, client: ConfluentClient) -> FromConfig:
        return cls.of_config(_config(client))

    @classmethod
    def of_config(cls, config: Mapping[str, object]) -> FromConfig:
        """The picklable form of a configuration. References to secrets (`env:NAME`, `file:PATH`) are allowed."""
        urls = str(config.get("url"))
        if urls.startswith("mock://"):
            raise UsageError("A mock:// registry lives in one process: its serdes cannot be sent to another one.")
        secret = sorted(
            name
            for name, value in config.items()
            if _SECRET_WORDS & set(name.split(".")) and not str(value).startswith(("env:", "file:"))
        )
        if secret or "@" in urls:
            what = ", ".join(secret) or "the URL"
            raise SecretError(
                f"The SchemaRegistryClient's configuration holds secrets ({what}), which would be sent to other "
                "processes unencrypted. Pass a srfix.serde.RegistryClient whose password is env:NAME or file:PATH."
            )
        return cls(dict(config))

    def client(self) -> ConfluentClient:
        module = import_module("confluent_kafka.schema_registry")
        return cast("ConfluentClient", module.SchemaRegistryClient.new_client(dict(self.config)))

    def registry(self) -> ConfluentRegistry:
        return ConfluentRegistry(self.client())


_SECRET_WORDS: Final = {"password", "secret", "token", "info", "custom"}
"""Parts of the client's key names that mark secrets: basic.auth.user.info, ssl.key.password, bearer.auth.token …"""


def _config(client: ConfluentClient) -> Mapping[str, object]:
    config = client.config()
    return config if isinstance(config, Mapping) else {}


def _urls(config: Mapping[str, object]) -> str:
    urls = config.get("url") or "the confluent_kafka client"
    parts = urls.split(",") if isinstance(urls, str) else map(str, urls if isinstance(urls, list | tuple) else (urls,))
    return ",".join(map(without_user_info, parts))
