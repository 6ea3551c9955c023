"""The contents of a journal: its first line begins a plan, the others record which steps were done and undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType

from srfix.recovery.documents import Instant, Part, Sha256
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.documents import AnyPlan, PlanFiles, PlanT, StepT
from srfix.recovery.plans.journal_file import (
    Journal,
    chained_documents,
    does_not_follow,
    open_journal,
    read_journal,
    unreadable,
)
from srfix.serde.files import open_file
from srfix.serde.schemas.models import Json


class Line(Part, tag_field="event", kw_only=True):
    """Something that happened."""

    at: Instant
    """ISO 8601, UTC."""
    chain: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})] | UnsetType = UNSET
    """The digest that ties the line to the line before it."""


class Process(Part):
    """Who wrote a line."""

    host: str
    pid: int


class BeginningLine(Line, kw_only=True):
    """The first line, with the plan."""

    by: Process
    digest: Sha256


class ResumedLine(Line, tag="resumed", kw_only=True):
    """Another process continues."""

    by: Process


class StepLine(Line, kw_only=True):
    """Something that happened to a step."""

    step: int


class FinishedLine(Line, tag="finished", kw_only=True):
    """The plan was carried out to its end."""


class StoppedLine(Line, tag="stopped", kw_only=True):
    """A run stopped before its end."""

    refused: bool | UnsetType = UNSET
    """True if the begun step was refused."""


class RollbackBegunLine(Line, tag="rollback-begun", kw_only=True):
    """From here on, steps are undone."""


class RolledBackLine(Line, tag="rolled-back", kw_only=True):
    """A rollback reached its end."""


BeforeT = TypeVar("BeforeT")
AfterT = TypeVar("AfterT")


@dataclass(slots=True, kw_only=True)
class JournalState(ABC, Generic[StepT, BeforeT, AfterT]):
    plan: AnyPlan[StepT]
    actions: dict[int, StepT] = field(init=False)
    before: dict[int, BeforeT] = field(default_factory=dict)
    after: dict[int, AfterT] = field(default_factory=dict)
    only: frozenset[int] | None = None
    finished: bool = False
    stopped: bool = False
    """True if the last run said that it stopped: then it has done nothing that the journal does not contain."""
    refused: bool = False
    """True if the step in flight was refused: then somebody else has caused a state that looks like its outcome."""
    rolling_back: bool = False
    undone: set[int] = field(default_factory=set)
    rolled_back: bool = False

    def __post_init__(self) -> None:
        self.actions = {action.step: action for action in self.plan.actions}

    @property
    def in_flight(self) -> int | None:
        open_steps = [step for step in self.before if step not in self.after]
        return max(open_steps, default=None)

    @property
    @abstractmethod
    def to_undo(self) -> Set[int]:
        """All steps that a rollback undoes, also those that it has already undone: the steps that were done, or begun."""

    def take(self, document: Mapping[str, Json]) -> bool:
        """Records a line after the first one; False if such a line cannot follow the lines before it."""
        match document:
            case {"event": "before", "step": int(step)}:
                wanted = self.actions.keys() if self.only is None else self.only
                if self.rolling_back or step != min(wanted - self.after.keys(), default=None):
                    return False
                self.stopped = self.refused = False
                return self._take_before(step, document)
            case {"event": "after", "step": int(step)}:
                return step == self.in_flight and not self.rolling_back and self._take_after(step, document)
            case {"event": "only", "steps": list(steps)}:
                self.only = frozenset(step for step in steps if isinstance(step, int))
                return self.only <= self.actions.keys() and not self.rolling_back
            case {"event": "resumed"}:
                self.only = None
                return True
            case {"event": "finished"}:
                self.finished = True
                return self.after.keys() == self.actions.keys() and not self.rolling_back
            case {"event": "stopped"}:
                self.stopped, self.refused = True, document.get("refused") is True
                return True
            case {"event": "rollback-begun"}:
                is_first, self.rolling_back = not self.rolling_back, True
                return is_first
            case {"event": "undone", "step": int(step)}:
                may = self.may_undo(step)
                self.undone.add(step)
                return may
            case {"event": "rolled-back"}:
                self.rolled_back = True
                return self.rolling_back and self.to_undo <= self.undone
            case {"event": str()}:
                return self._take_other(document)
        raise ValueError("no event")

    def may_undo(self, step: int) -> bool:
        return self.rolling_back and step == max(self.to_undo - self.undone, default=None)

    @abstractmethod
    def _take_before(self, step: int, document: Mapping[str, Json]) -> bool:
        """Records that a step was begun, in its order; False if the recorded state belongs to another step."""

    @abstractmethod
    def _take_after(self, step: int, document: Mapping[str, Json]) -> bool:
        """Records that the step in flight was done; False if the step does not leave this state."""

    def _take_other(self, _document: Mapping[str, Json]) -> bool:
        """Records an event of this kind of plan; True for an event of a later version, which changes nothing here."""
        return True


StateT = TypeVar("StateT", bound=JournalState[Any, Any, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFiles(Generic[PlanT, StateT]):
    schema: str
    plans: PlanFiles[PlanT]
    state: Callable[[PlanT, Mapping[str, Json]], StateT]
    noun: str
    """The noun for what such a journal begins: `repair` or `plan`."""
    no_journal: str
    """Sentences for a file that is no such journal, with the file to name instead."""
    other_schema: str
    """The end of a sentence about a journal of another kind or version, after the name of its schema."""

    def open(
        self, path: Path, clock: Callable[[], str], *, create: bool = True
    ) -> AbstractContextManager[tuple[Journal, StateT | None]]:
        return open_journal(path, clock, self.replay, create=create)

    def read(self, path: Path) -> StateT:
        return read_journal(path, self.replay)

    def is_at(self, path: Path) -> bool:
        family = f'"schema": "{self.schema.partition("/")[0]}/'.encode()
        try:
            with open_file(path) as file:
                return family in file.readline(64 << 20)
        except OSError:
            return False

    def replay(self, path: Path, content: bytes) -> StateT:
        """The events in whole lines, each with its line end."""
        lines = chained_documents(path, content)
        state = self._begun(path, next(lines)[1])
        for number, document in lines:
            try:
                follows = state.take(document)
            except (PlanError, KeyError, TypeError, ValueError) as error:
                raise unreadable(path, number) from error
            if not follows:
                raise does_not_follow(path, number)
        return state

    def _begun(self, path: Path, document: Mapping[str, Json]) -> StateT:
        match document:
            case {"event": "begun", "schema": str(schema), "digest": str(digest), "plan": dict(plan_document)}:
                if schema != self.schema:
                    raise PlanError(f"The journal {path} is a {schema}{self.other_schema}")
                plan = self.plans.plan_from(plan_document, where=f"the first line of {path}")
                if plan.digest != digest:
                    raise PlanError(f"The journal {path} was edited: its plan does not have the digest that it names.")
                return self.state(plan, document)
        raise PlanError(
            f"{path} is not a journal of srfix: its first line does not begin a {self.noun}. {self.no_journal}"
        )
