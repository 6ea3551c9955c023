"""Carries out a plan, and undoes it from its journal; a killed run continues where it stopped."""

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
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json

EventT = TypeVar("EventT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyApplied:
    """The journal says that the whole plan was carried out before; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSetAside:
    """A journal was renamed, because its plan was finished or never begun, or because it has no whole line."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftForLater:
    """The requested steps are done, but the plan has more steps; another run can carry out the rest."""

    steps: tuple[int, ...]


RunEvent = AlreadyApplied | JournalSetAside | LeftForLater


class CarryingOut(ABC, Generic[PlanT, StateT, StepT, EventT]):
    """A run of a plan, or of a part: before the first write, the journal exists, is locked and carries the plan."""

    journals: JournalFiles[PlanT, StateT]
    what: str
    """The noun for what stops if a step fails, with a capital."""
    journal: Journal
    state: StateT
    is_new: bool
    """True if nothing was begun. It is known, like the journal and its state, as soon as the journal is open."""

    def __init__(self, plan: PlanT, *, part: PlanT | None = None) -> None:
        self.plan = plan
        self.part = plan if part is None else part

    def events(self, journal_path: Path, clock: Callable[[], str]) -> Iterator[EventT | RunEvent]:
        """Yields each step when it is done. After a kill at any instant, the same call continues."""
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
        return {}

    def reopen(self) -> EventT | None:
        """Reopens a plan that was carried out to its end, if some steps must be done again; else None."""
        return None

    @abstractmethod
    def compare(self) -> EventT | None:
        """Checks that the world is as expected. A step in flight that turns out to be done is recorded and returned."""

    @abstractmethod
    def carry_out(self, step: StepT) -> EventT:
        """Does a step, with one line in the journal before and one after it, and records both in the state."""

    def is_refusal(self, _error: SrfixError) -> bool:
        """True if the step in flight will not be done: a state that looks like its outcome is not from this run."""
        return False

    @abstractmethod
    def has_left_nothing(self, error: SrfixError) -> bool:
        """True if this error means that the first step had no effect."""

    def still_open(self) -> str:
        return ""

    def _is_done_with(self, state: StateT, path: Path) -> bool:
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
                document = self.journals.plans.document(self.plan)
                self.journal.begun(self.journals.schema, self.plan.digest, document, **self.first_line())
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
            # This line shows a rollback that no line is missing after it, and whether the step was refused.
            refused: dict[str, Json] = {"refused": True} if self.is_refusal(error) else {}
            if not self.journal.is_blank:
                with suppress(PlanError):  # a full disk: the error that stopped the run is reported anyway
                    self.journal.write("stopped", **refused)
            done = len(self.state.after)
            if not done and self.has_left_nothing(error):
                raise
            raise AppliedInPartError(
                f"{error} {self.what} stopped after {done} of {counted(len(self.plan.actions), 'step')}; the journal "
                f"{self.journal.path} names the steps. {self.still_open()}Remove the cause and run the same srfix apply "
                "again, or undo these steps with srfix rollback."
            ) from error


UndoneT = TypeVar("UndoneT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyRolledBack:
    """The journal says that everything was undone before; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Generic[StepT]):
    action: StepT
    why: str


class RollingBack(ABC, Generic[PlanT, StateT, StepT, UndoneT]):
    """A run that undoes the steps of a journal. Each kind of plan defines how, and what is left to others."""

    journals: JournalFiles[PlanT, StateT]
    journal: Journal
    state: StateT

    def __init__(self) -> None:
        self.undone: list[UndoneT] = []

    def events(
        self, journal_path: Path, clock: Callable[[], str]
    ) -> Iterator[UndoneT | Left[StepT] | AlreadyRolledBack]:
        """Undoes step by step, and yields each step. After a kill at any instant, the same call continues."""
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
        """:raises PlanError: if it cannot be undone now."""

    def settle(self) -> None:
        return

    @abstractmethod
    def undo(self, step: StepT) -> UndoneT | Left[StepT] | None:
        """Undoes a step, and returns the result; None if another step's undo covers it."""

    def details(self, _undone: UndoneT | None) -> dict[str, Json]:
        return {}

    def left_by_others(self) -> Sequence[Left[StepT]]:
        """Steps whose outcome exists although the journal does not contain them."""
        return ()

    @abstractmethod
    def how_far(self, where: str) -> str:
        """How far a stopped rollback came, to end a sentence; `where` is ` at step 3`, or empty before the first."""
