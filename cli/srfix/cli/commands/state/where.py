"""`srfix state where`: which partition and task a key belongs to, and which directories hold it."""

from __future__ import annotations

from importlib.metadata import version

import click

from srfix.cli.commands.shared import open_cluster
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, key_bytes, tell_damage
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option
from srfix.cli.output import FieldList, OutputFormat, Report, Table, say, write_report
from srfix.recovery.clock import now
from srfix.recovery.state.stores import StateStore
from srfix.recovery.state_report import murmur2, where_document, whereabouts
from srfix.serde.errors import UsageError


@click.command()
@directory_argument
@click.argument("key")
@choice_options
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="How many partitions the store has.")
@click.option(
    "--topic", help="The topic whose partitions count, asked of --bootstrap-servers: the store's source or changelog."
)
@connection_options
@output_option
def where(
    directory: str,
    key: str,
    choice: StoreChoice,
    partitions: int | None,
    topic: str | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Say which partition and task KEY belongs to, by the default partitioner, and which tasks in DIR hold it.

    KEY is text, or bytes: hex:…, base64:…, int:…, long:…. A key with a schema id in front is another key under each id, and
    may belong to another partition. Without --partitions and --topic the partitions are counted in DIR, which may hold part
    of them. Hosts are not asked. Exit code 1 if the key is not where it is looked for, or lies elsewhere.
    """
    if partitions is not None and topic is not None:
        raise UsageError("--partitions and --topic exclude each other: give one of them.")
    stores = [store for _application, store in choice.one_store(directory)]
    application = choice.one_store(directory)[0][0].application
    count, source = _partitions(stores, partitions, topic, connection)
    found = whereabouts(key_bytes(key), stores, partitions=count)
    document = where_document(
        found,
        application=application,
        store=stores[0].name,
        partitions_from=source,
        srfix_version=version("srfix"),
        generated_at=now(),
    )
    fields = FieldList(
        (
            ("store", f"{stores[0].name} of {application}"),
            ("key", f"0x{found.key.hex()}"),
            ("murmur2", str(murmur2(found.key))),
            ("partition", f"{found.partition} of {count} ({source})"),
        )
    )
    rows = tuple(
        (each.store.task.name, "yes" if each.is_home else "no", f"{each.rows:,}", each.store.directory.path)
        for each in found.holders
    )
    table = Table(("task", "looked for here", "rows", "directory"), rows)
    write_report(Report(document=document, blocks=(fields, table)), output)
    damaged = tell_damage(stores)
    if not any(each.is_home for each in found.holders):
        say(f"No task of partition {found.partition} is in {directory}: another instance holds it.", err=True)
    for each in found.astray:
        say(
            f"Task {each.store.task.name} holds the key, and Streams looks for it in partition {found.partition}.",
            err=True,
        )
    say("Not looked at: the hosts that hold the task, active and standby.", err=True)
    return ExitCode.FINDINGS if damaged or found.astray or not found.is_found else ExitCode.OK


def _partitions(
    stores: list[StateStore], given: int | None, topic: str | None, connection: Connection
) -> tuple[int, str]:
    if given is not None:
        return given, "as given"
    if topic is not None:
        with open_cluster(connection) as (cluster, _engine):
            count = {str(name): found for name, found in cluster.topics().items()}.get(topic)
        if count is None:
            raise UsageError(f"There is no topic {topic!r}. Give the store's source topic or changelog.")
        return count, f"as many as {topic} has"
    return max((store.partition or 0) for store in stores) + 1, "as many as lie here; there may be more"
