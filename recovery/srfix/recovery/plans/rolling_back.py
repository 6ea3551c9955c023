"""Undoes a plan from its journal, last step first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from srfix.recovery.errors import PlanError, RolledBackInPartError
from srfix.recovery.plans.documents import PlanT, StepT
from srfix.recovery.plans.journal import JournalFiles, StateT
from srfix.recovery.plans.journal_file import Journal, says_nothing
from srfix.serde.errors import ClusterError, RegistryError
from srfix.serde.schemas.models import Json

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
                    f"{error} The rollback stopped{self.how_far(where)}. Mend the cause and run the same srfix rollback again."
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
