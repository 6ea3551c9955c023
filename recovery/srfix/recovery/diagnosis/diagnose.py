"""Evidence, census and checks put together: what is wrong with which store, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from srfix.recovery.advice.hints import Hint, circumstances_of, gather_hints, observations, with_hints
from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.checks.missing import missing_ids
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.diagnosis import examination, learning, not_looked_at, undecided, without_logging
from srfix.recovery.diagnosis.applications import ChangelogLook, left_over
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.diagnosis.learning import Counter, learn
from srfix.recovery.diagnosis.weighing import weigh_all
from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.hypotheses import Hypothesis, Verdict
from srfix.recovery.evidence.names_and_offsets import read_topics
from srfix.recovery.facts.applications import ApplicationFacts
from srfix.recovery.facts.reader import CheckContext, KnownStore
from srfix.recovery.facts.stores import StoreFacts, SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Diagnosis, Finding, Severity, Skipped, finding_order
from srfix.recovery.internal_topics import is_internal, operator_behind
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.subjects.names import Role, Subject, Topic, changelog_topic


def diagnose(
    survey: Survey,
    engine: CensusEngine,
    context: CheckContext | None = None,
    *,
    application: str | None = None,
    store: str | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    decode_values: bool = False,
    whole_changelogs: bool = False,
    on_progress: learning.ProgressHook = None,
) -> Examination:
    """Looks at every candidate store of the cluster, or at those of one application. Reads only.

    :param context: what the person named on the command line, such as the reader and the Kafka Streams version.
    :param deadline_s: seconds after which the census of each topic stops; records that it leaves unread are skipped.
    :param max_records: records of each topic after which its census stops, too.
    :param decode_values: True to decode every row that a restore loads; False for only the newest row of each (id,
        partition).
    :param whole_changelogs: True to count every changelog topic that exists; False to look at a few records of some
        topics.
    :raises UsageError: if the named application or a named source does not exist.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    context = context or CheckContext(registry=survey.registry)
    survey.registry.forget_unknown_ids()
    candidates = find_candidates(survey, application=application, store=store, command_line=context.command_line)
    counter = Counter(survey, engine, on_progress, deadline_s, max_records, decode_values)
    gathered = _Gathered(
        survey=survey, counter=counter, context=context, application=application, among=candidates.applications
    )
    left = left_over(survey, candidates.applications, context, application)
    suspects = [
        suspect
        for suspect in candidates.suspects
        if not left.covers([subject for split in suspect.splits for subject in split.subjects], survey.has_subject)
    ]
    gathered.findings += left.findings
    gathered.left_over = left.applications
    verdicts = weigh_all(suspects, survey, candidates.applications)  # this finds out which groups may not be asked
    gathered.skipped += [
        *(skipped for skipped in candidates.skipped if not left.covers(skipped.subjects, survey.has_subject)),
        *undecided.refused_groups(candidates.applications.refused, application),
    ]
    for verdict in verdicts:
        gathered.look_at(verdict)
    changelogs = ChangelogLook(
        survey=survey,
        counter=counter,
        applications=candidates.applications,
        context=context,
        application=application,
        is_whole=whole_changelogs,
    )
    changelogs.look(store)
    gathered.findings += changelogs.findings
    gathered.skipped += changelogs.skipped
    is_bare = application is not None and store is None and not candidates.suspects and not left.findings
    if application is not None and is_bare and not _have_changelogs(survey, application):
        gathered.skipped.append(not_looked_at.no_store(application))
    if application is None and store is None:
        of_stores = {suspect.application for suspect in gathered.examined} | gathered.stores.keys()
        names = candidates.applications.listed - of_stores
        gathered.skipped += not_looked_at.of_unexamined(survey, candidates.applications, counter, context, names)
    if survey.subjects() and all(map(is_internal, survey.topics())):
        gathered.skipped.append(not_looked_at.no_topic())
    if context.no_auto_register and not gathered.examined:
        gathered.skipped.append(not_looked_at.no_put())
    return gathered.result()


@dataclass(slots=True, kw_only=True)
class _Gathered:
    survey: Survey
    counter: Counter
    context: CheckContext
    application: str | None
    among: Applications
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    examined: list[SuspectStore] = field(default_factory=list)
    facts: list[StoreFacts] = field(default_factory=list)
    stores: defaultdict[str, list[KnownStore]] = field(default_factory=lambda: defaultdict(list))
    """What is known of the stores with findings, by application; as are their hints."""
    hints: defaultdict[str, dict[Hint, None]] = field(default_factory=lambda: defaultdict(dict))
    left_over: tuple[ApplicationFacts, ...] = ()

    def look_at(self, verdict: Verdict) -> None:
        left_out = self._not_asked_for(verdict)
        if left_out is None:
            self.examined.append(verdict.store)
            left_out = _refused(self.survey, verdict.store)
            if left_out is None and (of_nothing := self._shown_to_restore_nothing(verdict)) is not None:
                self._of_nothing(verdict, *of_nothing)
                return
            left_out = left_out or self._not_examined(verdict)
        if left_out is not None:
            self.skipped.append(left_out)
            return
        self.skipped.extend(undecided.not_compared(verdict))
        topic = None if verdict.chosen is None else verdict.chosen.topic
        hints = gather_hints(verdict.store, self.survey, topic)
        context = with_hints(self.context, hints)
        if topic is None:
            findings = self._of_open(verdict, context)
        else:
            facts = self._learn(verdict.store, topic, verdict, context)
            if isinstance(facts, Skipped):
                self.skipped.append(facts)
                return
            shown = without_logging.registers_elsewhere(facts, self.survey, context)
            if shown is not None:
                self._of_nothing(verdict, verdict.store, shown)
                return
            written = tuple(learning.from_source_subject(facts, context, self.among, self.survey))
            hints = (*hints, *written)
            are_missing = any(missing_ids(facts, role) for role in facts.roles.values())
            if written and are_missing and context.streams_version is None:
                omission = not_looked_at.whether_another_wrote(verdict.store, written[0].detail, context.command_line)
                self.skipped.append(omission)
            findings = self._of_source(verdict, facts, with_hints(self.context, hints))
        if findings:
            self._keep(verdict, topic, findings, hints)

    def _not_asked_for(self, verdict: Verdict) -> Skipped | None:
        if not verdict.established:
            return self._without_application(verdict)
        if self.application not in (None, verdict.store.application):
            return undecided.of_another(verdict, self.application, self.context.command_line)
        return None

    def _without_application(self, verdict: Verdict) -> Skipped:
        for split in verdict.suspect.splits:
            if split.application in verdict.unproven:
                refused = _refused(self.survey, split)
                if refused is not None:
                    return refused
        return undecided.without_application(verdict, self.context.command_line, self.among.refused)

    def _not_examined(self, verdict: Verdict) -> Skipped | None:
        survey, command_line = self.survey, self.context.command_line
        if verdict.taken is not None:
            return undecided.taken(verdict, command_line)
        unseen = undecided.unseen_source(verdict, survey, command_line)
        if unseen is not None:
            return unseen
        return undecided.gone(verdict, command_line) if verdict.chosen is not None and verdict.chosen.is_gone else None

    def _shown_to_restore_nothing(self, verdict: Verdict) -> tuple[SuspectStore, str] | None:
        """The store into which nothing is restored, and why; an operator's name is no table's, so any split will do."""
        splits = [verdict.store]
        if operator_behind(verdict.suspect.changelog) is not None:
            splits += verdict.suspect.splits
        shown = ((split, without_logging.shown_to_restore_nothing(self.survey, split)) for split in splits)
        return next(((split, why) for split, why in shown if why is not None), None)

    def _of_nothing(self, verdict: Verdict, suspect: SuspectStore, shown: str) -> None:
        """Reports a store into which nothing is restored: why its subjects exist, or that srfix did not look at it."""
        hints = gather_hints(suspect, self.survey)
        findings: tuple[Finding, ...] = ()
        if without_logging.is_alive(self.survey, suspect.application):
            facts = learning.without_source(self.survey, suspect, logs_nothing=shown)
            findings = tuple(_check(facts, with_hints(self.context, hints)))
        if findings:
            self._keep(verdict, None, findings, hints, suspect)
        else:
            self.skipped.append(not_looked_at.from_nowhere(suspect, shown, self.context.command_line))

    def _learn(
        self, store: SuspectStore, topic: Topic, verdict: Verdict, context: CheckContext
    ) -> StoreFacts | Skipped:
        """All that is known of a store if it restores from the topic; or that its topic could not be read."""
        try:
            return learn(self.survey, self.counter, store, topic, verdict.evidence, context.streams_version)
        except ClusterError as error:  # a topic that cannot be read must not hide other stores
            self.survey.cluster.require_answers(error)
            return not_looked_at.not_read(store, error)

    def _of_source(self, verdict: Verdict, facts: StoreFacts, context: CheckContext) -> Sequence[Finding]:
        self.facts.append(facts)
        self.skipped.extend(not_looked_at.of_examined(facts, context))
        application = verdict.store.application
        omissions = not_looked_at.isolation(application, self.survey.restore_isolation(application))
        self.skipped.extend(skipped for skipped in omissions if skipped not in self.skipped)
        findings = tuple(_check(facts, context))
        if not _is_wrong(findings) and any(
            self._is_wrong_of(rival, verdict, context) for rival in verdict.global_rivals
        ):
            self.skipped.append(undecided.table_or_global(verdict, self.context.command_line))
        return findings

    def _is_wrong_of(self, hypothesis: Hypothesis, verdict: Verdict, context: CheckContext) -> bool:
        """True if something would be wrong, or unknown, in case this hypothesis, which was not chosen, is true."""
        if hypothesis.topic is None or hypothesis.is_gone:
            return False
        facts = self._learn(hypothesis.store, hypothesis.topic, verdict, context)
        return isinstance(facts, Skipped) or _is_wrong(_check(facts, context))

    def _of_open(self, verdict: Verdict, context: CheckContext) -> Sequence[Finding]:
        """A finding without a source per code and role, if a hypothesis gives one; else the store is not examined."""
        every = verdict.open
        if all(hypothesis.topic is None for hypothesis in every):
            self.skipped.append(undecided.without_source(verdict, self.context.command_line))
            return ()
        which = undecided.which_is_true(verdict, context.command_line)
        considered = tuple(hypothesis.considered() for hypothesis in every)
        checked: list[StoreFacts] = []
        findings: dict[tuple[str, Role], Finding] = {}
        skipped: dict[Skipped, None] = {}
        contexts = {verdict.store.application: context}
        for store in (hypothesis.store for hypothesis in verdict.ranked):
            if store.application not in contexts:  # each application may run another version of Kafka Streams
                contexts[store.application] = with_hints(self.context, gather_hints(store, self.survey))
        is_open = not verdict.is_comparable or not any(hypothesis.is_alike for hypothesis in every)
        if is_open and context.asks_the_source_subject:
            is_open = not _are_all_there(verdict, self.survey)
        for hypothesis in every:
            if hypothesis.topic is None or hypothesis.is_gone:
                is_open = True
                continue
            its = contexts.get(hypothesis.store.application, context)
            store_facts = self._learn(hypothesis.store, hypothesis.topic, verdict, its)
            if isinstance(store_facts, Skipped):
                skipped[store_facts] = None
                is_open = True
                continue
            facts = _but_for_topic(store_facts)
            if facts not in checked:  # hundreds of topics may be alike, and would add nothing
                checked.append(facts)
                for finding in _check_without_source(replace(store_facts, source=None), its, which):
                    worst = findings.get((finding.code, finding.role))
                    if worst is None or not worst.severity.is_at_least(finding.severity):
                        findings[finding.code, finding.role] = replace(finding, considered=considered)
            unclear = tuple(not_looked_at.of_examined(store_facts, its))
            skipped |= dict.fromkeys(unclear)
            if not is_open and not _is_wrong(findings.values()):
                is_open = _is_wrong(_check(store_facts, its)) or any(piece.could_hide for piece in unclear)
        if is_open and not _is_wrong(findings.values()):
            skipped[undecided.not_decided(verdict, context.command_line)] = None
        self.skipped.extend(skipped)
        return tuple(findings.values())

    def _keep(
        self,
        verdict: Verdict,
        topic: Topic | None,
        findings: Iterable[Finding],
        hints: Sequence[Hint],
        store: SuspectStore | None = None,
    ) -> None:
        """Keeps the findings of a store (the verdict's, if no other is given), and what is known of its application."""
        suspect, observed = store or verdict.store, observations(hints)
        splits = tuple(f"{split.application}/{split.name}" for split in verdict.other_splits)
        self.findings.extend(replace(finding, observations=observed, other_splits=splits) for finding in findings)
        self.stores[suspect.application].append(learning.known_store(self.survey, suspect, topic))
        self.hints[suspect.application] |= dict.fromkeys(hints)

    def result(self) -> Examination:
        command_line = self.context.command_line
        used, unused = examination.without_unused_contexts(self.findings, self.survey)
        findings = examination.with_notes(examination.with_mirrors(used, self.survey))
        applications = [
            circumstances_of(name, stores, self.context, self.hints[name], self.survey)
            for name, stores in sorted(self.stores.items())
        ]
        return Examination(
            diagnosis=Diagnosis(
                findings=tuple(sorted(findings, key=finding_order)),
                skipped=(*self.skipped, *unused),
                examined=tuple(map(str, self.examined)),
                applications=tuple(
                    examination.advice_on(of, findings, observations(self.hints[of.application]), command_line)
                    for of in applications
                ),
            ),
            facts=tuple(self.facts),
            applications=tuple(applications),
            left_over=self.left_over,
        )


def _check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    for check in CHECKS:
        yield from check.find(facts, context)


def _check_without_source(facts: StoreFacts, context: CheckContext, which_is_true: str) -> Iterator[Finding]:
    for check in CHECKS:
        if check.without_source is not None:
            yield from (check.without_source(finding, which_is_true) for finding in check.find(facts, context))


def _but_for_topic(facts: StoreFacts) -> StoreFacts:
    """The facts without the name of the topic: equal for all topics that give the same findings as source."""
    census, keys, configs, nameless = facts.census, facts.keys, facts.source_configs, Topic("")
    return replace(
        facts,
        source=None,
        census=census and replace(census, topic=nameless),
        keys=keys
        and replace(
            keys, census=replace(keys.census, topic=nameless), source=replace(keys.source, subject=Subject(nameless))
        ),
        source_configs=configs and replace(configs, topic=nameless),
    )


def _is_wrong(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is not Severity.NOTE for finding in findings)


def _are_all_there(verdict: Verdict, survey: Survey) -> bool:
    """True if no other hypothesis is possible: the store is not global on disk, and its group reads only
    topics of open hypotheses."""
    store = verdict.store
    read = read_topics(store, survey)
    is_global_store = survey.supplied.is_told_global(store.application, store.name)
    return is_global_store is False and bool(read) and read.keys() <= {hypothesis.topic for hypothesis in verdict.open}


def _have_changelogs(survey: Survey, application: str) -> bool:
    """True if a topology or a state directory names the stores of an application, and each has a changelog of its own."""
    supplied, topics = survey.supplied, survey.topics()
    changelogs: dict[str, bool] = {
        store: changelog_topic(application, store) in topics for store in supplied.stores_of_topologies(application)
    }
    for on_disk in supplied.stores_on_disk():
        if on_disk.prefix == application or on_disk.prefix.startswith(f"{application}-"):
            changelogs[on_disk.name] = on_disk.own_changelog in topics or changelogs.get(on_disk.name, False)
    return bool(changelogs) and all(changelogs.values())


def _refused(survey: Survey, suspect: SuspectStore) -> Skipped | None:
    """Why a store cannot be examined at all: without its group's offsets, srfix does not know what a restore loads."""
    if survey.supplied.is_global(suspect.application, suspect.name):
        return None
    try:
        survey.commits(suspect.application)
    except AccessDeniedError as error:
        return not_looked_at.not_read(suspect, error)
    return None
