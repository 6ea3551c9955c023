"""The changes of a plan as a diff: a line for each write under each subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, assert_never

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
from srfix.recovery.actions.document import keeping
from srfix.recovery.facts.subject_state import SubjectState, level_of
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject

_FEW: Final = 6
"""Up to this number, the writes of one kind under a subject have a line each."""
_FEW_STEPS: Final = 24
"""Only plans with at most this number of steps do that; in larger plans, each kind of write under a subject is one line."""
_MOST_IDS: Final = 12
_INHERITED: Final = "(inherited)"


Change: TypeAlias = tuple[Literal["+", "~", "-"], str]


def changes(plan: Plan) -> Iterator[tuple[Subject, tuple[Change, ...]]]:
    by_subject: dict[Subject, list[Action]] = {}
    for action in plan.actions:
        by_subject.setdefault(action.subject, []).append(action)
    few = _FEW if len(plan.actions) <= _FEW_STEPS else 1
    for subject, actions in by_subject.items():
        yield subject, tuple(_changes(actions, plan.expects.get(subject), few))


def counted_changes(plan: Plan) -> str:
    """`2 ids registered, 2 versions soft-deleted, 1 setting changed and put back`."""
    kinds = Counter(type(action) for action in plan.actions)
    settings = kinds[SetCompatibility] + kinds[SetMode]
    parts = (
        (kinds[Register], "id", "registered"),
        (kinds[SoftDelete] + kinds[DeleteVersion], "version", "soft-deleted"),
        (settings, "setting", "changed and put back"),
    )
    return ", ".join(f"{counted(number, noun)} {what}" for number, noun, what in parts if number)


def _changes(actions: Sequence[Action], before: SubjectState | None, few: int) -> Iterator[Change]:
    versions = _versions(actions, before)
    alike: dict[tuple[str, bool], list[Action]] = {}
    for action in actions:
        alike.setdefault(_likeness(action), []).append(action)
    for action in actions:
        same = alike[_likeness(action)]
        if len(same) <= few:
            yield _mark(action), _text(action, actions, versions)
        elif action is same[0]:
            yield _mark(action), _text_of_many(same)


def _likeness(action: Action) -> tuple[str, bool]:
    return action.kind, isinstance(action, Register) and action.any_id


def _versions(actions: Sequence[Action], before: SubjectState | None) -> Mapping[int, int]:
    """For each id, the number of the version that its registration makes (`KafkaSchemaRegistry.register`)."""
    if before is None:
        return {}
    highest = max((version.version for version in before.versions), default=0)
    registered = (action.schema_id for action in actions if isinstance(action, Register))
    return {schema_id: number for number, schema_id in enumerate(registered, start=highest + 1)}


def _mark(action: Action) -> Literal["+", "~", "-"]:
    return "+" if isinstance(action, Register) else "-" if isinstance(action, SoftDelete | DeleteVersion) else "~"


def _text(action: Action, actions: Sequence[Action], versions: Mapping[int, int]) -> str:
    match action:
        case SetCompatibility():
            return f"compatibility {_setting(action.previous)} → {action.level}{keeping(action.inherited)}"
        case RestoreCompatibility():
            level = next((step.level for step in actions if isinstance(step, SetCompatibility)), "NONE")
            return f"compatibility {level} → {_setting(action.previous)}"
        case SetMode():
            return f"mode {action.previous or _INHERITED} → {action.mode}"
        case RestoreMode():
            return f"mode IMPORT → {action.previous or _INHERITED}"
        case Register():
            exact = ", with exactly this id" if action.exact else ""
            return f"register {_content(action)}{exact} (version {versions.get(action.schema_id, 'next')})"
        case SoftDelete():
            return f"soft-delete version {versions.get(action.schema_id, 'that it makes')}"
        case DeleteVersion():
            return f"soft-delete version {action.version} (id {action.schema_id})"
        case _:
            assert_never(action)


def _text_of_many(actions: Sequence[Action]) -> str:
    ids = enumerated(
        [a.schema_id for a in actions if isinstance(a, Register | SoftDelete | DeleteVersion)], most=_MOST_IDS
    )
    match actions[0]:
        case Register(any_id=True):
            return f"register the schemas of ids {ids}, under whichever ids the registry gives them"
        case Register(exact=exact):
            return f"register ids {ids}{', with exactly these ids' if exact else ''}"
        case DeleteVersion():
            return f"soft-delete the versions of ids {ids}"
        case _:
            return f"soft-delete the versions made for ids {ids}"


def _content(action: Register) -> str:
    if action.any_id:
        return f"the schema of id {action.schema_id}, under whichever id the registry gives it"
    return f"id {action.schema_id}"


def _setting(config: Mapping[str, Json] | None) -> str:
    level = level_of(config)
    return str(level) if level is not None else _INHERITED
