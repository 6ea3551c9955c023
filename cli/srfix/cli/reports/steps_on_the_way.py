"""Steps as they are done, a line each, under their subject where the plan has several; of very many only some."""

from __future__ import annotations

from typing import Final

from srfix.cli.output.speaking import say_on_the_way
from srfix.recovery.actions.actions import Action
from srfix.recovery.repair.plan_file import Plan

_MOST_STEPS: Final = 40
"""Steps of which each has its line."""
_LINES: Final = 20


class StepsOnTheWay:
    """What `apply` and `rollback` say while they write: killed at any line, it shows which subject they were at.

    Of a plan of very many steps it shows how far it is, in twenty of them; the journal has them all.
    """

    def __init__(self, plan: Plan) -> None:
        self._subject = next(iter(plan.expects)) if len(plan.expects) == 1 else None
        steps = len(plan.actions)
        self._every = 1 if steps <= _MOST_STEPS else -(-steps // _LINES)
        self._done = 0

    def say(self, action: Action, line: str) -> None:
        """A line about a step, behind its subject if the line before was about another's."""
        self._done += 1
        if self._done % self._every:
            return
        if action.subject != self._subject:
            say_on_the_way(action.subject)
            self._subject = action.subject
        say_on_the_way(line)
