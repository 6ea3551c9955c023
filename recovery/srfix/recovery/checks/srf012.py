"""SRF012, a note on a repair: what stands in its way (the registry would refuse it, and why), or an earlier one's traces.

A repair that was interrupted leaves the subject's own compatibility at NONE, or its own mode at IMPORT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.actions import level_of
from srfix.recovery.checks._counting import at_fault
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.checks.srf001 import missing_ids
from srfix.recovery.findings import Finding, Severity, Source
from srfix.recovery.ids_in_words import listed
from srfix.recovery.refusals import Refusal, foreseen_refusals
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.recovery.subject_state import SubjectState
from srfix.serde.registry import RegistryClient
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId

__all__ = ["CODE", "check"]

CODE = "SRF012"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One note per role whose repair would be refused as things stand, or on which an earlier one left its traces."""
    for role in facts.roles.values():
        missing = missing_ids(facts, role) if facts.source is not None else ()
        refusals = foreseen_refusals(context.registry, role, [role.memberships[schema_id] for schema_id in missing])
        traces = tuple(_traces(role.state, context.registry))
        if not refusals and not traces:
            continue
        refused = [refusal.schema_id for refusal in refusals]
        yield Finding(
            code=CODE,
            severity=Severity.NOTE,
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=role.subject,
            source=None
            if facts.source is None
            else Source(topic=facts.source.topic, subject=facts.store.source_subject(facts.source.topic, role.role)),
            schema_ids=at_fault(facts.census, role.role, refused) if facts.census is not None else (),
            registered_ids=role.state.schema_ids,
            explanation=" ".join(_explanation(role, refusals, traces)),
            next=" ".join(_next(role.state, refusals, traces)),
            repairable=bool(refusals) and all(refusal.is_overcome for refusal in refusals),
        )


def _traces(state: SubjectState, registry: RegistryClient) -> Iterator[str]:
    if level_of(state.config) == "NONE" and not _accepts_anything(registry):
        yield "its own compatibility is NONE: it accepts any schema"
    if state.mode == "IMPORT":
        yield (
            "its own mode is IMPORT: the registry refuses the application's own registrations there (42205), so that "
            "its next "
            "internal schema ends its thread"
        )


def _accepts_anything(registry: RegistryClient) -> bool:
    """True if the global level is NONE: then one of the subject's own changes nothing, and Apicurio, whose default that is,
    answers it for subjects that have none.
    """
    shared = registry.config()
    return shared is not None and shared.compatibility == "NONE"


def _explanation(role: RoleFacts, refusals: tuple[Refusal, ...], traces: tuple[str, ...]) -> Iterator[str]:
    if refusals:
        yield f"As things stand the registry would refuse the repair of {role.subject}: {_reasons(refusals)}."
    if traces:
        yield f"A repair of {role.subject} may have been interrupted: {', and '.join(traces)}."


def _reasons(refusals: Iterable[Refusal]) -> str:
    """Each reason once, with the ids that it concerns."""
    concerned: dict[str, list[SchemaId]] = {}
    for refusal in refusals:
        concerned.setdefault(refusal.reason, []).append(refusal.schema_id)
    return "; ".join(
        f"{'schema id' if len(ids) == 1 else 'schema ids'} {listed(ids)}: {reason}" for reason, ids in concerned.items()
    )


def _next(state: SubjectState, refusals: tuple[Refusal, ...], traces: tuple[str, ...]) -> Iterator[str]:
    if traces:
        yield (
            "If somebody ran srfix apply, look for its journal (PLAN.journal.jsonl, beside the plan): it tells what "
            "stood before. Finish the repair with srfix apply and that plan, or undo it with srfix rollback and that "
            "journal, and do not plan anew before: a new plan takes what stands there now for what is to be left."
        )
        yield (
            "If it is meant to be so, nothing is to be done; if nobody knows, put it back: "
            f"{_put_back(state.subject, state)}."
        )
    if not refusals:
        return
    if all(refusal.is_overcome for refusal in refusals):
        yield (
            f"{'Apart from that nothing' if traces else 'Nothing'}: srfix plan sets the compatibility of this one "
            "subject to "
            "NONE, registers, and puts back what was there."
        )
    elif not traces:
        yield "Have what stands in the way mended (it is in the explanation), then plan the repair."


def _put_back(subject: Subject, state: SubjectState) -> str:
    requests = []
    if level_of(state.config) == "NONE":
        requests.append(f"DELETE /config/{subject} (or PUT the level that it had)")
    if state.mode == "IMPORT":
        requests.append(f"DELETE /mode/{subject}")
    return ", ".join(requests)
