"""`srfix state plan-expiry`: plans tombstones by age. Writes nothing but the plan file and the records beside it."""

from __future__ import annotations

from pathlib import Path

import click

from srfix.cli.command_classes import command
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import connection_options
from srfix.cli.options.given import given_options
from srfix.cli.options.groups import option
from srfix.cli.options.options import output_option, plan_file_option
from srfix.cli.options.values import Duration
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say, write_report


@command("plan-expiry")
@option(
    "--application", envvar="APPLICATION", metavar="ID", required=True, help="The application.id whose data is meant."
)
@option(
    "--store",
    envvar="STORE",
    metavar="NAME",
    help="The store whose changelog is meant; the application must be stopped.",
)
@click.option(
    "--topic", metavar="TOPIC", help="In place of a store: a compacted topic of which the application has committed."
)
@click.option(
    "--older-than",
    type=Duration(),
    metavar="AGE",
    required=True,
    help="Keys whose newest record is older are deleted: 90d, 12h, 30min, 2w.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more keys than that, the oldest first.")
@plan_file_option(
    "Write the plan there, to a new file, and the records to be deleted to FILE.records.jsonl.", required=True
)
@connection_options
@output_option
def plan_expiry(
    application: str,
    store: str | None,
    topic: str | None,
    older_than: int,
    limit: int | None,
    path: Path,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Plan tombstones for the keys of a compacted topic that nobody has written for long. Reads only.

    The plan says how many keys, how old, which for example. The records are kept beside it, so that `srfix rollback` can write
    them again. `srfix apply FILE` carries it out; a key that was written meanwhile is left.
    """
    from srfix.cli.commands.state.seed_changelog import refuse_existing
    from srfix.cli.reports.topic_plan import topic_plan_report
    from srfix.cli.session import open_cluster
    from srfix.recovery.topic_plan.expiring import ExpiryRequest
    from srfix.recovery.topic_plan.expiring import plan_expiry as planned
    from srfix.recovery.topic_plan.kept_records import kept_records_path
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, ExpireKeys
    from srfix.serde.subjects.names import Topic

    refuse_existing(path, kept_records_path(path))
    with open_cluster(connection) as (cluster, _engine):
        plan = planned(
            ExpiryRequest(
                application=application,
                store=store,
                topic=None if topic is None else Topic(topic),
                older_than_s=older_than,
                limit=limit,
            ),
            cluster,
            path,
            bootstrap_servers=connection.cluster_shown or "",
        )
    write_report(topic_plan_report(plan, path, given_options()), output)
    kept = kept_records_path(path)
    if not plan.actions:
        kept.unlink(missing_ok=True)
        say(f"{path} was not written: there is nothing to carry out.", err=True)
        return ExitCode.OK
    TOPIC_PLANS.save(plan, path)
    count = plan.work.kept.records if isinstance(plan.work, ExpireKeys) else 0
    say(f"Plan written to {path}, its {count:,} records to {kept}.", err=True)
    return ExitCode.OK
