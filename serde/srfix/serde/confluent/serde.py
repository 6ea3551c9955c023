"""The part that serializers and deserializers share: client, configuration, subject, parsed schemas, and errors.

Each error is srfix's and also confluent-kafka's, so existing handlers still catch it:

| srfix | confluent_kafka |
|---|---|
| `RegistryAnswerError` | `SchemaRegistryError`, with `http_status_code`, `error_code`, `error_message` |
| `ResolveError` with such an error as its cause, e.g. for an unknown id | the same, and also `SerializationError` |
| a missing context that `to_dict` or `from_dict` needs | `TypeError` |
| any other error of a call, unless the registry does not answer | `SerializationError` |

An error gets confluent-kafka's class when it leaves a call; it keeps its own class, message and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias, cast

from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import SerializationError

from srfix.serde.closing import Closing
from srfix.serde.columns.text import parse_columns
from srfix.serde.confluent.config import SerdeClass, SerdeSettings, Shape, WrittenColumns
from srfix.serde.confluent.strategies import strategy_of
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import ColumnError, RegistryError, ResolveError, SchemaError, SrfixError, UsageError
from srfix.serde.registries.confluent_client import AnySchema
from srfix.serde.registries.given import AnyClient, Registry, given_registry, is_registry, portable
from srfix.serde.schemas.errors import RegistryAnswerError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Json, Schema, SchemaVersion
from srfix.serde.schemas.references import SchemaVersions, named_references
from srfix.serde.specs import ReadSpec


def missing_context(called: str) -> UsageError:
    error = UsageError(f"{called} is called with a context, but there is none. Pass a SerializationContext.")
    error.__class__ = _both(UsageError, TypeError)
    return error


def make_confluents(error: SrfixError) -> None:
    cause = _answer_behind(error) if isinstance(error, ResolveError) else None
    if isinstance(error, RegistryAnswerError):
        error.__class__ = _both(type(error), SchemaRegistryError)
    elif cause is not None:
        error.__class__ = _both(type(error), _Unresolved)
        error.__dict__.update(
            http_status_code=cause.status, error_code=cause.error_code, error_message=cause.registry_message
        )
    elif not isinstance(error, RegistryError | TypeError):
        error.__class__ = _both(type(error), SerializationError)


class _Unresolved(SchemaRegistryError, SerializationError):
    """An id for which a registry's answer has no schema."""


def _answer_behind(error: BaseException) -> RegistryAnswerError | None:
    for _ in range(5):
        cause = error.__cause__ or error.__context__
        if cause is None or isinstance(cause, RegistryAnswerError):
            return cause
        error = cause
    return None


_MADE: Final[dict[tuple[type, type], type[Any]]] = {}


def _both(kind: type[SrfixError], theirs: type[Exception]) -> type[Any]:
    if issubclass(kind, theirs) or (theirs is SerializationError and issubclass(kind, _Unresolved)):
        return kind
    if (kind, theirs) in _MADE:
        return _MADE[kind, theirs]
    body: dict[str, object] = {
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
        "__reduce__": lambda error: (partial(_revived, kind, theirs, error.args), (), dict(error.__dict__)),
        "__str__": kind.__str__,  # not that of confluent-kafka's error
    }
    if issubclass(kind, RegistryAnswerError):
        body |= {
            "http_status_code": property(lambda error: error.status),
            "error_message": property(lambda error: error.registry_message),
        }
    return _MADE.setdefault((kind, theirs), type(kind.__name__, (kind, theirs), body))


def _revived(kind: type[SrfixError], theirs: type[Exception], args: tuple[object, ...]) -> SrfixError:
    error = kind.__new__(kind)
    error.args = args
    error.__class__ = _both(kind, theirs)
    return error


class Direction(Enum):
    """The direction in which a rule is executed: the lists with such rules, and their modes (`RuleMode`)."""

    WRITE = (("domainRules", "encodingRules"), ("WRITE", "WRITEREAD"))
    READ = (("domainRules", "encodingRules"), ("READ", "WRITEREAD"))
    UPGRADE = (("migrationRules",), ("UPGRADE", "UPDOWN"))
    DOWNGRADE = (("migrationRules",), ("DOWNGRADE", "UPDOWN"))


_CLIENT: Final = (None, "ALL", "CLIENT")
"""The values of `enableAt` with which a client executes rules (`BaseSerde._is_disabled`)."""


def check_rules(rule_set: Mapping[str, Json] | None, direction: Direction, *, where: str) -> None:
    """Refuses rules (data contracts, CSFLE) that confluent-kafka would execute, instead of skipping them silently."""
    active = [] if rule_set is None else sorted(set(_active(rule_set, direction)))
    if active:
        raise UsageError(
            f"{where} carries rules for {direction.name}: {', '.join(active)}. srfix does not execute rules (data "
            "contracts, CSFLE), and a record must not skip them. Use confluent_kafka's own serde for this topic, or "
            "disable the rules in the registry."
        )


def check_migrations(registry: SchemaVersions, subject: str, source: int, latest: SchemaVersion) -> None:
    """Rules of the versions between may rewrite records (confluent-kafka: `BaseDeserializer._get_migrations`)."""
    direction = Direction.UPGRADE if source < latest.version else Direction.DOWNGRADE
    first, last = sorted((source, latest.version))
    for number in range(first + 1, last + 1):
        schema = latest.schema if number == latest.version else registry.version(subject, number, deleted=True).schema
        check_rules(schema.rule_set, direction, where=f"Version {number} of subject {subject!r}")


def _active(rule_set: Mapping[str, Json], direction: Direction) -> Iterator[str]:
    if rule_set.get("enableAt") not in _CLIENT:
        return
    lists, modes = direction.value
    for rules in map(rule_set.get, lists):
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and rule.get("mode") in modes and not rule.get("disabled"):
                yield f"{rule.get('name') or '(no name)'} ({rule.get('type') or 'no type'})"


class Codec(Protocol):
    """A parsed schema for writing and reading."""

    @property
    def record_name(self) -> str | None:
        """The record name in confluent-kafka's deserializers."""

    @property
    def written_name(self) -> str | None:
        """The record name in confluent-kafka's serializers."""

    @property
    def message_indexes(self) -> tuple[int, ...] | None:
        """Which of a Protobuf schema's messages is written; None in other formats."""

    def encoder(self) -> Encode: ...
    def decoder(self, reader: Any) -> Decode: ...
    def columns_decoder(self, reader: Any, spec: ReadSpec) -> Decode: ...


References: TypeAlias = tuple[tuple[str, str], ...]
"""The names and texts of the direct and indirect references. Each one stands after its own references."""


class ConfluentSerde(Closing):
    """The part that is the same for both directions and each format. These arguments of the constructors are also the
    same:

    | argument | |
    |---|---|
    | `schema_registry_client` | srfix's or confluent_kafka's client, its configuration (a dict), or a URL |
    | `schema_str` | a text, or a `Schema` of srfix or confluent_kafka |
    | `conf` | the keys of `srfix.serde.confluent.config` |
    | `rule_conf`, `rule_registry` | refused unless empty |

    A constructor asks nothing of the registry, unless the schema has references.

    :raises UsageError: if an argument or a key of the configuration makes no sense, or is not supported.
    :raises SchemaError: if the schema is not a schema of the format.
    :raises ResolveError: if the schema refers to one that the registry does not have.
    """

    _kind: ClassVar[SerdeClass]
    _schema_type: ClassVar[str]
    _make: ClassVar[Callable[..., Codec]]
    """Schema text, its references, the configuration, and the arguments of only this format → the codec."""
    _registry: Registry | None
    _remake: Callable[..., ConfluentSerde]
    """Makes a copy in another process; its argument is `schema_registry_client`."""

    def _start(
        self, client: AnyClient | None, settings: SerdeSettings, codec_options: Mapping[str, Any], *, needs_client: bool
    ) -> None:
        self._client = client
        self._settings = settings
        self._of_format = codec_options
        is_needed = needs_client or client is not None
        self._registry, self._close = (
            given_registry(client, "schema_registry_client") if is_needed else (None, lambda: None)
        )
        self._cluster_id: Callable[[], str | None] = lambda: None
        self._strategy, self._is_by_topic = strategy_of(
            settings, registry=self._registry, client=client, cluster_id=lambda: self._cluster_id()
        )
        self._latest_may_change: bool = getattr(self._registry, "latest_may_change", False)

    def _remember(self, columns: Shape | WrittenColumns | None, **arguments: object) -> None:
        """Keeps the arguments with which another process makes a copy."""
        options = {} if columns is None else columns.options
        self._remake = partial(cast("Any", type(self)), **options, **self._of_format, **arguments)

    @staticmethod
    def _prepare(text: str) -> str:
        return text

    def set_cluster_id_resolver(self, resolver: Callable[[], str | None]) -> None:
        """Called by confluent_kafka's producers and consumers, for the strategy ASSOCIATED."""
        self._cluster_id = resolver

    def _codec(self, schema: Schema, subject: str | None) -> Codec:
        references = references_of(self._registry, schema, subject)
        return type(self)._make(schema.text, references, self._settings, **self._of_format)

    def _latest_of(self, registry: Registry, subject: str) -> SchemaVersion:
        if self._settings.metadata is not None:
            return registry.latest_with_metadata(subject, self._settings.metadata, deleted=True)
        return registry.version(subject, "latest")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(self._remake, schema_registry_client=portable(self._client)), ()


def references_of(registry: Registry | None, schema: Schema, subject: str | None) -> References:
    """The schemas to which a schema refers. Without references it asks the registry nothing."""
    if not schema.references:
        return ()
    if registry is None:
        raise UsageError("The schema has references, which only a registry can resolve: pass a schema_registry_client.")
    try:
        named = named_references(registry, schema, subject=subject or "")
        return tuple(dict.fromkeys((name, version.schema.text) for name, version in named))
    except (SubjectNotFoundError, VersionNotFoundError) as error:
        raise ResolveError(
            f"A reference leads to a schema that the registry does not have: {error} Register the missing schema "
            "again, under the version named there."
        ) from error
    except SchemaError as error:
        raise ResolveError(str(error)) from error


def check_no_columns(schema_str: object) -> None:
    if not isinstance(schema_str, str) or schema_str.lstrip()[:1] in ("", "{", "[", '"'):
        return
    try:
        columns = parse_columns(schema_str)
    except ColumnError:
        return
    raise UsageError(
        f"schema_str contains columns ({columns[0].name}, …), not a schema. Pass them as columns='ID BIGINT, …'."
    )


def in_order(
    schema_str: AnySchema | AnyClient, schema_registry_client: AnyClient | None
) -> tuple[AnySchema, AnyClient | None]:
    """Schema and client of a JSON serde. If there is no other client, a client in the schema's place counts."""
    if not is_registry(schema_str):
        return cast("AnySchema", schema_str), schema_registry_client
    if schema_registry_client is None:
        return None, cast("AnyClient", schema_str)
    raise UsageError(
        "schema_str is a registry, and schema_registry_client is given too. The first argument of confluent-kafka's JSON "
        "serdes is the schema; that of its Avro serdes is the client. Pass both by name: schema_str=…, "
        "schema_registry_client=…."
    )
