"""The schema under which a serializer writes, and its registration.

| choice | schema | the registry |
|---|---|---|
| `OwnSchema` | the columns' internal schema, or a given text | registers it, or (`register=False`) must already have it |
| `ExistingSchema` | the schema with an id, or a version of the subject | is only asked |
| `SettledSchema` | the result of one of these, for one topic and half | is not asked again |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """A schema's identity in a registry."""

    schema_id: SchemaId
    guid: UUID | None
    """The GUID; None if it was not requested, or the registry has none."""

    @classmethod
    def of(cls, schema_id: SchemaId, guid: str | None) -> Published:
        """The GUID in a registry's answer."""
        return cls(schema_id=schema_id, guid=None if guid is None else UUID(guid))


class SchemaChoice(Protocol):
    """The source of the schema: a row of the table above."""

    @property
    def make_encode(self) -> MakeEncode:
        """Makes an encoder."""

    def written(self, topic: str, role: Role) -> WrittenSchema:
        """The schema. This registers nothing."""

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        """The schema's identity in the registry. Called when a row fits the schema."""


class OwnSchema:
    """The serializer's own schema: made from columns, or given."""

    def __init__(
        self,
        registry: SchemaRegistrar,
        schema_of: Callable[[Role], Schema],
        make_encode: MakeEncode,
        subjects: SubjectStrategy,
        *,
        register: bool,
        normalize: bool,
        with_guid: bool,
    ) -> None:
        self._registry = registry
        self._schema_of = schema_of
        self.make_encode = make_encode
        self._subjects = subjects
        self._register = register
        self._normalize = normalize
        self._with_guid = with_guid
        self._written: dict[Role, WrittenSchema] = {}
        self._published: dict[tuple[Subject, str], Published] = {}
        self._lock = ForkLock()

    def written(self, topic: str, role: Role) -> WrittenSchema:
        written_schema = self._written.get(role)
        if written_schema is None:
            schema = self._schema_of(role)
            references = _reference_texts(self._registry, schema, "")
            encode = self.make_encode(schema, references, role)
            written_schema = self._written[role] = WrittenSchema(schema=schema, references=references, encode=encode)
        return written_schema

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        """Runs once for each subject; a failure is tried again."""
        subject = subject_of(self._subjects, topic, role, lambda: record_name(written.schema, written.references))
        key = (subject, written.schema.text)
        with self._lock:
            published = self._published.get(key)
            if published is None:
                published = self._published[key] = self._ask(subject, written.schema)
            return published

    def _ask(self, subject: Subject, schema: Schema) -> Published:
        if not self._register:
            return self._look_up(subject, schema)
        if not (self._normalize or self._with_guid):
            return Published.of(self._registry.register(subject, schema), None)
        registry = _publisher(self._registry)
        registration = registry.register_version(subject, schema, normalize=self._normalize)
        # Releases before 8.0 answer a registration with only the id.
        if self._with_guid and not registration.guid:
            guid = registry.lookup(subject, schema, normalize=self._normalize).guid
            return Published.of(registration.schema_id, guid)
        return Published.of(registration.schema_id, registration.guid)

    def _look_up(self, subject: Subject, schema: Schema) -> Published:
        try:
            schema_version = _publisher(self._registry).lookup(subject, schema, normalize=self._normalize)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise ResolveError(
                f"The schema to write under is not registered under {subject!r} (error code {error.error_code}), and this "
                "serializer registers nothing. Register it there first, or pass register=True.",
                subject=subject,
                error_code=error.error_code,
            ) from error
        return Published.of(schema_version.schema_id, schema_version.guid)


class ExistingSchema:
    """A schema in the registry, by its id or as a version of the subject."""

    def __init__(
        self,
        registry: SchemaLookup,
        make_encode: MakeEncode,
        subjects: SubjectStrategy,
        *,
        schema_id: int | None,
        version: int | Literal["latest"] | None,
    ) -> None:
        """:raises UsageError: unless exactly one of id and version is given; also if a version is given, but the
        subject depends on the schema."""
        if (schema_id is None) == (version is None):
            raise UsageError("Give either the schema_id to write under or the version of the subject, not both.")
        if version is not None and needs_record(subjects):
            raise UsageError(
                "version= does not work if the subject is built from the record's name, because the name is known "
                "only once the schema is known. Give the schema_id, or a FixedSubject."
            )
        self._registry = registry
        self.make_encode = make_encode
        self._subjects = subjects
        self._schema_id = schema_id
        self._version = version
        self._written: dict[tuple[str, Role], WrittenSchema] = {}

    def written(self, topic: str, role: Role) -> WrittenSchema:
        written_schema = self._written.get((topic, role))
        if written_schema is None:
            written_schema = self._written[topic, role] = self._look_up_schema(topic, role)
        return written_schema

    def publish(self, written: WrittenSchema, topic: str, role: Role) -> Published:
        assert written.published is not None
        return written.published

    def _look_up_schema(self, topic: str, role: Role) -> WrittenSchema:
        if self._schema_id is not None:
            return self._by_id(Question(identity=given_schema_id(self._schema_id), topic=topic, role=role))
        assert self._version is not None
        return self._by_version(self._subjects(topic, role), self._version, role)

    def _by_id(self, question: Question) -> WrittenSchema:
        resolved = question.resolved(self._registry, question.hint(self._subjects))
        subject = question.subject(self._subjects, resolved)
        # A reader that asks this subject would fail on an id that the subject does not hold.
        schema_version = question.lookup(self._registry, resolved, subject)
        return WrittenSchema(
            schema=resolved.schema,
            references=resolved.references,
            encode=self.make_encode(resolved.schema, resolved.references, question.role),
            published=Published.of(cast("SchemaId", question.identity), schema_version.guid),
        )

    def _by_version(self, subject: Subject, version: int | Literal["latest"], role: Role) -> WrittenSchema:
        try:
            schema_version = self._registry.version(subject, version)
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise ResolveError(
                f"The {role.value}s must be written under version {version} of {subject!r}, but the registry does "
                f"not have it (error code {error.error_code}). Register a schema there first, or name another "
                "version.",
                subject=subject,
                error_code=error.error_code,
            ) from error
        references = _reference_texts(self._registry, schema_version.schema, subject)
        return WrittenSchema(
            schema=schema_version.schema,
            references=references,
            encode=self.make_encode(schema_version.schema, references, role),
            published=Published.of(schema_version.schema_id, schema_version.guid),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledSchema:
    """A schema that the registry knows, for one topic and half. Picklable."""

    make_encode: MakeEncode
    """Makes an encoder, in any process that needs it."""
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
    """The texts of a schema's references. Without references it sends no request."""
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
