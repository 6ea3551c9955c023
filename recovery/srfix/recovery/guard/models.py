"""The inputs of guard, what it sees, and its predictions, as frozen values; and a schema that is about to be
registered, in a file: an Avro schema, a JSON Schema, a `.proto` file, or a registry's request, which is `{"schema":
"…", "schemaType": "JSON", "references": [{"name": …, "subject": …, "version": …}]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, cast

from srfix.recovery.commands import CommandLine
from srfix.recovery.facts.reader import Reader, StreamsVersion
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Skipped, Weight
from srfix.recovery.forecasts import Certainty, Foretold
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.files import parse_json
from srfix.serde.formats.table import check_schema
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic, split_context, split_subject, subject_for

NONE: Final = "none"
ALL: Final = "all"
REUSE: Final = "reuse.ktable.source.topics"
SINGLE: Final = (REUSE, "merge.repartition.topics", "single.store.self.join")
"""The values that a list may hold, from 3.4 on (KAFKA-14209, `StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIGS`)."""


class StoreKind(Enum):
    TABLE = "table"
    """Made directly from one topic, which may serve as its changelog."""
    GLOBAL = "global"
    """A global store: it never has a changelog topic."""
    OTHER = "other"


class Wiring(Enum):
    REUSED = "reuses the source topic"
    GLOBAL = "global store"
    OWN = "own changelog"
    NONE = "no logging"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedStore:
    application: str
    """The prefix of its internal topics: the application.id, followed by the name of a named topology."""
    name: str
    kind: StoreKind
    topic: Topic | None = None
    """The topic that it is made from; None for an operator's store."""
    weight: Weight = Weight.CONCLUSIVE
    """How certain it is that the store is of this `kind`, and made from this `topic`."""
    origin: str
    context: str = DEFAULT_CONTEXT
    is_ksqldb: bool = False
    """True if it belongs to a ksqlDB query: such a table is always built with optimisation."""
    falls_back: bool | None = None
    """For ksqlDB, whether its serde asks a second subject (ksql#5823); None if the server's version is not known."""
    has_schemas: bool = True
    """False if ksqlDB says that its values are in a format that uses no registry."""
    has_left_a_phantom: bool = False
    """True if it was found on the cluster, because there is a subject of its changelog's name without a topic."""
    may_have_own_processor: bool = False
    """True for a global store whose processor a person named, so that it may transform the records."""

    @property
    def is_global(self) -> bool:
        return self.kind is StoreKind.GLOBAL

    @property
    def options(self) -> tuple[str, ...]:
        words = self.suspect.options
        return words if self.topic is None else (*words, "--source", f"{self.application}/{self.name}={self.topic}")

    @property
    def suspect(self) -> SuspectStore:
        return SuspectStore(application=self.application, name=self.name, context=self.context)

    @property
    def changelog(self) -> Topic:
        return self.suspect.changelog

    def changelog_subject(self, role: Role) -> Subject:
        return self.suspect.subject(role)

    def source_subject(self, role: Role) -> Subject:
        if self.topic is None:
            raise ValueError(f"store {self.name} is not built from a topic")
        return self.suspect.source_subject(self.topic, role)

    def __str__(self) -> str:
        return f"{self.application}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoTopic:
    """A name that a foreign-key join gives its serdes, and that is never a topic."""

    application: str
    topic: Topic
    role: Role
    origin: str

    @property
    def subject(self) -> Subject:
        return subject_for(self.topic, self.role)


@dataclass(frozen=True, slots=True)
class Optimization:
    """The setting that is in force: in the properties of `KafkaStreams` and in those of `builder.build(properties)`."""

    values: tuple[str, ...] | None = None
    """The values that it lists, in the given order; None if nobody gave it."""

    @property
    def reuses_source_topics(self) -> bool | None:
        return None if self.values is None else bool({ALL, REUSE} & set(self.values))

    def __str__(self) -> str:
        return "not said" if self.values is None else ",".join(self.values)


def parse_optimization(text: str | None) -> Optimization:
    """Reads `none`, `all`, or a comma-separated list; None means that nobody knows the setting."""
    if text is None:
        return Optimization()
    values = tuple(value.strip() for value in text.split(","))
    unknown = [value for value in values if value not in (NONE, ALL, *SINGLE)]
    if unknown:
        raise UsageError(
            f"--optimization {text!r}: {unknown[0]!r} is not a value of topology.optimization. Give {NONE}, {ALL}, or a list "
            f"of {', '.join(SINGLE)}."
        )
    if len(values) > 1 and {NONE, ALL} & set(values):
        raise UsageError(
            f"--optimization {text!r}: do not combine {NONE} or {ALL} with other values; Kafka Streams does not accept that."
        )
    return Optimization(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    running: StreamsVersion | None = None
    """The version of Kafka Streams that runs, or will run; None if nobody named it."""
    to: StreamsVersion | None = None
    """The version after an upgrade or a downgrade; None if the person did not ask about a change."""
    optimization: Optimization = field(default_factory=Optimization)
    reader: Reader = Reader.UNKNOWN
    is_of_one_store: bool = False
    """True if the person gave `reader` for one named store; an application's may not hold for every store."""
    no_auto_register: bool = False
    command_line: CommandLine = field(default_factory=CommandLine)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchema:
    subject: Subject
    schema: Schema
    origin: str

    @property
    def topic(self) -> Topic:
        return topic_of(self.subject)[0]

    @property
    def role(self) -> Role:
        return topic_of(self.subject)[1]


def topic_of(subject: Subject) -> tuple[Topic, Role]:
    _context, name = split_context(subject)
    topic_and_role = split_subject(name)
    if topic_and_role is None:
        raise UsageError(
            f"--subject {subject} is not of the form TOPIC-key or TOPIC-value. If the subject is named after a record, it does "
            "not show which stores restore such records. In that case run guard for each topic with such records, with "
            "--subject TOPIC-value."
        )
    return topic_and_role


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectForecast:
    """Whether the first record that is put in the store creates a subject without a topic."""

    subject: Subject
    role: Role
    application: str
    store: str | None
    """None for a foreign-key join's pseudo-topic."""
    why: str
    version: StreamsVersion | None
    certainty: Certainty
    exists: bool | None = None
    """Whether the registry has it already; None if no registry was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreForecast:
    store: GuardedStore
    version: StreamsVersion | None
    wirings: tuple[Wiring, ...]
    handed: tuple[Topic, ...]
    loads: tuple[str, ...]
    """What a restore puts in the store, by wiring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    assumed: Assumed
    stores: tuple[StoreForecast, ...]
    subjects: tuple[SubjectForecast, ...]
    foretold: tuple[Foretold, ...]
    """Worst first, and for the same severity the most certain first."""
    skipped: tuple[Skipped, ...]
    unasked: tuple[Skipped, ...] = ()
    """What srfix did not look at because nobody gave or named it. It does not change the outcome."""
    ignored: tuple[Foretold, ...] = ()
    """What a person has acknowledged (`--ignore`); it does not change the outcome."""
    schema: NewSchema | None = None
    has_cluster: bool = False
    has_registry: bool = False
    has_rows: bool = False

    @property
    def fails(self) -> bool:
        return any(event.fails for event in self.foretold)

    @property
    def is_open(self) -> bool:
        """True if nothing fails, but srfix cannot decide about something serious, or did not look at it."""
        unseen = any(skip.could_hide for skip in self.skipped)
        return not self.fails and (unseen or any(event.is_open for event in self.foretold))


_REGISTRY_KEYS: Final = frozenset(
    ("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "subject", "guid", "ts", "deleted")
)
_JSON_SCHEMA_KEYS: Final = frozenset(
    ("$schema", "$id", "$ref", "$defs", "definitions", "properties", "additionalProperties", "allOf", "anyOf", "oneOf")
)
"""Keys that a JSON Schema uses and an Avro schema does not."""
_TYPES: Final = ("AVRO", "JSON", "PROTOBUF")


def parse_schema(text: str, *, origin: str) -> Schema:
    """The schema in a file, kept unchanged; one that refers to others is left to a registry that has them."""
    if origin.endswith(".proto"):
        schema = Schema(text=text, schema_type="PROTOBUF")
        if "import" not in text:  # only a registry request says what the imports are
            _check(schema, origin)
        return schema
    try:
        document = parse_json(text)
    except ValueError as error:
        raise UsageError(
            f"--schema {origin}: the file is not JSON ({error}). Give an Avro schema, a JSON Schema, a .proto file, or a "
            'registry request: {"schema": "…", "schemaType": "JSON", "references": […]}.'
        ) from None
    if isinstance(document, dict) and isinstance(document.get("schema"), str) and document.keys() <= _REGISTRY_KEYS:
        return _of_registry(cast("Mapping[str, object]", document), origin)
    schema = Schema(text=text, schema_type="JSON" if _is_json_schema(document, text) else "AVRO")
    _check(schema, origin)
    return schema


def _of_registry(document: Mapping[str, object], origin: str) -> Schema:
    schema_type = document.get("schemaType", "AVRO")
    if schema_type not in _TYPES:
        raise UsageError(f"--schema {origin}: schemaType {schema_type!r} is none of {', '.join(_TYPES)}.")
    listed_references = document.get("references") or []
    if not isinstance(listed_references, list):
        raise UsageError(f"--schema {origin}: references is not a list.")
    references = tuple(_reference(item, origin) for item in listed_references)
    schema = Schema(text=str(document["schema"]), schema_type=str(schema_type), references=references)
    if not references:
        _check(schema, origin)
    return schema


def _reference(item: object, origin: str) -> SchemaReference:
    match item:
        case {"name": str(name), "subject": str(subject), "version": int(version)} if not isinstance(version, bool):
            return SchemaReference(name=name, subject=subject, version=version)
    raise UsageError(f"--schema {origin}: a reference needs a name, a subject and a version number.")


def _check(schema: Schema, origin: str) -> None:
    try:
        check_schema(schema)
    except SchemaError as error:
        raise UsageError(f"--schema {origin}: {error.message}") from error
    except UsageError:  # jsonschema-rs is not installed: the registry will check the schema
        return


def _is_json_schema(document: object, text: str) -> bool:
    if not isinstance(document, dict):
        return False
    if _JSON_SCHEMA_KEYS & document.keys():
        return True
    if document.get("type") != "object":
        return False
    try:
        check_schema(Schema(text=text, schema_type="AVRO"))
    except SchemaError:
        return True
    return False
