"""The parts that `apply` and `rollback` share: the plan's cluster and registry, the end of a run, and the next
commands.

They are not in `session`, because that module loads the Kafka client, which `srfix apply` does not need.
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
    """The connection, with the plan's cluster if the user named none."""
    if connection.kafka.get("bootstrap.servers") or not bootstrap_servers:
        return connection
    return replace(connection, kafka={**connection.kafka, "bootstrap.servers": bootstrap_servers})


def connection_of_plan(connection: Connection, plan: Plan) -> Connection:
    """The connection, with the plan's cluster and registry if the user named none."""
    if not connection.registry.urls:
        connection = replace(connection, registry=replace(connection.registry, urls=plan.registry))
    return cluster_of_plan(connection, plan.bootstrap_servers)


@dataclass(slots=True)
class Running:
    """The end of a run."""

    code: ExitCode = ExitCode.OK


@contextmanager
def running(journal_path: Path, *, says: str | None = None) -> Iterator[Running]:
    """A run of apply or rollback. An error within it is shown as `main` would show it, but does not end the command.

    :param says: what the journal says about an interrupted run, for the message that says how to go on; None for no
        message.
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
    """How to undo a plan that was carried out. If the run stopped, also how to continue it.

    :param again: options that a continued run needs.
    """
    command_line = given_options()
    if code is ExitCode.OK:
        yield Paragraph("To undo it:")
    else:
        yield Paragraph("Remove the cause, then continue:")
        yield Commands((command_line.command("apply", *again, *positional(str(path))),))
        yield Paragraph("Or undo the steps that were done:")
    yield Commands((command_line.command("rollback", *positional(str(journal_path))),))
