"""`srfix verify`: asks again, as the failing reader would."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from srfix.cli.commands._session import connection_of_plan
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option
from srfix.cli.output.interface import Block, Heading, Items, OutputFormat, Paragraph, Report
from srfix.cli.output.rendering import write_report
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.cluster import Cluster
from srfix.recovery.journal import read_plan_or_journal
from srfix.recovery.plan_file import Plan
from srfix.recovery.verify import Confirmed, Event, Problem
from srfix.recovery.verify import verify as verify_plan

__all__ = ["verify"]


@click.command()
@click.argument("path", metavar="PLAN|JOURNAL", type=click.Path(path_type=Path))
@connection_options
@output_option
def verify(path: Path, connection: Connection, output: OutputFormat) -> ExitCode:
    """Verify a repair: the ids again, looked up by content, and rows read as the failing reader reads them.

    Reads only. Cluster and registry are the plan's own unless they are named otherwise.
    """
    plan = read_plan_or_journal(path)
    connection = connection_of_plan(connection, plan)
    kafka = connection.kafka_config()
    with Cluster(kafka) as cluster, connection.registry_client() as registry:
        events = list(verify_plan(plan, cluster, LocalCensus(kafka), registry))
    problems = [event for event in events if isinstance(event, Problem)]
    confirmed = [event for event in events if isinstance(event, Confirmed)]
    blocks: list[Block] = []
    if problems:
        blocks += [Heading("Not repaired"), _items(problems)]
    if confirmed:
        blocks += [Heading("Confirmed", level=1 if not problems else 2), _items(confirmed)]
    if not events:
        blocks.append(Paragraph("The plan repairs nothing, so there is nothing to verify."))
    write_report(Report(document=_document(plan, events), blocks=tuple(blocks)), output)
    click.echo(f"{len(confirmed)} confirmed, {len(problems)} problem(s).", err=True)
    return ExitCode.FINDINGS if problems else ExitCode.OK


def _items(events: list[Problem] | list[Confirmed]) -> Items:
    return Items(tuple(f"{event.subject}: {event.what}" for event in events))


def _document(plan: Plan, events: list[Event]) -> dict[str, object]:
    return {
        "schema": "srfix.verification/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "verified": not any(isinstance(event, Problem) for event in events),
        "checks": [
            {"subject": event.subject, "ok": isinstance(event, Confirmed), "what": event.what}
            for event in events
        ],
    }
