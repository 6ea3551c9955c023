"""`srfix rollback`: undoes a repair from its journal."""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

import click

from srfix.cli.commands.shared import complain, connection_of_plan, steps_told
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, expect_digest_option, output_option, yes_option
from srfix.cli.output import (
    Block,
    Declined,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Report,
    confirm,
    say,
    say_on_the_way,
    write_report,
)
from srfix.recovery.actions import describe
from srfix.recovery.errors import RolledBackInPartError
from srfix.recovery.repair import (
    AlreadyRolledBack,
    Left,
    Plan,
    Undone,
    journal_of,
    read_journal,
    require_digest,
    roll_back,
)
from srfix.serde.errors import UsageError
from srfix.serde.registry import Json

_PARTS = (
    ("Undone", {"undone"}),
    ("Left as it is", {"left"}),
    ("Not undone yet", {"not-reached"}),
    ("Nothing to undo", {"nothing-to-undo", "not-carried-out"}),
)
_NOTHING_DONE = "No step had been carried out; there was nothing to undo."
_NOTHING_LEFT = "Nothing stands any more of what the repair did: it had put that back itself, or it was undone before."


@click.command()
@click.argument("path", metavar="JOURNAL", type=click.Path(path_type=Path))
@expect_digest_option
@yes_option
@connection_options
@output_option
def rollback(
    path: Path, expect_digest: str | None, yes: bool, connection: Connection, output: OutputFormat
) -> ExitCode:
    """Undo a repair, last step first; what others changed since is left and named.

    JOURNAL is what `srfix apply` wrote beside the plan; the plan's own name does as well. It asks first, unless --yes.
    """
    journal_path = journal_of(path)
    state = read_journal(journal_path)
    plan = state.plan
    require_digest(plan, expect_digest, where=journal_path)
    if not yes and not state.rolled_back:
        try:
            _ask(plan, begun=state.before.keys() - state.undone)
        except Declined:
            say("Nothing was written.", err=True)
            return ExitCode.INTERRUPTED
    events: dict[int, Undone | Left] = {}
    undone: list[str] = []
    left: list[str] = []
    already = stopped = False
    try:
        with connection_of_plan(connection, plan).registry_client() as registry:
            for event in roll_back(journal_path, registry):
                match event:
                    case Undone(action=action, what=what):
                        events[action.step] = event
                        undone.append(f"step {action.step}: {what}")
                        say_on_the_way(f"Step {action.step} undone: {describe(action)}.")
                    case Left(action=action, why=why):
                        events[action.step] = event
                        left.append(f"step {action.step}: {why}")
                        say_on_the_way(f"Step {action.step} left as it is: {describe(action)}.")
                    case AlreadyRolledBack():
                        already = True
    except RolledBackInPartError as error:
        complain(error)
        stopped = True
    carried_out = read_journal(journal_path).after
    blocks: list[Block] = []
    if already:
        blocks.append(Paragraph("Rolled back before; nothing was written now."))
    elif not undone and not left and not stopped:
        blocks.append(Paragraph(_NOTHING_LEFT if carried_out else _NOTHING_DONE))
    steps = list(steps_told(plan, events, carried_out=carried_out, undone_before=state.undone, stopped=stopped))
    if undone or left or stopped:
        for title, outcomes in _PARTS:
            lines = tuple(step.line for step in steps if step.outcome in outcomes)
            blocks += [Heading(title), ItemList(lines)] if lines else []
    document: dict[str, Json] = {
        "schema": "srfix.rollback/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "journal": str(journal_path),
        "undone": list[Json](undone),
        "left": list[Json](left),
        "steps": [step.document() for step in steps],
        "is_complete": not stopped,
    }
    if blocks or output is OutputFormat.JSON:
        write_report(Report(document=document, blocks=tuple(blocks)), output)
    return ExitCode.PARTIAL if left or stopped else ExitCode.OK


def _ask(plan: Plan, *, begun: Collection[int]) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "srfix rollback asks before it writes, and nobody can answer here. Pass --yes to undo the repair without being "
            "asked. Nothing was written."
        )
    steps = [action for action in reversed(plan.actions) if action.step in begun]
    for action in steps:
        say(f"Step {action.step} is undone, {action.subject}: {describe(action)}.", err=True)
    confirm(f"Undo the repair of {', '.join(sorted(plan.expects))} on {plan.registry}?")
