"""One line of the journal of a repair, PLAN.journal.jsonl: each line is one JSON document."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from srfix.recovery.actions.actions import Action, Register, has_happened_in_part, with_given_ids
from srfix.recovery.facts.subject_state import SubjectPart, SubjectState, subject_state_from
from srfix.recovery.plans.journal import (
    BeginningLine,
    FinishedLine,
    JournalFiles,
    JournalState,
    Line,
    Process,
    ResumedLine,
    RollbackBegunLine,
    RolledBackLine,
    StepLine,
    StoppedLine,
)
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.repair.plan_file import REPAIR_PLANS, Plan, PlanDocument
from srfix.serde.files import is_there
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId, is_schema_id


@dataclass(slots=True, kw_only=True)
class RepairState(JournalState[Action, SubjectState, SubjectState]):
    """The events of a repair's journal: each step with the state of the whole subject right before and right after it."""

    plan: Plan
    ids_by_step: dict[int, SchemaId] = field(default_factory=dict)
    expects: Mapping[Subject, SubjectState] | None = None
    """The state of each subject when the finished plan was continued; None if it was not continued."""
    settled: frozenset[int] = frozenset()
    """The steps from before the continuation: they stay done, but say nothing of the present state of the subjects."""
    undoing: set[int] = field(default_factory=set)

    def reopen(self, steps: Collection[int], expects: Mapping[Subject, SubjectState]) -> None:
        for step in steps:
            self.before.pop(step, None)
            self.after.pop(step, None)
        self.settled = frozenset(self.after)
        self.expects = dict(expects)
        self.finished = False

    @property
    def to_undo(self) -> Set[int]:
        """The steps that were done. A begun step that has happened is recorded as done before anything is undone."""
        return self.after.keys()

    @property
    def expected(self) -> dict[Subject, SubjectState]:
        """The state that each subject must have now: of its last finished step, else continuation, else plan."""
        now = dict(self.plan.expects if self.expects is None else self.expects)
        for action in self.plan.actions:
            if action.step in self.after and action.step not in self.settled:
                now[action.subject] = self.after[action.step]
        return now

    def _take_before(self, step: int, document: Mapping[str, Json]) -> bool:
        self.before[step] = subject_state_from(document["state"])
        return self.actions[step].subject == self.before[step].subject

    def _take_after(self, step: int, document: Mapping[str, Json]) -> bool:
        subject_state = subject_state_from(document["state"])
        if self.actions[step].subject != subject_state.subject:
            return False
        match document.get("answer"):
            case {"id": int(schema_id)} if is_schema_id(schema_id):
                self.ids_by_step[step] = SchemaId(schema_id)
            case {"id": int()}:
                return False
        self.after[step] = subject_state
        action = with_given_ids(self.actions[step], self.ids_by_step)
        given = replace(action, any_id=False) if isinstance(action, Register) else action
        return has_happened_in_part(given, self.before[step], subject_state)

    def _take_other(self, document: Mapping[str, Json]) -> bool:
        match document:
            case {"event": "reopened", "steps": list(steps), "expects": dict(expects)}:
                if not self.finished or self.rolling_back:
                    return False
                self.stopped = False
                self.reopen(
                    [step for step in steps if isinstance(step, int)],
                    {Subject(subject): subject_state_from(content) for subject, content in expects.items()},
                )
                return expects.keys() == self.plan.expects.keys()
            case {"event": "undoing", "step": int(step)}:
                self.undoing.add(step)
                return self.may_undo(step) and isinstance(self.actions[step], Register)
        return True


REPAIR_JOURNALS: Final[JournalFiles[Plan, RepairState]] = JournalFiles(
    schema="srfix.journal/1",
    plans=REPAIR_PLANS,
    state=lambda plan, _line: RepairState(plan=plan),
    noun="repair",
    no_journal="A plan file that was cut off looks the same. srfix wrote nothing to this file. Name the journal of a "
    "repair, or a complete plan. For a new journal, name a file that does not exist yet.",
    other_schema="; this version of srfix reads srfix.journal/1.",
)


def read_plan_or_journal(path: Path) -> Plan:
    is_plan = REPAIR_PLANS.is_at(path) or not is_there(path)
    return REPAIR_PLANS.load(path) if is_plan else REPAIR_JOURNALS.read(path).plan


def journal_of(path: Path) -> Path:
    return default_journal_path(path) if REPAIR_PLANS.is_at(path) else path


class BegunLine(BeginningLine, tag="begun", kw_only=True):
    """The first line, with the plan."""

    schema: Literal["srfix.journal/1"]
    plan: PlanDocument


class OnlyLine(Line, tag="only", kw_only=True):
    """A run carries out only some steps."""

    steps: list[int]
    """The numbers of these steps."""


class ReopenedLine(Line, tag="reopened", kw_only=True):
    """Steps of a finished plan are carried out once more."""

    steps: list[int]
    expects: dict[str, SubjectPart]
    by: Process | UnsetType = UNSET


class BeforeLine(StepLine, tag="before", kw_only=True):
    """A step is begun."""

    state: SubjectPart


class AfterLine(StepLine, tag="after", kw_only=True):
    """A step is done."""

    state: SubjectPart
    answer: object
    """The registry's answer."""


class PutBackLine(Line, tag="put-back", kw_only=True):
    """A relaxed level was put back."""

    done: list[str]
    """The settings that srfix watch reset, in words."""


class UndoingLine(StepLine, tag="undoing", kw_only=True):
    """A rollback has begun to delete a step's version."""


class UndoneLine(StepLine, tag="undone", kw_only=True):
    """A rollback has finished a step."""

    left: str | None
    """Why the step was left as it is; null if it was not."""


RepairLine: TypeAlias = (
    BegunLine
    | ResumedLine
    | OnlyLine
    | ReopenedLine
    | BeforeLine
    | AfterLine
    | FinishedLine
    | StoppedLine
    | PutBackLine
    | RollbackBegunLine
    | UndoingLine
    | UndoneLine
    | RolledBackLine
)
