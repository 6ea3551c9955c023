"""Asks again like the failing reader: with a fresh client, a census, look-ups by content, and decoded rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypedDict

from msgspec import structs

from srfix.recovery.actions.actions import DeleteVersion
from srfix.recovery.advice.playbook import Verified
from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.facts.key_role import KeyRole
from srfix.recovery.facts.reader import Circumstances
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import Strategy, TopicQuestion, TopicRead, Trouble, only_ids
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.registry import GivenRegistry, Registry, usable
from srfix.recovery.repair.plan_file import Plan, PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.recovery.repair.verify.ids import AskedIds, deleted, left_out_elsewhere
from srfix.recovery.repair.verify.stores import (
    keys_missed,
    keys_of,
    left_open,
    next_put,
    rows_read,
    rows_without_id,
    store_of,
)
from srfix.recovery.topic_check.examine import TopicCheck, check_topic
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.windowed import WindowKind


class EveryRow(Protocol):
    """Reads every row that a restore loads, while `verify` itself reads one for each schema id and partition."""

    def events(
        self,
        finding: PlannedFinding,
        census: Census,
        registry: Registry,
        *,
        window: WindowKind | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Event]:
        """Without partitions that the census did not read to their end. After `deadline_s` it stops, and says so."""


def verify(
    plan: Plan,
    cluster: Cluster,
    engine: CensusEngine,
    registry: GivenRegistry,
    *,
    supplied: Supplied | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    isolation: Isolation | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
    every_row: EveryRow | None = None,
) -> Iterator[Event]:
    """Verifies each store of a plan. Reads only. It makes the census of each store again, of keys and of values, even if
    the plan repairs only one of the two. It looks up, by content and with `deleted=true`, each id in the plan (live or
    not) and each id that a restore loads, and compares the answered id. For each (id, partition), it decodes at least
    one live record under the phantom subject alone. The subject's configuration and mode must be what they were before
    the repair. A planned subject without a live row counts as not looked at. So does a topic that cannot be read; then
    the registry alone is checked. Schemas that the plan left out, and look-ups by key that miss repaired rows (SRF005),
    are problems. A topic's finding is checked again as its reader reads; one row of each (id, partition) is read, even
    if `every_row` reads all rows of a store.

    :param registry: a fresh client, so that no remembered answer of an earlier step is used.
    :param supplied: state directories, topologies and ksqlDB's answers: they, or the plan, show a global table, whose
        restore ignores committed offsets.
    :param deadline_s: seconds after which the census of each topic stops; records that it leaves unread are not looked
        at.
    :param max_records: records of each topic after which its census stops, too.
    :param isolation: how restores read, if the person said; otherwise the application's transactional ids decide.
    :param every_row: reads every live row besides; with None, only one row for each schema id and partition is read.
    :raises RegistryError: if the registry does not answer.
    """
    registry = usable(registry)
    registry.forget_unknown_ids()
    run = _Run(
        plan=plan,
        engine=engine,
        registry=registry,
        supplied=supplied or Supplied(),
        survey=Survey(cluster=cluster, registry=registry),
        restores=Survey(cluster=cluster, registry=registry, isolation=isolation),
        limits={"deadline_s": deadline_s, "max_records": max_records},
        on_progress=on_progress,
        every_row=every_row,
    )
    yield from run.events()


class _Limits(TypedDict):
    deadline_s: float | None
    max_records: int | None


@dataclass(slots=True, kw_only=True)
class _Run:
    plan: Plan
    engine: CensusEngine
    registry: Registry
    supplied: Supplied
    survey: Survey
    restores: Survey
    limits: _Limits
    on_progress: Callable[[CensusProgress], None] | None
    every_row: EveryRow | None
    _keys: dict[tuple[SuspectStore, Topic], KeyRole] = field(default_factory=dict)
    _looked: dict[tuple[Topic, Role, Subject | None], TopicCheck] = field(default_factory=dict)

    def events(self) -> Iterator[Event]:
        topics = self._topics()
        subjects = {finding.subject for finding in self.plan.findings}
        for finding in self.plan.findings:
            deletions = [a for a in self.plan.actions if isinstance(a, DeleteVersion) and a.subject == finding.subject]
            if deletions:
                yield from deleted(deletions, self.registry)
                continue
            try:
                if isinstance(topics, ClusterError):
                    raise topics
                of_finding, beside = self._reading(finding, topics)
            except ClusterError as error:
                yield from self._without_rows(finding, error)
            else:
                yield from of_finding
                subjects |= beside
        yield from left_out_elsewhere(self.plan, self.registry, asked=subjects)

    def _topics(self) -> Mapping[Topic, int] | ClusterError:
        try:
            return self.survey.cluster.topics()
        except ClusterError as error:
            return error

    def _reading(self, finding: PlannedFinding, topics: Mapping[Topic, int]) -> tuple[list[Event], set[Subject]]:
        """The events, and the subjects of the store that were asked beside the finding's."""
        partitions, survey = topics.get(finding.source_topic), self.survey
        if partitions is None:
            return [*self._without_topic(finding)], set()
        if finding.read is not None:
            events = topic_events(self.plan, finding, self._look(finding, finding.read), survey)
            return [*events, *_standing(self.plan.expects[finding.subject], self.registry)], set()
        where = store_of(finding), finding.source_topic
        is_first = where not in self._keys
        if is_first:
            self._keys[where] = keys_of(finding, self._count(finding, partitions), survey)
        keys = self._keys[where]
        of_finding = [*self._of_finding(finding, keys)]
        if not is_first:
            return of_finding, set()
        of_finding += keys_missed(finding, keys, survey)
        every_beside = [*self._beside(finding, keys)]
        for beside in every_beside:
            asked_ids = AskedIds.ask(self.plan, beside, keys.census.restorable_ids(beside.role), self.registry)
            of_finding += asked_ids.events(self.registry, is_partial=keys.census.is_partial)
            of_finding += rows_read(beside, keys.census, survey, asked_ids, before=None, window=keys.window)
        return of_finding, {beside.subject for beside in every_beside}

    def _without_rows(self, finding: PlannedFinding, error: ClusterError) -> Iterator[Event]:
        """What the registry alone shows."""
        yield NotLookedAt(
            subject=finding.subject,
            what=f"topic {finding.source_topic}. No row of it was decoded, and only the registry was checked. "
            f"{error.message.removesuffix('.')}",
        )
        yield from self._of_registry(finding)

    def _count(self, finding: PlannedFinding, partitions: int) -> Census:
        store = store_of(finding)
        is_global = self.supplied.is_global(store.application, store.name) or any(
            known_store.is_global
            for circumstances in self.plan.circumstances
            for known_store in circumstances.stores
            if (circumstances.application, known_store.name) == (store.application, store.name)
        )
        request = CensusRequest(
            topic=finding.source_topic,
            partitions=tuple(range(partitions)),
            committed=None if is_global else _commits(self.survey.cluster, finding, partitions),
            isolation=self.restores.restore_isolation(store.application).isolation,
            **self.limits,
        )
        return self.engine.count(request, on_progress=self.on_progress)

    def _look(self, finding: PlannedFinding, read: TopicRead) -> TopicCheck:
        # With a strategy that names subjects by the record, one topic has many findings.
        subject = finding.subject if read.strategy is Strategy.TOPIC else None
        where = finding.source_topic, finding.role, subject
        if where not in self._looked:
            question = TopicQuestion(topic=finding.source_topic, roles=(finding.role,), subject=subject, read=read)
            self._looked[where] = self._look_again(question)
        return self._looked[where]

    def _look_again(self, question: TopicQuestion) -> TopicCheck:
        """The topic's check, as its reader reads it; if the group has no commits any more, the whole topic counts."""
        try:
            return check_topic(question, self.survey, self.engine, on_progress=self.on_progress, **self.limits)
        except UsageError:
            if question.read.group is None:
                raise
            return self._look_again(replace(question, read=replace(question.read, group=None)))

    def _without_topic(self, finding: PlannedFinding) -> Iterator[Event]:
        whose = ", from which the store restores" if finding.read is None else ", which is read under this subject"
        yield Problem(
            subject=finding.subject,
            what=f"topic {finding.source_topic}{whose}, does not exist in this cluster; check --bootstrap-servers",
        )
        yield from self._of_registry(finding)

    def _of_registry(self, finding: PlannedFinding) -> Iterator[Event]:
        yield from AskedIds.ask(self.plan, finding, (), self.registry).events(self.registry, is_read=False)
        yield from _standing(self.plan.expects[finding.subject], self.registry)

    def _of_finding(self, finding: PlannedFinding, keys: KeyRole) -> Iterator[Event]:
        census, before = keys.census, self.plan.expects[finding.subject]
        for partition in census.partitions:
            if partition.stopped_early is not None:
                yield NotLookedAt(
                    subject=finding.subject,
                    what=f"{census.topic} partition {partition.partition}: {partition.stopped_early}",
                )
        asked_ids = AskedIds.ask(self.plan, finding, census.restorable_ids(finding.role), self.registry)
        yield from asked_ids.events(self.registry, is_partial=census.is_partial)
        for event in rows_read(finding, census, self.survey, asked_ids, before=before, window=keys.window):
            # `every_row` reads these rows too, so they count once.
            yield event if self.every_row is None else replace(event, rows=0)
        yield from rows_without_id(finding, census)
        yield from left_open(finding, keys)
        yield from next_put(finding, before, census.restorable_ids(finding.role), self.registry)
        yield from _standing(before, self.registry)
        if self.every_row is not None:
            yield from self.every_row.events(
                finding, census, self.registry, window=keys.window, deadline_s=self.limits["deadline_s"]
            )

    def _beside(self, finding: PlannedFinding, keys: KeyRole) -> Iterator[PlannedFinding]:
        """The keys or the values of the store, if the plan has no finding for them, because the reader reads them, too."""
        store = store_of(finding)
        if finding.subject != store.subject(finding.role):  # the reader asks the source's own subject
            return
        planned = {
            (store_of(planned_finding), planned_finding.role)
            for planned_finding in self.plan.findings
            if planned_finding.read is None
        }
        for role in Role:
            if (store, role) not in planned and (role is Role.VALUE or keys.is_role):
                yield replace(finding, role=role, subject=store.subject(role), schema_ids=(), planned_ids=())


def _commits(cluster: Cluster, finding: PlannedFinding, partitions: int) -> Mapping[int, int | None]:
    answers = cluster.committed(store_of(finding).application, [(finding.source_topic, p) for p in range(partitions)])
    return {partition: offset for (_topic, partition), offset in answers.items()}


def _standing(expected: SubjectState, registry: Registry) -> Iterator[Event]:
    """Compares a subject's state with that before the repair, in the parts that a repair does not change for good."""
    subject, subject_state = expected.subject, read_subject_state(registry, expected.subject)
    gone = sorted({version.schema_id for version in expected.live} - set(subject_state.schema_ids))
    if gone:
        this_was, them = ("This id was", "it") if len(gone) == 1 else ("These ids were", "them")
        yield NotLookedAt(
            subject=subject,
            what=f"whether the store's rows with {named_ids(gone)} can be read. {this_was} registered here "
            "when the plan was made, but not now. Is this the plan's registry (--registry)? If somebody deleted "
            f"{them} for good, the store's own rows with {named_ids(gone)} cannot be read",
        )
    if subject_state.config == expected.config:
        yield Confirmed(subject=subject, what="its configuration is what it was before the repair")
    else:
        yield Problem(
            subject=subject,
            what=f"its configuration is {_config_in_words(subject_state.config)}; before the repair it was "
            f"{_config_in_words(expected.config)}. "
            "Finish the repair with srfix apply, or reset the configuration by hand",
        )
    if subject_state.mode != expected.mode:
        yield Problem(
            subject=subject,
            what=f"its mode is {subject_state.mode or 'none of its own'}; before the repair it was "
            f"{expected.mode or 'none of its own'}. Finish the repair with srfix apply, or reset the mode by "
            "hand",
        )


def _config_in_words(config: Mapping[str, Json] | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(config.items())) if config else "none of its own"


def circumstances_now(plan: Plan, cluster: Cluster, supplied: Supplied) -> Iterator[Circumstances]:
    states = cluster.group_states(circumstances.application for circumstances in plan.circumstances)
    for circumstances in plan.circumstances:
        stores = tuple(
            structs.replace(
                store, is_global=store.is_global or supplied.is_global(circumstances.application, store.name)
            )
            for store in circumstances.stores
        )
        circumstances = replace(circumstances, stores=stores)
        for answers, query in supplied.queries(circumstances.application):
            version = circumstances.ksqldb_version if answers.server is None else answers.server.version
            state = query.state or circumstances.query_state
            circumstances = replace(circumstances, query=query.query_id, query_state=state, ksqldb_version=version)
        yield circumstances.with_group(states[circumstances.application])


def outcome_of(application: str, plan: Plan, events: Iterable[Event]) -> Verified:
    """The result for one application of the plan. A subject that belongs to none of them counts for each."""
    owners: dict[Subject, set[str]] = {}
    for finding in plan.findings:
        if finding.application is None:
            owners.setdefault(finding.subject, set())
            continue
        for subject in (finding.subject, *map(store_of(finding).subject, Role)):
            owners.setdefault(subject, set()).add(finding.application)
    application_events = [event for event in events if application in owners.get(event.subject, {application})]
    problems = [event for event in application_events if isinstance(event, Problem)]
    if not all(problem.keys_miss for problem in problems):
        return Verified.PROBLEMS
    if any(isinstance(event, NotLookedAt) for event in application_events):
        return Verified.NOT_SEEN
    return Verified.KEYS_MISS if problems else Verified.HOLDS


_OF_THE_LATEST: Final = (Trouble.NO_LATEST, Trouble.LATEST_CANNOT_READ)
"""A fault that no look-up of an id shows: a reader that takes the latest version still fails."""


def topic_events(plan: Plan, finding: PlannedFinding, topic_check: TopicCheck, survey: Survey) -> Iterator[Event]:
    subject, census = finding.subject, topic_check.answers.census
    for skipped in topic_check.skipped:
        if skipped.could_hide:
            yield NotLookedAt(subject=subject, what=f"{skipped.what}: {skipped.reason}")
    answer = topic_check.answers.role(finding.role)
    ids = answer.ids if answer is not None else ()
    ids_of_subject = [asked_id for asked_id in ids if asked_id.subject == subject]
    live = {
        asked_id.schema_id
        for asked_id in ids_of_subject
        if asked_id.standing.is_met or asked_id.schema_id in finding.planned_ids
    }
    asked_ids = AskedIds.ask(plan, finding, live, survey.registry)
    yield from asked_ids.events(survey.registry, is_partial=census.is_partial)
    read = only_ids(census, finding.role, asked_ids.memberships)
    window = None if answer is None else answer.window
    yield from rows_read(finding, read, survey, asked_ids, before=plan.expects[subject], window=window)
    yield from rows_without_id(finding, census)
    for asked_id in ids_of_subject:
        if asked_id.standing.is_met and asked_id.trouble in _OF_THE_LATEST:
            yield Problem(
                subject=subject, what=f"schema id {asked_id.schema_id}: {asked_id.trouble.value}, {asked_id.why}"
            )
