"""One line of the journal of a repair, PLAN.journal.jsonl: each line is one JSON document."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from srfix.recovery.facts.subject_state import SubjectPart
from srfix.recovery.plans.lines import (
    BeginningLine,
    FinishedLine,
    Line,
    Process,
    ResumedLine,
    RollbackBegunLine,
    RolledBackLine,
    StepLine,
    StoppedLine,
)
from srfix.recovery.repair.plan_file import PlanDocument


class BegunLine(BeginningLine, tag="begun", kw_only=True):
    """The first line: it has the plan."""

    schema: Literal["srfix.journal/1"]
    plan: PlanDocument


class OnlyLine(Line, tag="only", kw_only=True):
    """A run is of some steps alone."""

    steps: list[int]
    """What this run was asked for."""


class ReopenedLine(Line, tag="reopened", kw_only=True):
    """Steps of a plan that was finished are carried out once more."""

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
    """What the registry answered."""


class PutBackLine(Line, tag="put-back", kw_only=True):
    """A relaxed level was put back."""

    done: list[str]
    """What srfix watch put back, in words."""


class UndoingLine(StepLine, tag="undoing", kw_only=True):
    """A rollback has begun to delete a step's version."""


class UndoneLine(StepLine, tag="undone", kw_only=True):
    """A rollback is done with a step."""

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
