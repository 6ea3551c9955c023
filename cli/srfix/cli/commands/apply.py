"""`srfix apply`: does what the plan says and nothing else; can be killed and run again."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import click

from srfix.cli.commands._plan_report import plan_report
from srfix.cli.commands._session import connection_of_plan, now
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option, yes_option
from srfix.cli.output.interface import Block, Commands, Heading, Items, OutputFormat, Paragraph, Report
from srfix.cli.output.rendering import write_report
from srfix.recovery.actions import Action, action_document, describe
from srfix.recovery.apply import (
    AlreadyApplied,
    AppliedInPartError,
    JournalSetAside,
    StepDone,
    StepFound,
    apply_plan,
)
from srfix.recovery.journal import default_journal_path
from srfix.recovery.plan_file import Plan, load_plan
from srfix.serde.errors import UsageError

__all__ = ["apply"]


@click.command()
@click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))
@click.option(
    "--journal",
    "journal_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the journal goes; default: beside the plan, PLAN.journal.jsonl.",
)
@yes_option
@connection_options
@output_option
def apply(
    path: Path, journal_path: Path | None, yes: bool, connection: Connection, output: OutputFormat
) -> ExitCode:
    """Carry out a plan, step by step, with a journal. Asks first; run it again if it was interrupted.

    The registry is the plan's own unless --registry names it otherwise.
    """
    plan = load_plan(path)
    journal_path = journal_path or default_journal_path(path)
    if not plan.actions:
        write_report(
            Report(document=_document(plan, journal_path, []), blocks=(Paragraph("The plan has no steps."),)),
            output,
        )
        return ExitCode.OK
    if not yes:
        _ask(plan, path)
    done: list[tuple[Action, str]] = []
    already = False
    try:
        with connection_of_plan(connection, plan).registry_client() as registry:
            for event in apply_plan(plan, registry, journal_path, clock=now):
                match event:
                    case StepDone(action=action):
                        click.echo(
                            f"Step {action.step} of {len(plan.actions)}: {describe(action)}.", err=True
                        )
                        done.append((action, "done"))
                    case StepFound(action=action):
                        click.echo(f"Step {action.step} was found done: {describe(action)}.", err=True)
                        done.append((action, "found done"))
                    case AlreadyApplied():
                        already = True
                    case JournalSetAside(path=aside):
                        click.echo(
                            f"The journal of an earlier repair, which is over, is now {aside}.", err=True
                        )
    except AppliedInPartError as error:
        click.echo(f"srfix: {error}", err=True)
        return ExitCode.PARTIAL
    blocks: list[Block] = [
        Heading("Applied before; nothing was written now" if already else "Applied"),
        *([Items(tuple(f"step {action.step}: {describe(action)}" for action, _how in done))] if done else []),
        Heading("Next", level=2),
        Items(plan.playbook[2:], is_numbered=True),
        Commands((f"srfix verify {path}", f"srfix rollback {journal_path}")),
    ]
    write_report(Report(document=_document(plan, journal_path, done), blocks=tuple(blocks)), output)
    return ExitCode.OK


def _ask(plan: Plan, path: Path) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "srfix apply asks before it writes, and nobody can answer here. Read the plan, then pass --yes."
        )
    write_report(plan_report(plan, path=path), OutputFormat.TABLE, sys.stderr)
    click.confirm(f"Carry out these {len(plan.actions)} steps on {plan.registry}?", abort=True, err=True)


def _document(plan: Plan, journal_path: Path, done: list[tuple[Action, str]]) -> dict[str, object]:
    return {
        "schema": "srfix.applied/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "registry": plan.registry,
        "journal": str(journal_path),
        "steps": [{**action_document(action), "outcome": how} for action, how in done],
        "next": list(plan.playbook[2:]),
    }
