"""An examination, and what is made of its findings. Those of a store whose subjects are in several registry contexts
become one; a note on a repair joins the finding that the repair is for; a person acknowledges some by patterns over
subjects.

Schema linking and exporters copy a subject into a context of its own name space. The registry URL of the application
decides which copy the store's serde asks; srfix does not see this URL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from srfix.recovery.advice.playbook import prevention
from srfix.recovery.checks.interface import AdviceRequest, Check, Rules
from srfix.recovery.checks.srf011 import CODE as UNKNOWN_IDS
from srfix.recovery.checks.srf014 import CODE as LOST_ROWS
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.recovery.commands import CommandLine
from srfix.recovery.facts.applications import ApplicationFacts
from srfix.recovery.facts.reader import Circumstances, concerned
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import (
    ApplicationAdvice,
    Diagnosis,
    Finding,
    Ignored,
    Observation,
    Severity,
    Skipped,
    finding_order,
)
from srfix.serde.subjects.names import (
    DEFAULT_CONTEXT,
    Role,
    Subject,
    changelog_topic,
    join_context,
    split_context,
    subject_for,
)

_OF_UNKNOWN_IDS: Final = frozenset((UNKNOWN_IDS, LOST_ROWS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """A diagnosis together with the facts that it rests on, for those who plan a repair."""

    diagnosis: Diagnosis
    facts: tuple[StoreFacts, ...]
    applications: tuple[Circumstances, ...] = ()
    left_over: tuple[ApplicationFacts, ...] = ()
    """By name, the applications with findings on subjects without topics (SRF008, SRF009)."""

    def _repr_html_(self) -> str:
        return self.diagnosis._repr_html_()


def with_mirrors(findings: Iterable[Finding], survey: Survey) -> list[Finding]:
    """The findings; copies of a subject (by its latest text) in several contexts share one, the default's first."""
    places: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        name = split_context(finding.subject)[1]
        latest = survey.latest(finding.subject) if survey.has_subject(finding.subject) else None
        text = "" if latest is None else latest.schema.text
        key = (finding.code, finding.application, finding.store, finding.role.value, name, text)
        places.setdefault(key, []).append(finding)
    return [_as_one(copies) for copies in places.values()]


def without_unused_contexts(findings: Iterable[Finding], survey: Survey) -> tuple[list[Finding], list[Skipped]]:
    """The findings without ids that only another context with the store's subject knows; the omission is reported."""
    findings_used, skipped = list[Finding](), list[Skipped]()
    for finding in findings:
        used = _context_that_knows(finding, survey) if finding.code in _OF_UNKNOWN_IDS else None
        if used is None:
            findings_used.append(finding)
            continue
        own = split_context(finding.subject)[0]
        reason = (
            f"context {used} knows the schema ids of the store's rows, and {own} does not. So most likely the "
            f"application uses {used}. If it uses {own}, the schemas of these ids are lost ({finding.code}), and srfix needs "
            "that context in --registry (add /contexts/ and the context's name to the address)"
        )
        what = f"store {finding.store} of application {finding.application} in context {own}"
        skipped.append(Skipped(what=what, reason=reason, could_hide=True, subjects=(finding.subject,)))
    return findings_used, list(dict.fromkeys(skipped))


def _context_that_knows(finding: Finding, survey: Survey) -> str | None:
    own, name = split_context(finding.subject)
    changelog = changelog_topic(finding.application, finding.store)
    phantoms = {subject_for(changelog, role) for role in Role}
    holding = {context for context, other_name in map(split_context, survey.subjects()) if other_name in phantoms}
    for other in sorted(holding - {own}):
        name_there = join_context(other, name)
        if all(survey.membership(name_there, at_fault.schema_id).is_known for at_fault in finding.schema_ids):
            return other
    return None


def _as_one(copies: list[Finding]) -> Finding:
    copies.sort(key=lambda copy: (split_context(copy.subject)[0] != DEFAULT_CONTEXT, finding_order(copy)))
    first, other_subjects = copies[0], tuple(copy.subject for copy in copies[1:])
    if not other_subjects:
        return first
    return replace(
        first,
        mirrors=other_subjects,
        explanation=(
            f"{first.explanation} The same is true for {', '.join(other_subjects)}, the same subject in another context. The "
            "registry URL of the application shows which of these subjects the store's reader asks."
        ),
        next=(
            f"{first.next} This advice is only for {first.subject}. If the application uses another context, run srfix "
            "with that context's URL (--registry URL/contexts/CONTEXT)."
        ),
    )


def with_notes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the notes on its repair. A note without such a finding stays a finding itself."""
    of_all = list(findings)
    notes = [finding for finding in of_all if finding.severity is Severity.NOTE and BY_CODE[finding.code].is_of_repair]
    hosts = [replace(finding, notes=tuple(_of(finding, notes))) for finding in of_all if finding not in notes]
    placed = [note for host in hosts for note in host.notes]
    return [*hosts, *(note for note in notes if note not in placed)]


def _of(finding: Finding, notes: Sequence[Finding]) -> Iterator[Finding]:
    """The notes on this finding's repair; of a note only those that its repair overcomes: others stay visible."""
    if finding.repairable:
        for note in notes:
            if note.subject == finding.subject and (note.repairable or finding.severity is not Severity.NOTE):
                yield note


def upon_findings(
    circumstances: Circumstances, findings: Collection[Finding], command_line: CommandLine
) -> Iterator[str]:
    codes = {finding.code for finding in findings}
    checks = [check for check in CHECKS if check.code in codes]
    serious = [finding for finding in findings if finding.severity is not Severity.NOTE]
    rules = _rules(checks, {finding.code for finding in serious})
    advised = 0
    for check in checks:
        alike = {other.code for other in checks if other.advice.serious is check.advice.serious}
        own = tuple(finding for finding in serious if finding.code in alike)
        if own and check.advice.serious is not None and check.code == min(alike):
            yield from check.advice.serious(
                AdviceRequest(circumstances=circumstances, findings=own, rules=rules, command_line=command_line)
            )
            if check.advice.is_whole:
                return
            advised += len(own)
    if advised < len(serious):
        what = "what else was found" if advised else "what was found"
        yield (f"Neither a restart nor wiping the state directory repairs {what}. Each finding says what helps.")
    if not serious:
        yield from _upon_notes(circumstances, checks, findings)
    if not advised and any(check.advice.recurs for check in checks):
        yield from prevention(circumstances, rules.upgrade)


def advice_on(
    circumstances: Circumstances,
    findings: Iterable[Finding],
    observations: tuple[Observation, ...],
    command_line: CommandLine,
) -> ApplicationAdvice:
    own = [finding for finding in findings if finding.application == circumstances.application]
    return ApplicationAdvice(
        application=circumstances.application,
        observations=observations,
        advice=tuple(upon_findings(circumstances, own, command_line)),
        do_not=forbidden(circumstances, own),
    )


def forbidden(circumstances: Circumstances, findings: Collection[Finding]) -> tuple[str, ...]:
    """What must not be done before the findings of one application are repaired, each as words behind "do not"."""
    codes = {finding.code for finding in findings if finding.severity is not Severity.NOTE}
    warnings = [check.advice.do_not for check in CHECKS if check.code in codes and check.advice.do_not is not None]
    return tuple(dict.fromkeys(words for do_not in warnings for words in do_not(circumstances)))


def _rules(checks: Sequence[Check], serious: Collection[str]) -> Rules:
    rules = [
        rules
        for check in checks
        if (rules := check.advice.rules) is not None and (rules.of_notes or check.code in serious)
    ]
    return Rules(
        wiping=next((rule.wiping for rule in rules if rule.wiping is not None), None),
        upgrade=next((rule.upgrade for rule in rules if rule.upgrade is not None), None),
    )


def _upon_notes(circumstances: Circumstances, checks: Sequence[Check], findings: Collection[Finding]) -> Iterator[str]:
    if any(fault.is_partial for finding in findings for fault in finding.schema_ids):
        yield (
            "srfix found nothing broken in the records that it read, but the topic was not read to its end. Before "
            "you rely on this, run srfix diagnose without its limits (--deadline, --max-records)."
        )
        return
    notes = [check.advice.note for check in checks if check.advice.note is not None]
    yield from (note(circumstances) for note in notes[-1:])


def acknowledge(
    examination: Examination, patterns: Sequence[str], in_registry: Collection[Subject], command_line: CommandLine
) -> Examination:
    """The examination without what the patterns acknowledge, by its subject, or the phantom subject of its store and
    role. They are like a shell's (`*`, `?`, `[…]`), over whole subjects, case-sensitive."""
    if not patterns:
        return examination
    ignored: list[Ignored] = []
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for finding in examination.diagnosis.findings:
        pattern = _first(patterns, _subjects_of(finding))
        if pattern is None:
            findings.append(finding)
        else:
            ignored.append(
                Ignored(
                    subjects=(finding.subject,),
                    pattern=pattern,
                    what=f"{finding.code} {finding.application}/{finding.store}",
                    severity=finding.severity,
                )
            )
    for skip in examination.diagnosis.skipped:
        about = tuple(subject for subject in skip.subjects if subject in in_registry) or skip.subjects
        fitting = [_first(patterns, (subject,)) for subject in about]
        if fitting and fitting[0] is not None and None not in fitting:
            ignored.append(Ignored(subjects=about, pattern=fitting[0], what=skip.what, severity=None))
        else:
            skipped.append(skip)
    return replace(
        examination,
        diagnosis=replace(
            examination.diagnosis,
            findings=tuple(findings),
            skipped=tuple(skipped),
            ignored=tuple(ignored),
            applications=tuple(_advice(examination, findings, command_line)),
        ),
        facts=tuple(remainder for facts in examination.facts if (remainder := _without(facts, patterns)).roles),
        applications=concerned(
            examination.applications, [(finding.application, finding.store) for finding in findings]
        ),
    )


def unused_patterns(examination: Examination, patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns that fit no ignored subject: they may be mistyped, or no longer needed."""
    subjects = {subject for ignored in examination.diagnosis.ignored for subject in ignored.subjects}
    used = {ignored.pattern for ignored in examination.diagnosis.ignored}
    return tuple(
        pattern
        for pattern in dict.fromkeys(patterns)
        if pattern not in used and not any(fnmatchcase(subject, pattern) for subject in subjects)
    )


def _first(patterns: Sequence[str], subjects: Collection[Subject]) -> str | None:
    return next((pattern for pattern in patterns if any(fnmatchcase(s, pattern) for s in subjects)), None)


def _subjects_of(finding: Finding) -> tuple[Subject, ...]:
    context, _name = split_context(finding.subject)
    changelog = changelog_topic(finding.application, finding.store)
    return finding.subject, join_context(context, subject_for(changelog, finding.role))


def _without(facts: StoreFacts, patterns: Sequence[str]) -> StoreFacts:
    """Without the roles whose phantom subject is acknowledged, so that no repair of them is planned."""
    return replace(
        facts,
        roles={
            role: role_facts
            for role, role_facts in facts.roles.items()
            if _first(patterns, (role_facts.subject,)) is None
        },
    )


def _advice(
    examination: Examination, findings: Sequence[Finding], command_line: CommandLine
) -> Iterator[ApplicationAdvice]:
    circumstances = {known_application.application: known_application for known_application in examination.applications}
    left = {finding.application for finding in findings} & circumstances.keys()
    for given_advice in examination.diagnosis.applications:
        if given_advice.application in left:
            of_application = circumstances[given_advice.application]
            yield advice_on(of_application, findings, given_advice.observations, command_line)
