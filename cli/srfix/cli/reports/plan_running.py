"""What the commands share that carry out a plan or undo it: its cluster and registry, how a run ends, and the way on.

Not in `session`, which loads the Kafka client: `srfix apply` needs none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.given import given_options
from srfix.cli.output.interface import Block, Commands, Paragraph
from srfix.cli.output.speaking import say
from srfix.cli.redaction import Redactor
from srfix.recovery.commands import positional
from srfix.recovery.errors import AppliedInPartError, RolledBackInPartError
from srfix.recovery.repair.plan_file import Plan


def cluster_of_plan(connection: Connection, bootstrap_servers: str | None) -> Connection:
    """The connection, with the plan's cluster where the person named none."""
    if connection.kafka.get("bootstrap.servers") or not bootstrap_servers:
        return connection
    return replace(connection, kafka={**connection.kafka, "bootstrap.servers": bootstrap_servers})


def connection_of_plan(connection: Connection, plan: Plan) -> Connection:
    """The connection, with the plan's cluster and registry where the person named none."""
    if not connection.registry.urls:
        connection = replace(connection, registry=replace(connection.registry, urls=plan.registry))
    return cluster_of_plan(connection, plan.bootstrap_servers)


@dataclass(slots=True)
class Running:
    """How a run ends."""

    code: ExitCode = ExitCode.OK


@contextmanager
def running(journal_path: Path, *, says: str | None = None) -> Iterator[Running]:
    """A run of apply or rollback: what stops it on its way is shown as `main` would show it, and does not end the command.

    :param says: what the journal says of a run that a person interrupts, who is told how to go on; None if nobody is.
    """
    run = Running()
    try:
        yield run
    except (AppliedInPartError, RolledBackInPartError) as error:
        redactor = click.get_current_context().find_object(Redactor) or Redactor()
        say(f"srfix: {redactor.scrub(error.message)}", err=True)
        run.code = ExitCode.PARTIAL
    except KeyboardInterrupt:
        if says is not None:
            say(
                f"Interrupted. The journal {journal_path} says {says}: run the same srfix apply again, or undo it with "
                f"{given_options().quoted('rollback', *positional(str(journal_path)))}.",
                err=True,
            )
        raise


def way_on(path: Path, journal_path: Path, code: ExitCode, *, again: tuple[str, ...] = ()) -> Iterator[Block]:
    """How a plan that was carried out is undone; of one that stopped how to go on, too.

    :param again: options that going on needs.
    """
    command_line = given_options()
    if code is ExitCode.OK:
        yield Paragraph("To undo it:")
    else:
        yield Paragraph("Remove the cause, then continue:")
        yield Commands((command_line.command("apply", *again, *positional(str(path))),))
        yield Paragraph("Or undo the steps that were done:")
    yield Commands((command_line.command("rollback", *positional(str(journal_path))),))
