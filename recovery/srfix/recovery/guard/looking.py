"""What the cluster and the registry show about a store. Both are optional, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from srfix.recovery.advice.hints import gather_hints, with_hints
from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.facts.reader import CheckContext, StreamsVersion
from srfix.recovery.facts.refusals import foreseen_refusal
from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts, SuspectStore
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import Survey, ask_membership
from srfix.recovery.findings import Evidence, Skipped
from srfix.recovery.guard.models import Assumed, GuardedStore
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic
from srfix.serde.wire import SchemaId

Count: TypeAlias = Callable[[Topic, str | None, Isolation], Census]
"""Counts a topic for a group; the group is None for a global store."""
Learn: TypeAlias = Callable[[SuspectStore, Topic, tuple[Evidence, ...], StreamsVersion | None], StoreFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPair:
    phantom: SubjectState
    source: SubjectState
    ids: tuple[SchemaId, ...]
    """The ids that a restore may load: the topic's; if it was not read or holds none, those under its subject."""
    live: tuple[SchemaId, ...]
    """The ids that a restore would load at this moment, if the topic was read to its end; else empty."""
    missing: tuple[SchemaId, ...]
    """Those of `ids` whose schema is known, but not registered under the phantom subject."""
    own: tuple[SchemaId, ...]
    """The application's own ids: ids under the phantom subject whose schema the source topic's own subject lacks."""

    @property
    def asks_a_registry(self) -> bool:
        """True if anything shows that this role uses a registry at all."""
        return bool(self.phantom.versions or self.source.versions or self.ids)


@dataclass(slots=True, kw_only=True)
class Sight:
    cluster: Cluster | None = None
    registry: ReadableRegistry | None = None
    survey: Survey | None = None
    count: Count | None = None
    learn: Learn | None = None
    skipped: dict[Skipped, None] = field(default_factory=dict)
    """What srfix could not read or ask, and topics that do not exist."""
    _topics: frozenset[Topic] | None = None
    _subjects: frozenset[Subject] | None = None
    _facts: dict[tuple[GuardedStore, StreamsVersion | None], StoreFacts | None] = field(default_factory=dict)
    _pairs: dict[tuple[GuardedStore, Role], SubjectPair | None] = field(default_factory=dict)

    def has_topic(self, topic: Topic) -> bool | None:
        """Whether a topic exists; None if no cluster was named."""
        if self.cluster is None:
            return None
        if self._topics is None:
            self._topics = frozenset(self.survey.topics() if self.survey is not None else self.cluster.topics())
        return topic in self._topics

    def has_subject(self, subject: Subject) -> bool | None:
        """Whether a subject exists, even with only soft-deleted versions; None if no registry was named."""
        if self.registry is None:
            return None
        if self._subjects is None:
            self._subjects = frozenset(self.registry.subjects(deleted=True))
        return subject in self._subjects

    def skip(self, skipped: Skipped) -> None:
        self.skipped[skipped] = None

    def runs(self, store: GuardedStore) -> bool:
        """True if the application has committed offsets of the store's topic; then its internal topics exist."""
        if self.survey is None or store.topic is None:
            return False
        try:
            return any(topic == store.topic for topic, _partition in self.survey.commits(store.application))
        except AccessDeniedError as error:
            self._not_read(store, error)
            return False

    def assumed_of(self, store: GuardedStore, assumed: Assumed) -> CheckContext | None:
        """Its reader and version by the person's word, else by what is seen; None without cluster or registry."""
        if self.survey is None:
            return None
        context = CheckContext(
            registry=self.survey.registry,
            reader=assumed.reader,
            streams_version=assumed.running,
            command_line=assumed.command_line,
        )
        return with_hints(context, gather_hints(store.suspect, self.survey, store.topic))

    def context_of(self, subject: Subject) -> str:
        return DEFAULT_CONTEXT if self.registry is None else self.registry.context_of(subject)

    def subject_pair(self, store: GuardedStore, role: Role) -> SubjectPair | None:
        """The versions under its subjects; None without a registry, or for a store that is not made from a topic."""
        if (store, role) not in self._pairs:
            self._pairs[store, role] = self._ask(store, role)
        return self._pairs[store, role]

    def facts(self, store: GuardedStore, running: StreamsVersion | None) -> StoreFacts | None:
        """What a diagnosis learns of a store; None without cluster or registry, or if its topic could not be read."""
        if (store, running) not in self._facts:
            self._facts[store, running] = self._learn(store, running)
        return self._facts[store, running]

    def _learn(self, store: GuardedStore, running: StreamsVersion | None) -> StoreFacts | None:
        if self.learn is None or store.topic is None or not self.has_topic(store.topic):
            return None
        detail = f"{store.origin} says so"
        evidence = Evidence(kind="topology", topic=store.topic, weight=store.weight, detail=detail)
        try:
            return self.learn(store.suspect, store.topic, (evidence,), running)
        except ClusterError as error:
            self._not_read(store, error)
            return None

    def configs(self, topic: Topic) -> TopicConfigs | None:
        """The configuration of a topic; None if no cluster was named, or there is no such topic."""
        if self.cluster is None or not self.has_topic(topic):
            return None
        if self.survey is not None:
            return self.survey.topic_configs(topic)
        return self.cluster.topic_configs(topic)

    def refusal(self, state: SubjectState, role: Role, schema: Schema) -> tuple[str | None, bool]:
        """Why a subject would refuse a schema, None if it would not; and whether that is known, else it is skipped."""
        if self.registry is None:
            return None, False
        facts = RoleFacts(role=role, subject=state.subject, state=state, memberships={})
        # The schema has no id yet, and is not asked for by id.
        new = Membership(schema_id=SchemaId(0), schema=schema, error_code=None, answered_id=None)
        refused, untold = foreseen_refusal(self.registry, facts, new)
        if untold is not None:
            what = f"whether {state.subject} would accept the schema"
            self.skip(Skipped(what=what, reason=untold, could_hide=True, subjects=(state.subject,)))
        return refused, untold is None

    def _ask(self, store: GuardedStore, role: Role) -> SubjectPair | None:
        if self.registry is None or store.topic is None:
            return None
        phantom = self._state(store.changelog_subject(role))
        source = self._state(store.source_subject(role))
        census = self._census(store, store.topic)
        counted = () if census is None else census.restorable_ids(role)
        if role is Role.KEY:  # other keys seem to be framed only by chance
            counted = tuple(schema_id for schema_id in counted if schema_id in source.schema_ids)
        of_subject = tuple(sorted({version.schema_id for version in source.live}))
        ids = counted or (of_subject if census is None or role is Role.VALUE else ())
        live = frozenset(() if census is None or census.is_partial else census.live_ids(role))
        memberships = {i: ask_membership(self.registry, phantom.subject, i) for i in ids}
        owned = {i: ask_membership(self.registry, source.subject, i) for i in phantom.schema_ids}
        return SubjectPair(
            phantom=phantom,
            source=source,
            ids=tuple(i for i in ids if memberships[i].is_known),
            live=tuple(i for i in counted if i in live),
            missing=tuple(i for i, membership in memberships.items() if membership.is_missing),
            own=tuple(i for i, membership in owned.items() if membership.is_missing),
        )

    def _state(self, subject: Subject) -> SubjectState:
        if self.registry is None or not self.has_subject(subject):
            return SubjectState(subject=subject, versions=(), config=None, mode=None)
        return read_subject_state(self.registry, subject)

    def _census(self, store: GuardedStore, topic: Topic) -> Census | None:
        if self.count is None or self.survey is None:
            return None
        if not self.has_topic(topic):
            reason = (
                "this cluster has no such topic. Check --bootstrap-servers: the cluster and what you gave must belong to one "
                "environment"
            )
            self.skip(Skipped(what=f"topic {topic}, named by {store.origin}", reason=reason, could_hide=True))
            return None
        try:
            group = None if store.is_global else store.application
            isolation = self.survey.restore_isolation(store.application).isolation
            census = self.count(topic, group, isolation)
        except ClusterError as error:
            self._not_read(store, error)
            return None
        if census.is_partial:
            reason = "srfix did not read the topic to its end; the rest may carry other ids"
            self.skip(Skipped(what=f"the rest of topic {topic}", reason=reason, could_hide=True))
        return census

    def _not_read(self, store: GuardedStore, error: ClusterError) -> None:
        if self.cluster is not None:
            self.cluster.require_answers(error)
        self.skip(Skipped(what=store.suspect.in_words, reason=error.message, could_hide=True))
