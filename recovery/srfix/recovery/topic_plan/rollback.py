"""Undoes a topic plan from its journal, last step first. Touches nothing that others wrote since, and says what it left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError, RolledBackInPartError
from srfix.recovery.plans.journal_file import Journal, says_nothing
from srfix.recovery.topic_plan.apply import mark_of
from srfix.recovery.topic_plan.ending_keys import bring_back, check_expiry
from srfix.recovery.topic_plan.filling import others_have_written, unfill
from srfix.recovery.topic_plan.interface import Hand, Look
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.logs import require_no_members
from srfix.recovery.topic_plan.plan_file import TopicStep
from srfix.recovery.topic_plan.reports import StepReport
from srfix.recovery.topic_plan.work import ExpireKeys, SeedChangelog
from srfix.serde.errors import ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepUndone:
    """A step was undone, as far as others have left it."""

    step: TopicStep
    report: StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepLeft:
    """A step was not undone, on purpose."""

    step: TopicStep
    why: str
    """Why, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAlreadyRolledBack:
    """The journal says that everything was undone before; nothing was written."""


TopicUndoEvent = TopicStepUndone | TopicStepLeft | TopicAlreadyRolledBack


def roll_back_topic_plan(
    journal_path: Path, look: Look, hand: Hand, *, kept_path: Path | None = None, clock: Callable[[], str] = now
) -> Iterator[TopicUndoEvent]:
    """Undoes what the journal says was begun, last step first, and yields each. Can be killed and called again.

    :param kept_path: where the file with the records is now; None for where it was when the plan was carried out.
    :raises PlanError: if there is no journal, it cannot be read, it is in use, or the application runs; nothing was written
        then.
    :raises RolledBackInPartError: if it stopped after it had begun.
    :raises ClusterError: if the cluster does not answer before that.
    """
    with TOPIC_JOURNALS.open(journal_path, clock, create=False) as (journal, state):
        if state is None:
            raise says_nothing(journal_path)
        if state.rolled_back:
            yield TopicAlreadyRolledBack()
            return
        run = _Undo(state, look, hand, kept_path)
        run.check()
        journal.resumed()
        if not state.rolling_back:
            journal.write("rollback-begun")
        try:
            yield from run.steps(journal)
        except (PlanError, ClusterError) as error:
            raise RolledBackInPartError(
                f"{error} The rollback stopped; the journal {journal_path} says where. Mend the cause and run the same srfix "
                "rollback again."
            ) from error


class _Undo:
    def __init__(self, state: TopicState, look: Look, hand: Hand, kept_path: Path | None) -> None:
        self._state, self._look, self._hand = state, look, hand
        self._kept = kept_path or state.kept

    def check(self) -> None:
        """:raises PlanError: if it cannot be undone as things stand."""
        work = self._state.plan.work
        if isinstance(work, SeedChangelog):
            require_no_members(self._look, work.application, why="its changelog is emptied by this")
        else:
            check_expiry(work, self._look, self._kept_path())

    def steps(self, journal: Journal) -> Iterator[TopicUndoEvent]:
        state = self._state
        for step in reversed(state.plan.actions):
            if step.step not in state.before or step.step in state.undone:
                continue
            undone = self._undo(step)
            if isinstance(undone, str):
                journal.write("undone", step=step.step, left=undone)
            else:
                journal.write("undone", step=step.step, left=None, written=undone.written, others=undone.left)
            state.undone.add(step.step)
            if isinstance(undone, str):
                yield TopicStepLeft(step=step, why=undone)
            else:
                yield TopicStepUndone(step=step, report=undone)
        journal.write("rolled-back")

    def _undo(self, step: TopicStep) -> StepReport | str:
        work = self._state.plan.work
        match work:
            case ExpireKeys():
                mark = mark_of(self._state.plan)
                return bring_back(work, self._look, self._hand, self._kept_path(), step.partition or 0, mark=mark)
            case SeedChangelog():
                return self._unseed(work, step)
        assert_never(work)

    def _unseed(self, work: SeedChangelog, step: TopicStep) -> StepReport | str:
        if work.changelog not in self._look.topics():
            return StepReport()  # deleted by an earlier run of this, or by others; or never created
        if step.partition is not None and not work.creates:
            return unfill(work, self._look, self._hand, step.partition, self._state.after.get(step.step))
        why = self._why_left(work)
        if why is None and step.partition is None:  # the topic goes whole
            self._hand.delete_topic(work.changelog)
        return why or StepReport(written=int(step.partition is None))

    def _why_left(self, work: SeedChangelog) -> str | None:
        """Why a topic that was created stays, with all that is in it; None if it goes."""
        ends = {each.partition: self._state.after.get(each.step) for each in self._state.plan.actions}
        if self._look.topics()[work.changelog] != len(work.partitions):
            return f"{work.changelog} was created anew by others: it has another number of partitions"
        for each in work.partitions:
            end = ends.get(each.partition)
            why = others_have_written(work, self._look, each.partition, 0 if end is None and not each.rows else end)
            if why is not None:
                return f"{why}; the topic is the application's now"
        return None

    def _kept_path(self) -> Path:
        if self._kept is None:
            raise PlanError(
                "The journal does not say where the records of the plan are; name the plan that they lie beside."
            )
        return self._kept
