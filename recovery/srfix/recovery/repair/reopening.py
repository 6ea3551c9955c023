"""Repeats the part of a finished plan that somebody has deleted for good since.

The same journal goes on. So nothing has to be renamed between two writes, a run that is killed goes on like any other, and one
rollback undoes what was done before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srfix.recovery.actions.actions import Action, Register, SetMode, SoftDelete
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import (
    SubjectState,
    difference,
    held_version,
    read_subject_state,
    subject_state_document,
)
from srfix.recovery.plans.journal_file import Journal
from srfix.recovery.registry import Registry
from srfix.recovery.repair.journal import RepairState
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.preflight import preflight
from srfix.serde.schemas.models import Json


def missing_registrations(plan: Plan, registry: Registry) -> Iterator[Register]:
    """The registrations of a plan whose schema is not under its subject, asked by content as the failing reader asks."""
    for action in plan.actions:
        if isinstance(action, Register) and held_version(registry, action.subject, action.schema) is None:
            yield action


def reopen(plan: Plan, missing: tuple[Register, ...], state: RepairState, registry: Registry, journal: Journal) -> None:
    """Journals that the steps of these registrations are carried out once more, from how their subjects look now."""
    gone = {(action.subject, action.schema_id) for action in missing}
    subjects = {action.subject for action in missing}
    again = tuple(
        action
        for action in plan.actions
        if action.subject in subjects
        and (not isinstance(action, Register | SoftDelete) or (action.subject, action.schema_id) in gone)
    )
    said = ", ".join(f"schema id {action.schema_id} under {action.subject}" for action in missing)
    now = {subject: read_subject_state(registry, subject) for subject in plan.expects}
    obstacles = [
        *(_other_settings(plan.expects[subject], now[subject]) for subject in sorted(subjects)),
        *(_import_would_purge(action, now[action.subject]) for action in again),
        *(obstacle.what for obstacle in preflight(replace(plan, actions=again), registry, journal.path)),
    ]
    why = [obstacle for obstacle in obstacles if obstacle is not None]
    if why:
        raise PlanError(
            f"{_elsewhere(plan, registry)}This plan was carried out, and since then somebody has deleted for good: {said}. It "
            f"cannot be registered again by this plan, and nothing was written. {' '.join(why)}"
        )
    steps = [action.step for action in again]
    expects: Json = {subject: subject_state_document(now[subject]) for subject in sorted(now)}
    journal.write("reopened", steps=list[Json](steps), expects=expects)
    state.reopen(steps, now)


def _elsewhere(plan: Plan, registry: Registry) -> str:
    """What to look at first, as a sentence with a blank behind it; empty if it is the plan's own registry by its URL."""
    if registry.url == plan.registry:
        return ""
    return f"Is {registry.url} the registry that the plan was made for ({plan.registry})? If it is: "


def _other_settings(planned: SubjectState, now: SubjectState) -> str | None:
    if (planned.config, planned.mode) == (now.config, now.mode):
        return None
    return f"Its settings have changed since the plan: {difference(replace(planned, versions=now.versions), now)}. Plan again."


def _import_would_purge(action: Action, now: SubjectState) -> str | None:
    if not isinstance(action, SetMode) or not any(version.deleted for version in now.versions):
        return None
    return (
        f"{action.subject} has soft-deleted versions, which a registry deletes for good when it takes IMPORT. Plan again, "
        "with --exact-ids."
    )
