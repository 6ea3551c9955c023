"""Applications beside the stores that they restore: internal subjects whose topic does not exist, with the signs of
whether their application is alive, and the ids in changelog topics that exist.

Nothing in a changelog says whether a schema registry serializer wrote its keys or values. Longs, timestamps and Kafka
Streams' own wrappers begin like framed payloads. So such ids count only if the changelog has a subject, or if the
values that srfix peeked at leave hardly a doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Finding, IdAtFault, Severity, Source, Weight
from srfix.recovery.internal_topics import (
    InternalTopicKind,
    application_prefixes,
    generated_owner,
    ksqldb_query,
    operator_behind,
    parse,
    recognise,
    record_name_subject,
    registration_topic,
)
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import (
    DEFAULT_CONTEXT,
    Role,
    Subject,
    Topic,
    join_context,
    split_context,
    split_subject,
    subject_for,
)
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek, peek_headers

if TYPE_CHECKING:
    from srfix.recovery.ksqldb.models import KsqldbAnswers

_KSQLDB: Final = "_confluent-ksql-"
_OF_A_SERVER: Final = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopiclessSubject:
    subject: Subject
    context: str
    topic: Topic
    role: Role
    """Key or value; value if a record's name follows the topic (TopicRecordNameStrategy)."""
    kind: InternalTopicKind
    registration: Topic | None
    """For a pseudo-topic, the subscription registration topic; None for others."""

    @property
    def owners_allowed(self) -> tuple[str, ...]:
        """The applications that the name allows, the longest first; only one if the whole name was generated."""
        generated = generated_owner(self.topic)
        return application_prefixes(self.topic) if generated is None else (generated,)

    @property
    def always_has_a_topic(self) -> bool:
        """True if even a stopped application has such a topic; a table, or a store without logging, has none."""
        return self.kind is not InternalTopicKind.CHANGELOG or operator_behind(self.topic) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationFacts:
    application: str
    subjects: tuple[TopiclessSubject, ...]
    """By name."""
    lives: bool
    is_listed_whole: bool = True
    signs: tuple[str, ...] = ()
    """Clauses that say why the application seems to be gone for good; empty if nothing shows it, or if it is alive."""
    proof: str | None = None
    """A clause that proves that it is gone: a person's word, or ksqlDB's; None if there is no proof."""
    schema_ids: Mapping[Subject, tuple[SchemaId, ...]]
    """The ids that each subject holds, soft-deleted ones too, ascending."""

    def ids_under(self, subject: TopiclessSubject) -> tuple[SchemaId, ...]:
        return self.schema_ids.get(subject.subject, ())

    def name_of(self, subject: TopiclessSubject) -> str:
        parsed = parse(subject.topic, application=self.application)
        return subject.topic if parsed is None else parsed.name


def topicless_subjects(survey: Survey) -> Iterator[TopiclessSubject]:
    """Every internal-looking subject without its topic, by name; a pseudo-topic's if its join is gone, too."""
    topics = survey.topics()
    for subject in sorted(survey.subjects()):
        context, name = split_context(subject)
        split = split_subject(name)
        topic, role = split or (record_name_subject(name), Role.VALUE)
        kind = None if topic is None else recognise(topic)
        if topic is None or kind is None or topic in topics:
            continue
        registration = registration_topic(topic)
        if registration is None or registration not in topics:
            yield TopiclessSubject(
                subject=subject, context=context, topic=topic, role=role, kind=kind, registration=registration
            )


def owners(
    subjects: Iterable[TopiclessSubject], lives: Collection[str], gone: Collection[str]
) -> Mapping[str, tuple[TopiclessSubject, ...]]:
    """The subjects by application: one alive or said gone, else one of a generated name, else the most shared."""
    every = tuple(subjects)
    allowed = {subject.topic: application_prefixes(subject.topic) for subject in every}
    names = {name for subject in every if (name := generated_owner(subject.topic)) is not None} | set(gone)
    shared = Counter(prefix for subject in every for prefix in allowed[subject.topic])
    by_owner: dict[str, list[TopiclessSubject]] = {}
    for subject in every:
        prefixes = allowed[subject.topic]  # the longest first
        name = (
            next((prefix for prefix in prefixes if prefix in lives or prefix in gone), None)
            or next((prefix for prefix in prefixes if prefix in names), None)
            or max(prefixes, key=lambda prefix: (shared[prefix], len(prefix)), default=None)
        )
        if name is not None:
            by_owner.setdefault(name, []).append(subject)
    return {name: tuple(by_owner[name]) for name in sorted(by_owner)}


def ksqldb_lacks(application: str, answers: Iterable[KsqldbAnswers]) -> str | None:
    """A clause that names a ksqlDB server that should own this query and does not know it; problems prove nothing."""
    query = ksqldb_query(application)
    if query is None or query.application != application:
        return None
    for answer in answers:
        service = None if answer.server is None else answer.server.service_id
        # A file may hold the answer to only one of many statements. A longer service id may begin with this one.
        is_whole = answer.origin.startswith(_OF_A_SERVER) and not answer.problems
        if not is_whole or service is None or application != f"{_KSQLDB}{service}query_{query.query_id}":
            continue
        if not any(True for _ in answer.queries_of(application)):
            return f"ksqlDB ({answer.origin}, service id {service}) knows no query {query.query_id}"
    return None


def has_topics(application: str, topics: Iterable[Topic]) -> bool:
    return any(parse(topic, application=application) is not None for topic in topics)


def without_trace(
    survey: Survey, name: str, lives: Collection[str], subjects: Iterable[TopiclessSubject]
) -> tuple[TopiclessSubject, ...]:
    """The subjects without any other trace: no application that the name allows is alive, has topics, or was given."""
    with_topics = {prefix for topic in survey.topics() for prefix in application_prefixes(topic)}
    trace = with_topics.union(survey.supplied.applications)

    def is_bare(subject: TopiclessSubject) -> bool:
        allowed = application_prefixes(subject.topic)
        is_sure = name in survey.gone or generated_owner(subject.topic) == name
        # A person who says that an application is gone does not mean a living one with a shorter name.
        other_topics = [
            candidate
            for candidate in allowed
            if candidate in lives and not (name in survey.gone and len(candidate) < len(name))
        ]
        return not other_topics and trace.isdisjoint((name,) if is_sure else allowed)

    return tuple(filter(is_bare, subjects))


def signs_of_absence(subjects: Iterable[TopiclessSubject]) -> Iterator[str]:
    left = sorted({subject.registration or subject.topic for subject in subjects if subject.always_has_a_topic})
    if left:
        others = (
            f", and so {'are' if len(left) > 2 else 'is'} {counted(len(left) - 1, 'other topic')}"
            if len(left) > 1
            else ""
        )
        yield f"the topic {left[0]} is missing{others}; an application that runs, or is only stopped, has such a topic"


def orphans(survey: Survey, listed: Collection[str]) -> Mapping[Subject, str]:
    """The subjects of applications that are gone by every sign (SRF009); ask only if all groups are listed."""
    every = tuple(topicless_subjects(survey))
    if not any(signs_of_absence(every)):
        return {}
    names = sorted({prefix for subject in every for prefix in application_prefixes(subject.topic)})
    survey.ask_commits(names)
    lives = {name for name in names if name in listed or _may_have_commits(survey, name)}
    bare = {
        name: without_trace(survey, name, lives, subjects)
        for name, subjects in owners(every, lives, ()).items()
        if name not in lives
    }
    return {subject.subject: name for name, left in bare.items() if any(signs_of_absence(left)) for subject in left}


def _may_have_commits(survey: Survey, name: str) -> bool:
    try:
        return bool(survey.commits(name))
    except ClusterError:  # if srfix may not ask about a group, it never calls the group gone
        return True


_BUFFER_HEADER: Final = "v"
"""The header of a suppression buffer's records (`InMemoryTimeOrderedKeyValueChangeBuffer`)."""
_ENOUGH: Final = 3
"""How many values there must be, all of them framed, if no subject says what they are."""
_LONG: Final = 8
_MILLISECONDS: Final = range(978_307_200_000, 4_102_444_800_000)
"""The years 2001 to 2099: payloads that begin with such a long all seem to be framed under the same id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostIds:
    role: Role
    subject: Subject
    """The changelog's own subject for that role, in the context that was asked first."""
    has_subject: bool
    """False if no subject says that these are a schema registry serializer's."""
    schema_ids: tuple[SchemaId, ...]
    """The ids that a restore loads and the registry does not know, or knows only elsewhere, ascending."""
    registered_ids: tuple[SchemaId, ...]
    """The ids under the subject, with those of soft-deleted versions, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogFacts:
    topic: Topic
    application: str
    """The living application with the longest name that the topic's name allows."""
    store: str
    other_splits: tuple[str, ...] = ()
    """Other stores that the topic's name allows, as `application/store`."""
    census: Census
    lost: tuple[LostIds, ...]
    missing: tuple[LostIds, ...] = ()
    """Ids that the registry knows, but not under the changelog's own subject; only for a reader that looks versions up."""

    def finding(
        self, code: str, lost: LostIds, faults: tuple[IdAtFault, ...], *, explanation: str, next_step: str
    ) -> Finding:
        return Finding(
            code=code,
            severity=Severity.BROKEN,
            application=self.application,
            store=self.store,
            role=lost.role,
            subject=lost.subject,
            source=Source(topic=self.topic, subject=lost.subject),
            schema_ids=faults,
            registered_ids=lost.registered_ids,
            evidence=(
                Evidence(
                    kind="changelog",
                    topic=self.topic,
                    weight=Weight.CONCLUSIVE,
                    detail="the store has this changelog topic of its own, and restores from it",
                    application=self.application,
                ),
            ),
            explanation=explanation,
            next=next_step,
            repairable=False,
            other_splits=self.other_splits,
        )


def real_changelogs(survey: Survey, *, application: str | None, store: str | None) -> tuple[Topic, ...]:
    return tuple(
        topic
        for topic in sorted(survey.topics())
        if recognise(topic) is InternalTopicKind.CHANGELOG
        and any(_is_of(topic, name, store) for name in application_prefixes(topic) if application in (None, name))
    )


def contexts_of(survey: Survey) -> tuple[str, ...]:
    """The registry contexts that have subjects, soft-deleted ones too, by name."""
    return tuple(sorted({split_context(subject)[0] for subject in survey.subjects()}))


def registry_roles(survey: Survey, topic: Topic, contexts: Iterable[str]) -> Iterator[tuple[Role, tuple[str, ...]]]:
    """The roles that a registry serializer wrote, each with the contexts of its subject; none `is_in_own_format`."""
    records = survey.sample(topic)
    if any(name == _BUFFER_HEADER for record in records for name, _value in record.headers):
        return
    for role in Role:
        name = subject_for(topic, role)
        holding = tuple(context for context in contexts if survey.has_subject(join_context(context, name)))
        if holding or (role is Role.VALUE and _look_framed(records)):
            yield role, holding


def unknown_ids(survey: Survey, ids: Iterable[SchemaId], contexts: Iterable[str]) -> tuple[SchemaId, ...]:
    """The ids that none of these contexts knows; without contexts, that of the registry's URL is asked."""
    contexts_asked = tuple(contexts) or (DEFAULT_CONTEXT,)
    return tuple(
        schema_id
        for schema_id in sorted(ids)
        if all(survey.schema_of_id(schema_id, context) is None for context in contexts_asked)
    )


def _look_framed(records: Iterable[RawRecord]) -> bool:
    """True if a schema registry serializer wrote values without a subject, beyond reasonable doubt."""
    pairs = [(record.value, list(record.headers)) for record in records if record.value is not None]
    values = [value for value, _headers in pairs]
    if len(values) < _ENOUGH or all(len(value) == _LONG for value in values):
        return False
    longs = [int.from_bytes(value[:_LONG], "big") for value in values if len(value) >= _LONG]
    if longs and all(number in _MILLISECONDS for number in longs):
        return False
    peeked = peek_headers([headers for _value, headers in pairs], SchemaIdPeek()(values), Role.VALUE)
    return min(peeked) >= 0 and len(set(peeked)) <= max(1, len(values) // 3)


def _is_of(topic: Topic, application: str, store: str | None) -> bool:
    parsed = parse(topic, application=application)
    return parsed is not None and store in (None, parsed.store)
