"""`srfix state diff`: a store beside the topic that it restores from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Final

import click

from srfix.cli.choice import Choice
from srfix.cli.commands.shared import open_cluster
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, tell_damage
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option
from srfix.cli.output import Block, OutputFormat, Paragraph, Report, Table, say, write_report
from srfix.recovery.clock import now
from srfix.recovery.cluster import Cluster, RawRecord, partitions_of
from srfix.recovery.ids_in_words import counted, enumerated
from srfix.recovery.state import ApplicationState
from srfix.recovery.state.stores import StateStore
from srfix.recovery.state_report import Comparison, DifferenceKind, compared, diff_document, is_comparable, topic_of
from srfix.serde.errors import UsageError
from srfix.serde.subjects import Topic

_END: Final = "end"
_COMMITTED: Final = "committed"


@click.command()
@directory_argument
@choice_options
@click.option("--topic", help="The changelog or source topic. Default: what the directory names.")
@click.option(
    "--until",
    type=Choice([_END, _COMMITTED]),
    default=_END,
    show_default=True,
    help="How far the topic is read: to its end, or to the offset that the application's group has committed.",
)
@connection_options
@output_option
def diff(
    directory: str, choice: StoreChoice, topic: str | None, until: str, connection: Connection, output: OutputFormat
) -> ExitCode:
    """Compare a store in DIR with what its changelog or source topic says it should hold, key by key. Writes nothing.

    A key is missing, extra, stale (an older timestamp), of another schema id, or of other bytes. In windows that a store has
    let go, keys are missing rightly. Exit code 1 if they differ or the store is damaged, else 2 if not everything was
    looked at.
    """
    found = choice.one_store(directory)
    application, first = found[0]
    for _application, store in found:
        if not is_comparable(store.format):
            raise UsageError(
                f"The store {store.name} ({store.format.value}) cannot be compared with a topic row by row; key-value, window "
                "and session stores can."
            )
    name = Topic(topic) if topic is not None else _topic(application, first)
    stores = [store for _application, store in found]
    with open_cluster(connection) as (cluster, _engine):
        partitions = partitions_of(cluster, name)
        done = list(_compare(cluster, stores, name, application.application if until == _COMMITTED else None))
    held = {store.partition for store in stores}
    apart = [] if None in held or choice.task is not None else [each for each in partitions if each not in held]
    unseen = [f"partition {each} of {name}: no task of it lies in {directory}" for each in apart]
    if application.is_in_use:
        unseen.append("rows in the memory of the process that has the directory open")
    document = diff_document(
        done,
        application=application.application,
        store=first.name,
        topic=name,
        until=until,
        not_looked_at=unseen,
        srfix_version=version("srfix"),
        generated_at=now(),
    )
    write_report(Report(document=document, blocks=tuple(_blocks(done))), output)
    damaged = tell_damage(stores)
    for each in unseen:
        say(f"Not looked at: {each}", err=True)
    differ = sum(sum(each.counts.values()) for each in done)
    same = sum(each.same for each in done)
    say(f"{counted(differ, 'key')} of {same + differ:,} not as {name} says.", err=True)
    if differ or damaged:
        return ExitCode.FINDINGS
    return ExitCode.REFUSED if unseen else ExitCode.OK


def _topic(application: ApplicationState, store: StateStore) -> Topic:
    """The topic that the directory names for a store."""
    topic, candidates = topic_of(application, store.directory, store.task)
    if topic is None:
        named = enumerated(candidates) or "none"
        raise UsageError(
            f"The directory does not tell which topic {store.name} restores from; it names {named}. Give --topic."
        )
    return topic


def _compare(cluster: Cluster, stores: Sequence[StateStore], topic: Topic, group: str | None) -> Iterator[Comparison]:
    partitions = partitions_of(cluster, topic)
    logs = dict(cluster.watermarks(topic, partitions))
    if group is not None:
        committed = cluster.committed(group, [(topic, partition) for partition in partitions])
        for partition, (begin, end) in logs.items():
            offset = committed.get((topic, partition))
            logs[partition] = (
                begin,
                begin if offset is None else min(offset, end),
            )  # without a commit nothing is restored
    for store in stores:
        own = partitions if store.partition is None else (store.partition,)
        yield compared(store, _records(cluster, topic, {each: logs[each] for each in own if each in logs}))


def _records(cluster: Cluster, topic: Topic, ranges: Mapping[int, tuple[int, int]]) -> Iterator[RawRecord]:
    for partition, (begin, end) in ranges.items():
        if begin < end:
            yield from cluster.read(topic, partition, begin, end)


def _blocks(done: Sequence[Comparison]) -> Iterator[Block]:
    yield Table(
        ("task", "same", *(kind.value for kind in DifferenceKind)),
        tuple(
            (each.store.task.name, f"{each.same:,}", *(f"{each.counts[kind]:,}" for kind in DifferenceKind))
            for each in done
        ),
    )
    rows = tuple(
        (each.store.task.name, one.kind.value, _key(one.key), _id(one.store_id), _id(one.topic_id))
        for each in done
        for one in each.shown
    )
    if rows:
        yield Table(("task", "how", "key", "id in the store", "id in the topic"), rows, title="Keys that differ")
    if sum(sum(each.counts.values()) for each in done) > len(rows):
        yield Paragraph("The first 100 of each task are shown.")


def _key(key: bytes) -> str:
    text = key.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else f"0x{key.hex()}"


def _id(schema_id: int | None) -> str:
    return "-" if schema_id is None else str(schema_id)
