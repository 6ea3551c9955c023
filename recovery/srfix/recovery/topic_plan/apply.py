"""Carries out a topic plan, and undoes it from its journal, last step first. Both read the present state from the topic, so
either can continue wherever it was killed. A rollback leaves records that others have written since, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.runs import AlreadyRolledBack, CarryingOut, Left, RollingBack, RunEvent
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.logs import Hand, Look, StepReport, require_no_members
from srfix.recovery.topic_plan.plan_file import ExpireKeys, SeedChangelog, TopicPlan, TopicStep
from srfix.recovery.topic_plan.steps import (
    bring_back,
    check_expiry,
    check_seed,
    expire,
    fill,
    others_have_written,
    unfill,
)
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.schemas.models import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepDone:
    step: TopicStep
    report: StepReport


TopicEvent = TopicStepDone | RunEvent


def mark_of(plan: TopicPlan) -> bytes:
    return plan.digest.removeprefix("sha256:")[:32].encode()


def apply_topic_plan(
    plan: TopicPlan,
    look: Look,
    hand: Hand,
    journal_path: Path,
    *,
    kept_path: Path | None = None,
    clock: Callable[[], str] = now,
) -> Iterator[TopicEvent]:
    """After a kill, the same call continues from the topic's state. A plan that deletes needs `kept_path`."""
    yield from _TopicRun(plan, look, hand, kept_path).events(journal_path, clock)


class _TopicRun(CarryingOut[TopicPlan, TopicState, TopicStep, TopicStepDone]):
    journals = TOPIC_JOURNALS
    what = "It"

    def __init__(self, plan: TopicPlan, look: Look, hand: Hand, kept_path: Path | None) -> None:
        super().__init__(plan)
        self._look, self._hand, self._kept_now = look, hand, kept_path

    @property
    def _kept(self) -> Path | None:
        return self._kept_now or self.state.kept

    def first_line(self) -> dict[str, Json]:
        return {} if self._kept is None else {"kept": str(self._kept.absolute())}

    def compare(self) -> None:
        work = self.plan.work
        if isinstance(work, ExpireKeys):
            check_expiry(work, self._look, self._kept_path())
            return
        begun = [step for step in self.plan.actions if step.step in self.state.before]
        creation = next((step.step for step in self.plan.actions if step.partition is None), None)
        check_seed(
            work,
            self._look,
            may_exist=creation in self.state.before,
            must_exist=creation in self.state.after,
            filled=[step.partition for step in begun if step.partition is not None],
        )

    def carry_out(self, step: TopicStep) -> TopicStepDone:
        self.journal.write("before", step=step.step)
        self.state.before[step.step] = None
        work = self.plan.work
        match work:
            case SeedChangelog():
                report, end = (
                    self._create(work) if step.partition is None else fill(work, self._look, self._hand, step.partition)
                )
            case ExpireKeys():
                mark = mark_of(self.plan)
                report, end = expire(work, self._look, self._hand, self._kept_path(), step.partition or 0, mark=mark)
            case _:
                assert_never(work)
        details = {"written": report.written, "stood": report.stood, "left": report.left, "put_back": report.put_back}
        self.journal.write("after", step=step.step, end=end, **details)
        self.state.after[step.step] = end
        return TopicStepDone(step=step, report=report)

    def _create(self, work: SeedChangelog) -> tuple[StepReport, int]:
        if work.changelog in self._look.topics():
            return StepReport(stood=1), 0  # an earlier run did it: compared before
        self._hand.create_topic(
            work.changelog, len(work.partitions), replication_factor=work.replication_factor, configs=work.configs
        )
        return StepReport(written=1), 0

    def has_left_nothing(self, _error: SrfixError) -> bool:
        work = self.plan.work
        if not self.state.before:
            return True
        if not isinstance(work, SeedChangelog) or not work.creates:
            return False
        try:
            return work.changelog not in self._look.topics()
        except ClusterError:
            return False

    def _kept_path(self) -> Path:
        if self._kept is None:
            raise PlanError("A plan that expires keys needs the file with its records, and that file was not named.")
        return self._kept


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepUndone:
    step: TopicStep
    report: StepReport


TopicUndoEvent = TopicStepUndone | Left[TopicStep] | AlreadyRolledBack


def roll_back_topic_plan(
    journal_path: Path, look: Look, hand: Hand, *, kept_path: Path | None = None, clock: Callable[[], str] = now
) -> Iterator[TopicUndoEvent]:
    """Undoes the begun steps, last first. After a kill, call it again. The file is at its old place, if unnamed."""
    yield from _TopicRollback(look, hand, kept_path).events(journal_path, clock)


class _TopicRollback(RollingBack[TopicPlan, TopicState, TopicStep, TopicStepUndone]):
    journals = TOPIC_JOURNALS

    def __init__(self, look: Look, hand: Hand, kept_path: Path | None) -> None:
        super().__init__()
        self._look, self._hand, self._kept_now = look, hand, kept_path

    def check(self) -> None:
        work = self.state.plan.work
        if isinstance(work, SeedChangelog):
            require_no_members(self._look, work.application, why="the rollback empties its changelog")
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
            return StepReport()  # an earlier run of this rollback, or others, deleted it; or it was never created
        if step.partition is not None and not work.creates:
            return unfill(work, self._look, self._hand, step.partition, self.state.after.get(step.step))
        why = self._why_left(work)
        if why is None and step.partition is None:  # the whole topic is deleted
            self._hand.delete_topic(work.changelog)
        return why or StepReport(written=int(step.partition is None))

    def _why_left(self, work: SeedChangelog) -> str | None:
        ends = {action.partition: self.state.after.get(action.step) for action in self.state.plan.actions}
        if self._look.topics()[work.changelog] != len(work.partitions):
            return f"somebody else has created {work.changelog} again: its number of partitions has changed"
        for part in work.partitions:
            end = ends.get(part.partition)
            why = others_have_written(work, self._look, part.partition, 0 if end is None and not part.rows else end)
            if why is not None:
                return f"{why}. The application may be using the topic, so srfix leaves it"
        return None

    def _kept_path(self) -> Path:
        path = self._kept_now or self.state.kept
        if path is None:
            raise PlanError(
                "The journal does not say where the plan's records are. Name the plan instead; its records must be beside it."
            )
        return path
