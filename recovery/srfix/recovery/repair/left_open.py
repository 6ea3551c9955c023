"""What a stopped repair has left open: a level or a mode that it set, versions that it did not soft-delete yet. A
person gets a report. A program that repairs without a person (srfix watch) closes the repair: if a plan stopped because
the world had changed, nobody is there to finish it. Each step of closing is one of the plan's own later steps, and can
be repeated without harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from srfix.recovery.actions.actions import (
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
from srfix.recovery.clock import now
from srfix.recovery.commands import positional, srfix_command
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.plans.journal_file import set_aside
from srfix.recovery.registry import ReadableRegistry, Registry
from srfix.recovery.repair.journal import REPAIR_JOURNALS, RepairState
from srfix.serde.errors import RegistryError


def still_relaxed(state: RepairState, registry: ReadableRegistry, journal_path: Path) -> Iterator[str]:
    """Sentences, each with a blank after it: the settings still relaxed, by whichever run, and how to reset them."""
    rollback = srfix_command("rollback", *positional(str(journal_path)))
    for action in state.plan.actions:
        if not isinstance(action, SetCompatibility | SetMode) or action.step not in state.before:
            continue
        what = "compatibility" if isinstance(action, SetCompatibility) else "mode"
        value = action.level if isinstance(action, SetCompatibility) else action.mode
        place = f"{'config' if what == 'compatibility' else 'mode'}/{quote(action.subject, safe='')}"
        by_hand = _by_hand(action, place)
        try:
            now = read_subject_state(registry, action.subject)
        except RegistryError:
            yield (
                f"srfix could not ask whether the {what} of {action.subject} is still {value}: look with GET "
                f"/{place} when the registry answers again. To reset it, run `{rollback}`, or by hand: {by_hand}. "
            )
            continue
        if has_happened_in_part(action, state.before[action.step], now):
            yield (
                f"The {what} of {action.subject} is still {value}: the repair would have reset it at its end. To "
                f"reset it, run `{rollback}`, or by hand: {by_hand}. "
            )


def _by_hand(action: SetCompatibility | SetMode, place: str) -> str:
    if action.previous is None:
        return f"DELETE /{place}"
    if isinstance(action, SetCompatibility):
        return f"PUT /{place} with {json.dumps(restored_fields(action.previous), ensure_ascii=False)}"
    return f"PUT /{place} with {json.dumps({'mode': action.previous})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    done: tuple[str, ...]
    """The settings that were reset, in words: no capital, no full stop."""
    aside: Path | None
    """The path of its journal, for a rollback; None if there was nothing to close."""


def put_back(journal_path: Path, registry: Registry, *, clock: Callable[[], str] = now) -> PutBack:
    """Resets what a journal's repair relaxed, makes its missing soft deletions, and sets the journal aside.
    Registrations stay; the next look finds what is missing. After a kill at any instant, the same call continues.
    """
    with REPAIR_JOURNALS.open(journal_path, clock, create=False) as (journal, state):
        if state is None or state.finished or state.rolling_back:
            return PutBack(done=(), aside=None)
        done = tuple(_close(state, registry))
        with suppress(PlanError):  # a full disk: the settings were reset all the same
            journal.write("put-back", done=list(done))
            journal.write("stopped")
        return PutBack(done=done, aside=set_aside(journal_path))


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
