"""Carries out a plan, and undoes it from its journal: every step journalled, taken up again where it was killed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from srfix.recovery.errors import AppliedInPartError, PlanError, RolledBackInPartError
from srfix.recovery.plans.documents import PlanT, StepT
from srfix.recovery.plans.journal import JournalFiles, StateT
from srfix.recovery.plans.journal_file import Journal, says_nothing, set_aside
from srfix.serde.errors import ClusterError, RegistryError, SrfixError
from srfix.serde.schemas.models import Json

EventT = TypeVar("EventT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyApplied:
    """The journal says that the whole plan was carried out before; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSetAside:
    """The journal of a plan that was over, never begun or not told of by a whole line, was renamed."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftForLater:
    """What was asked for is done, and the plan has more steps: the same plan is carried out further by another run."""

    steps: tuple[int, ...]


RunEvent = AlreadyApplied | JournalSetAside | LeftForLater
"""What comes of a run beside its steps, whatever the plan writes."""


class CarryingOut(ABC, Generic[PlanT, StateT, StepT, EventT]):
    """A run that carries out a plan, or a part of it. What is expected, and what a step does, is its kind's own.

    Before the first write the journal exists, is locked and carries the plan, and all that the plan expects is compared.
    """

    journals: JournalFiles[PlanT, StateT]
    what: str
    """What stops where a step fails, with a capital."""
    journal: Journal
    state: StateT
    is_new: bool
    """True if nothing was begun. This, the journal and its state are known once the journal is open."""

    def __init__(self, plan: PlanT, *, part: PlanT | None = None) -> None:
        self.plan = plan
        self.part = plan if part is None else part

    def events(self, journal_path: Path, clock: Callable[[], str]) -> Iterator[EventT | RunEvent]:
        """Carries the plan out step by step, and yields each as it is done. Killed at any instant, the same call goes on."""
        while True:
            with self.journals.open(journal_path, clock) as (journal, state):
                if state is None or not self._is_done_with(state, journal_path):
                    self.journal, self.is_new = journal, state is None
                    self.state = self.journals.state(self.plan, {}) if state is None else state
                    if self.state.finished:
                        reopened = self.reopen()
                        if reopened is None:
                            yield AlreadyApplied()
                            return
                        yield reopened
                    if journal.set_aside is not None:
                        yield JournalSetAside(path=journal.set_aside)
                    yield from self._steps()
                    return
                aside = set_aside(journal_path)
            yield JournalSetAside(path=aside)

    def first_line(self) -> dict[str, Json]:
        """What the journal's first line says beside the plan."""
        return {}

    def reopen(self) -> EventT | None:
        """Takes a plan up again that was carried out to its end, and says so; None if there is nothing to do."""
        return None

    @abstractmethod
    def compare(self) -> EventT | None:
        """Sees that the world is as expected. The step in flight is journalled as done, and returned, if it is found done."""

    @abstractmethod
    def carry_out(self, step: StepT) -> EventT:
        """Does a step, with a line in the journal before and one after it, and notes both in the state."""

    def is_refusal(self, _error: SrfixError) -> bool:
        """True if the step in flight was not done, and will not be: what looks like its outcome is not our doing."""
        return False

    @abstractmethod
    def has_left_nothing(self, error: SrfixError) -> bool:
        """True if this error left nothing of the first step."""

    def still_open(self) -> str:
        """What a run that stops leaves open, in sentences with a blank behind each."""
        return ""

    def _is_done_with(self, state: StateT, path: Path) -> bool:
        """True if the journal tells of a plan that is over, and this one needs a new journal."""
        is_same = state.plan.digest == self.plan.digest
        if state.rolled_back or (state.finished and not state.rolling_back and not is_same):
            return True
        if state.rolling_back:
            raise PlanError(
                f"The journal {path} says that its {self.journals.noun} was rolled back in part. Run srfix rollback again to "
                "finish that."
            )
        if not is_same:
            raise PlanError(
                f"The journal {path} belongs to another plan ({state.plan.digest}) that was carried out only in part. First "
                "finish that plan with srfix apply, or undo it with srfix rollback. Or name another journal for this plan with "
                "--journal."
            )
        return False

    def _steps(self) -> Iterator[EventT | LeftForLater]:
        try:
            if not self.is_new:
                self.journal.resumed()
            in_flight = self.state.in_flight
            event = self.compare()
            if self.is_new:
                self.journals.begin(self.journal, self.plan, **self.first_line())
            if self.part is not self.plan:
                self.journal.write("only", steps=[step.step for step in self.part.actions])
            for step in self.part.actions:
                if step.step not in self.state.after:
                    yield self.carry_out(step)
                elif step.step == in_flight and event is not None:
                    yield event
            left = tuple(step.step for step in self.plan.actions if step.step not in self.state.after)
            self.journal.write("stopped" if left else "finished")
            if left:
                yield LeftForLater(steps=left)
        except (PlanError, RegistryError, ClusterError) as error:
            self._note_stopped(error)
            done = len(self.state.after)
            if not done and self.has_left_nothing(error):
                raise
            raise AppliedInPartError(
                f"{error} {self.what} stopped after {done} of {len(self.plan.actions)} steps; the journal "
                f"{self.journal.path} names the steps. {self.still_open()}Remove the cause and run the same srfix apply "
                "again, or undo it with srfix rollback."
            ) from error

    def _note_stopped(self, error: SrfixError) -> None:
        """So that a rollback knows that no line is missing behind this one, and what was refused and is not our doing."""
        refused = self.is_refusal(error)
        if not self.journal.is_blank:
            with suppress(PlanError):  # a full disk: what stopped it is said anyway
                self.journal.write("stopped", **({"refused": True} if refused else {}))


UndoneT = TypeVar("UndoneT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyRolledBack:
    """The journal says that everything was undone before; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Generic[StepT]):
    """A step was not undone, on purpose."""

    action: StepT
    why: str


class RollingBack(ABC, Generic[PlanT, StateT, StepT, UndoneT]):
    """A run that undoes what a journal tells of. What undoes a step, and what is left to others, is its kind's own."""

    journals: JournalFiles[PlanT, StateT]
    journal: Journal
    state: StateT
    """This and the journal are known once the journal is open."""

    def __init__(self) -> None:
        self.undone: list[UndoneT] = []
        """What was undone in this run."""

    def events(
        self, journal_path: Path, clock: Callable[[], str]
    ) -> Iterator[UndoneT | Left[StepT] | AlreadyRolledBack]:
        """Undoes step by step, and yields each. Killed at any instant, the same call goes on."""
        with self.journals.open(journal_path, clock, create=False) as (journal, state):
            if state is None:
                raise says_nothing(journal_path)
            if state.rolled_back:
                yield AlreadyRolledBack()
                return
            self.journal, self.state = journal, state
            self.check()
            journal.resumed()
            if not state.rolling_back:
                self.settle()
                journal.write("rollback-begun")
            to_undo = state.to_undo - state.undone
            where = ""
            try:
                for step in reversed([step for step in state.plan.actions if step.step in to_undo]):
                    where = f" at step {step.step}"
                    event = self.undo(step)
                    if isinstance(event, Left):
                        journal.write("undone", step=step.step, left=event.why)
                    else:
                        journal.write("undone", step=step.step, left=None, **self.details(event))
                    state.undone.add(step.step)
                    if event is None:
                        continue
                    if not isinstance(event, Left):
                        self.undone.append(event)
                    yield event
                where = " at its end"
                yield from self.left_by_others()
                journal.write("rolled-back")
            except (PlanError, RegistryError, ClusterError) as error:
                raise RolledBackInPartError(
                    f"{error} The rollback stopped{self.how_far(where)}. Remove the cause and run the same "
                    "srfix rollback again."
                ) from error

    @abstractmethod
    def check(self) -> None:
        """:raises PlanError: if it cannot be undone as things stand."""

    def settle(self) -> None:
        """Journals the step in flight as done if it is, before the rollback begins."""
        return

    @abstractmethod
    def undo(self, step: StepT) -> UndoneT | Left[StepT] | None:
        """Undoes a step, and says what came of it; None if another step's undo covers it."""

    def details(self, _undone: UndoneT | None) -> dict[str, Json]:
        """What the journal says of it beside that."""
        return {}

    def left_by_others(self) -> Sequence[Left[StepT]]:
        """Steps whose outcome stands though the journal does not tell of them."""
        return ()

    @abstractmethod
    def how_far(self, where: str) -> str:
        """How far a rollback came that stops: how its sentence ends. `where` is the step at which it stopped, with a blank
        before it; empty before the first.
        """
