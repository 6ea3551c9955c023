"""Carries out a topic plan. What stands is read from the topic, so that it is taken up again wherever it was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from srfix.recovery.clock import now
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.carrying_out import CarryingOut, RunEvent
from srfix.recovery.topic_plan.ending_keys import check_expiry, expire
from srfix.recovery.topic_plan.filling import check_seed, fill
from srfix.recovery.topic_plan.interface import Hand, Look, StepReport
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.plan_file import SCHEMA, TopicPlan, TopicStep
from srfix.recovery.topic_plan.work import ExpireKeys, SeedChangelog
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.schemas.models import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepDone:
    """A step was carried out to its end."""

    step: TopicStep
    report: StepReport


TopicEvent = TopicStepDone | RunEvent


def mark_of(plan: TopicPlan) -> bytes:
    """The value of the header by which this plan's tombstones are known."""
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
    """Carries out the plan, step by step, and yields each as it is done.

    Before the first write the journal exists, is locked and carries the plan, and all that the plan expects is compared.
    Killed at any instant, the same call goes on: what stands is read from the topic.

    :param kept_path: the file with the records that the plan puts an end to; needed for such a plan.
    """
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
            return StepReport(stood=1), 0  # by an earlier run: compared before
        self._hand.create_topic(
            work.changelog, len(work.partitions), replication_factor=work.replication_factor, configs=work.configs
        )
        return StepReport(written=1), 0

    def has_left_nothing(self, _error: SrfixError) -> bool:
        """True if no step was begun, or nothing was tried but the creation of a topic, and there is none."""
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
            raise PlanError(
                f"The file with the records of the plan was not named; a {SCHEMA} that expires keys needs it."
            )
        return self._kept
