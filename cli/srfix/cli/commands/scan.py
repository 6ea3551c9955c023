"""`srfix scan`: shows which schema ids a topic carries, in which partitions, and which subjects hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import options
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.values import ROLES, choice_of, flag, option, typed_options
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.census.interface import IdCount
    from srfix.recovery.inspect.scan import Scan


_FEW_PARTITIONS: Final = 16
"""Up to this number of partitions, a format that can fold shows the bars unfolded."""


@command()
@click.argument("topic")
@option(
    "--application",
    metavar="GROUP",
    help=(
        "Count as live only the records that a restore of this application loads: the records up to the group's "
        "committed offsets."
    ),
)
@flag(
    "--global",
    "is_global",
    help="For a global table: count all records as live, as its restore reads them all. Default without an application.",
)
@click.option("--role", **choice_of(ROLES, "both"), help="Which payloads to look at.")
@options.topic_isolation_option("How the restore reads; exactly-once applications use read_committed.")
@connection_options
@options.hurry_options
@engine_options
@options.details_option
@options.quiet_option
@options.output_option
def scan(
    topic: str,
    application: str | None,
    is_global: bool,
    role: str,
    isolation: str,
    connection: Connection,
    hurry: options.Hurry,
    engine: CensusEngineChoice,
    details: bool,
    quiet: bool,
    output: blocks.OutputFormat,
) -> ExitCode:
    """Count the schema ids in TOPIC, by partition (a census). Reads only.

    With a registry srfix names the subjects that hold each id. Exit code 2 if srfix could not look at everything.
    """
    from srfix.cli.session import open_cluster, show_progress
    from srfix.recovery.documents import NotLookedAt
    from srfix.recovery.inspect.scan import CensusDocument, counted_topic, held_ids, scan_topic

    if is_global and application is not None:
        if typed_options("--application"):
            raise UsageError("--global and --application exclude each other: a global table has no group.")
        application = None
    has_registry = bool(connection.registry.urls)
    with (
        open_cluster(connection, engine, quiet=quiet) as (cluster, counting),
        connection.registry_client() if has_registry else nullcontext() as registry,
    ):
        topic_scan = scan_topic(
            topic,
            cluster=cluster,
            engine=counting,
            registry=registry,
            application=application,
            isolation=Isolation(isolation),
            roles=ROLES[role],
            deadline_s=hurry.deadline_s,
            max_records=hurry.max_records,
            on_progress=None if quiet else show_progress(),
        )
        registry_url = None if registry is None else registry.url
    document = CensusDocument(
        srfix=version("srfix"),
        generated_at=now(),
        registry=registry_url,
        topics=[counted_topic(topic_scan)],
        schema_ids=held_ids(topic_scan),
        skipped=[NotLookedAt.of(skipped) for skipped in topic_scan.skipped],
    )
    shown = tuple(_blocks(topic_scan, details=details, bars=output.folds))
    where = (("cluster", connection.cluster_shown), ("registry", registry_url))
    code = ExitCode.REFUSED if topic_scan.skipped or topic_scan.census.is_partial else ExitCode.OK
    report = blocks.Report(document=document.to_json(), blocks=shown, verdict=_verdict(topic_scan), where=where)
    return conclude(report, output, quiet=quiet, code=code, lines=_lines(topic_scan, has_registry=has_registry))


def _lines(scan: Scan, *, has_registry: bool) -> Iterator[str]:
    yield from (f"Not looked at: {skipped.what}: {skipped.reason}" for skipped in scan.skipped)
    for partition in scan.census.partitions:
        if partition.start_moved_to is not None:
            yield (
                f"While srfix read partition {partition.partition}, the start of its log moved from offset "
                f"{partition.start_offset} to {partition.start_moved_to}. The counts may include records between "
                "these two offsets, which no longer exist."
            )
    if not has_registry:
        yield "No registry was given, so the subjects of the ids are not shown; see --registry."


def _verdict(scan: Scan) -> blocks.Verdict:
    census = scan.census
    records = sum(partition.records for partition in census.partitions)
    partial = " (partial)" if census.is_partial else ""
    text = f"{census.topic}: {counted(records, 'record')} in {counted(len(census.partitions), 'partition')}{partial}"
    unseen = f"Not looked at: {counted(len(scan.skipped), 'thing')}." if scan.skipped else None
    return blocks.Verdict(
        text=text, tone=blocks.Tone.UNSURE if scan.skipped or census.is_partial else blocks.Tone.PLAIN, more=unseen
    )


def _blocks(scan: Scan, *, details: bool, bars: bool) -> Iterator[blocks.Block]:
    census = scan.census
    yield blocks.Heading(_verdict(scan).text)
    if scan.application is None:
        up_to = (
            "counted up to the log's end, as for a global table; for other stores give --application ID, to count "
            "only up to its committed offsets"
        )
    else:
        up_to = f"counted up to the committed offsets of {scan.application}: its stores restore up to there"
    yield blocks.FieldList((("live keys", up_to), ("read with", census.isolation.value)))
    if scan.application is not None and all(p.restore_limit is None for p in census.partitions):
        yield blocks.Paragraph(
            f"The group {scan.application} has no committed offset on this topic. A restore loads nothing, and the "
            "application processes all records again."
        )
    for role in scan.roles:
        least = "at least " if census.is_partial else ""
        title = f"{role.value.capitalize()}s: {least}{_rest(scan, role)}"
        if not census.ids(role):
            yield blocks.Paragraph(f"{title}.")
            continue
        yield _by_partition(scan, role, title) if details else _by_id(scan, role, title)
        if bars:
            yield _in_bars(scan, role)
    if bars:
        yield from blocks.titled_list(
            "Not looked at", (f"{skipped.what}: {skipped.reason}" for skipped in scan.skipped)
        )
    if details:
        yield blocks.table_of(
            census.partitions,
            {
                "partition": lambda partition: partition.partition,
                "start": lambda partition: partition.start_offset,
                "end": lambda partition: partition.end_offset,
                "committed": lambda partition: _number(partition.committed_offset),
                "restore limit": lambda partition: _number(partition.restore_limit),
                "records": lambda partition: f"{partition.records:,}",
            },
            title="The log",
        )
    stopped = (f"partition {p.partition}: {p.stopped_early}" for p in census.partitions if p.stopped_early)
    yield from blocks.titled_list("Not read to the end", stopped)
    if scan.holders is not None and scan.schema_ids:
        yield blocks.Table(
            ("schema id", "subject", "version", "state"),
            tuple(_holder_rows(scan)),
            title=f"Who holds the ids{'' if scan.holders.is_complete else ' (srfix asked only likely subjects)'}",
        )


def _by_id(scan: Scan, role: Role, title: str) -> blocks.Table:
    from srfix.recovery.report.places import ranges

    def live_keys(places: Sequence[tuple[int, IdCount]]) -> str:
        counts = [count.live_keys for _partition, count in places if count.live_keys is not None]
        return _number(sum(counts) if counts else None)

    return blocks.table_of(
        blocks.grouped(_counts(scan, role), lambda place: place[1].schema_id).items(),
        {
            "schema id": lambda row: row[0],
            "records": lambda row: f"{sum(count.records for _partition, count in row[1]):,}",
            "live keys": lambda row: live_keys(row[1]),
            "not yet committed": lambda row: f"{sum(count.pending_keys for _partition, count in row[1]):,}",
            "partitions": lambda row: ranges(partition for partition, _count in row[1]),
        },
        title=title,
    )


def _counts(scan: Scan, role: Role) -> list[tuple[int, IdCount]]:
    """The count of each id in each partition, id by id."""
    counts = ((partition.partition, count) for partition in scan.census.partitions for count in partition.of(role).ids)
    return sorted(counts, key=lambda place: place[1].schema_id)


def _in_bars(scan: Scan, role: Role) -> blocks.Folded:
    ids = scan.census.ids(role)
    rows = []
    for partition in scan.census.partitions:
        records = {count.schema_id: count.records for count in partition.of(role).ids}
        rows.append((str(partition.partition), tuple(records.get(schema_id, 0) for schema_id in ids)))
    title = f"{role.value.capitalize()}s: records by partition and schema id"
    drawn = blocks.Bars(("partition", *(f"id {schema_id}" for schema_id in ids)), tuple(rows), title=title)
    return blocks.Folded(f"{role.value.capitalize()}s by partition", (drawn,), is_open=len(rows) <= _FEW_PARTITIONS)


def _by_partition(scan: Scan, role: Role, title: str) -> blocks.Table:
    return blocks.table_of(
        _counts(scan, role),
        {
            "schema id": lambda row: row[1].schema_id,
            "partition": lambda row: row[0],
            "records": lambda row: f"{row[1].records:,}",
            "live keys": lambda row: _number(row[1].live_keys),
            "not yet committed": lambda row: f"{row[1].pending_keys:,}",
            "offsets": lambda row: f"{row[1].first_offset} to {row[1].last_offset}",
        },
        title=title,
    )


def _holder_rows(scan: Scan) -> Iterator[tuple[str, ...]]:
    from srfix.recovery.checks import srf011

    assert scan.holders is not None
    for schema_id in scan.schema_ids:
        holders = scan.holders.by_id.get(schema_id, ())
        if not holders:
            yield (str(schema_id), "none", "-", f"srfix explain {srf011.CODE}")
        for holder in holders:
            yield (str(schema_id), holder.subject, str(holder.version), "soft-deleted" if holder.deleted else "live")


def _rest(scan: Scan, role: Role) -> str:
    payloads = [partition.of(role) for partition in scan.census.partitions]
    parts = [counted(len(scan.census.ids(role)), "schema id")]
    if unframed := sum(part.unframed for part in payloads):
        partition, offset = next(
            (p.partition, p.of(role).first_unframed_offset) for p in scan.census.partitions if p.of(role).unframed
        )
        parts.append(f"{unframed:,} unframed (the first at offset {offset} of partition {partition})")
    if nulls := sum(part.nulls for part in payloads):
        parts.append(counted(nulls, "tombstone") if role is Role.VALUE else f"{nulls:,} null")
    if guids := sum(part.guids for part in payloads):
        parts.append(f"{guids:,} with a GUID instead")
    return ", ".join(parts)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
