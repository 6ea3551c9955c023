"""What a repair that stopped has left open: a compatibility or a mode that it set and did not put back, and how to do that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from srfix.recovery.actions.actions import SetCompatibility, SetMode, has_happened_in_part, restored_fields
from srfix.recovery.commands import positional, srfix_command
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.journal import RepairState
from srfix.serde.errors import RegistryError


def still_relaxed(state: RepairState, registry: ReadableRegistry, journal_path: Path) -> Iterator[str]:
    """Sentences, each with a blank behind it: what stands relaxed now, whoever set it, and the command that puts it back.

    Asked of the registry, for another run of the same plan may have put it back, or set it once more.
    """
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
                f"Whether the {what} of {action.subject} is still {value} could not be asked: look with GET /{place} once "
                f"the registry answers; `{rollback}` puts it back, or by hand: {by_hand}. "
            )
            continue
        if has_happened_in_part(action, state.before[action.step], now):
            yield (
                f"The {what} of {action.subject} is {value} now, which the repair was to put back at its end: `{rollback}` "
                f"puts it back, or by hand: {by_hand}. "
            )


def _by_hand(action: SetCompatibility | SetMode, place: str) -> str:
    if action.previous is None:
        return f"DELETE /{place}"
    if isinstance(action, SetCompatibility):
        return f"PUT /{place} with {json.dumps(restored_fields(action.previous), ensure_ascii=False)}"
    return f"PUT /{place} with {json.dumps({'mode': action.previous})}"
