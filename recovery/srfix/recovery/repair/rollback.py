"""Undoes a repair, in reverse, from its journal; leaves what others have changed since, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
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
    added_versions,
    as_it_came,
    has_happened_in_part,
    relaxed_fields,
    restore_config,
    restore_mode,
    with_given_ids,
)
from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import SubjectState, look_up, read_subject_state
from srfix.recovery.plans.journal_file import Journal
from srfix.recovery.plans.runs import AlreadyRolledBack, Left, RollingBack
from srfix.recovery.registry import GivenRegistry, Registry, usable
from srfix.recovery.repair.apply import note_done, undo_wrong_id
from srfix.recovery.repair.journal import REPAIR_JOURNALS, RepairState
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.standing import as_left, refuse_untold, untold, untold_steps, why_theirs
from srfix.serde.schemas.errors import IncompatibleSchemaError, ReferenceExistsError
from srfix.serde.subjects.names import Subject, split_context


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    action: Action
    what: str
    by_us: bool = True


Event = Undone | Left[Action] | AlreadyRolledBack

_OURS: Final = "IMPORT"
"""The only mode that plans set. If it disappears with a subject's last version, nothing has to be reset."""


def roll_back(journal_path: Path, registry: GivenRegistry, *, clock: Callable[[], str] = now) -> Iterator[Event]:
    """Undoes the steps that the journal records, last step first, and yields each. After a kill, call it again.

    :raises PlanError: if there is no journal, it cannot be read or is in use, or this looks like another registry than
        the plan's; nothing was written then.
    :raises RegistryError: if the registry does not answer before the rollback begins.
    :raises RolledBackInPartError: if it stopped after it had begun.
    """
    registry = usable(registry)
    registry.forget_unknown_ids()
    yield from _RepairRollback(registry).events(journal_path, clock)


class _RepairRollback(RollingBack[Plan, RepairState, Action, Undone]):
    journals = REPAIR_JOURNALS

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self.registry = registry

    def check(self) -> None:
        _refuse_elsewhere(self.state, self.registry)
        refuse_untold(self.state, self.registry, self.journal.path)
        # Before the journal says that the rollback began: from then on `apply` refuses to continue.
        read_subject_state(self.registry, self.state.plan.actions[-1].subject)

    def settle(self) -> None:
        """Changes by others do not matter. A registration that got another id than the plan says is taken back at once."""
        step = self.state.in_flight
        if step is None or self.state.refused:
            return
        action = self.state.actions[step]
        before = self.state.before[step]
        subject_state = read_subject_state(self.registry, action.subject)
        if undo_wrong_id(action, before, subject_state, self.registry):
            subject_state = read_subject_state(self.registry, action.subject)
        action = as_it_came(with_given_ids(action, self.state.ids_by_step), before, subject_state, self.registry)
        if self.state.stopped and _is_soft_deleted(action, before, subject_state):
            return
        if subject_state != before and has_happened_in_part(action, before, subject_state):
            note_done(action, subject_state, self.state, self.journal)

    def undo(self, step: Action) -> Undone | Left[Action] | None:
        action = with_given_ids(step, self.state.ids_by_step)
        match action:
            case RestoreCompatibility() | RestoreMode() | SoftDelete():
                return None  # the undo of set-compatibility, set-mode and the registration covers them
            case Register():
                return _unregister(action, self.state, self.registry, self.journal)
            case DeleteVersion():
                return _undelete(action, self.state.before[action.step], self.registry)
            case SetCompatibility() | SetMode():
                return _unset(action, self.state, self.registry)
            case _:
                assert_never(action)

    def left_by_others(self) -> list[Left[Action]]:
        return [
            Left(
                action=action,
                why=f"{what}. That is the result of this step, but this journal does not contain the step. Either "
                "another run of the plan did it (undo that run with its own journal), or somebody else did",
            )
            for action, what in untold_steps(self.state, self.registry)
        ]

    def how_far(self, where: str) -> str:
        undone = sum(event.by_us for event in self.undone)
        steps = {0: "no step was", 1: "1 step was"}.get(undone, f"{undone} steps were")
        return f"{where}; {steps} undone in this run, as the journal {self.journal.path} says"


_ELSEWHERE: Final = (
    "This looks like another registry (or another context of it), so nothing was written. Name the plan's registry with "
    "--registry."
)


def _refuse_elsewhere(state: RepairState, registry: Registry) -> None:
    """Refuses a registry with another URL than the plan's and none of the versions that the repair registered."""
    if registry.url == state.plan.registry:
        return
    none_there = f"None of them is in the registry at {registry.url}; the plan was made for {state.plan.registry}."
    deleted = [
        action for action in state.plan.actions if isinstance(action, DeleteVersion) and action.step in state.after
    ]
    if deleted and all(
        read_subject_state(registry, action.subject).version_of(action.schema_id) is None for action in deleted
    ):
        raise PlanError(f"This plan soft-deleted versions. {none_there} {_ELSEWHERE}")
    planned = [action for action in state.plan.actions if isinstance(action, Register)]
    registered = [action for action in planned if action.step in state.after]
    if not registered:
        holdings = [(subject, action) for action in planned for subject in action.holders]
        if not holdings or any(_holds(subject, action, registry) for subject, action in holdings):
            return
        raise PlanError(
            f"The plan was made for {state.plan.registry}. In the registry at {registry.url}, none "
            f"of its schemas is under the subject that held it then. {_ELSEWHERE}"
        )
    for action in registered:
        before, after = state.before[action.step], state.after[action.step]
        ours = {(version.version, version.schema_id) for version in added_versions(before, after)}
        subject_state = read_subject_state(registry, action.subject)
        if ours & {(version.version, version.schema_id) for version in subject_state.versions}:
            return
        if action.step in state.undoing and any(_holds(subject, action, registry) for subject in action.holders):
            return
    raise PlanError(
        f"This repair registered versions. {none_there} {_ELSEWHERE} If this is the plan's registry with another URL, and "
        "somebody has deleted everything for good, there is nothing left to undo."
    )


def _is_soft_deleted(action: Action, before: SubjectState, subject_state: SubjectState) -> bool:
    """True for a registration with a soft-deleted version: another run of the plan, which went on, made it."""
    if not isinstance(action, Register):
        return False
    added = [version for version in added_versions(before, subject_state) if version.schema_id == action.schema_id]
    return bool(added) and all(version.deleted for version in added)


def _unregister(action: Register, state: RepairState, registry: Registry, journal: Journal) -> Undone | Left[Action]:
    before = state.before[action.step]
    ours = next(
        (v for v in reversed(added_versions(before, state.after[action.step])) if v.schema_id == action.schema_id), None
    )
    if ours is None:
        raise PlanError(f"The journal does not say which version step {action.step} added to {action.subject}.")
    now = read_subject_state(registry, action.subject)
    version = next((v for v in now.versions if v.version == ours.version and v.schema_id == ours.schema_id), None)
    if version is None:
        if now.version_of(action.schema_id) is not None:
            return Left(
                action=action,
                why="since then, somebody (or the rollback of another plan) has registered schema id "
                f"{action.schema_id} under {action.subject} again; that version does not belong to this repair",
            )
        put_back = _put_back_what_went_along(before, now, registry)
        return Undone(
            action=action,
            what=f"version {ours.version} was already gone{put_back}",
            by_us=action.step in state.undoing,
        )
    left = as_left(action, ours, state)
    theirs = why_theirs(action, left, version, now, state)
    if theirs is not None:
        return Left(action=action, why=theirs)
    replaced = before.version_of(action.schema_id)
    if replaced is not None and replaced not in now.versions:
        if not version.deleted:
            registry.delete_version(action.subject, ours.version)
        what = (
            f"version {ours.version} is now soft-deleted; it had replaced version {replaced.version}, which was "
            "soft-deleted as well"
        )
        return Undone(action=action, what=what)
    holder = next((subject for subject in _other_subjects(action, registry) if _holds(subject, action, registry)), None)
    if holder is None:
        return Left(
            action=action,
            why=f"{action.subject} version {ours.version} is the last version with schema id {action.schema_id}: if "
            "it were permanently deleted, no record with this id could be read any more",
        )
    journal.write("undoing", step=action.step)
    state.undoing.add(action.step)
    try:
        if not version.deleted:
            registry.delete_version(action.subject, ours.version)
        registry.delete_version(action.subject, ours.version, permanent=True)
    except ReferenceExistsError:
        return Left(action=action, why=f"another schema refers to version {ours.version} of {action.subject} now")
    put_back = _put_back_what_went_along(now, read_subject_state(registry, action.subject), registry)
    return Undone(
        action=action,
        what=f"version {ours.version} deleted for good; schema id {action.schema_id} stays under {holder}{put_back}"
        f"{untold(left)}",
    )


def _undelete(action: DeleteVersion, before: SubjectState, registry: Registry) -> Undone | Left[Action]:
    """Registers a soft-deleted schema again: same id, next version number. A level that refuses it is relaxed."""
    now = read_subject_state(registry, action.subject)
    relax = SetCompatibility(step=action.step, subject=action.subject, level="NONE", previous=before.config)
    if now.config != before.config and has_happened_in_part(relax, before, now):  # an earlier run was killed meanwhile
        restore_config(registry, action.subject, before.config)
        now = read_subject_state(registry, action.subject)
    if any(version.schema_id == action.schema_id for version in now.live):
        return Undone(action=action, what=f"schema id {action.schema_id} is live there again already", by_us=False)
    if now.version_of(action.schema_id) is None:
        return Left(
            action=action,
            why=f"somebody has permanently deleted version {action.version} of {action.subject} since then: if "
            "srfix registered its text again, it might get another id",
        )
    try:
        schema_id = registry.register(action.subject, action.schema)
    except IncompatibleSchemaError:
        registry.set_config(action.subject, relaxed_fields(relax))
        try:
            schema_id = registry.register(action.subject, action.schema)
        finally:
            restore_config(registry, action.subject, before.config)
    if schema_id != action.schema_id:
        subject_state = read_subject_state(registry, action.subject)
        for version in added_versions(now, subject_state):
            if version.schema_id == schema_id:
                registry.delete_version(action.subject, version.version)
                registry.delete_version(action.subject, version.version, permanent=True)
        return Left(
            action=action,
            why=f"the new registration got schema id {schema_id} instead of {action.schema_id}, so srfix deleted it "
            f"again; the schema of id {action.schema_id} can still be read by its id",
        )
    return Undone(action=action, what=f"schema id {action.schema_id} registered again")


def _put_back_what_went_along(before: SubjectState, now: SubjectState, registry: Registry) -> str:
    """Resets what goes with a subject's last version: a hard delete removes config and mode (Confluent 7.9.9)."""
    if now.versions:
        return ""
    note = ""
    if before.config and now.config is None:
        restore_config(registry, now.subject, before.config)
        note = "; this also deleted the subject's own configuration, which srfix has put back"
    if before.mode not in (None, _OURS) and now.mode is None:
        note += f"; this also deleted the subject's own mode {before.mode}: set it again with PUT /mode/{now.subject}"
    return note


def _other_subjects(action: Register, registry: Registry) -> Iterator[Subject]:
    """The subjects that may hold the id by content: the known holders first, then all others."""
    yield from action.holders
    subjects: Iterable[Subject] = {*action.holders, action.subject}
    context = split_context(action.subject)[0]
    for subject in registry.subjects(deleted=True):
        # Each context has ids of its own: the same number in another context does not keep this id.
        if subject not in subjects and split_context(subject)[0] == context:
            yield subject


def _holds(subject: Subject, action: Register, registry: Registry) -> bool:
    answer = look_up(registry, subject, action.schema)
    if answer is None:
        # If normalize=true was set after the registration, a look-up may not find the subject's version.
        is_known = subject in action.holders
        return is_known and read_subject_state(registry, subject).version_of(action.schema_id) is not None
    return answer.schema_id == action.schema_id and answer.subject == subject


def _unset(action: SetCompatibility | SetMode, state: RepairState, registry: Registry) -> Undone | Left[Action] | None:
    now, after = read_subject_state(registry, action.subject), state.after[action.step]
    is_mode = isinstance(action, SetMode)
    if (now.mode if is_mode else now.config) == action.previous:
        return None  # already reset by the plan's own last step
    went_along = now.mode is None and not now.versions  # with the last version, permanently deleted right before
    is_as_left = now.mode == after.mode or went_along if is_mode else now.config == after.config
    if not is_as_left:
        setting = "mode" if is_mode else "configuration"
        return Left(action=action, why=f"somebody has changed the {setting} of {action.subject} since then")
    if isinstance(action, SetMode):
        restore_mode(registry, action.subject, action.previous)
    else:
        restore_config(registry, action.subject, action.previous)
    return Undone(action=action, what=f"{'mode' if is_mode else 'compatibility'} put back")
