"""`srfix state rebuild` and `migrate`: build a store from its source topic; write a new copy of a directory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command, path_completion
from srfix.cli.commands.state import written
from srfix.cli.commands.state.choosing import refuse_within
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import SPARK, CensusEngineChoice, task_engine_options
from srfix.cli.options.options import isolation_of, isolation_option, output_option
from srfix.cli.options.values import Choice, flag, option
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say_aside
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.stores.choices import OnError, Until
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.stores.rebuild.rebuild import Build
    from srfix.serde.schemas.models import Json


@command()
@click.option("--from-topic", required=True, metavar="TOPIC", help="The topic that the store restores from.")
@click.option(
    "--until",
    type=Choice(Until),
    required=True,
    help="Where to stop: committed for a reused source topic, end for a changelog.",
)
@option("--application", metavar="ID", required=True, help="The application.id.")
@option("--store", metavar="NAME", required=True, help="The state store.")
@written.kind_option
@written.release_option
@written.output_dir_option
@click.option(
    "--subtopology",
    type=click.IntRange(min=0),
    help="The store's sub-topology: 3 for the task 3_0. Default: taken from --beside.",
)
@flag("--global", "is_global", help="The store is a global store: read all partitions, up to their ends.")
@click.option(
    "--beside",
    "beside_dir",
    metavar="DIR",
    help="The application's present state directory. srfix copies the other stores from there, and writes nothing there.",
    **path_completion("DIR"),
)
@click.option(
    "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only this partition; repeatable."
)
@click.option(
    "--retention-ms",
    type=click.IntRange(min=1),
    help="For a window or session store: how long it keeps rows. For a versioned store: its history retention.",
)
@click.option(
    "--segment-interval-ms",
    type=click.IntRange(min=1),
    help="For a window, session or versioned store: the interval of its segments. Default: as in Kafka Streams.",
)
@isolation_option
@written.values_options
@connection_options
@task_engine_options
@output_option
def rebuild(
    from_topic: str,
    until: Until,
    application: str,
    store: str,
    kind: str | None,
    streams_version: str,
    output_dir: str,
    subtopology: int | None,
    is_global: bool,
    beside_dir: str | None,
    partitions: tuple[int, ...],
    retention_ms: int | None,
    segment_interval_ms: int | None,
    isolation: str,
    values: written.ValuesAnew,
    connection: Connection,
    engine: CensusEngineChoice,
    output: OutputFormat,
) -> ExitCode:
    """Build the directory of a store from the topic that the store restores from.

    The rows are the bytes of the topic, as after a restore. With --subject srfix writes each value under the schema of this
    subject, which helps a reader if the registry cannot be repaired. Kafka Streams then restores only later records. srfix
    writes the new directory completely or not at all. It registers nothing, and writes to no topic. After an interrupt or
    SIGTERM srfix removes its files, and the exit code is 130.
    """
    from srfix.cli.ending import tidying_up
    from srfix.cli.on_spark import WatchedParts, tell_notes
    from srfix.cli.session import open_cluster, patience_s
    from srfix.recovery.facts.isolation import restore_isolation
    from srfix.recovery.state.writing.stores import StoreToWrite
    from srfix.recovery.stores.parts import SecondAnswers
    from srfix.recovery.stores.rebuild.rebuild import BuildOnSpark, Rebuild, build
    from srfix.recovery.stores.rebuild.rebuild import rebuild as rebuild_store

    if kind is None:
        raise UsageError("Give the store's kind (--kind): timestamped-kv for a table of Kafka Streams 2.3 and later.")
    values.check()
    release = Release.parse(streams_version)
    beside = _state(None if beside_dir is None else engine.path(beside_dir), application)
    if beside is not None:
        refuse_within(output_dir, beside.path)
    target = Path(engine.path(output_dir)) / application
    request: dict[str, Json] = {
        "command": "rebuild",
        "topic": from_topic,
        "until": until.value,
        "store": store,
        "kind": kind,
        "streams": str(release),
        "beside": beside_dir,
        "partitions": list(partitions),
        "subtopology": subtopology,
        "global": is_global,
        "retention_ms": retention_ms,
        "segment_interval_ms": segment_interval_ms,
        "isolation": isolation,
        **values.as_json(),
    }
    second = SecondAnswers() if engine.engine == SPARK else None
    with tidying_up(target), ExitStack() as stack:
        cluster, _ = stack.enter_context(open_cluster(connection))
        payload = None
        if values.subject is not None:
            registry = stack.enter_context(connection.registry_client())
            payload = values.reserialiser(
                registry, application=application, store=store, source=from_topic, on_second=second
            )
        reads = isolation_of(isolation)
        if reads is None:
            restore = restore_isolation(cluster, application)
            reads = restore.isolation
            if restore.detail is not None:
                say_aside(f"Read as {reads.value}: {restore.detail}.")
        work = Rebuild(
            application=application,
            store=StoreToWrite(
                name=store,
                kind=WrittenKind(kind),
                retention_ms=retention_ms,
                segment_interval_ms=segment_interval_ms,
            ),
            topic=Topic(from_topic),
            until=until,
            release=release,
            subtopology=None if is_global else _subtopology(subtopology, beside, store),
            partitions=partitions or None,
            isolation=reads,
            payload=payload,
            on_error=OnError(values.on_error),
            beside=beside,
            takes_open=values.take_open,
        )
        builder: Build = build
        if second is not None:
            parts, kafka = WatchedParts(engine, stack), connection.kafka_config()
            builder = BuildOnSpark(
                engine=parts, kafka=kafka, timeout_s=patience_s(kafka), second=second, tell=tell_notes
            )
        report = rebuild_store(work, cluster, target, request=request, build=builder)
    written.show_written("rebuild", target, str(release), report, output)
    return ExitCode.OK


def _state(beside_dir: str | None, application: str) -> ApplicationState | None:
    from srfix.recovery.state.directory_reader import read_state_directory

    if beside_dir is None:
        return None
    states = read_state_directory(Path(beside_dir))
    for state in states:
        if state.application == application:
            return state
    names = ", ".join(state.application for state in states)
    raise UsageError(f"--beside {beside_dir} has no application {application!r}, only {names}.")


def _subtopology(subtopology: int | None, beside: ApplicationState | None, store: str) -> int:
    if subtopology is not None:
        return subtopology
    subtopologies = {
        task.subtopology
        for task in (beside.tasks if beside is not None else ())
        for directory in task.stores
        if directory.name == store and task.subtopology is not None
    }
    if len(subtopologies) != 1:
        raise UsageError(
            f"srfix does not know which tasks have the store {store!r}: give --subtopology (the 3 of the task 3_0, "
            "as Topology.describe() numbers them), or --global."
        )
    return subtopologies.pop()


@command()
@click.argument("directory", metavar="DIR", **path_completion("DIR"))
@option("--application", metavar="ID", help="Which application, if DIR has several.")
@option("--store", metavar="NAME", help="The store whose rows change. srfix copies the other stores.")
@written.kind_option
@written.release_option
@click.option(
    "--from-version",
    metavar="VERSION",
    help="The Kafka Streams version that wrote DIR. Needed if this version or the new version is 2.5 or earlier.",
)
@written.output_dir_option
@written.values_options
@connection_options
@output_option
def migrate(
    directory: str,
    application: str | None,
    store: str | None,
    kind: str | None,
    streams_version: str,
    from_version: str | None,
    output_dir: str,
    values: written.ValuesAnew,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Copy an application's state from DIR to --out, for another schema or another version. DIR does not change.

    DIR is a state.dir, or the application's folder in it. With --store the rows of this store change: to the schema of
    --subject, or to another --kind. All stores get the form that Kafka Streams of --streams-version can open. Stop the
    application first. srfix writes the new directory completely or not at all. srfix registers nothing. After an interrupt or
    SIGTERM srfix removes its files, and the exit code is 130.
    """
    from srfix.cli.ending import tidying_up
    from srfix.recovery.state.directory_reader import read_state_directory
    from srfix.recovery.stores.rebuild.change import StoreChange
    from srfix.recovery.stores.rebuild.migrate import Migration
    from srfix.recovery.stores.rebuild.migrate import migrate as migrate_state

    values.check()
    if store is None and (values.subject is not None or kind is not None):
        raise UsageError("--subject and --kind apply to one store: name that store with --store.")
    states = [
        candidate for candidate in read_state_directory(Path(directory)) if application in (None, candidate.application)
    ]
    if len(states) != 1:
        names = ", ".join(candidate.application for candidate in read_state_directory(Path(directory)))
        raise UsageError(f"{directory} has the applications {names}: name one of them with --application.")
    (state,) = states
    refuse_within(output_dir, directory, state.path)
    release = Release.parse(streams_version)
    target = Path(output_dir) / state.application
    request: dict[str, Json] = {
        "command": "migrate",
        "directory": state.path,
        "store": store,
        "kind": kind,
        "streams": str(release),
        "from": from_version,
        **values.as_json(),
    }
    with tidying_up(target), ExitStack() as stack:
        payload = None
        if values.subject is not None and store is not None:
            registry = stack.enter_context(connection.registry_client())
            payload = values.reserialiser(registry, application=state.application, store=store, source=None)
        change = StoreChange(payload=payload, kind=None if kind is None else WrittenKind(kind))
        migration = Migration(
            release=release,
            before=None if from_version is None else Release.parse(from_version),
            changes={} if store is None else {store: change},
            on_error=OnError(values.on_error),
            takes_open=values.take_open,
        )
        report = migrate_state(state, target, migration, request=request)
    written.show_written("migrate", target, str(release), report, output)
    return ExitCode.OK
