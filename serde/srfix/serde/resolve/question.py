"""What the policies ask a registry about one schema, and the sentences for what it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from srfix.serde.errors import ResolveError, SchemaError, SubjectVersionError
from srfix.serde.formats.table import as_readers_ask, record_name
from srfix.serde.interface import GuidSource, SchemaLookup, SchemaSource
from srfix.serde.resolve.resolved import Identity, ResolvedSchema, attributes_of, words_for
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
from srfix.serde.wire import given_schema_id

_ANY_RECORD: Final = "record"
_WORDS_OF_TYPES: Final = {"AVRO": "Avro", "PROTOBUF": "Protobuf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which schema is it, of which payload?"""

    identity: Identity
    """The id, or the GUID."""
    topic: str
    """The payload's topic."""
    role: Role
    """Key or value."""

    def resolved(self, registry: SchemaSource, subject: Subject | None) -> ResolvedSchema:
        """The schema and what it refers to; `subject` only picks the context."""
        schema = self._schema(registry, subject)
        schema_id, guid = (None, self.identity) if isinstance(self.identity, UUID) else (self.identity, None)
        references = self._references(registry, schema, subject or "")
        return ResolvedSchema(schema_id=schema_id, guid=guid, schema=schema, references=references)

    def hint(self, strategy: SubjectStrategy) -> Subject | None:
        """What picks the context before the schema is known: the subject, or its context where the schema's name is
        part of it."""
        if not needs_record(strategy):
            return strategy(self.topic, self.role)
        return context_alone(subject_of(strategy, self.topic, self.role, lambda: _ANY_RECORD))

    def subject(self, strategy: SubjectStrategy, resolved: ResolvedSchema) -> Subject:
        """The subject, when the schema is known."""
        return subject_of(strategy, self.topic, self.role, lambda: record_name(resolved.schema, resolved.references))

    def lookup(self, registry: SchemaLookup, resolved: ResolvedSchema, subject: Subject) -> SchemaVersion:
        """The subject's version of that content, asked as Java's readers ask."""
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
                f"The registry does not know {words_for(self.identity)}, which a {self.role.value} of topic "
                f"{self.topic!r} carries (error code {error.error_code}). Check that it is the registry that the records "
                "were written with; if it is, the schema was deleted for good, and only its text can bring it back.",
                error_code=error.error_code,
            ) from error
        except EndpointNotSupportedError as error:
            raise self._knows_no_guids() from error
        raise self._knows_no_guids()

    def _knows_no_guids(self) -> ResolveError:
        return self._error(
            f"A {self.role.value} of topic {self.topic!r} names its schema by the GUID {self.identity}, and this registry "
            "does not know GUIDs: Confluent's does from 8.0 on. Read with the registry that it was written with, or let "
            "the producer write schema ids (prefix framing)."
        )

    @property
    def _what(self) -> str:
        return "GUID" if isinstance(self.identity, UUID) else "id"

    def _references(self, registry: SchemaSource, schema: Schema, subject: str) -> tuple[str, ...]:
        try:
            return reference_texts(registry, schema, subject=subject)
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise self._error(
                f"The schema behind {self._what} {self.identity}, carried by a {self.role.value} of topic {self.topic!r}, "
                f"refers to a schema that the registry does not have: {error} Register that one again, under the version that "
                "is named."
            ) from error
        except SchemaError as error:
            raise self._error(
                f"The schema behind {self._what} {self.identity}, carried by a {self.role.value} of topic {self.topic!r}, "
                f"is not read: {error}"
            ) from error

    def _not_under(self, schema: Schema, subject: Subject, error: RegistryAnswerError) -> SubjectVersionError:
        lacks = (
            "there is no such subject"
            if isinstance(error, SubjectNotFoundError)
            else "the subject does not hold its schema"
        )
        # The first sentence is Connect's since 5.5 (`AbstractKafkaAvroDeserializer`): people search for it.
        type_ = _WORDS_OF_TYPES.get(schema.schema_type, schema.schema_type)
        return SubjectVersionError(
            f"Error retrieving {type_} {self.role.value} schema version for {self._what} {self.identity}: {lacks} "
            f"({subject!r}, error code {error.error_code}). The {self.role.value} is of topic {self.topic!r}. "
            "Run `srfix diagnose` to see which schemas are missing where, or read with the dual-subject fall-back.",
            subject=subject,
            topic=self.topic,
            role=self.role,
            error_code=error.error_code,
            **attributes_of(self.identity),
        )

    def _error(self, message: str, **more: object) -> ResolveError:
        attributes = {"topic": self.topic, "role": self.role, **attributes_of(self.identity), **more}
        return ResolveError(message, **attributes)
