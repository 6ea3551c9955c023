"""Steps as they are done, a line each; under their subject where the plan has several."""

from __future__ import annotations

from srfix.cli.output import say_on_the_way
from srfix.recovery.actions import Action
from srfix.recovery.repair import Plan


class StepsOnTheWay:
    """What `apply` and `rollback` say while they write: killed at any line, it shows which subject they were at."""

    def __init__(self, plan: Plan) -> None:
        self._subject = next(iter(plan.expects)) if len(plan.expects) == 1 else None

    def say(self, action: Action, line: str) -> None:
        """A line about a step, behind its subject if the line before was about another's."""
        if action.subject != self._subject:
            say_on_the_way(action.subject)
            self._subject = action.subject
        say_on_the_way(line)
