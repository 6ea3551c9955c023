"""The schema under which a serializer writes, and its registration.

| choice | schema | the registry |
|---|---|---|
| `OwnSchema` | the columns' internal schema, or a given text | registers it, or (`register=False`) must already have it |
| `ExistingSchema` | the schema with an id, or a version of the subject | is only asked |
| `SettledSchema` | the result of one of these, for one topic and half | is not asked again |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, cast
from uuid import UUID

from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.forking import ForkLock
from srfix.serde.formats.table import record_name
from srfix.serde.interface import SchemaLookup, SchemaPublisher, SchemaRegistrar, SchemaSource
from srfix.serde.resolve.resolved import Question
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.schemas.references import reference_texts
from srfix.serde.serdes.plans import EncodeOrNone
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy
from srfix.serde.subjects.strategies import needs_record, subject_of
from srfix.serde.wire import SchemaId, given_schema_id

MakeEncode: TypeAlias = Callable[[Schema, "tuple[str, ...]", Role], EncodeOrNone]
"""A schema and its references → the encoder for rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSchema:
    schema: Schema
    references: tuple[str, ...] = ()
    encode: EncodeOrNone
    published: Published | None = None
    """The schema's identity in the registry, if it was found together with the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    schema_id: SchemaId
    guid: UUID | None
    """The GUID; None if it was not requested, or the registry has none."""

    @classmethod
    def of(cls, schema_id: SchemaId, guid: str | None) -> Published:
        return cls(schema_id=schema_id, guid=None if guid is None else UUID(guid))


class SchemaChoice(Protocol):
    """The source of the schema: a row of the table above."""

    @property
    def make_encode(self) -> MakeEncode: ...

    def written(self, topic: str, role: Role) -> WrittenSchema:
        """The schema. This registers nothing."""

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        """The schema's identity in the registry. Called when a row fits the schema."""


@dataclass(eq=False)
class OwnSchema:
    """The serializer's own schema: made from columns, or given."""

    registry: SchemaRegistrar
    schema_of: Callable[[Role], Schema]
    make_encode: MakeEncode
    subjects: SubjectStrategy
    register: bool
    normalize: bool
    with_guid: bool
    _written: dict[Role, WrittenSchema] = field(default_factory=dict, init=False)
    _published: dict[tuple[Subject, str], Published] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._lock = ForkLock()

    def written(self, topic: str, role: Role) -> WrittenSchema:
        if role not in self._written:
            schema = self.schema_of(role)
            references = _reference_texts(self.registry, schema, "")
            encode = self.make_encode(schema, references, role)
            self._written[role] = WrittenSchema(schema=schema, references=references, encode=encode)
        return self._written[role]

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        """Runs once for each subject; a failure is tried again."""
        subject = subject_of(self.subjects, topic, role, lambda: record_name(written.schema, written.references))
        key = (subject, written.schema.text)
        with self._lock:
            published = self._published.get(key)
            if published is None:
                published = self._published[key] = self._ask(subject, written.schema)
            return published

    def _ask(self, subject: Subject, schema: Schema) -> Published:
        if not self.register:
            return self._look_up(subject, schema)
        if not (self.normalize or self.with_guid):
            return Published.of(self.registry.register(subject, schema), None)
        registry = _publisher(self.registry)
        registration = registry.register_version(subject, schema, normalize=self.normalize)
        # Releases before 8.0 answer a registration with only the id.
        guid = registration.guid
        if self.with_guid and not guid:
            guid = registry.lookup(subject, schema, normalize=self.normalize).guid
        return Published.of(registration.schema_id, guid)

    def _look_up(self, subject: Subject, schema: Schema) -> Published:
        try:
            schema_version = _publisher(self.registry).lookup(subject, schema, normalize=self.normalize)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise ResolveError(
                f"The schema to write under is not registered under {subject!r} (error code {error.error_code}), and this "
                "serializer registers nothing. Register it there first, or pass register=True.",
                subject=subject,
                error_code=error.error_code,
            ) from error
        return Published.of(schema_version.schema_id, schema_version.guid)


@dataclass(eq=False)
class ExistingSchema:
    """A schema in the registry, by its id or as a version of the subject."""

    registry: SchemaLookup
    make_encode: MakeEncode
    subjects: SubjectStrategy
    schema_id: int | None
    version: int | Literal["latest"] | None
    _written: dict[tuple[str, Role], WrittenSchema] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if (self.schema_id is None) == (self.version is None):
            raise UsageError("Give either the schema_id to write under or the version of the subject, not both.")
        if self.version is not None and needs_record(self.subjects):
            raise UsageError(
                "version= does not work if the subject is built from the record's name, because the name is known "
                "only once the schema is known. Give the schema_id, or a FixedSubject."
            )

    def written(self, topic: str, role: Role) -> WrittenSchema:
        if (topic, role) not in self._written:
            self._written[topic, role] = self._look_up_schema(topic, role)
        return self._written[topic, role]

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        assert written.published is not None
        return written.published

    def _look_up_schema(self, topic: str, role: Role) -> WrittenSchema:
        if self.schema_id is None:
            return self._by_version(self.subjects(topic, role), role)
        question = Question(identity=given_schema_id(self.schema_id), topic=topic, role=role)
        resolved = question.resolved(self.registry, question.hint(self.subjects))
        # A reader that asks this subject would fail on an id that the subject does not hold.
        held = question.lookup(self.registry, resolved, question.subject(self.subjects, resolved))
        return self._found(resolved.schema, resolved.references, role, given_schema_id(self.schema_id), held.guid)

    def _found(
        self, schema: Schema, references: tuple[str, ...], role: Role, schema_id: SchemaId, guid: str | None
    ) -> WrittenSchema:
        encode, published = self.make_encode(schema, references, role), Published.of(schema_id, guid)
        return WrittenSchema(schema=schema, references=references, encode=encode, published=published)

    def _by_version(self, subject: Subject, role: Role) -> WrittenSchema:
        version = cast('int | Literal["latest"]', self.version)
        try:
            schema_version = self.registry.version(subject, version)
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise ResolveError(
                f"The {role.value}s must be written under version {version} of {subject!r}, but the registry does "
                f"not have it (error code {error.error_code}). Register a schema there first, or name another "
                "version.",
                subject=subject,
                error_code=error.error_code,
            ) from error
        schema = schema_version.schema
        references = _reference_texts(self.registry, schema, subject)
        return self._found(schema, references, role, schema_version.schema_id, schema_version.guid)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSchema:
    """A schema that the registry knows, for one topic and half. Picklable."""

    make_encode: MakeEncode
    schema: Schema
    references: tuple[str, ...]
    published: Published
    topic: str
    role: Role

    def written(self, topic: str, role: Role) -> WrittenSchema:
        if (topic, role) != (self.topic, self.role):
            raise UsageError(
                f"This serializer is bound to the {self.role.value}s of topic {self.topic!r}, but was called for the "
                f"{role.value}s of {topic!r}. Use another serializer for those."
            )
        encode = self.make_encode(self.schema, self.references, role)
        return WrittenSchema(schema=self.schema, references=self.references, encode=encode, published=self.published)

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        return self.published


def _reference_texts(registry: object, schema: Schema, subject: str) -> tuple[str, ...]:
    if not schema.references:
        return ()
    try:
        return reference_texts(cast("SchemaSource", registry), schema, subject=subject)
    except (SubjectNotFoundError, VersionNotFoundError) as error:
        raise ResolveError(
            f"The schema to write under refers to a schema that the registry does not have: {error} First register "
            "that schema, with the named version.",
            error_code=error.error_code,
        ) from error


def _publisher(registry: object) -> SchemaPublisher:
    if not isinstance(registry, SchemaPublisher):
        raise UsageError(
            f"The registry is a {type(registry).__name__}, which cannot look up schemas or give GUIDs "
            "(`register_version`, `lookup`). register=False, normalize=True and the framings with a GUID need this. "
            "Use RegistryClient."
        )
    return registry
