"""Findings that a person has acknowledged by a pattern over subjects: they are kept out of the findings, and counted. A
dead application leaves its subjects behind without a group by which a diagnosis could judge them. A person who knows
more says so with `--ignore PATTERN`. srfix shows the ignored findings with their severity, but they do not change the
outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.diagnose import Examination
from srfix.recovery.diagnosis.united_findings import forbidden, upon_findings
from srfix.recovery.facts.circumstances import concerned
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import ApplicationAdvice, Finding, Ignored, Skipped
from srfix.serde.subjects.names import Subject, changelog_topic, join_context, split_context, subject_for


def acknowledge(
    examination: Examination,
    patterns: Sequence[str],
    in_registry: Collection[Subject],
    *,
    command_line: CommandLine | None = None,
) -> Examination:
    """The examination without the parts that the patterns acknowledge; `Diagnosis.ignored` has those. Patterns are like
    a shell's (`*`, `?`, `[…]`), over whole subjects, case-sensitive.

    A finding is acknowledged if a pattern fits its subject, or the phantom subject of its store and role. A thing that
    was not looked at is acknowledged if a pattern fits each subject that it concerns and that the registry has,
    soft-deleted ones too.
    """
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
            applications=tuple(_advice(examination, findings, command_line or CommandLine())),
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
    for given_advice in examination.diagnosis.applications:
        own = [finding for finding in findings if finding.application == given_advice.application]
        if own and given_advice.application in circumstances:
            advice = tuple(upon_findings(circumstances[given_advice.application], own, command_line=command_line))
            yield replace(given_advice, advice=advice, do_not=forbidden(circumstances[given_advice.application], own))
