"""What the commands share that carry out a plan: its cluster and registry, an error on the way.

Not in `session`, which loads the Kafka client: `srfix apply` needs none.
"""

from __future__ import annotations

from dataclasses import replace

import click

from srfix.cli.connection import Connection
from srfix.cli.output.speaking import say
from srfix.cli.redaction import Redactor
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.errors import SrfixError


def connection_of_plan(connection: Connection, plan: Plan) -> Connection:
    """The connection, with the plan's cluster and registry where the person named none."""
    if not connection.registry.urls:
        connection = replace(connection, registry=replace(connection.registry, urls=plan.registry))
    if not connection.kafka.get("bootstrap.servers") and plan.bootstrap_servers:
        connection = replace(connection, kafka={**connection.kafka, "bootstrap.servers": plan.bootstrap_servers})
    return connection


def complain(error: SrfixError) -> None:
    """Shows an error that does not end the command as `main` would end it."""
    redactor = click.get_current_context().find_object(Redactor) or Redactor()
    say(f"srfix: {redactor.scrub(error.message)}", err=True)
