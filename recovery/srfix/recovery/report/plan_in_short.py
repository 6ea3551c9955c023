"""What a plan writes, in a line or two for each subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
)
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.subjects.names import Subject

_MOST_IDS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WritesInShort:
    """What is written under one subject."""

    subject: Subject
    ids: str
    """The ids that are registered."""
    steps: str
    """How many steps, and what they do, in order."""


def writes_in_short(plan: Plan) -> Iterator[WritesInShort]:
    """The writes subject by subject, in the order of the plan."""
    by_subject: dict[Subject, list[Action]] = {}
    for action in plan.actions:
        by_subject.setdefault(action.subject, []).append(action)
    for subject, actions in by_subject.items():
        yield WritesInShort(subject=subject, ids=_ids(actions), steps=f"{len(actions)}: {', '.join(_what(actions))}")


def _ids(actions: Sequence[Action]) -> str:
    registered = [action for action in actions if isinstance(action, Register)]
    parts = [enumerated(sorted(a.schema_id for a in registered if not a.any_id), most=_MOST_IDS)]
    by_content = enumerated(sorted(a.schema_id for a in registered if a.any_id), most=_MOST_IDS)
    if by_content:
        parts.append(f"the content of {by_content}, under whichever id the registry gives it")
    deleted = [action.schema_id for action in actions if isinstance(action, DeleteVersion)]
    parts += [f"{enumerated(deleted, most=_MOST_IDS)} (soft-deleted)"] if deleted else []
    return "; ".join(part for part in parts if part)


def _what(actions: Sequence[Action]) -> Iterator[str]:
    """What they do, each kind of step once."""
    deleted = [action.schema_id for action in actions if isinstance(action, SoftDelete)]
    is_all = len(deleted) == sum(isinstance(action, Register) for action in actions)
    first_of_kind = {action.kind: action for action in reversed(actions)}
    for action in actions:
        if action is not first_of_kind[action.kind]:
            continue
        match action:
            case SetCompatibility():
                yield f"compatibility {action.level}"
            case SetMode():
                yield f"mode {action.mode}"
            case Register():
                yield "register with these ids" if action.exact else "register"
            case SoftDelete():
                yield f"soft-delete {'' if is_all else f'{enumerated(deleted, most=_MOST_IDS)} '}at once"
            case DeleteVersion():
                yield "soft-delete what stands there"
            case RestoreCompatibility():
                yield "compatibility back"
            case RestoreMode():
                yield "mode back"
            case _:
                assert_never(action)
