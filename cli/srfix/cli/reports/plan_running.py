"""What `apply` and `rollback` share, apart from `session`, which loads the Kafka client that apply does not need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection
from srfix.cli.options.given import given_options
from srfix.cli.output.interface import Block, Commands, Paragraph
from srfix.cli.output.speaking import say_aside, say_on_the_way
from srfix.cli.redaction import Redactor
from srfix.recovery.actions.actions import Action, RestoreCompatibility, RestoreMode, SoftDelete
from srfix.recovery.actions.document import ActionPart, describe, why_nothing_is_undone
from srfix.recovery.commands import positional
from srfix.recovery.documents import Sha256, VersionedDocument
from srfix.recovery.errors import AppliedInPartError, RolledBackInPartError
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.rollback import Undone


def cluster_of_plan(connection: Connection, bootstrap_servers: str | None) -> Connection:
    """The connection, with the plan's cluster if the user named none."""
    if connection.kafka.get("bootstrap.servers") or not bootstrap_servers:
        return connection
    return replace(connection, kafka={**connection.kafka, "bootstrap.servers": bootstrap_servers})


def connection_of_plan(connection: Connection, plan: Plan) -> Connection:
    if not connection.registry.urls:
        connection = replace(connection, registry=replace(connection.registry, urls=plan.registry))
    return cluster_of_plan(connection, plan.bootstrap_servers)


@dataclass(slots=True)
class Running:
    code: ExitCode = ExitCode.OK


@contextmanager
def running(journal_path: Path, *, says: str | None = None) -> Iterator[Running]:
    """A run of apply or rollback; an error within it is shown as `main` shows it, but does not end the command."""
    run = Running()
    try:
        yield run
    except (AppliedInPartError, RolledBackInPartError) as error:
        redactor = click.get_current_context().find_object(Redactor) or Redactor()
        say_aside(f"srfix: {redactor.scrub(error.message)}")
        run.code = ExitCode.PARTIAL
    except KeyboardInterrupt:
        if says is not None:
            say_aside(
                f"Interrupted. The journal {journal_path} says {says}. Run the same srfix apply again, or undo these steps "
                f"with {given_options().quoted('rollback', *positional(str(journal_path)))}.",
            )
        raise


def way_on(path: Path, journal_path: Path, code: ExitCode, *, again: tuple[str, ...] = ()) -> Iterator[Block]:
    """How to undo a plan that was carried out; if the run stopped, also how to continue it, with the options `again`."""
    command_line = given_options()
    if code is ExitCode.OK:
        yield Paragraph("To undo the plan:")
    else:
        yield Paragraph("Remove the cause, then continue:")
        yield Commands((command_line.command("apply", *again, *positional(str(path))),))
        yield Paragraph("Or undo the steps that were done:")
    yield Commands((command_line.command("rollback", *positional(str(journal_path))),))


RollbackOutcome: TypeAlias = Literal["undone", "left", "nothing-to-undo", "not-carried-out", "not-reached"]

_MOST_STEPS: Final = 40
"""Up to this number of steps, each step has its line."""
_LINES: Final = 20


class StepsOnTheWay:
    """The progress of `apply` and `rollback`, so that a killed run shows where it was; long plans show 20 lines."""

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


class PlanOutcome(VersionedDocument):
    """A document about what was done with a plan."""

    digest: Sha256
    """The digest of the plan."""


class RollbackDocument(PlanOutcome, tag="srfix.rollback/1"):
    """What `srfix rollback` undid."""

    journal: str
    undone: list[str]
    left: list[str]
    steps: list[StepTold]
    """Each step of the plan, last first."""
    is_complete: bool
    """False if the rollback stopped before its end."""


_UNDONE_BY_OTHERS: Final = (RestoreCompatibility, RestoreMode, SoftDelete)
"""Steps that the undo of another step covers."""


def steps_told(
    plan: Plan,
    events: Mapping[int, Undone | Left[Action]],
    *,
    carried_out: Collection[int],
    undone_before: Collection[int],
    stopped: bool,
) -> Iterator[StepTold]:
    """Each step of the plan, with what this rollback did with it, or an earlier run of it, as far as it came."""
    for action in reversed(plan.actions):
        outcome: RollbackOutcome
        match events.get(action.step):
            case Undone(what=what):
                outcome, why = "undone", what
            case Left(why=reason):
                outcome, why = "left", reason
            case None if action.step in undone_before and not isinstance(action, _UNDONE_BY_OTHERS):
                outcome, why = "undone", "undone by an earlier run of this rollback"
            case None if action.step not in carried_out:
                outcome, why = "not-carried-out", "was not carried out"
            case None if stopped:
                outcome, why = "not-reached", "not undone yet: the rollback stopped"
            case None:
                outcome, why = "nothing-to-undo", why_nothing_is_undone(action)
        yield StepTold(step=action.step, subject=action.subject, what=describe(action), outcome=outcome, why=why)


class AppliedStep(ActionPart, kw_only=True):
    """A step that this run did, or found done already."""

    outcome: Literal["done", "found done"]


class AppliedDocument(PlanOutcome, tag="srfix.applied/1"):
    """What `srfix apply` did."""

    registry: str
    journal: str
    steps: list[AppliedStep]
    """The steps that this run did, or found done already."""
    left: list[int]
    """Steps of the plan that --only left for later."""
    next: list[str]
    """What to do now."""
