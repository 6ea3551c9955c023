"""Schema id or GUID → writer schema and subject: three policies.

| policy | asks | behaves as |
|---|---|---|
| `ById` | only the id | plain deserializers: the incident does not occur; in a named context, see below |
| `UnderOneSubject` | the id, and whether one subject holds its content | Connect's AvroConverter, ksqlDB |
| `DualSubject` | the same for a first subject; after 40401 or 40403 for a second one | ksqlDB's patch (ksql#5823) |

srfix asks for an id within the subject's context, but without the subject. Confluent's own deserializers, also plain
ones, send the subject: in a named context (since 7.0) the registry answers 40403 unless the subject itself holds the
id. So there they fail although `ById` and `DualSubject` can read.

Membership is checked by content with `deleted=True`, as in `AbstractKafkaAvroDeserializer`: a soft-deleted version
counts, and so does another id for the same content (`ResolvedSchema.registered_id` is the id in the answer). A success
is remembered per id and subjects; a failure never is, so a reader can read right after a repair.

If the payload carries a GUID instead of an id (Confluent since 8.0), the schema is requested by the GUID. Everything
else is the same, because membership is checked by content.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Protocol, cast, runtime_checkable
from uuid import UUID

from srfix.serde.arguments import check_callable, flag, strategy, type_words
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.closing import Closing
from srfix.serde.errors import DualSubjectError, RegistryError, SubjectVersionError, UsageError
from srfix.serde.forking import ForkLock
from srfix.serde.interface import SchemaLookup, SchemaSource, SerdeRegistry
from srfix.serde.registries.given import AnyClient, given_registry, is_registry
from srfix.serde.resolve.resolved import (
    DIAGNOSE,
    Identity,
    Question,
    RefusedRegistration,
    ResolvedSchema,
    SecondAnswered,
    attributes_of,
    words_for,
)
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, SubjectStrategy, context_alone, join_context
from srfix.serde.subjects.strategies import TopicSubject, needs_record
from srfix.serde.wire import SchemaId


class Resolver(Protocol):
    """A policy."""

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """The writer schema of a payload that carries the id."""

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        """The writer schema of a payload that carries the GUID; otherwise like `resolve`."""


@runtime_checkable
class PlannablePolicy(Resolver, Protocol):
    """A policy that can name its subjects in advance. The three policies of this module can."""

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """The subjects that it asks for a topic's keys or values, in order. Subjects that a strategy builds from a
        record's name are missing, because the name is known only with the schema.
        """

    def over(self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None) -> Resolver:
        """The same policy with another registry, to test which schemas it accepts. The copy registers nothing, has an
        empty cache, and calls `on_second` if a second subject answered."""


class _Remembered:
    """A cache of results by key. It is filled under a lock and read without one. Its pickled copy is empty."""

    def __init__(self) -> None:
        self._schemas: dict[Hashable, ResolvedSchema] = {}
        # Re-entrant, because a hook may resolve.
        self._lock = ForkLock()

    def get(self, key: Hashable, find: Callable[[], ResolvedSchema]) -> ResolvedSchema:
        result = self._schemas.get(key)
        if result is not None:
            return result
        with self._lock:
            result = self._schemas.get(key)
            if result is None:
                result = find()
                remember(self._schemas, key, result, payload_bounds().plans)
            return result

    def __reduce__(self) -> tuple[type[_Remembered], tuple[()]]:
        return _Remembered, ()


class _Policy(Closing):
    """The common code for ids and GUIDs, and for the subjects of strategies."""

    def __init__(self, *strategies: SubjectStrategy) -> None:
        self._strategies = strategies
        self._remembered = _Remembered()

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """The subjects that this policy asks, in order (none for `ById`). See `PlannablePolicy.subjects`."""
        return tuple(strategy(topic, role) for strategy in self._strategies if not needs_record(strategy))

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`."""
        return self._resolve(Question(identity=SchemaId(schema_id), topic=topic, role=role))

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve_guid`."""
        return self._resolve(Question(identity=guid, topic=topic, role=role))

    def _resolve(self, question: Question) -> ResolvedSchema:
        # The key of an answer: the subjects, which topics share, or the inputs of a strategy that comes later.
        key: Hashable = question
        if not any(map(needs_record, self._strategies)):
            key = question.identity, *self.subjects(topic=question.topic, role=question.role)
        return self._remembered.get(key, lambda: self._find(question))

    def _find(self, question: Question) -> ResolvedSchema:
        raise NotImplementedError


class ById(_Policy):
    """Asks only for the id.

    `context` names the id's context, if it is not the context of the registry's URL. `resolve` and `resolve_guid` raise
    `ResolveError` if the registry does not know the id or the GUID.
    """

    def __init__(self, registry: SchemaSource | AnyClient, *, context: str = DEFAULT_CONTEXT) -> None:
        """
        :param registry: a client of srfix or confluent_kafka, a configuration of confluent_kafka's client, or a URL.
        :raises UsageError: if it is not a registry, or `context` is not a context's name, such as `.staging`.
        """
        super().__init__()
        usable, self._close = given_registry(registry)
        self._registry: SchemaSource = usable
        self._hint = context_alone(join_context(context, ""))
        self.context = context
        """The given context; `.` for the URL's context."""

    def __repr__(self) -> str:
        context = "" if self.context == DEFAULT_CONTEXT else f", context={self.context!r}"
        return f"ById({self._registry!r}{context})"

    def over(self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None) -> ById:
        """See `PlannablePolicy.over`."""
        return ById(registry, context=self.context)

    def _find(self, question: Question) -> ResolvedSchema:
        return question.resolved(self._registry, self._hint)


class UnderOneSubject(_Policy):
    """Asks for the id, and checks that one subject holds its content.

    `resolve` and `resolve_guid` raise `SubjectVersionError` if the subject does not hold the content (40401, 40403; this
    is the incident), and `ResolveError` if the registry does not know the id or the GUID.
    """

    def __init__(
        self,
        registry: SchemaLookup | AnyClient,
        subjects: SubjectStrategy = TopicSubject(),  # noqa: B008 - frozen
    ) -> None:
        """:raises UsageError: if `registry` is no registry in any form, or `subjects` is no strategy."""
        usable, self._close = given_registry(registry)
        self._registry: SchemaLookup = usable
        super().__init__(strategy("subjects", subjects))
        self._subjects = subjects

    def __repr__(self) -> str:
        return f"UnderOneSubject({self._registry!r}, {self._subjects!r})"

    def over(
        self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None
    ) -> UnderOneSubject:
        """See `PlannablePolicy.over`."""
        return UnderOneSubject(registry, self._subjects)

    def _find(self, question: Question) -> ResolvedSchema:
        resolved = question.resolved(self._registry, question.hint(self._subjects))
        subject = question.subject(self._subjects, resolved)
        version = question.lookup(self._registry, resolved, subject)
        return replace(resolved, subject=subject, registered_id=version.schema_id)


class DualSubject(_Policy):
    """Asks a first subject, and asks a second one only if the first does not hold the content.

    If the second subject answered, `on_second` is called once per id and subjects. With `register_missing`, the schemas
    of values are then registered under the first subject: once per id and subject, and refusals are remembered
    (`refusals`).

    **Beware of `register_missing` before the application has registered its own schema** (a new application, a
    cleaned-up subject): the writer's schema then comes first, and the registry compares the application's own schema
    with it. Under BACKWARD, for example, the registry may refuse it (409), and the application's writes fail.
    `SecondAnswered.note` says so if the subject did not exist. You can soft-delete the registered version: readers'
    look-ups still find it, but comparisons ignore it.

    If the first look-up fails because of an outage or a 401, srfix does not ask the second subject. `resolve` and
    `resolve_guid` raise `DualSubjectError` (with both errors) if neither subject holds the content, and `ResolveError`
    if the registry does not know the id or the GUID.
    """

    def __init__(
        self,
        registry: SerdeRegistry | AnyClient,
        *,
        first: SubjectStrategy,
        second: SubjectStrategy,
        on_second: Callable[[SecondAnswered], None] | None = None,
        register_missing: bool = False,
    ) -> None:
        """:raises UsageError: if `registry` is no registry in any form, `first` or `second` is no strategy, `on_second` is
        no callable, or `register_missing` is no bool."""
        check_callable("on_second", on_second, "(SecondAnswered) -> None")
        usable, self._close = given_registry(registry)
        self._registry: SerdeRegistry = usable
        super().__init__(strategy("first", first), strategy("second", second))
        self._first, self._second = first, second
        self._on_second = on_second
        self._register_missing = flag("register_missing", register_missing)
        self._refusals: dict[tuple[Identity, Subject], RefusedRegistration] = {}

    def __repr__(self) -> str:
        registers = ", register_missing=True" if self._register_missing else ""
        return f"DualSubject({self._registry!r}, first={self._first!r}, second={self._second!r}{registers})"

    def over(
        self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None
    ) -> DualSubject:
        """See `PlannablePolicy.over`."""
        return DualSubject(registry, first=self._first, second=self._second, on_second=on_second)

    @property
    def refusals(self) -> tuple[RefusedRegistration, ...]:
        """The registrations that were refused, oldest first."""
        return tuple(self._refusals.values())

    def _find(self, question: Question) -> ResolvedSchema:
        resolved = question.resolved(self._registry, question.hint(self._first))
        first = question.subject(self._first, resolved)
        try:
            version = question.lookup(self._registry, resolved, first)
        except SubjectVersionError as error:
            first_error = error
        else:
            return replace(resolved, subject=first, registered_id=version.schema_id)
        second = question.subject(self._second, resolved)
        try:
            version = question.lookup(self._registry, resolved, second)
        except SubjectVersionError as second_error:
            raise _under_neither(question, first_error, second_error) from second_error
        answered = SecondAnswered(
            schema_id=resolved.schema_id,
            guid=resolved.guid,
            role=question.role,
            topic=question.topic,
            first=first,
            second=second,
            first_error=first_error,
        )
        if self._register_missing and question.role is Role.VALUE:
            answered = self._register(question.identity, answered, resolved.schema)
        if self._on_second is not None:
            self._on_second(answered)
        return replace(resolved, subject=second, registered_id=version.schema_id)

    def _register(self, identity: Identity, answered: SecondAnswered, schema: Schema) -> SecondAnswered:
        key = (identity, answered.first)
        if key not in self._refusals:
            try:
                return replace(answered, registered_id=self._registry.register(answered.first, schema))
            except RegistryError as error:
                # The row is read nevertheless, with the second subject's schema. The error is reported, not raised.
                self._refusals[key] = RefusedRegistration(
                    schema_id=answered.schema_id, guid=answered.guid, subject=answered.first, error=error
                )
        return replace(answered, refusal=self._refusals[key])


def _under_neither(question: Question, first: SubjectVersionError, second: SubjectVersionError) -> DualSubjectError:
    identity = words_for(question.identity)
    first_cause, second_cause = (str(error).partition(f" {DIAGNOSE}")[0] for error in (first, second))
    return DualSubjectError(
        f"A {question.role.value} of topic {question.topic!r} has {identity}, which neither of the two subjects holds. "
        f"First: {first_cause} Second: {second_cause} {DIAGNOSE}.",
        first_error=first,
        second_error=second,
        **attributes_of(question.identity),
    )


def accepted(policy: Resolver, identity: int | UUID, *, topic: str, role: Role) -> ResolvedSchema:
    if isinstance(identity, UUID):
        return policy.resolve_guid(identity, topic=topic, role=role)
    return policy.resolve(identity, topic=topic, role=role)


def usable_policy(resolver: Resolver | AnyClient) -> Resolver:
    """A policy. A registry in any form means `ById` with it."""
    if not isinstance(resolver, type) and callable(getattr(resolver, "resolve", None)):
        return cast("Resolver", resolver)
    if is_registry(resolver) or isinstance(resolver, str | Mapping):
        return ById(cast("AnyClient", resolver))
    raise UsageError(
        f"resolver is {type_words(resolver)}; it must be a policy (ById, UnderOneSubject, DualSubject), or a registry, which "
        "is asked by id: a client, its configuration (a dict with url), or a URL."
    )
