"""`srfix state estimate`: estimates the time and memory of a restore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, shut_places
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import output_option, quiet_option
from srfix.cli.output.interface import Block, OutputFormat, Paragraph, Report, table_of
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.stores.estimates import EstimatedStore


@command()
@directory_argument
@choice_options
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="RECORDS",
    help=(
        "The number of records that a restore loads in a second. Default: the speed at which this machine reads a "
        "sample."
    ),
)
@connection_options
@quiet_option
@output_option
def estimate(
    directory: str, choice: StoreChoice, rate: float | None, connection: Connection, quiet: bool, output: OutputFormat
) -> ExitCode:
    """Estimate a restore of the stores in DIR: records, bytes, time and memory. Reads only.

    srfix estimates two restores: a whole one, as after a lost disk, and one that continues from the checkpoints in DIR. Each
    estimated duration is for one store alone. Add up the durations of one thread's tasks, which restore one after another. A
    measured rate does not include the time that RocksDB needs for writing. Exit code 2 if srfix could not look at every store.
    """
    from srfix.cli.session import open_cluster
    from srfix.recovery.facts.rows_on_disk import Place
    from srfix.recovery.state.directory import topic_of
    from srfix.recovery.stores.estimates import StateEstimate, estimate_restore

    unseen: list[str] = []
    estimates: list[EstimatedStore] = []
    with open_cluster(connection) as (cluster, _engine):
        topics = cluster.topics()
        pairs = list(choice.stores(directory))
        for application in {owner.path: owner for owner, _store in pairs}.values():
            unseen += shut_places(application)
        for application, store in pairs:
            topic, candidates = topic_of(application, store.directory, store.task)
            where = f"store {store.name} of task {store.task.name}"
            count = None if topic is None else topics.get(topic)
            if topic is None:
                named = enumerated(candidates) or "none"
                unseen.append(
                    f"{where}: the directory does not say which topic the store restores from (topics that DIR names: {named})"
                )
            elif count is None or (store.partition or 0) >= count:
                unseen.append(f"{where}: the cluster has no such partition of {topic}")
            else:
                partitions = range(count) if store.partition is None else (store.partition,)
                place = Place(state=application, task=store.task, store=store.directory)
                estimates.append(estimate_restore(cluster, place, topic, partitions=partitions, rate=rate))
    document = StateEstimate(
        srfix=version("srfix"),
        generated_at=now(),
        directory=directory,
        stores=estimates,
        not_looked_at=unseen,
    )
    code = ExitCode.REFUSED if unseen else ExitCode.OK
    report = Report(document=document.to_json(), blocks=tuple(_blocks(estimates)))
    records = sum(store_estimate.records for store_estimate in estimates)
    total = f"{counted(records, 'record')} for {counted(len(estimates), 'store')}."
    lines = (*(f"Not looked at: {line}" for line in unseen), total)
    return conclude(report, output, quiet=quiet, code=code, lines=lines)


def _blocks(estimates: Sequence[EstimatedStore]) -> Iterator[Block]:
    yield table_of(
        estimates,
        {
            "task": lambda row: row.task,
            "store": lambda row: row.store,
            "topic": lambda row: row.topic,
            "records": lambda row: f"{row.records:,}",
            "left": _left,
            "bytes": lambda row: None if row.bytes_ is None else f"{row.bytes_:,}",
            "seconds": lambda row: None if row.seconds is None else f"{row.seconds:,.1f}",
            "memory": lambda row: f"{row.memory_bytes // (1024 * 1024):,} MiB",
            "standby avoids restore": lambda row: "yes" if row.would_a_standby_spare_it else "no",
        },
    )
    if any(row.records_left_at_least != row.records_left for row in estimates):
        yield Paragraph(
            "A checkpoint names the last record in a store (Kafka Streams 2.6 and later) or the record after it (up to "
            "2.5). DIR does not show which of the two. So the number of records can be wrong by one for each partition."
        )
    if any(row.is_source and row.would_a_standby_spare_it for row in estimates):
        yield Paragraph(
            "A standby saves the time of a restore. But if a store restores from a source topic, its standby holds "
            "the source's bytes, too. A reader that asks another subject cannot read them there either."
        )


def _left(store_estimate: EstimatedStore) -> str:
    fewest, most = store_estimate.records_left_at_least, store_estimate.records_left
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
