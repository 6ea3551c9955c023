"""Applications that left internal subjects without topics: which are alive, which are gone, and which are unknown. And
changelog topics that exist: whether the registry still knows the ids in them.

A few records of each changelog, and the rows of the store on disk if a state directory was given, show which topics are
worth a census. srfix makes a census of each topic with an id that the registry does not know. So no finding rests on a
record that a later one has replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.diagnosis.learning import Counter
from srfix.recovery.errors import LibraryMissingError
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.applications import (
    ApplicationFacts,
    ChangelogFacts,
    LostIds,
    contexts_of,
    has_topics,
    ksqldb_lacks,
    owners,
    real_changelogs,
    registry_roles,
    signs_of_absence,
    topicless_subjects,
    unknown_ids,
    without_trace,
)
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.rows_on_disk import StoreIds, ids_by_changelog
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding, Skipped
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.internal_topics import application_prefixes, generated_owner, is_in_own_format, parse
from srfix.serde.errors import AccessDeniedError, UsageError
from srfix.serde.schemas.errors import EndpointNotSupportedError
from srfix.serde.subjects.names import Role, Subject, Topic, join_context, subject_for
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOver:
    findings: tuple[Finding, ...] = ()
    applications: tuple[ApplicationFacts, ...] = ()

    @property
    def subjects(self) -> frozenset[Subject]:
        return frozenset(finding.subject for finding in self.findings)

    def covers(self, subjects: Iterable[Subject], existing: Callable[[Subject], bool]) -> bool:
        """True if all of these subjects that the registry has are in findings."""
        subjects_left = [subject for subject in subjects if existing(subject)]
        return bool(subjects_left) and self.subjects.issuperset(subjects_left)

    def without_told(self, skipped: Iterable[Skipped], existing: Callable[[Subject], bool]) -> Iterator[Skipped]:
        return (omission for omission in skipped if not self.covers(omission.subjects, existing))


def left_over(
    survey: Survey,
    applications: Applications,
    context: CheckContext,
    *,
    is_listed_whole: bool,
    application: str | None = None,
) -> LeftOver:
    """The applications of topicless subjects; without a full listing, gone only by a person's word. Reads only."""
    every = tuple(topicless_subjects(survey))
    names = {prefix for subject in every for prefix in application_prefixes(subject.topic)}
    if every:
        survey.ask_commits(sorted(names if is_listed_whole else survey.gone & names))
    lives = {name for name in names if applications.is_group(name)}
    refused = names & applications.refused.keys()
    _refuse_gone(survey, lives, applications)
    of_applications: list[ApplicationFacts] = []
    ids: Mapping[Subject, tuple[SchemaId, ...]] | None = None
    for name, subjects in owners(every, lives, survey.gone).items():
        if application not in (None, name):
            continue
        is_alive = name in lives
        if not is_alive and any(refused.intersection(application_prefixes(subject.topic)) for subject in subjects):
            continue  # a group that srfix may not ask may have offsets
        if not is_alive:
            subjects = without_trace(survey, name, lives, subjects)
        if not subjects or not (is_alive or is_listed_whole or name in survey.gone):
            continue
        if ids is None:
            ids = _ids(survey)
        of_applications.append(
            ApplicationFacts(
                application=name,
                subjects=subjects,
                lives=is_alive,
                is_listed_whole=is_listed_whole,
                signs=() if is_alive else tuple(signs_of_absence(subjects)),
                proof=None if is_alive else _proof(survey, name),
                schema_ids={
                    left.subject: ids.get(left.subject) or tuple(sorted(survey.ids_under(left.subject, deleted=True)))
                    for left in subjects
                },
            )
        )
    findings = tuple(
        finding
        for facts in of_applications
        for check in CHECKS
        if check.find_of_application is not None
        for finding in check.find_of_application(facts, context)
    )
    with_findings = {finding.application for finding in findings}
    return LeftOver(
        findings=findings, applications=tuple(facts for facts in of_applications if facts.application in with_findings)
    )


def _refuse_gone(survey: Survey, lives: Iterable[str], applications: Applications) -> None:
    every = {prefix for subject in topicless_subjects(survey) for prefix in application_prefixes(subject.topic)}
    for name in sorted(survey.gone):
        if name in lives or applications.is_group(name):
            raise UsageError(
                f"Application {name!r} is not gone: the cluster lists its group, or the group has committed offsets. If nobody "
                "will start the application again, delete the group first. --gone is only for applications that left nothing "
                "but subjects."
            )
        if has_topics(name, survey.topics()):
            raise UsageError(
                f"Application {name!r} still has internal topics on this cluster. If nobody will start the application again, "
                "delete these topics first. --gone is only for applications that left nothing but subjects."
            )
        if name not in every:
            raise UsageError(
                f"--gone names {name!r}, but no internal-looking subject without a topic begins with that name."
                f"{did_you_mean(name, every)}"
            )


def _proof(survey: Survey, name: str) -> str | None:
    if name in survey.gone:
        return "--gone says so"
    return ksqldb_lacks(name, survey.supplied.ksqldb)


def _ids(survey: Survey) -> Mapping[Subject, tuple[SchemaId, ...]]:
    """The ids of each subject, by the registry's listing of one context; empty if the registry has no listing."""
    by_subject: dict[Subject, set[SchemaId]] = {}
    try:
        for holder in survey.holders():
            by_subject.setdefault(holder.subject, set()).add(holder.schema_id)
    except EndpointNotSupportedError:
        return {}
    return {subject: tuple(sorted(ids)) for subject, ids in by_subject.items()}


_MOST: Final = 50
_MOST_NAMED: Final = 3


@dataclass(slots=True)
class LookedInto:
    findings: list[Finding] = field(default_factory=list)
    peeked: list[Topic] = field(default_factory=list)
    left_out: list[Topic] = field(default_factory=list)
    refused: list[Topic] = field(default_factory=list)
    partial: list[Topic] = field(default_factory=list)
    wrapped: list[Topic] = field(default_factory=list)
    unowned: list[Topic] = field(default_factory=list)
    command: str = ""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        parts = tuple(self._parts())
        if not parts:
            return ()
        topics = sorted({*self.peeked, *self.wrapped, *self.left_out, *self.refused, *self.partial, *self.unowned})
        return (
            Skipped(
                what=f"records of {counted(len(topics), 'changelog topic')}",
                reason=f"whether the registry knows every schema id in them (SRF014): {'; '.join(parts)}",
                could_hide=False,
            ),
        )

    def _parts(self) -> Iterator[str]:
        if self.peeked:
            yield (
                f"in {counted(len(self.peeked), 'topic')} srfix looked only at the first and newest records; "
                f"{self.command} counts all of them"
            )
        if self.wrapped:
            named = listed(self.wrapped, most=_MOST_NAMED)
            yield f"srfix did not look into rows of suppressions, stream-stream joins and foreign-key joins, such as {named}"
        if self.left_out:
            yield f"srfix looked only at the first {_MOST} topics by name, and left out {len(self.left_out)}"
        if self.refused:
            yield f"this user may not read {listed(self.refused, most=_MOST_NAMED)}"
        if self.partial:
            yield f"{listed(self.partial, most=_MOST_NAMED)} was not read to its end"
        if self.unowned:
            named = listed(self.unowned, most=_MOST_NAMED)
            yield (
                f"the registry does not know some ids in {named}, but srfix found no living application with such a name "
                "(if there is one, name it with --application)"
            )


def look_into_changelogs(
    survey: Survey,
    counter: Counter,
    applications: Applications,
    context: CheckContext,
    *,
    is_whole: bool,
    application: str | None,
    store: str | None,
) -> LookedInto:
    """Looks at changelog topics: counts them all (`is_whole`), or looks at a few records of the first 50. Reads only."""
    topics = real_changelogs(survey, application=application, store=store)
    contexts = contexts_of(survey) if topics else ()
    account = LookedInto(command=context.command_line.quoted("diagnose", "--changelogs"))
    if not is_whole:
        topics, account.left_out = topics[:_MOST], [*topics[_MOST:]]
    for topic in topics:
        try:
            facts = _learn(
                survey,
                counter,
                applications,
                topic,
                account,
                contexts=contexts,
                is_whole=is_whole,
                application=application,
            )
        except AccessDeniedError:
            account.refused.append(topic)
            continue
        if facts is not None:
            account.findings += _check(facts, context)
    return account


def _check(facts: ChangelogFacts, context: CheckContext) -> Iterator[Finding]:
    for check in CHECKS:
        if check.find_of_changelog is not None:
            yield from check.find_of_changelog(facts, context)


def _learn(
    survey: Survey,
    counter: Counter,
    applications: Applications,
    topic: Topic,
    account: LookedInto,
    *,
    contexts: Sequence[str],
    is_whole: bool,
    application: str | None,
) -> ChangelogFacts | None:
    """The ids of a changelog that the registry has lost; None if none was seen, or for another application's."""
    if is_in_own_format(topic):
        account.wrapped.append(topic)
        return None
    roles = dict(registry_roles(survey, topic, contexts))
    ids_by_role = {role: frozenset(survey.peek(topic, role).schema_ids) for role in roles}
    if not is_whole and roles:
        on_disk = _ids_on_disk(survey, counter, topic)
        ids_by_role = {role: ids | on_disk.get(role, frozenset()) for role, ids in ids_by_role.items()}
    if not is_whole and not any(unknown_ids(survey, ids, roles[role]) for role, ids in ids_by_role.items()):
        account.peeked.append(topic)
        return None
    if not roles:
        return None  # even a full read would not show which format its bytes have
    owner = application or _owner(survey, applications, topic)
    name = owner or application_prefixes(topic)[-1]
    census = counter(topic, None, survey.restore_isolation(name).isolation)
    if census.is_partial:
        account.partial.append(topic)
    lost = tuple(_lost(survey, topic, roles, census))
    if not lost:
        return None
    if owner is None:
        account.unowned.append(topic)
        return None
    parsed = parse(topic, application=owner)
    if parsed is None or parsed.store is None or owner != (_owner(survey, applications, topic) or owner):
        return None  # it belongs to another application with a longer name
    return ChangelogFacts(
        topic=topic,
        application=owner,
        store=parsed.store,
        other_splits=tuple(_other_splits(topic, owner)),
        census=census,
        lost=lost,
    )


def _ids_on_disk(survey: Survey, counter: Counter, topic: Topic) -> StoreIds:
    """The ids in the rows of the changelog's store; empty without rocksdict, which the stores themselves report."""
    try:
        return ids_by_changelog(survey.supplied.state, topic, counter.rows)
    except LibraryMissingError:
        return {}


def _lost(survey: Survey, topic: Topic, roles: dict[Role, tuple[str, ...]], census: Census) -> Iterator[LostIds]:
    for role, contexts in roles.items():
        ids = unknown_ids(survey, census.restorable_ids(role), contexts)
        if ids:
            name = subject_for(topic, role)
            subject = join_context(contexts[0], name) if contexts else name
            registered = survey.ids_under(subject, deleted=True) if contexts else frozenset()
            yield LostIds(
                role=role,
                subject=subject,
                has_subject=bool(contexts),
                schema_ids=ids,
                registered_ids=tuple(sorted(registered)),
            )


def _owner(survey: Survey, applications: Applications, topic: Topic) -> str | None:
    """The living application with the longest name, else a given or generated one; a restore commits no offsets."""
    prefixes = application_prefixes(topic)
    survey.ask_commits(prefixes)
    named = (name for name in prefixes if applications.is_group(name) and not applications.is_plain(name))
    living = next((name for name in named if topic not in {read for read, _partition in survey.commits(name)}), None)
    owner = living or next((name for name in prefixes if name in survey.supplied.applications), None)
    return owner or generated_owner(topic)


def _other_splits(topic: Topic, owner: str) -> Iterable[str]:
    for name in application_prefixes(topic):
        parsed = parse(topic, application=name)
        if name != owner and parsed is not None:
            yield f"{name}/{parsed.store}"
