"""Applications that left internal subjects without topics: alive, gone or unknown. And changelog topics that exist:
whether the registry still knows the ids in them. A few records and the rows on disk choose the topics for a census, so
no finding rests on a record that a later one has replaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
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
from srfix.recovery.facts.reader import CheckContext, Reader
from srfix.recovery.facts.rows_on_disk import StoreIds, ids_by_changelog
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding, Skipped
from srfix.recovery.ids_in_words import listed
from srfix.recovery.internal_topics import application_prefixes, generated_owner, is_in_own_format, parse
from srfix.serde.errors import AccessDeniedError, ClusterError, UsageError
from srfix.serde.printable import counted
from srfix.serde.schemas.errors import EndpointNotSupportedError, ForbiddenError
from srfix.serde.subjects.names import Role, Subject, Topic, join_context, subject_for
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOver:
    findings: tuple[Finding, ...]
    applications: tuple[ApplicationFacts, ...]

    def covers(self, subjects: Iterable[Subject], existing: Callable[[Subject], bool]) -> bool:
        """True if all of these subjects that the registry has are in findings."""
        subjects_left = [subject for subject in subjects if existing(subject)]
        return bool(subjects_left) and {finding.subject for finding in self.findings}.issuperset(subjects_left)


def left_over(survey: Survey, applications: Applications, context: CheckContext, application: str | None) -> LeftOver:
    """The applications of topicless subjects; without a full listing, gone only by a person's word. Reads only."""
    is_listed_whole = applications.is_listed_whole
    every = tuple(topicless_subjects(survey))
    names = {prefix for subject in every for prefix in application_prefixes(subject.topic)}
    if every:
        survey.ask_commits(sorted(names if is_listed_whole else survey.gone & names))
    lives = {name for name in names if applications.is_group(name)}
    refused = names & applications.refused.keys()
    _refuse_gone(survey, lives, applications, names)
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
        proof = "--gone says so" if name in survey.gone else ksqldb_lacks(name, survey.supplied.ksqldb)
        of_applications.append(
            ApplicationFacts(
                application=name,
                subjects=subjects,
                lives=is_alive,
                is_listed_whole=is_listed_whole,
                signs=() if is_alive else tuple(signs_of_absence(subjects)),
                proof=None if is_alive else proof,
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


def _refuse_gone(survey: Survey, lives: set[str], applications: Applications, names: set[str]) -> None:
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
        if name not in names:
            raise UsageError(
                f"--gone names {name!r}, but among the internal-looking subjects without a topic, none begins with that name."
                f"{did_you_mean(name, names)}"
            )


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


_LEFT_OPEN: Final = {
    "peeked": "in {counted} srfix looked only at the first and newest records; {command} counts all of them",
    "wrapped": "srfix did not look into rows of suppressions, stream-stream joins and foreign-key joins, such as {named}",
    "left out": "srfix looked only at the first {most} topics by name, and left out {number}",
    "refused": "this user may not read {named}",
    "unread": "the cluster gave no records of {named}",
    "partial": "{named} was not read to its end",
    "unowned": "the registry does not know some ids in {named}, but srfix found no living application with such a name "
    "(if there is one, name it with --application)",
}
"""Why topics were not looked into, or not completely."""


@dataclass(slots=True, kw_only=True)
class ChangelogLook:
    survey: Survey
    counter: Counter
    applications: Applications
    context: CheckContext
    application: str | None
    is_whole: bool
    """True to count every changelog topic; False to look at a few records of the first 50."""
    findings: list[Finding] = field(default_factory=list)
    left_open: defaultdict[str, list[Topic]] = field(default_factory=lambda: defaultdict(list))
    lacking: list[Topic] = field(default_factory=list)
    """Changelogs with records whose ids the registry knows, but not under the changelog's own subject."""
    closed: list[Topic] = field(default_factory=list)
    """Changelogs whose own subject this user may not read."""

    def look(self, store: str | None) -> None:
        """Looks at the changelog topics of the application, or of one of its stores. Reads only."""
        topics = real_changelogs(self.survey, application=self.application, store=store)
        contexts = contexts_of(self.survey) if topics else ()
        if not self.is_whole and len(topics) > _MOST:
            topics, self.left_open["left out"] = topics[:_MOST], [*topics[_MOST:]]
        for topic in topics:
            try:
                facts = self._learn(topic, contexts)
            except ClusterError as error:
                self.survey.cluster.require_answers(error)
                self.left_open["refused" if isinstance(error, AccessDeniedError) else "unread"].append(topic)
                continue
            for check in CHECKS if facts is not None else ():
                if facts is not None and check.find_of_changelog is not None:
                    self.findings += check.find_of_changelog(facts, self.context)

    @property
    def skipped(self) -> Iterator[Skipped]:
        if self.lacking and self.context.reader not in (Reader.PLAIN, Reader.DUAL):
            check = (self.context.command_line.quoted("check", topic, "--reader", "connect") for topic in self.lacking)
            yield Skipped(
                what=f"readers of {listed(self.lacking, most=_MOST_NAMED)}",
                reason="records there carry schema ids that are not under the changelog's own subject. Connect's converters "
                f"and ksqlDB cannot read such records: see {listed(check, most=_MOST_NAMED)}. Other readers can "
                "(--reader plain)",
                could_hide=True,
            )
        if self.closed and self.context.reader not in (Reader.PLAIN, Reader.DUAL):
            yield Skipped(
                what=f"readers of {listed(self.closed, most=_MOST_NAMED)}",
                reason="this user may not read the changelog's own subject in the registry, so srfix cannot tell whether "
                "Connect's converters and ksqlDB can read the records",
                could_hide=True,
            )
        if not self.left_open:
            return
        command = self.context.command_line.quoted("diagnose", "--changelogs")
        parts = [
            words.format(
                counted=counted(len(topics), "topic"),
                command=command,
                most=_MOST,
                named=listed(topics, most=_MOST_NAMED),
                number=len(topics),
            )
            for kind, words in _LEFT_OPEN.items()
            if (topics := self.left_open.get(kind))
        ]
        every = set(chain.from_iterable(self.left_open.values()))
        yield Skipped(
            what=f"records of {counted(len(every), 'changelog topic')}",
            reason=f"whether the registry knows every schema id in them (SRF014): {'; '.join(parts)}",
            could_hide=False,
        )

    def _learn(self, topic: Topic, contexts: Sequence[str]) -> ChangelogFacts | None:
        """The ids of a changelog that the registry has lost; None if none was seen, or for another application's."""
        survey = self.survey
        if is_in_own_format(topic):
            self.left_open["wrapped"].append(topic)
            return None
        roles = dict(registry_roles(survey, topic, contexts))
        ids_by_role = {role: frozenset(survey.peek(topic, role).schema_ids) for role in roles}
        if not self.is_whole and roles:
            on_disk = self._ids_on_disk(topic)
            ids_by_role = {role: ids | on_disk.get(role, frozenset()) for role, ids in ids_by_role.items()}
        lacks = False
        try:
            if lacks := bool(self._missing(topic, ids_by_role.get(Role.VALUE, frozenset()), roles.get(Role.VALUE, ()))):
                self.lacking.append(topic)
        except ForbiddenError:
            self.closed.append(topic)
        asks_versions = lacks and self.context.is_connect
        is_counted = self.is_whole or asks_versions
        if not is_counted and not any(unknown_ids(survey, ids, roles[role]) for role, ids in ids_by_role.items()):
            self.left_open["peeked"].append(topic)
            return None
        if not roles:
            return None  # even a full read would not show which format its bytes have
        owner = self.application or self._owner(topic)
        prefixes = application_prefixes(topic)
        census = self.counter(topic, None, survey.restore_isolation(owner or prefixes[-1]).isolation)
        if census.is_partial:
            self.left_open["partial"].append(topic)
        lost = tuple(_lost(survey, topic, roles, census))
        ids = frozenset(census.restorable_ids(Role.VALUE)) if asks_versions else frozenset()
        missing = tuple(self._missing(topic, ids, roles.get(Role.VALUE, ())))
        if asks_versions and not census.is_partial and (owner is not None or not missing):
            self.lacking.remove(topic)
        if not lost and not missing:
            return None
        if owner is None:
            if lost:
                self.left_open["unowned"].append(topic)
            return None
        by_application = {name: parse(topic, application=name) for name in (owner, *prefixes)}
        parsed = by_application.pop(owner)
        if parsed is None or parsed.store is None or owner != (self._owner(topic) or owner):
            return None  # it belongs to another application with a longer name
        return ChangelogFacts(
            topic=topic,
            application=owner,
            store=parsed.store,
            other_splits=tuple(f"{name}/{other.store}" for name, other in by_application.items() if other is not None),
            census=census,
            lost=lost,
            missing=missing,
        )

    def _missing(self, topic: Topic, ids: frozenset[SchemaId], contexts: Collection[str]) -> list[LostIds]:
        """Those of these ids that are known, but missing under the values' subject; none if a context's subject has all."""
        every: list[LostIds] = []
        for subject in [join_context(context, subject_for(topic, Role.VALUE)) for context in contexts if ids]:
            held = self.survey.ids_under(subject, deleted=True)
            missing = tuple(i for i in sorted(ids - held) if self.survey.membership(subject, i).is_missing)
            if not missing:
                return []
            every.append(
                LostIds(
                    role=Role.VALUE,
                    subject=subject,
                    has_subject=True,
                    schema_ids=missing,
                    registered_ids=tuple(sorted(held)),
                )
            )
        return every[:1]

    def _ids_on_disk(self, topic: Topic) -> StoreIds:
        """The ids in the rows of the changelog's store; empty without rocksdict, which the stores themselves report."""
        try:
            return ids_by_changelog(self.survey.supplied.state, topic, self.counter.rows)
        except LibraryMissingError:
            return {}

    def _owner(self, topic: Topic) -> str | None:
        """The living application with the longest name, else a given or generated one; a restore commits no offsets."""
        survey, among = self.survey, self.applications
        prefixes = application_prefixes(topic)
        survey.ask_commits(prefixes)
        named = (name for name in prefixes if among.is_group(name) and among.has_signs(name, topic))
        living = next((name for name in named if not among.has_read(name, topic)), None)
        owner = living or next((name for name in prefixes if name in survey.supplied.applications), None)
        return owner or generated_owner(topic)


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
