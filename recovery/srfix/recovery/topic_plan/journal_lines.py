"""One line of the journal of a plan that writes to a topic, PLAN.journal.jsonl: each line is one JSON document."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from srfix.recovery.plans.lines import (
    BeginningLine,
    FinishedLine,
    ResumedLine,
    RollbackBegunLine,
    RolledBackLine,
    StepLine,
    StoppedLine,
)
from srfix.recovery.topic_plan.plan_file import TopicPlanDocument


class BegunLine(BeginningLine, tag="begun", kw_only=True):
    """The first line: it has the plan."""

    schema: Literal["srfix.topic-journal/1"]
    plan: TopicPlanDocument
    kept: str | UnsetType = UNSET
    """Where the records are that the plan puts an end to."""


class BeforeLine(StepLine, tag="before", kw_only=True):
    """A step is begun."""


class AfterLine(StepLine, tag="after", kw_only=True):
    """A step is done."""

    end: int
    """The end of the partition right after."""
    written: int
    stood: int
    left: int
    put_back: int


class UndoneLine(StepLine, tag="undone", kw_only=True):
    """A rollback is done with a step."""

    left: str | None
    """Why it was not undone."""
    written: int | UnsetType = UNSET
    others: int | UnsetType = UNSET


TopicLine: TypeAlias = (
    BegunLine
    | ResumedLine
    | BeforeLine
    | AfterLine
    | FinishedLine
    | StoppedLine
    | RollbackBegunLine
    | UndoneLine
    | RolledBackLine
)
