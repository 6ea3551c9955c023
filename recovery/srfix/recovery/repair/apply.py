"""Carries out a plan: every write is recorded before and after, and a killed run continues where it stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from srfix.recovery.actions.actions import (
    Action,
    Register,
    SetCompatibility,
    SetMode,
    SoftDelete,
    added_versions,
    as_it_came,
    has_happened,
    has_happened_in_part,
    perform,
    with_given_ids,
)
from srfix.recovery.clock import now
from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import (
    SubjectState,
    difference,
    held_version,
    look_up,
    read_subject_state,
    subject_state_document,
)
from srfix.recovery.plans.journal_file import Journal
from srfix.recovery.plans.runs import CarryingOut, RunEvent
from srfix.recovery.registry import GivenRegistry, Registry, usable
from srfix.recovery.repair.journal import REPAIR_JOURNALS, RepairState
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.preflight import preflight
from srfix.recovery.repair.standing import still_relaxed
from srfix.serde.errors import RegistryError, SrfixError, UsageError
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFound:
    """A step of an earlier, interrupted run turned out to be done."""

    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """The plan was carried out before, and somebody has deleted some of its registrations: these are made once more."""

    missing: tuple[Register, ...]


RepairEvent = StepDone | StepFound | Reopened
Event = RepairEvent | RunEvent


def apply_plan(
    plan: Plan,
    registry: GivenRegistry,
    journal_path: Path,
    *,
    only: Collection[str] = (),
    clock: Callable[[], str] = now,
) -> Iterator[Event]:
    """Carries out the plan step by step, and yields each step when it is done. Before the first write, the journal
    exists, is locked and contains the plan, and srfix has compared everything that the plan expects (with `only`, on the
    subjects of these steps). After a kill at any instant, the same call continues: the step in flight may be
    done or not, and everything else must be as expected. Registrations of a finished plan that somebody has
    permanently deleted are made again. All runs continue one journal, so that one rollback undoes all.

    :raises UsageError: if `only` names a code or an application of which the plan repairs nothing.
    :raises PlanError: if the registry has changed since the plan, or if the journal belongs to another plan or is in
        use: this run wrote nothing then. Or if the first write had another result than planned, and was taken back.
    :raises RegistryError: if the registry did not answer before the first write, or refused that one; this run wrote
        nothing then.
    :raises AppliedInPartError: if it stopped after a write, of this run or of an earlier one, or if the first write got
        no answer and may still take effect.
    """
    registry = usable(registry)
    registry.forget_unknown_ids()
    yield from _Repair(plan, part_of(plan, only), registry).events(journal_path, clock)


class _Repair(CarryingOut[Plan, RepairState, Action, RepairEvent]):
    journals = REPAIR_JOURNALS
    what = "The repair"

    def __init__(self, plan: Plan, part: Plan, registry: Registry) -> None:
        super().__init__(plan, part=part)
        self.registry = registry
        self.now: dict[Subject, SubjectState] = {}

    def reopen(self) -> Reopened | None:
        registrations = (action for action in self.part.actions if isinstance(action, Register))
        # Asked by content, as the failing reader asks.
        missing = tuple(r for r in registrations if held_version(self.registry, r.subject, r.schema) is None)
        if not missing:
            return None
        self._reopen(missing)
        return Reopened(missing=missing)

    def _reopen(self, missing: tuple[Register, ...]) -> None:
        """The same journal continues: nothing is renamed between two writes, and one rollback undoes all of it."""
        gone = {(action.subject, action.schema_id) for action in missing}
        subjects = {action.subject for action in missing}
        again = tuple(
            action
            for action in self.plan.actions
            if action.subject in subjects
            and (not isinstance(action, Register | SoftDelete) or (action.subject, action.schema_id) in gone)
        )
        now = {subject: read_subject_state(self.registry, subject) for subject in self.plan.expects}
        if why := list(self._obstacles(again, now)):
            schemas = ", ".join(f"schema id {action.schema_id} under {action.subject}" for action in missing)
            url, planned = self.registry.url, self.plan.registry
            question = (
                f"Is {url} the registry that the plan was made for ({planned})? If it is: " if url != planned else ""
            )
            raise PlanError(
                f"{question}This plan was applied. Since then somebody has permanently deleted {schemas}. This plan cannot "
                f"register them again. Nothing was written. {' '.join(why)}"
            )
        steps = [action.step for action in again]
        expects: Json = {subject: subject_state_document(now[subject]) for subject in sorted(now)}
        self.journal.write("reopened", steps=list[Json](steps), expects=expects)
        self.state.reopen(steps, now)

    def _obstacles(self, again: tuple[Action, ...], now: Mapping[Subject, SubjectState]) -> Iterator[str]:
        for subject in sorted({action.subject for action in again}):
            planned, present = self.plan.expects[subject], now[subject]
            if (planned.config, planned.mode) != (present.config, present.mode):
                changed = difference(replace(planned, versions=present.versions), present)
                yield f"Its settings have changed since the plan: {changed}. Plan again."
        for action in again:
            if isinstance(action, SetMode) and any(version.deleted for version in now[action.subject].versions):
                yield (
                    f"{action.subject} has soft-deleted versions. A registry deletes these permanently when the subject's "
                    "mode becomes IMPORT. Plan again, with --exact-ids."
                )
        yield from preflight(replace(self.plan, actions=again), self.registry, self.journal.path)

    def compare(self) -> StepFound | None:
        self._refuse_half_done()
        step = settle_in_flight(self.state, self.registry, self.journal)
        changed = self._changed()
        if changed is not None and self.state.in_flight is not None:
            # A write without an answer may take effect between srfix's two looks: then it is no change by others.
            step = settle_in_flight(self.state, self.registry, self.journal)
            changed = self._changed()
        if changed is not None:
            if self.is_new and self._has_all():
                raise PlanError(
                    f"Every change of this {'plan' if self.part is self.plan else 'part of the plan'} is already in the "
                    f"registry, but {self.journal.path} does not record it. Perhaps an earlier run had another journal, or "
                    "its journal is lost. This run wrote nothing. To check the repair, run srfix verify with the plan. "
                    "srfix rollback can undo these changes only with the journal of the run that made them."
                )
            raise PlanError(
                f"The registry has changed since the plan was made: {changed}. This run wrote nothing. Make a new "
                "plan with srfix plan."
            )
        return None if step is None else StepFound(action=self.state.actions[step])

    def _has_all(self) -> bool:
        """True if the registry shows everything that the part of the plan leaves, whoever did it."""
        ids: dict[int, SchemaId] = {}
        live: set[tuple[Subject, SchemaId]] = set()
        now = {subject: read_subject_state(self.registry, subject) for subject in self.part.expects}
        for step in self.part.actions:
            before, present = self.part.expects[step.subject], now[step.subject]
            action = as_it_came(with_given_ids(step, ids), before, present, self.registry)
            is_passing = isinstance(action, SetCompatibility | SetMode)
            if not (is_passing or has_happened_in_part(action, before, present)):
                return False
            if isinstance(action, Register):
                ids[action.step] = action.schema_id
                live.add((action.subject, action.schema_id))
            elif isinstance(action, SoftDelete):
                live.discard((action.subject, action.schema_id))
        return all(schema_id in {version.schema_id for version in now[subject].live} for subject, schema_id in live)

    def carry_out(self, step: Action) -> StepDone:
        action = with_given_ids(step, self.state.ids_by_step)
        before = self.now[action.subject]
        self.journal.write("before", step=action.step, state=subject_state_document(before))
        self.state.before[action.step] = before
        answer = perform(action, self.registry, before)
        after = read_subject_state(self.registry, action.subject)
        action = as_it_came(action, before, after, self.registry)
        if not has_happened(action, before, after):
            if undo_wrong_id(action, before, after, self.registry):
                raise _wrong_id(action)
            raise PlanError(
                f"Step {action.step} had another result than the plan expects: {difference(before, after)}. Either "
                f"somebody else is writing to {action.subject}, or this registry works differently."
            )
        note_done(action, after, self.state, self.journal, answer)
        self.now[action.subject] = after
        return StepDone(action=step)

    def is_refusal(self, error: SrfixError) -> bool:
        return self.state.in_flight is not None and is_refusal(error)

    def has_left_nothing(self, error: SrfixError) -> bool:
        step = self.state.in_flight
        if step is None:
            return True
        if isinstance(error, RegistryError) and not (isinstance(error, RegistryAnswerError) and error.status < 500):
            return False  # the request was lost on its way, and may still take effect
        before = self.state.before[step]
        try:
            return read_subject_state(self.registry, before.subject) == before
        except RegistryError:
            return False

    def still_open(self) -> str:
        return "".join(still_relaxed(self.state, self.registry, self.journal.path))

    def _refuse_half_done(self) -> None:
        begun = {before.subject for before in self.state.before.values()}
        open_subjects = {action.subject for action in self.plan.actions if action.step not in self.state.after}
        left_out = sorted(begun & open_subjects - self.part.expects.keys())
        if left_out:
            raise PlanError(
                f"An earlier run of this plan stopped part-way through {', '.join(left_out)}, so the compatibility "
                "there may still be relaxed; but --only does not continue there. Nothing was written. First run srfix "
                "apply without --only, or undo the earlier run with srfix rollback."
            )

    def _changed(self) -> str | None:
        self.now = self.state.expected
        for subject in self.part.expects:
            expected = self.now[subject]
            subject_state = read_subject_state(self.registry, subject)
            if subject_state != expected:
                return difference(expected, subject_state)
        return None


def is_refusal(error: SrfixError) -> bool:
    """True if the registry has refused the write, and no earlier attempt was lost."""
    return isinstance(error, RegistryAnswerError) and error.status < 500 and not error.earlier_attempt_lost


def settle_in_flight(state: RepairState, registry: Registry, journal: Journal) -> int | None:
    """Looks whether the begun step without a recorded end has happened; if so, records it, and returns its number."""
    step = state.in_flight
    if step is None:
        return None
    action = state.actions[step]
    before = state.before[step]
    subject_state = read_subject_state(registry, action.subject)
    if subject_state == before:
        return None
    action = as_it_came(with_given_ids(action, state.ids_by_step), before, subject_state, registry)
    if has_happened(action, before, subject_state):
        note_done(action, subject_state, state, journal)
        return step
    if undo_wrong_id(action, before, subject_state, registry):
        raise _wrong_id(action)
    raise PlanError(
        f"Step {step} ({action.kind}) was interrupted. {action.subject} is now neither in the state before the step "
        f"nor in the state after it: {difference(before, subject_state)}. Probably somebody else changed it, "
        "perhaps another run of this plan. Run srfix verify to see whether the repair is in place. If it is, do "
        "nothing. Otherwise undo this run with srfix rollback, or compare the subject with the journal by hand."
    )


def note_done(
    action: Action, subject_state: SubjectState, state: RepairState, journal: Journal, answer: Json = None
) -> None:
    """Records that a step is done. If its answer was lost, a registration's id stands for it."""
    if answer is None and isinstance(action, Register):
        answer = {"id": int(action.schema_id)}
    journal.write("after", step=action.step, state=subject_state_document(subject_state), answer=answer)
    state.after[action.step] = subject_state
    if isinstance(action, Register):
        state.ids_by_step[action.step] = action.schema_id


def undo_wrong_id(action: Action, before: SubjectState, after: SubjectState, registry: Registry) -> bool:
    """Takes back a registration that got another id than the plan says; True if there was one, found by its content."""
    if not isinstance(action, Register) or action.any_id:
        return False
    added = {(v.version, v.schema_id): v for v in added_versions(before, after) if v.schema_id != action.schema_id}
    if not added:
        return False
    answer = look_up(registry, action.subject, action.schema)
    ours = None if answer is None else added.get((answer.version, answer.schema_id))
    if ours is None:
        return False
    if not ours.deleted:
        registry.delete_version(action.subject, ours.version)
    registry.delete_version(action.subject, ours.version, permanent=True)
    return True


def _wrong_id(action: Action) -> PlanError:
    return PlanError(
        f"Step {action.step}: the registry gave the schema under {action.subject} another id than the plan says, so "
        "srfix deleted that version again. Perhaps the new version inherited metadata from the subject's latest "
        "version, or the schema has two ids."
    )


_CODE: Final = re.compile(r"(?i)srf(\d{3})")


def part_of(plan: Plan, only: Collection[str]) -> Plan:
    """The part with these codes (in any letter case) or applications, with all steps for their subjects."""
    if not only:
        return plan
    codes = {f"SRF{match[1]}" for name in only if (match := _CODE.fullmatch(name)) is not None}
    applications = {name for name in only if not _CODE.fullmatch(name)}
    _refuse_unknown(plan, codes, applications)
    chosen = tuple(f for f in plan.findings if f.code in codes or f.application in applications)
    subjects = frozenset(finding.subject for finding in chosen)
    of_chosen = frozenset(finding.application for finding in chosen)
    return replace(
        plan,
        findings=chosen,
        actions=tuple(action for action in plan.actions if action.subject in subjects),
        expects={subject: state for subject, state in plan.expects.items() if subject in subjects},
        omissions=tuple(omission for omission in plan.omissions if omission.subject in subjects),
        applications=tuple(
            circumstances for circumstances in plan.applications if circumstances.application in of_chosen
        ),
    )


def shared_subjects(plan: Plan, part: Plan) -> tuple[Subject, ...]:
    outside = {finding.subject for finding in plan.findings if finding not in part.findings}
    return tuple(sorted(outside.intersection(part.expects)))


def _refuse_unknown(plan: Plan, codes: Collection[str], applications: Collection[str]) -> None:
    known_codes = sorted({finding.code for finding in plan.findings})
    known_applications = sorted({finding.application for finding in plan.findings if finding.application is not None})
    for code in sorted(set(codes) - set(known_codes)):
        raise UsageError(f"The plan does not repair {code}. It repairs {', '.join(known_codes) or 'nothing'}.")
    for name in sorted(set(applications) - set(known_applications)):
        raise UsageError(
            f"The plan repairs nothing of an application {name!r}.{did_you_mean(name, known_applications)} It repairs stores "
            f"of {', '.join(known_applications) or 'none'}."
        )
