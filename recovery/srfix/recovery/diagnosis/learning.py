"""Learns the facts of one store: its census, the versions under its subjects, and whether its rows decode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.advice.hints import GenerationHint
from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks.srf010 import CODE as POLLUTION
from srfix.recovery.checks.srf010 import internal_versions, may_be_producers
from srfix.recovery.diagnosis.without_logging import starts_anew
from srfix.recovery.errors import LibraryMissingError
from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.names_and_offsets import read_topics
from srfix.recovery.facts.bodies import Bodies, newest_bodies, whole_bodies
from srfix.recovery.facts.key_role import KeyRole
from srfix.recovery.facts.keys_of_store import keys_of_store
from srfix.recovery.facts.processed_rows import compare_rows
from srfix.recovery.facts.reader import WITH_FIX, CheckContext, KnownStore, StreamsVersion
from srfix.recovery.facts.rows_on_disk import Place, RowCounter, count_rows, of_registry_roles, places_of, read_rows
from srfix.recovery.facts.stores import ProcessedRows, RoleFacts, StoreFacts, StoreRows, SuspectStore
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.facts.supplied import own_processor
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Source
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.internal_topics import InternalTopicKind, parse, recognise
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from srfix.recovery.state.row_ids import RowIds

ProgressHook: TypeAlias = Callable[[CensusProgress], None] | None
_Committed: TypeAlias = tuple[int | None, ...] | None
"""For each partition a group's committed offset; for a global table, None instead."""
_LAST_RECORD_SINCE: Final = StreamsVersion(2, 6)
"""The first Kafka Streams whose checkpoints hold the offset of the last record, not of the next one."""


@dataclass(slots=True)
class Counter:
    """Counts a topic once for all groups that have committed the same: several candidates may be tried for many stores."""

    survey: Survey
    engine: CensusEngine
    on_progress: ProgressHook
    deadline_s: float | None
    max_records: int | None
    decode_values: bool

    def rows(self, place: Place) -> RowIds:
        def count() -> RowIds:
            give_up_at = None if self.deadline_s is None else time.monotonic() + self.deadline_s
            return count_rows(place, give_up_at=give_up_at)

        return self.survey.once(("row ids", place.store.path, self.deadline_s), count)

    def __call__(self, topic: Topic, group: str | None, isolation: Isolation) -> Census:
        """`group` is None for a global table: committed offsets play no part there."""
        committed = self._committed(topic, group)
        request = CensusRequest(
            topic=topic,
            partitions=tuple(range(self.survey.topics()[topic])),
            committed=None if committed is None else dict(enumerate(committed)),
            isolation=isolation,
            deadline_s=self.deadline_s,
            max_records=self.max_records,
        )
        limits = self.engine, self.deadline_s, self.max_records, self.decode_values
        question = "census", topic, committed, isolation, limits
        return self.survey.once(question, lambda: self.engine.count(request, on_progress=self.on_progress))

    def _committed(self, topic: Topic, group: str | None) -> _Committed:
        """By partition; a restore loads the same for groups with the same committed offsets."""
        if group is None:
            return None
        commits = self.survey.commits(group)
        return tuple(commits.get((topic, partition)) for partition in range(self.survey.topics()[topic]))

    def bodies(self, group: str | None, roles: tuple[Role, ...], keys: KeyRole, context: str) -> Mapping[Role, Bodies]:
        census, survey = keys.census, self.survey
        topic, isolation = census.topic, census.isolation
        raw_key_ids = frozenset(self(topic, group, isolation).ids(Role.KEY)) - frozenset(census.ids(Role.KEY))
        decode: Callable[..., Mapping[Role, Bodies]] = newest_bodies
        if self.decode_values:
            decode = partial(whole_bodies, raw_key_ids=raw_key_ids, on_progress=self.on_progress)
        question = "bodies", topic, self._committed(topic, group), isolation, roles, keys.window, raw_key_ids, context
        arguments = survey.cluster, survey.registry, census, roles
        return survey.once(
            question, lambda: decode(*arguments, window=keys.window, context=context, deadline_s=self.deadline_s)
        )


def learn(
    survey: Survey,
    counter: Counter,
    suspect: SuspectStore,
    topic: Topic,
    evidence: tuple[Evidence, ...],
    streams: StreamsVersion | None = None,
) -> StoreFacts:
    group = None if is_global(survey, suspect, topic) else suspect.application
    census = counter(topic, group, survey.restore_isolation(suspect.application).isolation)
    states = _states(survey, suspect, census)
    keys = keys_of_store(survey, suspect, topic, census, states)
    census = keys.census
    places = places_of(survey.supplied.state, suspect)
    rows, rows_not_read = _rows_of(places, census, counter.rows, streams)
    are_unframed = (
        rows is not None and bool(rows.rows) and rows.unframed.get(Role.VALUE) == rows.rows and not rows.could_hide
    )
    roles: dict[Role, RoleFacts] = {}
    for role, state in states.items():
        ids = census.ids(role)
        on_disk = () if rows is None else rows.ids(role)
        may_be_kept = bool(on_disk) and survey.has_subject(suspect.source_subject(topic, role))
        if not ids and not state.versions and not may_be_kept:
            continue
        if role is Role.KEY and not keys.is_role:
            continue
        subject, own = suspect.subject(role), suspect.source_subject(topic, role)
        restored = census.restorable_ids(role)
        roles[role] = RoleFacts(
            role=role,
            subject=subject,
            state=state,
            memberships={schema_id: survey.membership(subject, schema_id) for schema_id in ids},
            row_memberships={i: survey.membership(subject, i) for i in sorted(frozenset(on_disk).difference(ids))},
            source_memberships={schema_id: survey.membership(own, schema_id) for schema_id in restored},
        )
    return StoreFacts(
        store=suspect,
        source=Source(topic=topic, subject=suspect.source_subject(topic, Role.VALUE)),
        evidence=evidence,
        census=census,
        roles=roles,
        bodies=counter.bodies(group, tuple(roles), keys, suspect.context),
        source_configs=survey.topic_configs(topic),
        keys=keys,
        rows=None if rows is None else of_registry_roles(rows, {role: role in roles for role in Role}),
        rows_not_read=rows_not_read,
        starts_anew=starts_anew(survey, suspect),
        processed=None if group is not None else _processed(survey, suspect, keys, places, counter, streams),
        is_global=group is None,
        is_told_global=survey.supplied.is_global(suspect.application, suspect.name),
        value_asks_no_registry=Role.VALUE not in roles
        and not survey.has_subject(suspect.source_subject(topic, Role.VALUE))
        and (bool(states[Role.KEY].versions) or are_unframed),
    )


def _processed(
    survey: Survey,
    suspect: SuspectStore,
    keys: KeyRole,
    places: tuple[Place, ...],
    counter: Counter,
    streams: StreamsVersion | None,
) -> ProcessedRows | None:
    """Compares a global store's rows with the records of their keys; not if its serde may have changed the keys. None if a
    restore runs the processor, or if nothing shows one.
    """
    if streams is not None and streams.restores_through_processors:
        return None
    rows = _processor(survey, suspect, keys.census.topic)
    if rows.processor is None and not any(place.task.is_global for place in places):
        return None
    try:
        rows = compare_rows(survey, keys.census, places, suspect.context, rows, deadline_s=counter.deadline_s)
    except LibraryMissingError as error:
        return replace(rows, not_compared=error.message)
    if not rows.transformed or not keys.is_role or len(keys.census.ids(Role.KEY)) < 2:
        return rows
    why = "the topic's keys carry several schema ids, so a row may come from a record whose key has another id"
    untold = rows.untold + rows.transformed
    return replace(rows, transformed=0, untold=untold, example=None, not_compared=why)


def without_source(survey: Survey, suspect: SuspectStore, *, logs_nothing: str) -> StoreFacts:
    """The facts of a store into which nothing is restored: its subjects, and a clause that says what shows this."""
    roles = {
        role: RoleFacts(role=role, subject=subject, state=survey.subject_state(subject), memberships={})
        for role in Role
        if survey.has_subject(subject := suspect.subject(role))
    }
    return StoreFacts(store=suspect, source=None, evidence=(), census=None, roles=roles, logs_nothing=logs_nothing)


def _states(survey: Survey, suspect: SuspectStore, census: Census) -> Mapping[Role, SubjectState]:
    """The versions under the phantom subjects; one that is not listed is asked for only if a finding may need it."""
    states: dict[Role, SubjectState] = {}
    for role in (Role.VALUE, Role.KEY):
        subject = suspect.subject(role)
        value = states.get(Role.VALUE)
        needed = bool(census.ids(role)) and (value is None or not value.versions)
        if survey.has_subject(subject) or needed:
            states[role] = survey.subject_state(subject)
        else:
            states[role] = SubjectState(subject=subject, versions=(), config=None, mode=None)
    return states


def is_global(survey: Survey, suspect: SuspectStore, topic: Topic | None) -> bool:
    """True for a global table's store: something given says so, or the group commits elsewhere and not there."""
    is_shown = survey.supplied.is_told_global(suspect.application, suspect.name)
    if is_shown is not None:
        return is_shown
    read = read_topics(suspect, survey)
    return topic is not None and bool(read) and topic not in read


def known_store(survey: Survey, suspect: SuspectStore, topic: Topic | None) -> KnownStore:
    return KnownStore(
        name=suspect.name,
        topic=topic,
        is_global=is_global(survey, suspect, topic),
        context=survey.registry.context_of(suspect.subject(Role.VALUE)),
    )


def _rows_of(
    places: tuple[Place, ...], census: Census, count: RowCounter, streams: StreamsVersion | None
) -> tuple[StoreRows | None, str | None]:
    """The ids in the rows on disk; None if no state directory holds it, or with a reason if they were not read."""
    if not places:
        return None, None
    meaning = OffsetMeaning.UNKNOWN
    if streams is not None:
        meaning = OffsetMeaning.LAST_RECORD if streams >= _LAST_RECORD_SINCE else OffsetMeaning.POSITION
    try:
        return read_rows(places, census, count, meaning=meaning), None
    except LibraryMissingError as error:
        return None, error.message


def _processor(survey: Survey, suspect: SuspectStore, topic: Topic) -> ProcessedRows:
    """The user's own processor that a topology shows, if any; the name of a processor is no evidence against one."""
    for topology in survey.supplied.topologies:
        if topology.application in (None, suspect.application):
            own = own_processor(topology.topology, suspect.name)
            if own is not None and own.topic == topic:
                return ProcessedRows(processor=own.name, origin=topology.origin)
    return ProcessedRows()


def from_source_subject(
    facts: StoreFacts, context: CheckContext, among: Applications, survey: Survey
) -> Iterator[GenerationHint]:
    """A hint if the source's subject has the phantom subject's first schema: from Kafka Streams 2.7 on, a put registers
    it there. It proves nothing if another application, a producer (if ksqlDB writes the topic too) or an older Streams
    may have registered it. A key's schema alone proves nothing: tables with other columns have the same key."""
    own_ids = {}
    for role in facts.roles.values():
        first = {version.schema_id for version in role.state.versions[:1]}
        internal = internal_versions(facts, role, context).keys() & first
        own_ids[role.role] = sorted(i for i in internal if not may_be_producers(facts, role, i, context))
    value = facts.roles.get(Role.VALUE)
    if value is not None and value.state.versions and not own_ids[Role.VALUE]:
        return
    for of, own in own_ids.items():
        source = facts.source_of(of)
        if source is None or not own or among.others_read(source.topic, facts.store.application):
            continue
        if any(survey.membership(source.subject, live.schema_id).is_missing for live in facts.roles[of].state.live):
            continue
        if survey.subject_state(source.subject).versions[0].schema_id in own:
            continue
        if not _others_left(own, of, facts.store.application, survey):
            yield GenerationHint(
                oldest=WITH_FIX,
                newest=None,
                detail=f"the store's serde registered {named_ids(sorted(own))} under {source.subject} ({POLLUTION})",
            )


def _others_left(schema_ids: Iterable[SchemaId], of: Role, application: str, survey: Survey) -> bool:
    """True if the subject of another application's changelog begins with one of the ids; those behind it may be copies."""
    ids = frozenset(schema_ids)

    def is_anothers(subject: Subject) -> bool:
        split = split_subject(split_context(subject)[1])
        if split is None or split[1] is not of or parse(split[0], application=application) is not None:
            return False
        return recognise(split[0]) is InternalTopicKind.CHANGELOG

    other_subjects = tuple(filter(is_anothers, survey.subjects()))
    holding = (other for other in other_subjects if not all(survey.membership(other, i).is_missing for i in ids))
    return any({version.schema_id for version in survey.subject_state(other).versions[:1]} & ids for other in holding)
