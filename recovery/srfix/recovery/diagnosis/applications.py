"""Applications that left internal subjects without topics: which are alive, which are gone, and which are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.checks.table import CHECKS
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.applications import (
    ApplicationFacts,
    has_topics,
    ksqldb_lacks,
    owners,
    signs_of_absence,
    topicless_subjects,
    without_trace,
)
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding, Skipped
from srfix.recovery.internal_topics import application_prefixes
from srfix.serde.errors import UsageError
from srfix.serde.schemas.errors import EndpointNotSupportedError
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOver:
    findings: tuple[Finding, ...] = ()
    applications: tuple[ApplicationFacts, ...] = ()

    @property
    def subjects(self) -> frozenset[Subject]:
        """The subjects that have a finding, so that nothing else has to be said about them."""
        return frozenset(finding.subject for finding in self.findings)

    def covers(self, subjects: Iterable[Subject], existing: Callable[[Subject], bool]) -> bool:
        """True if all of these subjects that the registry has are in findings."""
        subjects_left = [subject for subject in subjects if existing(subject)]
        return bool(subjects_left) and self.subjects.issuperset(subjects_left)

    def without_told(self, skipped: Iterable[Skipped], existing: Callable[[Subject], bool]) -> Iterator[Skipped]:
        """What srfix did not look at, except subjects that are in findings."""
        return (omission for omission in skipped if not self.covers(omission.subjects, existing))


def left_over(
    survey: Survey,
    applications: Applications,
    context: CheckContext,
    *,
    is_listed_whole: bool,
    application: str | None = None,
) -> LeftOver:
    """Looks at every application to which internal subjects without topics may belong, or only at `application`. Reads
    only. If the cluster does not list all of its groups, an application is called gone only if a person says so.
    """
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
