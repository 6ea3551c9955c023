"""Whether a reader can read an id: the subject that it asks, and the registry's answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from srfix.recovery.checks.srf020 import unreadable
from srfix.recovery.facts.stores import Membership
from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import AskedId, Standing, Strategy, TopicQuestion, TopicReader, Trouble
from srfix.recovery.findings import IdAtFault
from srfix.serde.errors import NoSubjectError, SchemaError
from srfix.serde.formats.table import format_of, record_name
from srfix.serde.schemas.errors import EndpointNotSupportedError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Schema, SchemaVersion
from srfix.serde.schemas.references import reference_texts
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject
from srfix.serde.subjects.strategies import subject_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    """The version that a reader with `use.latest.version` uses."""

    version: SchemaVersion | None
    why_none: str | None = None
    untold: str | None = None


@dataclass(slots=True, kw_only=True)
class Judge:
    survey: Survey
    question: TopicQuestion
    role: Role
    _latest: dict[Subject, _Latest] = field(default_factory=dict)

    @property
    def context(self) -> str:
        return self.survey.registry.context_of(self.question.subject_of(self.role))

    def __call__(self, fault: IdAtFault, standing: Standing, guids: tuple[UUID, ...]) -> AskedId:
        schema_id, schema = fault.schema_id, self.survey.schema_of_id(fault.schema_id, self.context)
        unasked = Membership(schema_id=schema_id, schema=schema, error_code=None, answered_id=None)
        asked_id = AskedId(
            schema_id=schema_id, subject=None, membership=unasked, standing=standing, fault=fault, guids=guids
        )
        if schema is None:
            return replace(asked_id, trouble=Trouble.UNKNOWN_ID)
        try:
            subject = self._subject(schema)
        except NoSubjectError:
            strategy = self.question.read.strategy.value
            why = f"its schema has no record name, but --strategy {strategy} makes the subject from the record's name"
            return replace(asked_id, trouble=Trouble.NO_SUBJECT, why=why)
        except SchemaError as error:
            return replace(asked_id, untold=error.message)
        membership = self.survey.membership(subject, schema_id)
        asked_id = replace(asked_id, subject=subject, membership=membership)
        if self.question.read.reader is TopicReader.LATEST:
            return self._by_latest(asked_id, subject, schema)
        return replace(asked_id, trouble=Trouble.MISSING) if self._fails(subject, membership) else asked_id

    def _subject(self, schema: Schema) -> Subject:
        """Fails with `NoSubjectError` if the strategy has none, or with `SchemaError`."""
        registry, question = self.survey.registry, self.question
        if question.read.strategy is Strategy.TOPIC:
            return question.subject_of(self.role)
        format_of(schema.schema_type)  # without a serde for the schema type, the record's name is not known
        try:
            references = reference_texts(registry, schema, subject=question.subject_of(self.role))
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise SchemaError(f"it refers to a schema that the registry does not have: {error}") from error
        return subject_of(
            question.strategy_of(self.role), question.topic, self.role, lambda: record_name(schema, references)
        )

    def _fails(self, subject: Subject, membership: Membership) -> bool:
        match self.question.read.reader:
            case TopicReader.DUAL:
                return False
            case TopicReader.PLAIN:
                registry = self.survey.registry
                is_named = registry.context_of(subject) != DEFAULT_CONTEXT
                return is_named and not registry.gives_id_to(subject, membership.schema_id)
            case _:
                return membership.is_missing

    def _by_latest(self, asked_id: AskedId, subject: Subject, schema: Schema) -> AskedId:
        if subject not in self._latest:
            self._latest[subject] = self._ask_latest(subject)
        latest = self._latest[subject]
        reasons, untold = tuple[str, ...](), latest.untold
        if latest.version is not None:
            reasons, untold = unreadable(latest.version.schema, schema)
        elif untold is None:
            return replace(asked_id, trouble=Trouble.NO_LATEST, why=latest.why_none)
        if latest.version is not None and reasons:
            why = f"version {latest.version.version} (schema id {latest.version.schema_id}): {reasons[0].rstrip('.')}"
            return replace(asked_id, trouble=Trouble.LATEST_CANNOT_READ, why=why)
        if asked_id.membership.is_missing:
            return replace(asked_id, trouble=Trouble.MISSING)
        return replace(asked_id, untold=untold)

    def _ask_latest(self, subject: Subject) -> _Latest:
        registry: Any = self.survey.registry
        wanted = self.question.read.with_metadata
        try:
            if not wanted:
                return _Latest(version=registry.version(subject, "latest"))
            with_metadata = getattr(registry, "latest_with_metadata", None)
            if with_metadata is None:
                return _Latest(version=None, untold="this registry client cannot search by metadata")
            return _Latest(version=with_metadata(subject, wanted))
        except EndpointNotSupportedError:
            return _Latest(
                version=None, untold="this registry cannot search by metadata (Confluent's registry can from 7.4 on)"
            )
        except (SubjectNotFoundError, VersionNotFoundError):
            versions = self.survey.versions(subject)
        if not versions:
            return _Latest(version=None, why_none=f"{subject} does not exist")
        if wanted and version_numbers(registry, subject):
            named = ", ".join(f"{name}={value}" for name, value in sorted(wanted.items()))
            return _Latest(version=None, why_none=f"no live version of {subject} has the metadata {named}")
        return _Latest(
            version=None,
            why_none=f"every version of {subject} is soft-deleted, perhaps by a repair. A look-up of a version still "
            "finds them, but a reader that takes the latest version does not",
        )
