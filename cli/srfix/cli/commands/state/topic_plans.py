"""`srfix state seed-changelog` and `plan-expiry`: write plans that write to a topic, and records beside the plan."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.given import given_options
from srfix.cli.options.options import isolation_of, isolation_option, output_option, plan_file_option
from srfix.cli.options.values import Duration, option
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say_aside, write_report
from srfix.serde.errors import UsageError
from srfix.serde.files import is_there
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.topic_plan.seeding import Registered
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.wire import SchemaId


@command("seed-changelog")
@option("--application", metavar="ID", required=True, help="The application.id.")
@option("--store", metavar="NAME", required=True, help="The state store.")
@click.option(
    "--source", metavar="[STORE=]TOPIC", required=True, help="The topic that the store now reuses as its changelog."
)
@isolation_option
@click.option(
    "--replication-factor",
    type=click.IntRange(min=1),
    metavar="N",
    help=(
        "The replication factor of the new changelog. Default: the broker's. Give the application's replication.factor."
    ),
)
@plan_file_option(required=True, help="Write the plan to this new file.")
@connection_options
@output_option
def seed_changelog(
    application: str,
    store: str,
    source: str,
    isolation: str,
    replication_factor: int | None,
    path: Path,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Make a plan to fill a store's changelog topic from the source topic that the store reuses. Reads only.

    Run this before you turn the reuse (topology.optimization) off; otherwise the table is empty after a restore. `srfix
    apply FILE` carries out the plan. It creates the topic as Kafka Streams would. Then it copies the records that a restore
    loads, byte for byte: the newest record of each key below the committed offset. With a registry the plan says which
    schema ids the store's reader will not find. Stop the application first.
    """
    from srfix.cli.reports.topic_plans import topic_plan_report
    from srfix.cli.session import open_cluster
    from srfix.recovery.facts.isolation import restore_isolation
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS
    from srfix.recovery.topic_plan.seeding import SeedRequest, plan_seed

    refuse_existing(path)
    named_store, _, topic = source.rpartition("=")  # a topic's name has no '='
    if named_store not in ("", store):
        raise UsageError(f"--source is for the store {named_store!r}, but --store names {store!r}.")
    has_registry = bool(connection.registry.urls)
    with (
        open_cluster(connection) as (cluster, _engine),
        connection.registry_client() if has_registry else nullcontext() as registry,
    ):
        plan = plan_seed(
            SeedRequest(
                application=application,
                store=store,
                source=Topic(topic),
                isolation=isolation_of(isolation) or restore_isolation(cluster, application).isolation,
                replication_factor=-1 if replication_factor is None else replication_factor,
            ),
            cluster,
            bootstrap_servers=connection.cluster_shown or "",
            registered=None if registry is None else _asking(registry),
            command_line=given_options(),
        )
    TOPIC_PLANS.save(plan, path)
    write_report(topic_plan_report(plan, path, given_options()), output)
    say_aside(f"Plan written to {path}.")
    return ExitCode.OK


def refuse_existing(path: Path, *beside: Path) -> None:
    """Refuses to overwrite a file at the plan's path or beside it: it may be a reviewed plan, or a journal."""
    from srfix.recovery.plans.journal_file import is_journal
    from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS

    if is_journal(path) or TOPIC_JOURNALS.is_at(path):
        raise UsageError(
            f"{path} is the journal of another plan. Without the journal, that plan cannot be undone. Write the "
            "plan to another file."
        )
    for file_path in (path, *beside):
        if is_there(file_path):
            raise UsageError(
                f"{file_path} exists already. srfix does not overwrite it, because it may be needed to undo an older "
                "plan. Name another file, or move this file away."
            )


def _asking(registry: RegistryClient) -> Registered:
    from srfix.recovery.facts.subject_state import look_up
    from srfix.serde.schemas.errors import SchemaNotFoundError

    def is_registered(subject: str, schema_id: SchemaId) -> bool | None:
        try:
            schema = registry.schema_by_id(schema_id).schema
        except SchemaNotFoundError:
            return False  # no schema has this id, so no reader can find it
        version = look_up(registry, subject, schema)
        return version is not None and version.subject == subject

    return is_registered


@command("plan-expiry")
@option("--application", metavar="ID", required=True, help="The application.id.")
@option(
    "--store",
    metavar="NAME",
    help="The store whose changelog to clean up. The application must be stopped.",
)
@click.option(
    "--topic",
    metavar="TOPIC",
    help="Instead of a store: a compacted topic on which the application has committed offsets.",
)
@click.option(
    "--older-than",
    type=Duration(),
    metavar="AGE",
    required=True,
    help="Delete the keys whose newest record is older than this, such as 90d, 12h, 30min or 2w.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Delete at most this number of keys, the oldest first."
)
@plan_file_option(
    required=True, help="Write the plan to this new file, and the records to be deleted to FILE.records.jsonl."
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
    """Plan tombstones for old keys of a compacted topic: keys that nobody has written for a long time. Reads only.

    The plan says how many keys it deletes, how old they are, and names examples. srfix keeps the records beside the plan, so
    that `srfix rollback` can write them again. `srfix apply FILE` carries out the plan, but does not delete a key that somebody
    has written since.
    """
    from srfix.cli.reports.topic_plans import topic_plan_report
    from srfix.cli.session import open_cluster
    from srfix.recovery.topic_plan.expiring import ExpiryRequest, kept_records_path
    from srfix.recovery.topic_plan.expiring import plan_expiry as planned
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, ExpireKeys

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
    records_path = kept_records_path(path)
    if not plan.actions:
        records_path.unlink(missing_ok=True)
        say_aside(f"{path} was not written: there is nothing to carry out.")
        return ExitCode.OK
    TOPIC_PLANS.save(plan, path)
    count = plan.work.kept.records if isinstance(plan.work, ExpireKeys) else 0
    say_aside(f"Plan written to {path}, and its {counted(count, 'record')} to {records_path}.")
    return ExitCode.OK
