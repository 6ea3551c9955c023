"""SRF012, a note on a repair: the registry would refuse the registration, and why; what the plan does about it."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.checks._counting import at_fault
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.checks.srf001 import missing_ids
from srfix.recovery.findings import Finding, Severity, Source
from srfix.recovery.refusals import Refusal, foreseen_refusals
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.serde.subjects import subject_for

__all__ = ["CODE", "check"]

CODE = "SRF012"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One note per role whose repair would be refused as things stand."""
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        missing = missing_ids(facts, role)
        refusals = foreseen_refusals(context.registry, role, [role.memberships[schema_id] for schema_id in missing])
        if not refusals:
            continue
        yield Finding(
            code=CODE,
            severity=Severity.NOTE,
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=role.subject,
            source=Source(topic=facts.source.topic, subject=subject_for(facts.source.topic, role.role)),
            schema_ids=at_fault(facts.census, role.role, [refusal.schema_id for refusal in refusals]),
            registered_ids=role.state.schema_ids,
            explanation=_explanation(role, refusals),
            next=_next(refusals),
            repairable=all(refusal.is_overcome for refusal in refusals),
        )


def _explanation(role: RoleFacts, refusals: tuple[Refusal, ...]) -> str:
    reasons = "; ".join(f"schema id {refusal.schema_id}: {refusal.reason}" for refusal in refusals)
    return f"As things stand the registry would refuse the repair of {role.subject}: {reasons}."


def _next(refusals: tuple[Refusal, ...]) -> str:
    if all(refusal.is_overcome for refusal in refusals):
        return (
            "Nothing: srfix plan sets the compatibility of this one subject to NONE, registers, and puts back what was "
            "there."
        )
    return "Have the registry made writable for this subject (its mode is in the explanation), then plan the repair."
