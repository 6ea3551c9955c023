"""What a stopped repair has left open, and effects that a journal does not record. Lines do not show that the end of a
journal is missing, so srfix asks the registry about every step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    SetCompatibility,
    SetMode,
    SoftDelete,
    added_versions,
    has_happened_in_part,
    restore_config,
    restore_mode,
    restored_fields,
    soft_delete,
)
from srfix.recovery.commands import positional, srfix_command
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import SubjectState, VersionState, look_up, read_subject_state
from srfix.recovery.ids_in_words import listed
from srfix.recovery.plans.journal_file import set_aside
from srfix.recovery.registry import ReadableRegistry, Registry
from srfix.recovery.repair.journal import REPAIR_JOURNALS, RepairState
from srfix.serde.errors import RegistryError
from srfix.serde.subjects.names import Subject


def still_relaxed(state: RepairState, registry: ReadableRegistry, journal_path: Path) -> Iterator[str]:
    """Sentences, each with a blank after it: the settings still relaxed, by whichever run, and how to reset them."""
    rollback = srfix_command("rollback", *positional(str(journal_path)))
    for action in state.plan.actions:
        if not isinstance(action, SetCompatibility | SetMode) or action.step not in state.before:
            continue
        what = "compatibility" if isinstance(action, SetCompatibility) else "mode"
        value = action.level if isinstance(action, SetCompatibility) else action.mode
        place = f"{'config' if what == 'compatibility' else 'mode'}/{quote(action.subject, safe='')}"
        reset = f"To reset it, run `{rollback}`, or by hand: {_by_hand(action, place)}. "
        try:
            now = read_subject_state(registry, action.subject)
        except RegistryError:
            yield (
                f"srfix could not ask whether the {what} of {action.subject} is still {value}: look with GET "
                f"/{place} when the registry answers again. {reset}"
            )
            continue
        if has_happened_in_part(action, state.before[action.step], now):
            yield f"The {what} of {action.subject} is still {value}: the repair would have reset it at its end. {reset}"


def _by_hand(action: SetCompatibility | SetMode, place: str) -> str:
    if action.previous is None:
        return f"DELETE /{place}"
    body = restored_fields(action.previous) if isinstance(action, SetCompatibility) else {"mode": action.previous}
    return f"PUT /{place} with {json.dumps(body, ensure_ascii=isinstance(action, SetMode))}"


def put_back(
    journal_path: Path, registry: Registry, *, clock: Callable[[], str]
) -> tuple[tuple[str, ...], Path | None]:
    """Closes a stopped repair; its registrations stay. After a kill at any instant, the same call continues. Returns the
    writes, in words, and the new name of the journal."""
    with REPAIR_JOURNALS.open(journal_path, clock, create=False) as (journal, state):
        if state is None or state.finished or state.rolling_back:
            return (), None
        done = tuple(_close(state, registry))
        with suppress(PlanError):  # a full disk: the settings were reset all the same
            journal.write("put-back", done=list(done))
            journal.write("stopped")
        return done, set_aside(journal_path)


def _close(state: RepairState, registry: Registry) -> Iterator[str]:
    soft_deleted = {(a.subject, a.schema_id) for a in state.plan.actions if isinstance(a, SoftDelete)}
    begun = [action for action in state.plan.actions if action.step in state.before]
    for action in begun:
        before = state.before[action.step]
        if not isinstance(action, Register) or (action.subject, action.schema_id) not in soft_deleted:
            continue
        subject_state = read_subject_state(registry, action.subject)
        for version in added_versions(before, subject_state):
            if version.schema_id == state.ids_by_step.get(action.step, action.schema_id) and not version.deleted:
                soft_delete(registry, action.subject, version.version)
                yield f"version {version.version} of {action.subject} soft-deleted"
    for action in begun:
        if not isinstance(action, SetCompatibility | SetMode):
            continue
        subject_state = read_subject_state(registry, action.subject)
        if not has_happened_in_part(action, state.before[action.step], subject_state):
            continue
        if isinstance(action, SetCompatibility):
            restore_config(registry, action.subject, action.previous)
            yield f"compatibility of {action.subject} put back"
        else:
            restore_mode(registry, action.subject, action.previous)
            yield f"mode of {action.subject} put back"


def refuse_untold(state: RepairState, registry: ReadableRegistry, journal_path: Path) -> None:
    """Refuses, before the first write of a rollback, a journal whose end may be missing."""
    if state.finished or state.stopped or state.rolling_back:
        return
    missing_steps = list(untold_steps(state, registry, besides=state.in_flight))
    if missing_steps:
        steps = listed(action.step for action, _what in missing_steps)
        were_steps = f"step {steps} of its plan was" if len(missing_steps) == 1 else f"steps {steps} of its plan were"
        raise PlanError(
            f"The journal {journal_path} does not say that {were_steps} carried out. But in the registry "
            f"{'; '.join(what for _action, what in missing_steps)}. Either the end of the journal is missing, or "
            "somebody else did this; srfix cannot tell, and wrote nothing. Restore the journal from a copy and run "
            "the same srfix rollback again. If the plan was also carried out with another journal, roll that one "
            "back first. After that, delete by hand what is left and belongs to nobody."
        )


def untold_steps(
    state: RepairState, registry: ReadableRegistry, *, besides: int | None = None
) -> Iterator[tuple[Action, str]]:
    """Asks the registry about each step that the journal does not record, except the begun one; yields those whose
    effect exists, with words for it."""
    states: dict[Subject, SubjectState] = {}
    for action in state.plan.actions:
        if action.step in state.after or action.step == besides:
            continue
        if not isinstance(action, Register | SetCompatibility | SetMode | DeleteVersion):
            continue  # its effect is undone, or kept, together with the step to which it belongs
        expected_state = state.expected[action.subject]
        if action.subject not in states:
            states[action.subject] = read_subject_state(registry, action.subject)
        what = _standing(action, expected_state, states[action.subject], registry)
        if what is not None:
            yield action, what


def _standing(
    action: Register | SetCompatibility | SetMode | DeleteVersion,
    expected: SubjectState,
    now: SubjectState,
    registry: ReadableRegistry,
) -> str | None:
    match action:
        case SetCompatibility() if now.config != expected.config and has_happened_in_part(action, expected, now):
            return f"the compatibility of {action.subject} is {action.level}"
        case SetMode() if now.mode != expected.mode and has_happened_in_part(action, expected, now):
            return f"the mode of {action.subject} is {action.mode}"
        case DeleteVersion():
            stood = next((v for v in expected.versions if v.version == action.version), None)
            is_done = stood is not None and not stood.deleted and has_happened_in_part(action, expected, now)
            return f"version {action.version} of {action.subject} is soft-deleted" if is_done else None
        case Register():
            for version in added_versions(expected, now):
                is_looked_up = version.schema_id == action.schema_id and not action.any_id
                answer = None if is_looked_up else look_up(registry, action.subject, action.schema)
                number_and_id = (version.version, version.schema_id)
                if is_looked_up or (answer is not None and (answer.version, answer.schema_id) == number_and_id):
                    state = "soft-deleted" if version.deleted else "live"
                    shown = f"version {version.version} (schema id {version.schema_id}, {state})"
                    return f"{shown} of {action.subject} is there"
    return None


def as_left(action: Register, ours: VersionState, state: RepairState) -> VersionState:
    """The version that the repair registered, as it was when the repair last looked at the subject."""
    return next((v for v in _last_seen(action, state).versions if v.version == ours.version), ours)


def _last_seen(action: Register, state: RepairState) -> SubjectState:
    """The subject as the repair left it; a continued repair's states do not describe the steps before."""
    settled = action.step in state.settled
    steps = [a.step for a in state.plan.actions if a.subject == action.subject and a.step in state.after]
    return state.after[max(step for step in steps if (step in state.settled) is settled)]


def why_theirs(
    action: Register, left: VersionState, version_now: VersionState, now: SubjectState, state: RepairState
) -> str | None:
    """Why a version with the repair's number and id is not the repair's, in words; None if it is. A hard delete frees
    the highest number, and the same content gets the same id (Confluent 7.9.9). The time at which the registry wrote it
    (8.0 and later), its being live, or versions above it that are gone show the difference."""
    version = f"version {version_now.version} of {action.subject}"
    if action.step in state.undoing and version_now.deleted:
        return None  # an earlier run of this rollback was ended between its soft and its hard delete
    if version_now.deleted and not left.deleted and state.stopped:
        return (
            f"this run left {version} live, and it has been soft-deleted since: another run of the plan has "
            "continued, and its repair may need this version (roll that run back with its own journal; srfix "
            "verify says whether its repair is in place)"
        )
    if left.deleted and not version_now.deleted:
        return (
            f"the repair left {version} soft-deleted, but it is live now: somebody has registered it again, so "
            "it is theirs"
        )
    if left.written_ms is not None and version_now.written_ms is not None:
        if left.written_ms == version_now.written_ms:
            return None
        return (
            f"the registry shows another time for {version} than when the repair last looked at it: since then somebody "
            "has deleted it, or registered it again under the same number and id"
        )
    gone = _gone_above(action, left, now, state)
    if not left.deleted and gone:
        return (
            f"{version} may be somebody else's: the higher version {', '.join(map(str, gone))} has been permanently "
            "deleted since, so the registry may have given the number out again. srfix cannot tell, because this registry "
            "stores no time of a version"
        )
    return None


def _gone_above(action: Register, left: VersionState, now: SubjectState, state: RepairState) -> list[int]:
    """Higher versions that the repair saw last, and that others than this rollback have permanently deleted."""
    here = {version.version for version in now.versions}
    by_us = {
        (version.version, version.schema_id)
        for other in state.plan.actions
        if isinstance(other, Register) and other.subject == action.subject and other.step in state.undoing
        for version in added_versions(state.before[other.step], state.after[other.step])
    }
    if action.step in state.settled:
        # Versions above this one were registered once more, so they had been permanently deleted.
        again = [
            other for other in state.plan.actions if isinstance(other, Register) and other.step not in state.settled
        ]
        if any(other.subject == action.subject and other.step > action.step for other in again):
            return [left.version + 1]
    return [
        version.version
        for version in _last_seen(action, state).versions
        if version.version > left.version
        and version.version not in here
        and (version.version, version.schema_id) not in by_us
    ]


def untold(left: VersionState) -> str:
    """The doubt about a version that counts as the repair's own, for the end of a sentence; empty if there is none."""
    if left.deleted or left.written_ms is not None:
        return ""
    return (
        "; srfix cannot exclude that somebody permanently deleted it and registered it again under this number, "
        "because this registry stores no time of a version"
    )
