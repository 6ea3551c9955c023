"""A part of a plan: what `--only` chooses, by finding code or application."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Subject

_CODE: Final = re.compile(r"(?i)srf(\d{3})")


def part_of(plan: Plan, only: Collection[str]) -> Plan:
    """The findings that have one of these codes (in any letter case) or applications, and the steps for their subjects; the
    whole plan for none.

    A subject that several findings share is repaired once, so that its steps are part of each.
    """
    if not only:
        return plan
    codes = {f"SRF{match[1]}" for name in only if (match := _CODE.fullmatch(name)) is not None}
    applications = {name for name in only if not _CODE.fullmatch(name)}
    _refuse_unknown(plan, codes, applications)
    chosen = tuple(f for f in plan.findings if f.code in codes or f.application in applications)
    subjects = frozenset(finding.subject for finding in chosen)
    of_chosen = frozenset(finding.application for finding in chosen)
    return replace(
        plan,
        findings=chosen,
        actions=tuple(action for action in plan.actions if action.subject in subjects),
        expects={subject: state for subject, state in plan.expects.items() if subject in subjects},
        omissions=tuple(omission for omission in plan.omissions if omission.subject in subjects),
        applications=tuple(known for known in plan.applications if known.application in of_chosen),
    )


def shared_subjects(plan: Plan, part: Plan) -> tuple[Subject, ...]:
    """The subjects of a part that findings outside of it need too, by name."""
    outside = {finding.subject for finding in plan.findings if finding not in part.findings}
    return tuple(sorted(outside.intersection(part.expects)))


def _refuse_unknown(plan: Plan, codes: Collection[str], applications: Collection[str]) -> None:
    known_codes = sorted({finding.code for finding in plan.findings})
    known_applications = sorted({finding.application for finding in plan.findings if finding.application is not None})
    for code in sorted(set(codes) - set(known_codes)):
        raise UsageError(f"The plan repairs no {code}; it repairs {', '.join(known_codes) or 'nothing'}.")
    for name in sorted(set(applications) - set(known_applications)):
        raise UsageError(
            f"The plan repairs nothing of an application {name!r}.{did_you_mean(name, known_applications)} It repairs stores "
            f"of {', '.join(known_applications) or 'none'}."
        )
