"""Prints a line for each step when it is done, under its subject if the plan has several subjects. If there are very
many steps, it prints only some."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from srfix.cli.output.speaking import say_on_the_way
from srfix.recovery.actions.actions import Action
from srfix.recovery.actions.document import describe, why_nothing_is_undone
from srfix.recovery.documents import Sha256, VersionedDocument
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.rollback import Undone

RollbackOutcome: TypeAlias = Literal["undone", "left", "nothing-to-undo", "not-carried-out", "not-reached"]

_MOST_STEPS: Final = 40
"""Up to this number of steps, each step has its line."""
_LINES: Final = 20


class StepsOnTheWay:
    """The progress of `apply` and `rollback`. Even if the run is killed at any line, the output shows the subject at
    which it was.

    For a plan with very many steps it shows only twenty lines of progress; the journal has all steps.
    """

    def __init__(self, plan: Plan) -> None:
        self._subject = next(iter(plan.expects)) if len(plan.expects) == 1 else None
        steps = len(plan.actions)
        self._every = 1 if steps <= _MOST_STEPS else -(-steps // _LINES)
        self._done = 0

    def say(self, action: Action, line: str) -> None:
        """Prints a line about a step. If the line before was about another subject, it prints the subject first."""
        self._done += 1
        if self._done % self._every:
            return
        if action.subject != self._subject:
            say_on_the_way(action.subject)
            self._subject = action.subject
        say_on_the_way(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTold:
    """One step."""

    step: int
    subject: str
    what: str
    """What the step does, in words."""
    outcome: RollbackOutcome
    why: str

    @property
    def line(self) -> str:
        return f"step {self.step} ({self.what}): {self.why}"


class RollbackDocument(VersionedDocument, tag="srfix.rollback/1"):
    """What `srfix rollback` undid."""

    digest: Sha256
    """The plan's."""
    journal: str
    undone: list[str]
    left: list[str]
    steps: list[StepTold]
    """Each step of the plan, last first."""
    is_complete: bool
    """False if it stopped on its way."""


def steps_told(
    plan: Plan,
    events: Mapping[int, Undone | Left[Action]],
    *,
    carried_out: Collection[int],
    undone_before: Collection[int],
    stopped: bool,
) -> Iterator[StepTold]:
    """Each step of the plan, with what this rollback did with it.

    :param carried_out: the steps that the journal says were done.
    :param undone_before: the steps that an earlier run of the rollback had handled.
    :param stopped: True if the rollback stopped on its way.
    """
    for action in reversed(plan.actions):
        outcome: RollbackOutcome
        match events.get(action.step):
            case Undone(what=what):
                outcome, why = "undone", what
            case Left(why=reason):
                outcome, why = "left", reason
            case None if action.step in undone_before:
                outcome, why = "undone", "undone by an earlier run of this rollback"
            case None if action.step not in carried_out:
                outcome, why = "not-carried-out", "was not carried out"
            case None if stopped:
                outcome, why = "not-reached", "not undone yet: the rollback stopped"
            case None:
                outcome, why = "nothing-to-undo", why_nothing_is_undone(action)
        yield StepTold(step=action.step, subject=action.subject, what=describe(action), outcome=outcome, why=why)
