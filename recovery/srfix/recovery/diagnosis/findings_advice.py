"""What to do about the findings of one application: what their checks say, in the order of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from srfix.recovery.advice.playbook import prevention
from srfix.recovery.checks.interface import AdviceRequest, Check, Rules
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.commands import Given
from srfix.recovery.facts.circumstances import Circumstances
from srfix.recovery.findings import Finding, Severity


def upon_findings(known: Circumstances, findings: Collection[Finding], *, given: Given | None = None) -> Iterator[str]:
    """What to do about the findings of one application."""
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
                AdviceRequest(known=known, findings=own, rules=rules, given=given or Given())
            )
            if check.advice.is_whole:
                return
            advised += len(own)
    if advised < len(serious):
        what = "what else was found" if advised else "what was found"
        yield (
            f"Neither a restart nor wiping the state directory mends {what}: a restore loads the same records again. What "
            "helps stands at each finding."
        )
    if not serious:
        yield from _upon_notes(known, checks, findings)
    if not advised and any(check.advice.recurs for check in checks):
        yield from prevention(known, rules.upgrade)


def forbidden(known: Circumstances, findings: Collection[Finding]) -> tuple[str, ...]:
    """What must not be done before the findings of one application are mended, each as words behind "do not"."""
    codes = {finding.code for finding in findings if finding.severity is not Severity.NOTE}
    warnings = [check.advice.do_not for check in CHECKS if check.code in codes and check.advice.do_not is not None]
    return tuple(dict.fromkeys(words for do_not in warnings for words in do_not(known)))


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


def _upon_notes(known: Circumstances, checks: Sequence[Check], findings: Collection[Finding]) -> Iterator[str]:
    """Nothing is broken: the last check that has something to say of that says it."""
    if any(fault.is_partial for finding in findings for fault in finding.schema_ids):
        yield (
            "Nothing was found broken in what was read, but the topic was not read to its end: run srfix diagnose without its "
            "limits (--deadline, --max-records) before you rely on it."
        )
        return
    notes = [check.advice.note for check in checks if check.advice.note is not None]
    yield from (note(known) for note in notes[-1:])
