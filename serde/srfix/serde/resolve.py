"""Schema id → writer schema, and under which subject: three policies.

| policy | asks | behaves as |
|---|---|---|
| `ById` | the id alone | plain deserializers: the incident does not show |
| `UnderOneSubject` | the id, and that one subject holds its content | Connect's AvroConverter, ksqlDB |
| `DualSubject` | so of a first subject; only on 40401 and 40403 of a second | ksqlDB's patch (ksql#5823) |

Membership is asked by content with `deleted=True`, as `AbstractKafkaAvroDeserializer` asks: a soft-deleted
version counts, and another id for the same content counts too (`ResolvedSchema.registered_id` says which came
back). What was found is remembered per id and subjects; what was not found never is, so a reader reads right
after a repair.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from srfix.serde._resolved import Refusal, ResolvedSchema, SecondAnswered
from srfix.serde.errors import DualSubjectError, RegistryError, ResolveError, SubjectVersionError
from srfix.serde.interface import SchemaLookup, SchemaSource, SerdeRegistry
from srfix.serde.registry.errors import (
    RegistryAnswerError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.registry.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.registry.references import schema_references
from srfix.serde.subjects import Role, Subject, SubjectStrategy, TopicSubject
from srfix.serde.wire import SchemaId

__all__ = [
    "ById",
    "DualSubject",
    "Refusal",
    "ResolvedSchema",
    "Resolver",
    "SecondAnswered",
    "UnderOneSubject",
]


class Resolver(Protocol):
    """A policy."""

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """The writer schema of a payload that carries the id.

        :raises ResolveError: if the policy does not accept the id.
        :raises RegistryError: if the registry could not be asked.
        """


_Key = TypeVar("_Key")


class _Remembered(Generic[_Key]):
    """What was found, by key. Filled under a lock, read without; travels empty."""

    def __init__(self) -> None:
        self._found: dict[_Key, ResolvedSchema] = {}
        # Re-entrant: a hook may resolve.
        self._lock = threading.RLock()

    def get(self, key: _Key, find: Callable[[], ResolvedSchema]) -> ResolvedSchema:
        found = self._found.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._found.get(key)
            if found is None:
                found = find()
                self._found[key] = found
            return found

    def __reduce__(self) -> tuple[type[_Remembered[_Key]], tuple[()]]:
        return _Remembered, ()


class ById:
    """The id alone."""

    def __init__(self, registry: SchemaSource) -> None:
        self._registry = registry
        self._remembered: _Remembered[int] = _Remembered()

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`.

        :raises ResolveError: if the registry does not know the id.
        """

        def find() -> ResolvedSchema:
            known = _schema_by_id(self._registry, schema_id, topic, role, subject=None)
            references = _references(self._registry, known, "", topic, role)
            return ResolvedSchema(schema_id=SchemaId(schema_id), schema=known.schema, references=references)

        return self._remembered.get(schema_id, find)


class UnderOneSubject:
    """The id, and that one subject holds its content."""

    def __init__(self, registry: SchemaLookup, subjects: SubjectStrategy = TopicSubject()) -> None:  # noqa: B008 - frozen
        self._registry = registry
        self._subjects = subjects
        self._remembered: _Remembered[tuple[int, Subject]] = _Remembered()

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`.

        :raises SubjectVersionError: if the subject does not hold the content (40401, 40403): the incident.
        :raises ResolveError: if the registry does not know the id.
        """
        subject = self._subjects(topic, role)

        def find() -> ResolvedSchema:
            known = _schema_by_id(self._registry, schema_id, topic, role, subject=subject)
            version = _lookup(self._registry, known, subject, topic, role)
            return ResolvedSchema(
                schema_id=SchemaId(schema_id),
                schema=known.schema,
                references=_references(self._registry, known, subject, topic, role),
                subject=subject,
                registered_id=version.schema_id,
            )

        return self._remembered.get((schema_id, subject), find)


class DualSubject:
    """A first subject, then, only if that does not hold the content, a second.

    `on_second` is told once per id and subjects that the second answered. With `register_missing` the schemas
    of values are registered under the first subject then: once per id and subject, and a refusal is
    remembered (`refusals`).
    """

    def __init__(
        self,
        registry: SerdeRegistry,
        *,
        first: SubjectStrategy,
        second: SubjectStrategy,
        on_second: Callable[[SecondAnswered], None] | None = None,
        register_missing: bool = False,
    ) -> None:
        self._registry = registry
        self._first = first
        self._second = second
        self._on_second = on_second
        self._register_missing = register_missing
        self._remembered: _Remembered[tuple[int, Subject, Subject]] = _Remembered()
        self._refusals: dict[tuple[int, Subject], Refusal] = {}

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """The registrations that were refused, oldest first."""
        return tuple(self._refusals.values())

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`. An outage or a 401 is never a reason to ask the second subject.

        :raises DualSubjectError: if neither subject holds the content; both errors are in it.
        :raises ResolveError: if the registry does not know the id.
        """
        first, second = self._first(topic, role), self._second(topic, role)
        return self._remembered.get(
            (schema_id, first, second), lambda: self._find(SchemaId(schema_id), topic, role, first, second)
        )

    def _find(self, schema_id: SchemaId, topic: str, role: Role, first: Subject, second: Subject) -> ResolvedSchema:
        known = _schema_by_id(self._registry, schema_id, topic, role, subject=first)
        references = _references(self._registry, known, first, topic, role)
        resolved = ResolvedSchema(schema_id=schema_id, schema=known.schema, references=references)
        try:
            version = _lookup(self._registry, known, first, topic, role)
        except SubjectVersionError as error:
            first_error = error
        else:
            return replace(resolved, subject=first, registered_id=version.schema_id)
        try:
            version = _lookup(self._registry, known, second, topic, role)
        except SubjectVersionError as second_error:
            raise DualSubjectError(
                f"Schema id {schema_id}, carried by a {role.value} of topic {topic!r}, is registered under "
                "neither of two "
                f"subjects. First: {first_error} Second: {second_error}",
                schema_id=schema_id,
                first_error=first_error,
                second_error=second_error,
            ) from second_error
        answered = SecondAnswered(
            schema_id=schema_id, role=role, topic=topic, first=first, second=second, first_error=first_error
        )
        if self._register_missing and role is Role.VALUE:
            answered = self._register(answered, known.schema)
        if self._on_second is not None:
            self._on_second(answered)
        return replace(resolved, subject=second, registered_id=version.schema_id)

    def _register(self, answered: SecondAnswered, schema: Schema) -> SecondAnswered:
        key = (answered.schema_id, answered.first)
        if key not in self._refusals:
            try:
                return replace(answered, registered_id=self._registry.register(answered.first, schema))
            except RegistryError as error:
                # The row is read all the same: it is the second subject's. What went wrong is shown, not
                # thrown.
                self._refusals[key] = Refusal(schema_id=answered.schema_id, subject=answered.first, error=error)
        return replace(answered, refusal=self._refusals[key])


def _references(
    registry: SchemaSource, known: RegisteredSchema, subject: str, topic: str, role: Role
) -> tuple[str, ...]:
    """The texts that a schema refers to. Without any, nothing is asked."""
    try:
        return tuple(found.schema.text for found in schema_references(registry, known.schema, subject=subject))
    except (SubjectNotFoundError, VersionNotFoundError) as error:
        raise ResolveError(
            f"The schema behind id {known.schema_id}, carried by a {role.value} of topic {topic!r}, refers to a schema that "
            f"the registry does not have: {error} Register that one again, under the version that is named.",
            schema_id=known.schema_id,
            topic=topic,
            role=role,
        ) from error


def _schema_by_id(
    registry: SchemaSource, schema_id: int, topic: str, role: Role, *, subject: Subject | None
) -> RegisteredSchema:
    try:
        return registry.schema_by_id(schema_id, subject=subject)
    except (SchemaNotFoundError, SubjectNotFoundError) as error:
        raise ResolveError(
            f"The registry does not know schema id {schema_id}, which a {role.value} of topic {topic!r} "
            "carries (error code "
            f"{error.error_code}). Check that it is the registry that the records were written with; if it "
            "is, the schema "
            "was deleted for good, and only its text can bring it back.",
            schema_id=schema_id,
            topic=topic,
            role=role,
            error_code=error.error_code,
        ) from error


def _lookup(registry: SchemaLookup, known: RegisteredSchema, subject: Subject, topic: str, role: Role) -> SchemaVersion:
    try:
        return registry.lookup(subject, known.schema, deleted=True)
    except (SchemaNotFoundError, SubjectNotFoundError) as error:
        raise _not_under(known.schema_id, subject, topic, role, error) from error


def _not_under(
    schema_id: int, subject: Subject, topic: str, role: Role, error: RegistryAnswerError
) -> SubjectVersionError:
    lacks = (
        "there is no such subject"
        if isinstance(error, SubjectNotFoundError)
        else "the subject does not hold its schema"
    )
    # The first sentence is Connect's since 5.5 (`AbstractKafkaAvroDeserializer`): people search for it.
    return SubjectVersionError(
        f"Error retrieving Avro {role.value} schema version for id {schema_id}: {lacks} ({subject!r}, error "
        "code "
        f"{error.error_code}). The {role.value} is of topic {topic!r}. Run `srfix diagnose` to see which "
        "schemas are missing "
        "where, or read with the dual-subject fall-back.",
        schema_id=schema_id,
        subject=subject,
        topic=topic,
        role=role,
        error_code=error.error_code,
    )
