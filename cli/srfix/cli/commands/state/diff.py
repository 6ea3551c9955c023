"""`srfix state diff`: compares a store with the topic that it restores from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Literal

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state import choosing
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import SPARK, CensusEngineChoice, task_engine_options
from srfix.cli.options.options import output_option, quiet_option
from srfix.cli.options.values import choice_of
from srfix.cli.output.interface import Block, OutputFormat, Paragraph, Report, Table, table_of
from srfix.cli.output.speaking import conclude
from srfix.cli.reports.rows import in_characters, span, time_of
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.layouts import StoreFormat
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.difference_kinds import Comparison, Difference
    from srfix.recovery.stores.differences import ToCompare


_END: Final = "end"
_COMMITTED: Final = "committed"


@command()
@choosing.directory_argument
@choosing.choice_options
@click.option("--topic", help="The changelog or source topic. Default: the topic that the directory names.")
@click.option(
    "--until",
    **choice_of((_END, _COMMITTED), _END),
    help="How far srfix reads the topic: to its end, or to the offset that the application's group has committed.",
)
@connection_options
@task_engine_options
@quiet_option
@output_option
def diff(
    directory: str,
    choice: choosing.StoreChoice,
    topic: str | None,
    until: Literal["end", "committed"],
    connection: Connection,
    engine: CensusEngineChoice,
    quiet: bool,
    output: OutputFormat,
) -> ExitCode:
    """Compare a store in DIR with its changelog or source topic, key by key. Writes nothing.

    A key can be missing, extra, or stale (an older timestamp), or have another schema id or other bytes. If the topic has
    deleted a record, or the store may have dropped a row, the result is “not known”, and does not count as a difference. It
    is also “not known” for windows that are older than all windows in the store. In a versioned store srfix compares each
    version. In a join's list store, and for foreign-key subscriptions, it compares the stored bytes. If the application
    runs, its memory may hold what differs on disk. Exit code 1 if something differs and no application runs, or if the store
    is damaged; otherwise 2 if something is not known or was not looked at.
    """
    from srfix.cli.on_spark import WatchedParts
    from srfix.cli.session import open_cluster, patience_s
    from srfix.recovery.stores.differences import CompareWork, StateDiff, compared_part, ranges_to_compare

    pairs = choice.one_store(engine.path(directory))
    application, first = pairs[0]
    name = Topic(topic) if topic is not None else _topic(application, first)
    stores = [store for _application, store in pairs]
    with open_cluster(connection) as (cluster, _engine), ExitStack() as stack:
        to_compare = ranges_to_compare(cluster, name, group=application.application if until == _COMMITTED else None)
        if engine.engine == SPARK:
            kafka = connection.kafka_config()
            work = CompareWork(to_compare=to_compare, kafka=kafka, timeout_s=patience_s(kafka))
            done = WatchedParts(engine, stack).run(work, stores, doing=f"comparing {first.name} with {name}")
            stores = [part.store for part in done]
        else:
            done = [to_compare.part(cluster, store) for store in stores]
    partitions = {store.partition for store in stores}
    # A global store has all partitions; with --task, nobody asked for the others.
    has_all_wanted = None in partitions or choice.task is not None
    absent = [] if has_all_wanted else [partition for partition in to_compare.ranges if partition not in partitions]
    unseen = [f"partition {partition} of {name}: its task is not in {directory}" for partition in absent]
    unseen += [line for group in (choosing.shut_places(application), choosing.shut_stores(stores)) for line in group]
    if application.is_in_use:
        unseen.append("rows in the memory of the process that has the directory open")
    unseen += _not_known(done, name, to_compare)
    document = StateDiff(
        srfix=version("srfix"),
        generated_at=now(),
        application=application.application,
        store=first.name,
        topic=name,
        until=until,
        parts=[compared_part(comparison) for comparison in done],
        not_looked_at=unseen,
    )
    differ = sum(comparison.differ for comparison in done)
    same = sum(comparison.same for comparison in done)
    damaged = list(choosing.damage_lines(stores))
    is_wrong = damaged or (differ and not application.is_in_use)
    code = ExitCode.FINDINGS if is_wrong else ExitCode.REFUSED if unseen else ExitCode.OK
    report = Report(document=document.to_json(), blocks=tuple(_blocks(done)))
    elsewhere = "; the application runs and may hold the newer rows in its memory" if application.is_in_use else ""
    total = (
        f"{'On disk, ' if application.is_in_use else ''}{differ:,} of {counted(same + differ, 'key')} "
        f"{'differs' if differ == 1 else 'differ'} from {name}{elsewhere}."
        if differ
        else f"{counted(same, 'key')}, the same as in {name}."
        if same
        else f"no key of the store or of {name} was compared."
    )
    lines = (*damaged, *choosing.not_closed(pairs), *(f"Not looked at: {line}" for line in unseen), total)
    return conclude(report, output, quiet=quiet, code=code, lines=lines)


def _topic(application: ApplicationState, store: StateStore) -> Topic:
    from srfix.recovery.state.directory import topic_of

    topic, candidates = topic_of(application, store.directory, store.task)
    if topic is None:
        named = enumerated(candidates) or "none"
        raise UsageError(
            f"The directory does not say which topic {store.name} restores from (topics that it names: {named}). Give "
            "--topic."
        )
    return topic


def _not_known(done: Sequence[Comparison], topic: Topic, to_compare: ToCompare) -> Iterator[str]:
    from srfix.recovery.state.layouts import StoreFormat
    from srfix.recovery.stores.difference_kinds import DifferenceKind

    for comparison in done:
        where = f"task {comparison.store.task.name}"
        cut = ", ".join(
            f"{topic}[{place}] begins at offset {begin:,}" for place, begin in to_compare.cut(comparison.store).items()
        )
        if comparison.not_known:
            why = cut or f"{topic} has deleted records, or the store has dropped old rows or ignored late records"
            noun = "version" if comparison.store.format is StoreFormat.VERSIONED else "key"
            yield f"{counted(comparison.not_known, noun)} of {where} cannot be compared: {why}"
        elif cut and comparison.counts[DifferenceKind.EXTRA]:
            yield f"whether extra keys of {where} were in records that are gone: {cut}"


def _blocks(done: Sequence[Comparison]) -> Iterator[Block]:
    from srfix.recovery.stores.difference_kinds import DifferenceKind

    yield Table(
        ("task", "same", *(kind.value for kind in DifferenceKind)),
        tuple(
            (one.store.task.name, f"{one.same:,}", *(f"{one.counts[kind]:,}" for kind in DifferenceKind))
            for one in done
        ),
    )
    differences = [
        (comparison.store.task.name, comparison.store.format, one) for comparison in done for one in comparison.shown
    ]
    has_versions = any(one.valid_from_ms is not None for _task, _form, one in differences)
    columns: dict[str, Callable[[tuple[str, StoreFormat, Difference]], object]] = {
        "task": lambda row: row[0],
        "how": lambda row: row[2].kind.value,
        "key": lambda row: _key(row[1], row[2].key),
        **({"valid from": lambda row: time_of(row[2].valid_from_ms)} if has_versions else {}),
        "id in the store": lambda row: row[2].store_id,
        "id in the topic": lambda row: row[2].topic_id,
    }
    if differences:
        yield table_of(differences, columns, title="Keys that differ")
    if sum(sum(comparison.counts.values()) for comparison in done) > len(differences):
        yield Paragraph("Of each task, srfix shows only the first 100 differences.")


def _key(form: StoreFormat, key: bytes) -> str:
    from srfix.recovery.stores.differences import in_window

    key, window = in_window(form, key)
    return in_characters(key) if window is None else f"{in_characters(key)}, {span(window.start_ms, window.end_ms)}"
