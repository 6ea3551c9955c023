"""Evidence, census and checks put together: what is wrong with which store, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from srfix.recovery import checks, not_looked_at, undecided
from srfix.recovery.bodies import Bodies, newest_bodies, whole_bodies
from srfix.recovery.candidates import find_candidates
from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks import CheckContext
from srfix.recovery.checks._counting import restorable_ids
from srfix.recovery.circumstances import Circumstances, KnownStore
from srfix.recovery.commands import Given
from srfix.recovery.evidence.committed_offsets import read_topics
from srfix.recovery.evidence.unseen_source import unseen_source
from srfix.recovery.findings import ApplicationAdvice, Diagnosis, Finding, Severity, Skipped, Source, finding_order
from srfix.recovery.hints import Hint, circumstances_of, gather_hints, observations, with_hints
from srfix.recovery.hypotheses import Verdict
from srfix.recovery.key_role import KeyRole, keys_of_store
from srfix.recovery.mirrors import with_mirrors
from srfix.recovery.playbook import upon_findings
from srfix.recovery.stores import RoleFacts, StoreFacts, SuspectStore
from srfix.recovery.subject_state import SubjectState, read_subject_state
from srfix.recovery.survey import Survey
from srfix.recovery.weighing import weigh_all
from srfix.serde.errors import AccessDeniedError
from srfix.serde.subjects import Role, Topic
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId

__all__ = ["Examination", "diagnose"]

ProgressHook = Callable[[CensusProgress], None] | None
_Decoded: TypeAlias = tuple[Topic, str | None, tuple[Role, ...], WindowKind | None, frozenset[SchemaId], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """A diagnosis together with the facts that it rests on, for those who plan a repair."""

    diagnosis: Diagnosis
    """The findings."""
    facts: tuple[StoreFacts, ...]
    """Per examined store all that was learned."""
    applications: tuple[Circumstances, ...] = ()
    """What is known of each application that has findings, by name."""


def diagnose(
    survey: Survey,
    engine: CensusEngine,
    said: CheckContext,
    *,
    application: str | None = None,
    store: str | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    decode_values: bool = False,
    on_progress: ProgressHook = None,
) -> Examination:
    """Looks at every candidate store of the cluster, or at those of one application. Reads only.

    :param deadline_s: seconds after which the census of each topic stops; what it leaves unread is skipped.
    :param max_records: records of each topic after which its census stops likewise.
    :param decode_values: True to decode every row that a restore loads; else the newest of each (id, partition) is.
    :raises UsageError: if the application or a source that is named does not exist.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    survey.registry.forget_unknown_ids()
    found = find_candidates(survey, application=application, store=store, given=said.given)
    counter = _Counter(survey, engine, on_progress, deadline_s, max_records, decode_values)
    verdicts = weigh_all(found.suspects, survey, found.applications)
    findings: list[Finding] = []
    skipped = [*found.skipped, *undecided.refused_groups(found.applications.refused, application)]
    examined: list[SuspectStore] = []
    facts: list[StoreFacts] = []
    known: dict[str, _Known] = {}
    for verdict in verdicts:
        if not verdict.established:
            skipped.append(_without_application(survey, verdict, said.given))
            continue
        suspect = verdict.store
        if application not in (None, suspect.application):
            skipped.append(undecided.of_another(verdict, application, said.given))
            continue
        examined.append(suspect)
        refused = _refused(survey, suspect)
        if refused is not None:
            skipped.append(refused)
            continue
        if verdict.taken is not None:
            skipped.append(undecided.taken(verdict, said.given))
            continue
        if survey.named_source(suspect) is None and _is_without_logging(survey, suspect):
            skipped.append(not_looked_at.from_nowhere(suspect, said.given))
            continue
        unseen = unseen_source(verdict, survey, said.given)
        if unseen is not None:
            skipped.append(unseen)
            continue
        chosen = verdict.chosen
        if chosen is not None and chosen.is_gone:
            skipped.append(undecided.gone(verdict, said.given))
            continue
        skipped.extend(undecided.not_compared(verdict))
        hints = gather_hints(suspect, survey, chosen.topic if chosen is not None else None)
        context = with_hints(said, hints)
        found_here: list[Finding] = []
        if chosen is not None and chosen.topic is not None:
            try:
                learned = _learn(survey, counter, suspect, chosen.topic, verdict)
            except AccessDeniedError as error:  # one topic that may not be read hides no other store
                skipped.append(not_looked_at.not_allowed(suspect, error))
                continue
            facts.append(learned)
            skipped.extend(not_looked_at.of_examined(learned))
            found_here.extend(finding for check in checks.ALL.values() for finding in check(learned, context))
        elif verdict.open and any(each.topic is not None for each in verdict.open):
            left_open = _undecided(survey, counter, verdict, context)
            found_here.extend(left_open.findings)
            skipped.extend(left_open.skipped)
        else:
            skipped.append(undecided.without_source(verdict, said.given))
        findings.extend(
            replace(
                finding,
                observations=observations(hints),
                other_splits=tuple(f"{split.application}/{split.name}" for split in verdict.other_splits),
            )
            for finding in found_here
        )
        if found_here:
            topic = None if chosen is None else chosen.topic
            of_store = KnownStore(
                name=suspect.name,
                topic=topic,
                is_global=_is_global(survey, suspect, topic),
                context=survey.registry.context_of(suspect.subject(Role.VALUE)),
            )
            known.setdefault(suspect.application, _Known()).add(of_store, hints)
    if application is not None and store is None and not found.suspects:
        skipped.append(not_looked_at.no_store(application))
    findings = with_mirrors(findings, survey)
    applications = {
        name: circumstances_of(name, known[name].stores, said, known[name].hints, survey) for name in sorted(known)
    }
    return Examination(
        diagnosis=Diagnosis(
            findings=tuple(sorted(findings, key=finding_order)),
            skipped=tuple(skipped),
            examined=tuple(map(str, examined)),
            applications=tuple(
                ApplicationAdvice(
                    application=name,
                    observations=observations(known[name].hints),
                    advice=tuple(
                        upon_findings(
                            of_it,
                            [finding for finding in findings if finding.application == name],
                            given=said.given,
                        )
                    ),
                )
                for name, of_it in applications.items()
            ),
        ),
        facts=tuple(facts),
        applications=tuple(applications.values()),
    )


@dataclass(slots=True)
class _Known:
    """What is gathered of an application, store by store."""

    stores: list[KnownStore] = field(default_factory=list)
    hints: dict[Hint, None] = field(default_factory=dict)

    def add(self, store: KnownStore, hints: Iterable[Hint]) -> None:
        self.stores.append(store)
        self.hints |= dict.fromkeys(hints)


def _is_global(survey: Survey, suspect: SuspectStore, topic: Topic | None) -> bool:
    """True for a global table's store, in whose restore committed offsets play no part: as a state directory or a topology
    says, or as the group has committed offsets elsewhere and none on its topic.
    """
    told = survey.supplied.is_told_global(suspect.application, suspect.name)
    if told is not None:
        return told
    read = read_topics(suspect, survey)
    return topic is not None and bool(read) and topic not in read


def _is_without_logging(survey: Survey, suspect: SuspectStore) -> bool:
    """True if a state directory shows it, and none shows anything that it restores from."""
    found = [
        on_disk
        for on_disk in survey.supplied.stores_on_disk()
        if (on_disk.prefix, on_disk.name) == (suspect.application, suspect.name)
    ]
    return any(on_disk.restores_from_nowhere for on_disk in found) and not any(on_disk.sources for on_disk in found)


@dataclass(slots=True)
class _Counter:
    """Counts a topic once per group: several stores never share a topic, but several candidates may be tried."""

    survey: Survey
    engine: CensusEngine
    on_progress: ProgressHook
    deadline_s: float | None
    max_records: int | None
    decode_values: bool
    counted: dict[tuple[Topic, str | None], Census] = field(default_factory=dict)
    decoded: dict[_Decoded, Mapping[Role, Bodies]] = field(default_factory=dict)

    def __call__(self, topic: Topic, group: str | None) -> Census:
        """`group` is None for a global table: committed offsets play no part there."""
        if (topic, group) not in self.counted:
            self.counted[topic, group] = self._count(topic, group)
        return self.counted[topic, group]

    def bodies(
        self, topic: Topic, group: str | None, roles: tuple[Role, ...], keys: KeyRole, context: str
    ) -> Mapping[Role, Bodies]:
        """Whether the rows that a restore loads decode, in these roles, with the schemas of this context's ids."""
        raw_key_ids = frozenset(self(topic, group).ids(Role.KEY)) - frozenset(keys.census.ids(Role.KEY))
        asked = topic, group, roles, keys.window, raw_key_ids, context
        if asked not in self.decoded:
            self.decoded[asked] = self._decode(keys.census, roles, keys.window, raw_key_ids, context)
        return self.decoded[asked]

    def _decode(
        self,
        census: Census,
        roles: tuple[Role, ...],
        window: WindowKind | None,
        raw_key_ids: frozenset[SchemaId],
        context: str,
    ) -> Mapping[Role, Bodies]:
        cluster, registry = self.survey.cluster, self.survey.registry
        if not self.decode_values:
            return newest_bodies(
                cluster, registry, census, roles, window=window, context=context, deadline_s=self.deadline_s
            )
        return whole_bodies(
            cluster,
            registry,
            census,
            roles,
            window=window,
            raw_key_ids=raw_key_ids,
            context=context,
            deadline_s=self.deadline_s,
            on_progress=self.on_progress,
        )

    def _count(self, topic: Topic, group: str | None) -> Census:
        partitions = tuple(range(self.survey.topics()[topic]))
        committed: Mapping[int, int | None] | None = None
        if group is not None:
            commits = self.survey.commits(group)
            committed = {p: commits.get((topic, p)) for p in partitions}
        request = CensusRequest(
            topic=topic,
            partitions=partitions,
            committed=committed,
            deadline_s=self.deadline_s,
            max_records=self.max_records,
        )
        return self.engine.count(request, on_progress=self.on_progress)


def _learn(
    survey: Survey,
    counter: _Counter,
    suspect: SuspectStore,
    topic: Topic,
    verdict: Verdict,
) -> StoreFacts:
    group = None if _is_global(survey, suspect, topic) else suspect.application
    census = counter(topic, group)
    states = _states(survey, suspect, census)
    keys = keys_of_store(survey, suspect, topic, census, states)
    census = keys.census
    roles: dict[Role, RoleFacts] = {}
    for role, state in states.items():
        ids = census.ids(role)
        if not ids and not state.versions:
            continue
        if role is Role.KEY and not keys.is_role:
            continue
        subject, own = suspect.subject(role), suspect.source_subject(topic, role)
        restored = restorable_ids(census, role)
        roles[role] = RoleFacts(
            role=role,
            subject=subject,
            state=state,
            memberships={schema_id: survey.membership(subject, schema_id) for schema_id in ids},
            source_memberships={schema_id: survey.membership(own, schema_id) for schema_id in restored},
        )
    return StoreFacts(
        store=suspect,
        source=Source(topic=topic, subject=suspect.source_subject(topic, Role.VALUE)),
        evidence=verdict.evidence,
        census=census,
        roles=roles,
        bodies=counter.bodies(topic, group, tuple(roles), keys, suspect.context),
        source_configs=survey.topic_configs(topic),
        keys=keys,
        is_global=group is None,
        is_told_global=survey.supplied.is_global(suspect.application, suspect.name),
        value_asks_no_registry=bool(states[Role.KEY].versions)
        and Role.VALUE not in roles
        and not survey.has_subject(suspect.source_subject(topic, Role.VALUE)),
    )


def _states(survey: Survey, suspect: SuspectStore, census: Census) -> Mapping[Role, SubjectState]:
    """What stands under the phantom subjects. Of one that is not listed nothing is asked, unless a finding may need it."""
    states: dict[Role, SubjectState] = {}
    for role in (Role.VALUE, Role.KEY):
        subject = suspect.subject(role)
        value = states.get(Role.VALUE)
        needed = bool(census.ids(role)) and (value is None or not value.versions)
        if survey.has_subject(subject) or needed:
            states[role] = read_subject_state(survey.registry, subject)
        else:
            states[role] = SubjectState(subject=subject, versions=(), config=None, mode=None)
    return states


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undecided:
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]


def _undecided(survey: Survey, counter: _Counter, verdict: Verdict, context: CheckContext) -> _Undecided:
    """A finding without a source per role, if at least one of the hypotheses would give one.

    Where none would, that is no clean bill of health, unless each of them was judged whole and nothing but notes is found.
    """
    findings: dict[tuple[str, Role], Finding] = {}
    skipped: dict[Skipped, None] = {}
    is_open = not verdict.is_comparable or not any(each.is_alike for each in verdict.open)
    for each in verdict.open:
        if each.topic is None or each.is_gone:
            is_open = True
            continue
        try:
            learned = _learn(survey, counter, each.store, each.topic, verdict)
        except AccessDeniedError as error:
            skipped[not_looked_at.not_allowed(each.store, error)] = None
            is_open = True
            continue
        nobodys = replace(learned, source=None)
        for code in ("SRF001", "SRF012"):  # of the latter what an interrupted repair left, whatever the source
            for finding in checks.ALL[code](nobodys, context):
                findings.setdefault((code, finding.role), _without_source(finding, verdict, context.given))
        unclear = tuple(not_looked_at.of_examined(learned))
        skipped |= dict.fromkeys(unclear)
        wrong = any(f.severity is not Severity.NOTE for check in checks.ALL.values() for f in check(learned, context))
        is_open = is_open or wrong or any(piece.could_hide for piece in unclear)
    if is_open and not any(f.code == "SRF001" and f.severity is not Severity.NOTE for f in findings.values()):
        skipped[undecided.not_decided(verdict, context.given)] = None
    return _Undecided(findings=tuple(findings.values()), skipped=tuple(skipped))


def _without_source(finding: Finding, verdict: Verdict, given: Given) -> Finding:
    """The finding, with the question which of the hypotheses is true."""
    considered = tuple(each.considered() for each in verdict.open)
    if finding.code != "SRF001":
        return replace(finding, considered=considered)
    return replace(finding, considered=considered, next=undecided.which_is_true(verdict, given))


def _without_application(survey: Survey, verdict: Verdict, given: Given) -> Skipped:
    """Why nobody's: a group that may not be asked is no proof that there is none."""
    for split in verdict.suspect.splits:
        if split.application in verdict.unproven:
            refused = _refused(survey, split)
            if refused is not None:
                return refused
    return undecided.without_application(verdict, given)


def _refused(survey: Survey, suspect: SuspectStore) -> Skipped | None:
    """What keeps a store from being examined at all: without its group's offsets nobody knows what a restore loads."""
    if survey.supplied.is_global(suspect.application, suspect.name):
        return None
    try:
        survey.commits(suspect.application)
    except AccessDeniedError as error:
        return not_looked_at.not_allowed(suspect, error)
    return None
