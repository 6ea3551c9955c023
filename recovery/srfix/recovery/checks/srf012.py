"""SRF012, a note on a repair: why the registry would refuse it, or which traces an earlier repair has left. An
interrupted repair leaves the subject's own compatibility at NONE, or the subject's own mode at IMPORT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.missing import is_untold, missing_ids
from srfix.recovery.checks.proofs import at_fault
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.forecasts import Foretold, Moment
from srfix.recovery.ids_in_words import named_ids

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.refusals import RegistrationRefusal
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.recovery.guard.judged import Prospect
    from srfix.recovery.guard.models import NewSchema
    from srfix.recovery.registry import ReadableRegistry
    from srfix.serde.subjects.names import Role, Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF012"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One note per role whose repair the registry would refuse now, or on which an earlier repair left its traces."""
    is_told = facts.source is not None and not is_untold(facts, context)
    for role in facts.roles.values():
        missing = missing_ids(facts, role) if is_told else ()
        refusals = context.refusals(role, [role.memberships[schema_id] for schema_id in missing])
        traces = tuple(_traces(role.state, context.registry))
        if not refusals and not traces:
            continue
        refused = [refusal.schema_id for refusal in refusals]
        finding = facts.finding(
            CODE,
            role.role,
            severity=Severity.NOTE,
            schema_ids=at_fault(facts.census, role.role, refused) if facts.census is not None else (),
            explanation=" ".join(_explanation(role, refusals, traces)),
            next_step=" ".join(_next(role.state, refusals, traces)),
            repairable=bool(refusals) and all(refusal.is_overcome for refusal in refusals),
        )
        yield replace(finding, evidence=())


def _traces(state: SubjectState, registry: ReadableRegistry) -> Iterator[str]:
    if state.level == "NONE" and not _accepts_anything(registry):
        yield "the subject's own compatibility is NONE, so the subject accepts any schema"
    if state.mode == "IMPORT":
        yield (
            "the subject's own mode is IMPORT, so the registry refuses the application's own registrations there "
            "(42205), and the stream thread ends when the application next registers an internal schema"
        )


def _accepts_anything(registry: ReadableRegistry) -> bool:
    """True if the global level is NONE, so that a subject's own changes nothing; Apicurio answers NONE for all."""
    shared = registry.config()
    return shared is not None and shared.compatibility == "NONE"


def _explanation(role: RoleFacts, refusals: tuple[RegistrationRefusal, ...], traces: tuple[str, ...]) -> Iterator[str]:
    if refusals:
        yield f"The registry would now refuse the repair of {role.subject}: {_reasons(refusals)}."
    if traces:
        yield f"A repair of {role.subject} may have been interrupted: {', and '.join(traces)}."


def _reasons(refusals: Iterable[RegistrationRefusal]) -> str:
    concerned: dict[str, list[SchemaId]] = {}
    for refusal in refusals:
        concerned.setdefault(refusal.reason, []).append(refusal.schema_id)
    return "; ".join(f"{named_ids(ids)}: {reason}" for reason, ids in concerned.items())


def _next(state: SubjectState, refusals: tuple[RegistrationRefusal, ...], traces: tuple[str, ...]) -> Iterator[str]:
    if traces:
        yield (
            "If somebody ran srfix apply, look for its journal (PLAN.journal.jsonl, beside the plan). The journal "
            "says what the settings were before. Finish the repair with srfix apply and that plan, or undo it with "
            "srfix rollback and that journal. Do not make a new plan first: it would treat today's settings as "
            "the settings to restore."
        )
        yield (
            "If somebody set this on purpose, do nothing. If nobody knows who set it, reset it: "
            f"{_put_back(state.subject, state)}."
        )
    if not refusals:
        return
    if all(refusal.is_overcome for refusal in refusals):
        yield (
            f"{'Otherwise you' if traces else 'You'} do not need to do anything about the refusal: the repair by "
            "srfix plan sets the compatibility of only this subject to NONE, registers the schemas, and puts the "
            "old compatibility back."
        )
    elif not traces:
        yield "First ask the registry's owner to remove the cause of the refusal. Then plan the repair."


def _put_back(subject: Subject, state: SubjectState) -> str:
    requests = []
    if state.level == "NONE":
        requests.append(f"DELETE /config/{subject} (or PUT the level that it had)")
    if state.mode == "IMPORT":
        requests.append(f"DELETE /mode/{subject}")
    return ", ".join(requests)


def foretell_of_new(new: NewSchema, phantom: SubjectState, prospect: Prospect, role: Role) -> Iterator[Foretold]:
    """Says that the phantom subject would refuse a new schema; shown with the prediction about that schema (`srf001`)."""
    judged = prospect.judged
    refused, _is_known = judged.sight.refusal(phantom, role, new.schema)
    if refused is not None:
        yield judged.foretold(
            CODE,
            role,
            severity=Severity.NOTE,
            certainty=prospect.asks_the_phantom,
            moment=Moment.SCHEMA,
            subject=phantom.subject,
            explanation=(
                f"The registry would now refuse this schema under {phantom.subject}: {refused}. srfix plan works "
                "around this if it can, and says what that costs."
            ),
        )


CHECK: Final = Check(
    code=CODE,
    title="The registry would now refuse the repair, or an earlier repair may have been interrupted",
    severity="note",
    meaning="The registry would refuse to register the source's schema under the phantom subject, for one of these "
    "reasons: the schema is not compatible with what the subject holds (409); the subject is read-only; the "
    "credentials do not allow a write there. Or the subject's own compatibility is NONE, or its own mode is IMPORT, "
    "as an interrupted repair leaves it. In mode IMPORT the registry refuses the application's own registrations "
    "(42205).",
    cause="The internal schema and the writer's schema usually differ in more than BACKWARD allows, for example in "
    "the record's name.",
    detection="srfix reads the subject's level and mode, and asks the registry whether each missing schema is "
    "compatible. It writes nothing.",
    remedy=(
        "If the compatibility is in the way, the plan sets the level of the phantom subject to NONE, registers the "
        "schemas, and puts the level back. The plan says what that costs. If the subject is read-only, or the "
        "credentials do not allow a write, ask the owner of the registry. Finish an interrupted repair with srfix "
        "apply, or undo it with srfix rollback, before you make a new plan."
    ),
    find=check,
    without_source=lambda finding, _which_is_true: finding,
    is_of_repair=True,
)
