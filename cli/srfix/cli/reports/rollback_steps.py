"""What became of each step of a plan in a rollback, last step first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.actions.document import describe, why_nothing_is_undone
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.rollback import Left, Undone
from srfix.serde.schemas.models import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTold:
    """One step."""

    step: int
    subject: str
    what: str
    """What the step does, in words."""
    outcome: str
    """`undone`, `left`, `nothing-to-undo`, `not-carried-out`, `not-reached`."""
    why: str

    @property
    def line(self) -> str:
        return f"step {self.step} ({self.what}): {self.why}"

    def document(self) -> Json:
        return {
            "step": self.step,
            "subject": self.subject,
            "what": self.what,
            "outcome": self.outcome,
            "why": self.why,
        }


def steps_told(
    plan: Plan,
    events: Mapping[int, Undone | Left],
    *,
    carried_out: Collection[int],
    undone_before: Collection[int],
    stopped: bool,
) -> Iterator[StepTold]:
    """Each step of the plan, with what this rollback did about it.

    :param carried_out: the steps that the journal says were done.
    :param undone_before: those that an earlier run of the rollback had dealt with.
    :param stopped: True if the rollback stopped on its way.
    """
    for action in reversed(plan.actions):
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
