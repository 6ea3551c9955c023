"""`srfix state migrate`: a state directory written anew, under another schema or for another Kafka Streams."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import refuse_within
from srfix.cli.commands.state.written import (
    kind_option,
    on_error_option,
    output_dir_option,
    release_option,
    take_open_option,
    values_options,
)
from srfix.cli.completion import path_completion
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import connection_options
from srfix.cli.options.groups import option
from srfix.cli.options.options import output_option
from srfix.cli.output.interface import OutputFormat
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.cli.commands.state.written import ValuesAnew
    from srfix.serde.schemas.models import Json


@command()
@click.argument("directory", metavar="DIR", **path_completion("DIR"))
@option("--application", envvar="APPLICATION", metavar="ID", help="Which one, if DIR has several.")
@option("--store", envvar="STORE", metavar="NAME", help="The store whose rows change; the others are taken over.")
@kind_option
@release_option
@click.option(
    "--from-version",
    metavar="VERSION",
    help="The Kafka Streams that wrote DIR, if one of the two is 2.5 or before.",
)
@output_dir_option
@values_options
@take_open_option
@on_error_option
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
    values: ValuesAnew,
    take_open: bool,
    on_error: str,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Write the application in DIR, a state.dir or its folder, anew into --out; DIR stays as it is.

    With --store its rows become others: under the schema of --subject, of another --kind. All stores become such as
    --streams-version opens. Stop the application first. The directory is there whole, or not at all; nothing is registered.
    Interrupted, or told to end (SIGTERM), it removes what it has written and ends in 130.
    """
    from srfix.cli.commands.state.written import show_written
    from srfix.cli.ending import tidying_up
    from srfix.recovery.state.directory_reader import read_state_directory
    from srfix.recovery.state.writing.kinds import WrittenKind
    from srfix.recovery.state.writing.releases import Release
    from srfix.recovery.stores.choices import OnError
    from srfix.recovery.stores.rebuild.change import StoreChange
    from srfix.recovery.stores.rebuild.migrate import Migration
    from srfix.recovery.stores.rebuild.migrate import migrate as migrate_state

    values.check()
    if store is None and (values.subject is not None or kind is not None):
        raise UsageError("--subject and --kind are of one store: name it with --store.")
    states = [each for each in read_state_directory(Path(directory)) if application in (None, each.application)]
    if len(states) != 1:
        known = ", ".join(each.application for each in read_state_directory(Path(directory)))
        raise UsageError(f"{directory} has the applications {known}: name one of them with --application.")
    (state,) = states
    refuse_within(output_dir, "--out", directory, state.path)
    release = Release.parse(streams_version)
    target = Path(output_dir) / state.application
    request: dict[str, Json] = {
        "command": "migrate",
        "directory": state.path,
        "store": store,
        "kind": kind,
        "streams": str(release),
        "from": from_version,
        "on_error": on_error,
        "take_open": take_open,
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
            on_error=OnError(on_error),
            takes_open=take_open,
        )
        report = migrate_state(state, target, migration, request=request)
    show_written("migrate", target, str(release), report, output)
    return ExitCode.OK
