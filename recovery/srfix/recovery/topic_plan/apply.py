"""Carries out a topic plan: reads only until all is as expected, and is taken up again wherever it was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from srfix.recovery.clock import now
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.plans.journal_file import Journal, set_aside
from srfix.recovery.topic_plan.ending_keys import check_expiry, expire
from srfix.recovery.topic_plan.filling import check_seed, fill
from srfix.recovery.topic_plan.interface import Hand, Look
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.plan_file import SCHEMA, TopicPlan, TopicStep
from srfix.recovery.topic_plan.reports import StepReport
from srfix.recovery.topic_plan.work import ExpireKeys, SeedChangelog
from srfix.serde.errors import ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStepDone:
    """A step was carried out to its end."""

    step: TopicStep
    report: StepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAlreadyApplied:
    """The journal says that the whole plan was carried out before; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicJournalSetAside:
    """The journal of a plan that was over was renamed."""

    path: Path
    """Its new name."""


TopicEvent = TopicStepDone | TopicAlreadyApplied | TopicJournalSetAside


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
    :raises PlanError: if the world has changed since the plan, the journal belongs to another plan or is in use; nothing was
        written then.
    :raises AppliedInPartError: if it stopped after a step was begun.
    :raises ClusterError: if the cluster did not answer, or refused, before that.
    """
    while True:
        with TOPIC_JOURNALS.open(journal_path, clock) as (journal, state):
            if state is None or not _is_done_with(plan, state, journal_path):
                if state is not None and state.finished:
                    yield TopicAlreadyApplied()
                    return
                if journal.set_aside is not None:
                    yield TopicJournalSetAside(path=journal.set_aside)
                yield from _Run(plan, look, hand, journal, state, kept_path).steps()
                return
            aside = set_aside(journal_path)
        yield TopicJournalSetAside(path=aside)


def _is_done_with(plan: TopicPlan, state: TopicState, path: Path) -> bool:
    """True if the journal tells of a plan that is over, and this one needs a new journal."""
    is_same = state.plan.digest == plan.digest
    if state.rolled_back or (state.finished and not state.rolling_back and not is_same):
        return True
    if state.rolling_back:
        raise PlanError(
            f"The journal {path} says that its plan was rolled back in part. Run srfix rollback again to finish that."
        )
    if not is_same:
        raise PlanError(
            f"The journal {path} belongs to another plan ({state.plan.digest}), which was carried out in part. Finish that one "
            "with srfix apply or undo it with srfix rollback, or give this plan a journal of its own with --journal."
        )
    return False


class _Run:
    def __init__(
        self,
        plan: TopicPlan,
        look: Look,
        hand: Hand,
        journal: Journal,
        state: TopicState | None,
        kept_path: Path | None,
    ) -> None:
        self._plan, self._look, self._hand, self._journal = plan, look, hand, journal
        self._is_new = state is None
        self._state = state or TopicState(plan=plan, kept=kept_path)
        self._kept = kept_path or self._state.kept

    def steps(self) -> Iterator[TopicEvent]:
        done = len(self._state.after)
        try:
            if not self._is_new:
                self._journal.resumed()
            self._compare()
            if self._is_new:
                self._begin()
            for step in self._plan.actions:
                if step.step not in self._state.after:
                    report = self._carry_out(step)
                    done += 1
                    yield TopicStepDone(step=step, report=report)
            self._journal.write("finished")
        except (PlanError, ClusterError) as error:
            if not self._journal.is_blank:
                with suppress(PlanError):  # a full disk: what stopped it is said anyway
                    self._journal.write("stopped")
            if not self._state.before or (not done and self._was_refused_to_create()):
                raise
            raise AppliedInPartError(
                f"{error} It stopped after {done} of {len(self._plan.actions)} steps; the journal {self._journal.path} says "
                "which. Mend the cause and run the same srfix apply again, or undo it with srfix rollback."
            ) from error

    def _begin(self) -> None:
        more = {} if self._kept is None else {"kept": str(self._kept.absolute())}
        TOPIC_JOURNALS.begin(self._journal, self._plan, **more)

    def _compare(self) -> None:
        """:raises PlanError: if the world is not as expected."""
        work = self._plan.work
        if isinstance(work, ExpireKeys):
            check_expiry(work, self._look, self._kept_path())
            return
        begun = {step.step: step for step in self._plan.actions if step.step in self._state.before}
        creation = next((step.step for step in self._plan.actions if step.partition is None), None)
        check_seed(
            work,
            self._look,
            may_exist=creation in self._state.before,
            must_exist=creation in self._state.after,
            filled=[step.partition for step in begun.values() if step.partition is not None],
        )

    def _carry_out(self, step: TopicStep) -> StepReport:
        self._journal.write("before", step=step.step)
        self._state.before[step.step] = None
        work = self._plan.work
        match work:
            case SeedChangelog():
                report, end = self._create(work) if step.partition is None else self._fill(work, step.partition)
            case ExpireKeys():
                partition = step.partition or 0
                mark = mark_of(self._plan)
                report, end = expire(work, self._look, self._hand, self._kept_path(), partition, mark=mark)
            case _:
                assert_never(work)
        details = {"written": report.written, "stood": report.stood, "left": report.left, "put_back": report.put_back}
        self._journal.write("after", step=step.step, end=end, **details)
        self._state.after[step.step] = end
        return report

    def _create(self, work: SeedChangelog) -> tuple[StepReport, int]:
        if work.changelog in self._look.topics():
            return StepReport(stood=1), 0  # by an earlier run: compared before
        self._hand.create_topic(
            work.changelog, len(work.partitions), replication_factor=work.replication_factor, configs=work.configs
        )
        return StepReport(written=1), 0

    def _fill(self, work: SeedChangelog, partition: int) -> tuple[StepReport, int]:
        return fill(work, self._look, self._hand, partition)

    def _was_refused_to_create(self) -> bool:
        """True if nothing was tried but the creation of a topic, and there is none."""
        work = self._plan.work
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
