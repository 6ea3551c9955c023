"""Undoes a topic plan from its journal, last step first. Touches nothing that others wrote since, and says what it left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.rolling_back import AlreadyRolledBack, Left, RollingBack
from srfix.recovery.topic_plan.apply import mark_of
from srfix.recovery.topic_plan.ending_keys import bring_back, check_expiry
from srfix.recovery.topic_plan.filling import others_have_written, unfill
from srfix.recovery.topic_plan.interface import Hand, Look, StepReport
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.logs import require_no_members
from srfix.recovery.topic_plan.plan_file import TopicPlan, TopicStep
from srfix.recovery.topic_plan.work import ExpireKeys, SeedChangelog
from srfix.serde.schemas.models import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepUndone:
    """A step was undone, as far as others have left it."""

    step: TopicStep
    report: StepReport


TopicUndoEvent = TopicStepUndone | Left[TopicStep] | AlreadyRolledBack


def roll_back_topic_plan(
    journal_path: Path, look: Look, hand: Hand, *, kept_path: Path | None = None, clock: Callable[[], str] = now
) -> Iterator[TopicUndoEvent]:
    """Undoes what the journal says was begun, last step first, and yields each. Can be killed and called again.

    :param kept_path: where the file with the records is now; None for where it was when the plan was carried out.
    """
    yield from _TopicRollback(look, hand, kept_path).events(journal_path, clock)


class _TopicRollback(RollingBack[TopicPlan, TopicState, TopicStep, TopicStepUndone]):
    journals = TOPIC_JOURNALS

    def __init__(self, look: Look, hand: Hand, kept_path: Path | None) -> None:
        super().__init__()
        self._look, self._hand, self._kept_now = look, hand, kept_path

    def check(self) -> None:
        work = self.state.plan.work
        if isinstance(work, SeedChangelog):
            require_no_members(self._look, work.application, why="its changelog is emptied by this")
        else:
            check_expiry(work, self._look, self._kept_path())

    def undo(self, step: TopicStep) -> TopicStepUndone | Left[TopicStep]:
        work = self.state.plan.work
        match work:
            case ExpireKeys():
                mark = mark_of(self.state.plan)
                undone = bring_back(work, self._look, self._hand, self._kept_path(), step.partition or 0, mark=mark)
                return TopicStepUndone(step=step, report=undone)
            case SeedChangelog():
                unseeded = self._unseed(work, step)
                if isinstance(unseeded, str):
                    return Left(action=step, why=unseeded)
                return TopicStepUndone(step=step, report=unseeded)
        assert_never(work)

    def details(self, undone: TopicStepUndone | None) -> dict[str, Json]:
        return {} if undone is None else {"written": undone.report.written, "others": undone.report.left}

    def how_far(self, _where: str) -> str:
        return f"; the journal {self.journal.path} says where"

    def _unseed(self, work: SeedChangelog, step: TopicStep) -> StepReport | str:
        if work.changelog not in self._look.topics():
            return StepReport()  # deleted by an earlier run of this, or by others; or never created
        if step.partition is not None and not work.creates:
            return unfill(work, self._look, self._hand, step.partition, self.state.after.get(step.step))
        why = self._why_left(work)
        if why is None and step.partition is None:  # the topic goes whole
            self._hand.delete_topic(work.changelog)
        return why or StepReport(written=int(step.partition is None))

    def _why_left(self, work: SeedChangelog) -> str | None:
        """Why a topic that was created stays, with all that is in it; None if it goes."""
        ends = {each.partition: self.state.after.get(each.step) for each in self.state.plan.actions}
        if self._look.topics()[work.changelog] != len(work.partitions):
            return f"{work.changelog} was created anew by others: it has another number of partitions"
        for each in work.partitions:
            end = ends.get(each.partition)
            why = others_have_written(work, self._look, each.partition, 0 if end is None and not each.rows else end)
            if why is not None:
                return f"{why}; the topic is the application's now"
        return None

    def _kept_path(self) -> Path:
        kept = self._kept_now or self.state.kept
        if kept is None:
            raise PlanError(
                "The journal does not say where the records of the plan are; name the plan that they lie beside."
            )
        return kept
