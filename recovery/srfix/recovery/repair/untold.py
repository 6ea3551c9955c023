"""What stands in a registry as a step of the plan would leave it, though the journal does not record that step.

A journal whose end is missing cannot be told by its lines alone: so the registry is asked about every step of the plan. What
stands there may also be another run's of the same plan, with a journal of its own, or somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    SetCompatibility,
    SetMode,
    added_versions,
    has_happened_in_part,
)
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import SubjectState, look_up, read_subject_state
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.journal import RepairState
from srfix.serde.subjects.names import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """A step that the journal does not record as carried out, though its effect stands."""

    action: Action
    what: str
    """What stands, in words: no capital, no full stop."""


def refuse_untold(state: RepairState, registry: ReadableRegistry, journal_path: Path) -> None:
    """Refuses, before the first write of a rollback, a journal whose end may be missing."""
    if state.finished or state.stopped or state.rolling_back:
        return
    found = list(untold_steps(state, registry, besides=state.in_flight))
    if found:
        steps = ", ".join(str(untold.action.step) for untold in found)
        raise PlanError(
            f"The journal {journal_path} does not tell that step {steps} of its plan was carried out, and "
            f"{'; '.join(untold.what for untold in found)}. Either the end of the journal is missing, or somebody else has "
            "done that; srfix cannot tell, and nothing was written. Restore the journal from a copy and run the same srfix "
            "rollback again. If the plan was also carried out with another journal, roll that one back first. What is left "
            "then and is nobody's, delete by hand."
        )


def untold_steps(state: RepairState, registry: ReadableRegistry, *, besides: int | None = None) -> Iterator[Untold]:
    """Asks the registry about each step that the journal does not tell of.

    :param besides: a step that is left out: the journal says that it was begun.
    """
    seen: dict[Subject, SubjectState] = {}
    for action in state.plan.actions:
        if action.step in state.after or action.step == besides:
            continue
        if not isinstance(action, Register | SetCompatibility | SetMode | DeleteVersion):
            continue  # what it leaves is undone, or kept, with the step that it belongs to
        known = state.expected[action.subject]
        if action.subject not in seen:
            seen[action.subject] = read_subject_state(registry, action.subject)
        what = _standing(action, known, seen[action.subject], registry)
        if what is not None:
            yield Untold(action=action, what=what)


def _standing(
    action: Register | SetCompatibility | SetMode | DeleteVersion,
    known: SubjectState,
    now: SubjectState,
    registry: ReadableRegistry,
) -> str | None:
    match action:
        case SetCompatibility():
            is_set = now.config != known.config and has_happened_in_part(action, known, now)
            return f"the compatibility of {action.subject} is {action.level}" if is_set else None
        case SetMode():
            is_set = now.mode != known.mode and has_happened_in_part(action, known, now)
            return f"the mode of {action.subject} is {action.mode}" if is_set else None
        case DeleteVersion():
            stood = next((v for v in known.versions if v.version == action.version), None)
            is_done = stood is not None and not stood.deleted and has_happened_in_part(action, known, now)
            return f"version {action.version} of {action.subject} is soft-deleted" if is_done else None
        case Register():
            added = added_versions(known, now)
            for version in added:
                is_looked_up = version.schema_id == action.schema_id and not action.any_id
                if is_looked_up or (version.version, version.schema_id) == _held(action, registry):
                    state = "soft-deleted" if version.deleted else "live"
                    return (
                        f"version {version.version} (schema id {version.schema_id}, {state}) of {action.subject} stands"
                    )
            return None


def _held(action: Register, registry: ReadableRegistry) -> tuple[int, int] | None:
    """The version under which the subject holds the schema, and its id."""
    answer = look_up(registry, action.subject, action.schema)
    return None if answer is None else (answer.version, answer.schema_id)
