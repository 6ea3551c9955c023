"""Schema id or GUID → writer schema, and under which subject: three policies.

| policy | asks | behaves as |
|---|---|---|
| `ById` | the id alone | plain deserializers, but in a named context: the incident does not show |
| `UnderOneSubject` | the id, and that one subject holds its content | Connect's AvroConverter, ksqlDB |
| `DualSubject` | so of a first subject; only on 40401 and 40403 of a second | ksqlDB's patch (ksql#5823) |

An id is asked for within the subject's context and without the subject. Confluent's own deserializers, plain ones too,
send the subject along: in a named context (7.0 on) the registry answers them 40403 unless the subject itself holds the id,
so that there they fail where `ById` and `DualSubject` read.

Membership is asked by content with `deleted=True`, as `AbstractKafkaAvroDeserializer` asks: a soft-deleted version
counts, and another id for the same content counts too (`ResolvedSchema.registered_id` says which came back). What was
found is remembered per id and subjects; what was not found never is, so a reader reads right after a repair.

Where the payload carries a GUID instead of an id (Confluent 8.0 on), the schema is asked for by that, and everything
else is the same: membership is asked by content anyway.
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
        """The writer schema of a payload that carries the GUID; otherwise as `resolve`."""


@runtime_checkable
class PlannablePolicy(Resolver, Protocol):
    """A policy that says beforehand what it would ask. The three of this module are."""

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """The subjects that it asks about a topic's keys or values, in that order. None of a strategy that makes the
        subject of a record's name: that is known with the schema only.
        """

    def over(self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None) -> Resolver:
        """The same policy over another registry, to try what it accepts: it registers nothing, remembers nothing of this
        one, and tells `on_second` where a second subject answered."""


class _Remembered:
    """What was found, by key. Filled under a lock, read without; travels empty."""

    def __init__(self) -> None:
        self._schemas: dict[Hashable, ResolvedSchema] = {}
        # Re-entrant: a hook may resolve.
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
    """Ids and GUIDs through one door."""

    def __init__(self) -> None:
        self._remembered = _Remembered()

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`."""
        return self._resolve(Question(identity=SchemaId(schema_id), topic=topic, role=role))

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve_guid`."""
        return self._resolve(Question(identity=guid, topic=topic, role=role))

    def _resolve(self, question: Question) -> ResolvedSchema:
        raise NotImplementedError


def _known_subjects(topic: str, role: Role, *strategies: SubjectStrategy) -> tuple[Subject, ...]:
    return tuple(strategy(topic, role) for strategy in strategies if not needs_record(strategy))


def _memory_key(question: Question, *strategies: SubjectStrategy) -> Hashable:
    """What an answer is remembered by: the subjects, so that topics share it; with a strategy that is to be asked later,
    what decides on them."""
    if any(needs_record(strategy) for strategy in strategies):
        return question
    return question.identity, *(strategy(question.topic, question.role) for strategy in strategies)


class ById(_Policy):
    """The id alone.

    `context` says which context's id, where it is not the one that the registry's URL leads into. Both ways raise
    `ResolveError` if the registry does not know the id or the GUID.
    """

    def __init__(self, registry: SchemaSource | AnyClient, *, context: str = DEFAULT_CONTEXT) -> None:
        """
        :param registry: a client of ours or confluent_kafka's, that one's configuration, or a URL.
        :raises UsageError: if it is no registry, or `context` is no context's name, such as `.staging`.
        """
        super().__init__()
        usable, self._close = given_registry(registry)
        self._registry: SchemaSource = usable
        self._hint = context_alone(join_context(context, ""))
        self.context = context
        """The context that was given; `.` for the URL's own."""

    def __repr__(self) -> str:
        context = "" if self.context == DEFAULT_CONTEXT else f", context={self.context!r}"
        return f"ById({self._registry!r}{context})"

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """None: it asks no subject."""
        return ()

    def over(self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None) -> ById:
        """See `PlannablePolicy.over`."""
        return ById(registry, context=self.context)

    def _resolve(self, question: Question) -> ResolvedSchema:
        return self._remembered.get(question.identity, lambda: question.resolved(self._registry, self._hint))


class UnderOneSubject(_Policy):
    """The id, and that one subject holds its content.

    Both ways raise `SubjectVersionError` if the subject does not hold the content (40401, 40403): the incident; and
    `ResolveError` if the registry does not know the id or the GUID.
    """

    def __init__(
        self,
        registry: SchemaLookup | AnyClient,
        subjects: SubjectStrategy = TopicSubject(),  # noqa: B008 - frozen
    ) -> None:
        """:raises UsageError: if one is no registry in any form, or no strategy."""
        super().__init__()
        usable, self._close = given_registry(registry)
        self._registry: SchemaLookup = usable
        self._subjects = strategy("subjects", subjects)

    def __repr__(self) -> str:
        return f"UnderOneSubject({self._registry!r}, {self._subjects!r})"

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """See `PlannablePolicy.subjects`."""
        return _known_subjects(topic, role, self._subjects)

    def over(
        self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None
    ) -> UnderOneSubject:
        """See `PlannablePolicy.over`."""
        return UnderOneSubject(registry, self._subjects)

    def _resolve(self, question: Question) -> ResolvedSchema:
        return self._remembered.get(_memory_key(question, self._subjects), lambda: self._find(question))

    def _find(self, question: Question) -> ResolvedSchema:
        resolved = question.resolved(self._registry, question.hint(self._subjects))
        subject = question.subject(self._subjects, resolved)
        version = question.lookup(self._registry, resolved, subject)
        return replace(resolved, subject=subject, registered_id=version.schema_id)


class DualSubject(_Policy):
    """A first subject, then, only if that does not hold the content, a second.

    `on_second` is told once per id and subjects that the second answered. With `register_missing` the schemas of values
    are registered under the first subject then: once per id and subject, and a refusal is remembered (`refusals`).

    **Beware of `register_missing` before the application has registered its own schema** (a fresh one, a cleaned-up
    subject): the writer's schema comes first then, and under BACKWARD, say, the application's own is compared with it,
    refused (409), and its writes die. `SecondAnswered.note` says so where the subject did not exist. What was registered
    can be soft-deleted: readers' look-ups count such a version, comparisons do not.

    An outage or a 401 is never a reason to ask the second subject. Both ways raise `DualSubjectError` if neither subject
    holds the content, with both errors in it, and `ResolveError` if the registry does not know the id or the GUID.
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
        """:raises UsageError: if one is no registry in any form, no strategy, or no callable."""
        super().__init__()
        check_callable("on_second", on_second, "(SecondAnswered) -> None")
        usable, self._close = given_registry(registry)
        self._registry: SerdeRegistry = usable
        self._first = strategy("first", first)
        self._second = strategy("second", second)
        self._on_second = on_second
        self._register_missing = flag("register_missing", register_missing)
        self._refusals: dict[tuple[Identity, Subject], RefusedRegistration] = {}

    def __repr__(self) -> str:
        registers = ", register_missing=True" if self._register_missing else ""
        return f"DualSubject({self._registry!r}, first={self._first!r}, second={self._second!r}{registers})"

    def subjects(self, *, topic: str, role: Role) -> tuple[Subject, ...]:
        """The first and the second. See `PlannablePolicy.subjects`."""
        return _known_subjects(topic, role, self._first, self._second)

    def over(
        self, registry: SerdeRegistry, *, on_second: Callable[[SecondAnswered], None] | None = None
    ) -> DualSubject:
        """See `PlannablePolicy.over`."""
        return DualSubject(registry, first=self._first, second=self._second, on_second=on_second)

    @property
    def refusals(self) -> tuple[RefusedRegistration, ...]:
        """The registrations that were refused, oldest first."""
        return tuple(self._refusals.values())

    def _resolve(self, question: Question) -> ResolvedSchema:
        return self._remembered.get(_memory_key(question, self._first, self._second), lambda: self._find(question))

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
                # The row is read all the same: it is the second subject's. What went wrong is shown, not
                # thrown.
                self._refusals[key] = RefusedRegistration(
                    schema_id=answered.schema_id, guid=answered.guid, subject=answered.first, error=error
                )
        return replace(answered, refusal=self._refusals[key])


def _under_neither(question: Question, first: SubjectVersionError, second: SubjectVersionError) -> DualSubjectError:
    identity = words_for(question.identity)
    return DualSubjectError(
        f"A {question.role.value} of topic {question.topic!r} has {identity}, which neither of the two subjects holds. "
        f"First: {first} Second: {second}",
        first_error=first,
        second_error=second,
        **attributes_of(question.identity),
    )


def usable_policy(resolver: Resolver | AnyClient) -> Resolver:
    """A policy; a registry, in any form, stands for `ById` over it."""
    if not isinstance(resolver, type) and callable(getattr(resolver, "resolve", None)):
        return cast("Resolver", resolver)
    if is_registry(resolver) or isinstance(resolver, str | Mapping):
        return ById(cast("AnyClient", resolver))
    raise UsageError(
        f"resolver is {type_words(resolver)}; it must be a policy (ById, UnderOneSubject, DualSubject), or a registry, which "
        "is asked by id: a client, its configuration (a dict with url), or a URL."
    )
