"""What stands above a question before something is written: few lines, for the plan has been read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.cli.output.interface import Block, ItemList
from srfix.recovery.actions.actions import Register
from srfix.recovery.commands import Given, positional
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.repair.plan_file import Plan

_FEW_SUBJECTS: Final = 4
"""Subjects that stand with their ids."""
_MOST_SUBJECTS: Final = 8
"""Subjects that are named; the plan names all."""
_MOST_IDS: Final = 8


def before_apply(plan: Plan, journal: str, given: Given) -> Iterator[Block]:
    """Subjects, ids, and the undo; the number of steps is the question's."""
    subjects = sorted(plan.expects)
    if len(subjects) <= _FEW_SUBJECTS:
        items = [f"schema ids {_ids(plan, {subject})} under {subject}" for subject in subjects]
    else:
        items = [f"schema ids {_ids(plan, set(subjects))} under {len(subjects)} subjects:", *subjects[:_MOST_SUBJECTS]]
        if len(subjects) > _MOST_SUBJECTS:
            items.append(f"and {len(subjects) - _MOST_SUBJECTS} more, which the plan names")
    yield ItemList((*items, f"undo: {given.quoted('rollback', *positional(journal))}"))


def _ids(plan: Plan, subjects: set[str]) -> str:
    registered = {a.schema_id for a in plan.actions if isinstance(a, Register) and a.subject in subjects}
    return enumerated(sorted(registered), most=_MOST_IDS) or "none"
