"""One line of the journal of a plan that writes to a topic, PLAN.journal.jsonl: each line is one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from srfix.recovery.plans.journal import (
    BeginningLine,
    FinishedLine,
    JournalFiles,
    JournalState,
    ResumedLine,
    RollbackBegunLine,
    RolledBackLine,
    StepLine,
    StoppedLine,
)
from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, TopicPlan, TopicPlanDocument, TopicStep
from srfix.serde.schemas.models import Json

_SCHEMA: Final = "srfix.topic-journal/1"


@dataclass(slots=True, kw_only=True)
class TopicState(JournalState[TopicStep, None, int]):
    """The events of a topic plan's journal; the progress within a partition is read from the topic itself."""

    plan: TopicPlan
    kept: Path | None = None

    @property
    def to_undo(self) -> Set[int]:
        """The begun steps; for a killed one, the topic itself shows how far it came."""
        return self.before.keys()

    def _take_before(self, step: int, _document: Mapping[str, Json]) -> bool:
        self.before[step] = None
        return True

    def _take_after(self, step: int, document: Mapping[str, Json]) -> bool:
        match document["end"]:
            case int(end):
                self.after[step] = end
                return True
        raise TypeError("an end that is not a valid offset")


def _state(plan: TopicPlan, line: Mapping[str, Json]) -> TopicState:
    kept_path = line.get("kept")
    return TopicState(plan=plan, kept=Path(kept_path) if isinstance(kept_path, str) else None)


TOPIC_JOURNALS: Final[JournalFiles[TopicPlan, TopicState]] = JournalFiles(
    schema=_SCHEMA,
    plans=TOPIC_PLANS,
    state=_state,
    noun="plan",
    no_journal="Nothing was written to it. Name the journal of a plan of srfix state. For a new "
    "journal, name a file that does not exist yet.",
    other_schema=f", and this is the journal of a plan of srfix state ({_SCHEMA}). Name the plan of that journal, or give "
    "this plan a journal of its own with --journal.",
)


class BegunLine(BeginningLine, tag="begun", kw_only=True):
    """The first line, with the plan."""

    schema: Literal["srfix.topic-journal/1"]
    plan: TopicPlanDocument
    kept: str | UnsetType = UNSET
    """The file with the records that the plan deletes."""


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
    """Why the step was not undone."""
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
