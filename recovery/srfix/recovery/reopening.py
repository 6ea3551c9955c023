"""A plan that was carried out, and of which somebody has deleted something for good since: what it takes to do that again.

The same journal goes on. So nothing has to be renamed between two writes, a run that is killed goes on like any other, and one
rollback undoes what was done before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srfix.recovery.actions import Action, Register, SetMode, SoftDelete
from srfix.recovery.journal import Journal, JournalState
from srfix.recovery.plan_file import Plan
from srfix.recovery.preflight import preflight
from srfix.recovery.subject_state import SubjectState, difference, read_subject_state
from srfix.serde.errors import PlanError
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.registry.models import answered_elsewhere

__all__ = ["missing_registrations", "reopen"]


def missing_registrations(plan: Plan, registry: RegistryClient) -> Iterator[Register]:
    """The registrations of a plan whose schema is not under its subject, asked by content as the failing reader asks.

    :raises RegistryError: if the registry does not answer.
    """
    for action in plan.actions:
        if isinstance(action, Register):
            try:
                answer = registry.lookup(action.subject, action.schema, deleted=True)
            except (SubjectNotFoundError, SchemaNotFoundError):
                yield action
                continue
            if answered_elsewhere(action.subject, answer):
                yield action


def reopen(
    plan: Plan, missing: tuple[Register, ...], state: JournalState, registry: RegistryClient, journal: Journal
) -> None:
    """Journals that the steps of these registrations are carried out once more, from how their subjects look now.

    :raises PlanError: if that cannot be; nothing was written then.
    """
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
    journal.reopened(steps, now)
    state.reopen(steps, now)


def _elsewhere(plan: Plan, registry: RegistryClient) -> str:
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
