"""The results and reports of a resolver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from srfix.serde.errors import RegistryError, ResolveError, SchemaError, SubjectVersionError
from srfix.serde.formats.table import as_readers_ask, record_name
from srfix.serde.interface import GuidSource, SchemaLookup, SchemaSource
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    RegistryAnswerError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.schemas.models import Schema, SchemaVersion
from srfix.serde.schemas.references import reference_texts
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy, context_alone
from srfix.serde.subjects.strategies import needs_record, subject_of
from srfix.serde.wire import SchemaId, given_schema_id

Identity: TypeAlias = "SchemaId | UUID"
"""The identity by which a payload names its schema."""

_NO_SUCH_SUBJECT: Final = 40401
_KEY_NOTE: Final = (
    "This is a key: reading it works, but look-ups by key still miss, because the writer's bytes differ from those that "
    "this reader's application would write. A reader never registers the schema of a key."
)
_FIRST_NOTE: Final = (
    "There was no such subject before: when the application registers its own schema, the registry compares that "
    "schema with this one, and may refuse it (409), for example under BACKWARD. Soft-delete this version to prevent that: "
    "readers still find it, comparisons ignore it."
)


def words_for(identity: int | UUID) -> str:
    """`schema id 7`, `schema GUID …`."""
    return f"schema GUID {identity}" if isinstance(identity, UUID) else f"schema id {identity}"


def attributes_of(identity: int | UUID) -> dict[str, object]:
    return {"schema_id": None, "guid": identity} if isinstance(identity, UUID) else {"schema_id": identity}


def knows_no_guids(what: str, guid: int | UUID, **more: object) -> ResolveError:
    """The error of a payload that carries a GUID where the registry has only ids; garbage can look like one."""
    return ResolveError(
        f"{what} names its schema by the GUID {guid}, but this registry does not know GUIDs (Confluent's does since 8.0). "
        "Read with the registry with which the record was written, or let the producer write schema ids (prefix framing).",
        **more,
        **attributes_of(guid),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSchema:
    """A writer schema, and how it was found."""

    schema_id: SchemaId | None = None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that the payload carries instead."""
    schema: Schema
    """The writer schema."""
    references: tuple[str, ...] = ()
    """The texts of its direct and indirect references; each one stands after its own references."""
    subject: Subject | None = None
    """The subject that holds its content; None if no subject was asked."""
    registered_id: SchemaId | None = None
    """The id in the subject's answer; None if no subject was asked."""

    @property
    def ids_differ(self) -> bool:
        """True if the subject holds the content under another id than the payload's. Always False for a GUID, because a
        GUID identifies the content."""
        return self.schema_id is not None and self.registered_id not in (None, self.schema_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRegistration:
    """A registration that the first subject refused. It is not tried again."""

    schema_id: SchemaId | None
    """The id of the schema that could not be registered; None if the payload carries a GUID."""
    guid: UUID | None = None
    """The GUID that the payload carries instead."""
    subject: Subject
    """The subject of the registration."""
    error: RegistryError
    """The reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAnswered:
    """The first subject did not hold a schema, but the second did."""

    schema_id: SchemaId | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that the payload carries instead."""
    role: Role
    """Key or value."""
    topic: str
    """The topic of the payload."""
    first: Subject
    """The subject that lacks the schema."""
    second: Subject
    """The subject that holds the schema."""
    first_error: SubjectVersionError
    """The error of a reader that asks only the first subject."""
    registered_id: SchemaId | None = None
    """The id under which the first subject holds the schema now; None if the schema was not registered."""
    refusal: RefusedRegistration | None = None
    """Why the registration failed, if it was tried."""

    @property
    def is_key(self) -> bool:
        """True for a key. The schema of a key is never registered, see `note`."""
        return self.role is Role.KEY

    @property
    def note(self) -> str:
        """A text for the operator of the reader."""
        identity = f"id {self.schema_id}" if self.guid is None else f"GUID {self.guid}"
        sentence = f"Schema {identity} is not registered under {self.first!r}; {self.second!r} has it."
        if self.is_key:
            return f"{sentence} {_KEY_NOTE}"
        if self.registered_id is not None:
            is_other = self.schema_id is not None and self.registered_id != self.schema_id
            other = f", where it has the id {self.registered_id}" if is_other else ""
            warning = f" {_FIRST_NOTE}" if self.first_error.error_code == _NO_SUCH_SUBJECT else ""
            return f"{sentence} It is registered under {self.first!r} now{other}.{warning}"
        if self.refusal is not None:
            return f"{sentence} Registering it was refused and will not be tried again: {self.refusal.error}"
        return f"{sentence} Readers that ask only {self.first!r} fail on it: run `srfix diagnose`."


_ANY_RECORD: Final = "record"
DIAGNOSE: Final = "Run `srfix diagnose` to see which schemas are missing where"
_WORDS_OF_TYPES: Final = {"AVRO": "Avro", "PROTOBUF": "Protobuf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    identity: Identity
    topic: str
    role: Role

    def resolved(self, registry: SchemaSource, subject: Subject | None) -> ResolvedSchema:
        """The schema and its references; `subject` only chooses the context."""
        schema = self._schema(registry, subject)
        schema_id, guid = (None, self.identity) if isinstance(self.identity, UUID) else (self.identity, None)
        references = self._references(registry, schema, subject or "")
        return ResolvedSchema(schema_id=schema_id, guid=guid, schema=schema, references=references)

    def hint(self, strategy: SubjectStrategy) -> Subject | None:
        """What chooses the context before the schema is known: the subject, or only its context if it needs a name."""
        if not needs_record(strategy):
            return strategy(self.topic, self.role)
        return context_alone(subject_of(strategy, self.topic, self.role, lambda: _ANY_RECORD))

    def subject(self, strategy: SubjectStrategy, resolved: ResolvedSchema) -> Subject:
        return subject_of(strategy, self.topic, self.role, lambda: record_name(resolved.schema, resolved.references))

    def lookup(self, registry: SchemaLookup, resolved: ResolvedSchema, subject: Subject) -> SchemaVersion:
        """The subject's version of that content, requested in the same way as by Java's readers."""
        try:
            return registry.lookup(subject, as_readers_ask(resolved.schema), deleted=True)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise self._not_under(resolved.schema, subject, error) from error

    def _schema(self, registry: SchemaSource, subject: Subject | None) -> Schema:
        try:
            if not isinstance(self.identity, UUID):
                return registry.schema_by_id(given_schema_id(self.identity), subject=subject).schema
            if isinstance(registry, GuidSource):
                return registry.schema_by_guid(str(self.identity))
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            raise self._error(
                f"The registry does not know {words_for(self.identity)}, which a {self.role.value} of topic {self.topic!r} "
                f"carries (error code {error.error_code}). Check that the records were written with this registry. "
                "If they were, the schema was deleted for good, and only its text can bring it back.",
                error_code=error.error_code,
            ) from error
        except EndpointNotSupportedError as error:
            raise self._knows_no_guids() from error
        raise self._knows_no_guids()

    def _knows_no_guids(self) -> ResolveError:
        what = f"A {self.role.value} of topic {self.topic!r}"
        return knows_no_guids(what, self.identity, topic=self.topic, role=self.role)

    @property
    def _what(self) -> str:
        return "GUID" if isinstance(self.identity, UUID) else "id"

    def _references(self, registry: SchemaSource, schema: Schema, subject: str) -> tuple[str, ...]:
        behind = (
            f"The schema behind {self._what} {self.identity}, carried by a {self.role.value} of topic {self.topic!r},"
        )
        try:
            return reference_texts(registry, schema, subject=subject)
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise self._error(
                f"{behind} refers to a schema that the registry does not have: {error} Register the missing schema again, "
                "under the version named there."
            ) from error
        except SchemaError as error:
            raise self._error(f"{behind} cannot be used: {error}") from error

    def _not_under(self, schema: Schema, subject: Subject, error: RegistryAnswerError) -> SubjectVersionError:
        is_there = not isinstance(error, SubjectNotFoundError)
        lacks = "the subject does not hold its schema" if is_there else "there is no such subject"
        # The first sentence is Connect's since 5.5 (`AbstractKafkaAvroDeserializer`), because people search for it.
        type_ = _WORDS_OF_TYPES.get(schema.schema_type, schema.schema_type)
        return SubjectVersionError(
            f"Error retrieving {type_} {self.role.value} schema version for {self._what} {self.identity}: {lacks} "
            f"({subject!r}, error code {error.error_code}). The {self.role.value} is of topic {self.topic!r}. "
            f"{DIAGNOSE}, or read with the dual-subject fall-back.",
            subject=subject,
            topic=self.topic,
            role=self.role,
            error_code=error.error_code,
            **attributes_of(self.identity),
        )

    def _error(self, message: str, **more: object) -> ResolveError:
        attributes = {"topic": self.topic, "role": self.role, **attributes_of(self.identity), **more}
        return ResolveError(message, **attributes)
