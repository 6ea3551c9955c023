"""`srfix state export`: the rows of a store as files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, tell_damage
from srfix.cli.commands.state.reading import RowReading, reading_options
from srfix.cli.completion import path_completion
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import choice_of, connection_options
from srfix.cli.output import say, show
from srfix.recovery.ids_in_words import counted
from srfix.recovery.state_report import ExportFormat, Write, decoded_batches, exporting
from srfix.serde.errors import UsageError
from srfix.serde.subjects import Role

_ROWS: Final = 5_000
"""Rows that are decoded together: a batch of Arrow is worth more of them than a scan is."""


@click.command()
@directory_argument
@choice_options
@click.option("--to", "form", type=choice_of(ExportFormat), required=True, help="What the files are.")
@click.option(
    "--out", required=True, metavar="DIR", help="Where the files go; made if it is not there.", **path_completion("DIR")
)
@click.option("--one-file", is_flag=True, help="One file for all tasks. Default: one for each.")
@click.option(
    "--typed",
    is_flag=True,
    help="Keys and values as typed columns of --key-columns and --value-columns, not as JSON (parquet, arrow).",
)
@reading_options
@connection_options
def export(
    directory: str,
    choice: StoreChoice,
    form: str,
    out: str,
    one_file: bool,
    typed: bool,
    reading: RowReading,
    connection: Connection,
) -> ExitCode:
    """Write the rows of a store in DIR to files, STORE-TASK.parquet or the like. DIR itself is never written to.

    Keys and values are there as bytes, and as JSON where --key-format and --value-format say how to read them. Rows go to the
    files as they are read, whatever the size of the store; a file takes its name when it is complete, and none is written
    over. The files are named on standard output. Exit code 1 if a row could not be decoded or the store is damaged: what
    precedes the damage is in the file.
    """
    found = choice.one_store(directory)
    application, first = found[0]
    target = Path(out)
    if target.resolve().is_relative_to(Path(application.path).resolve()):
        raise UsageError(
            f"{out!r} lies in the state directory, which srfix never writes to. Name another place with --out."
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out!r} cannot be made: {error.strerror}.") from error
    kind = ExportFormat(form)
    if typed and reading.key_columns is None and reading.value_columns is None:
        raise UsageError("--typed needs the columns: give --value-columns, --key-columns or both.")
    rows = failed = 0
    paths: list[Path] = []
    with (
        reading.decoder(connection, application=application.application, store=first.name) as decoder,
        ExitStack() as stack,
    ):
        columns = {role: own for role in Role if typed and (own := decoder.columns_of(role)) is not None}
        write: Write | None = None
        for _application, store in found:
            if write is None or not one_file:
                stack.close()  # the file before is complete
                name = first.name if one_file else f"{store.name}-{store.task.name}"
                paths.append(target / f"{name}.{kind.value}")
                write = stack.enter_context(
                    exporting(paths[-1], kind, application=application.application, typed=columns)
                )
            batches = store.batches(size=_ROWS)
            for batch in decoded_batches(store, batches, decoder, topic=store.changelog, typed=columns):
                rows, failed = rows + len(batch), failed + write(batch)
    for path in paths:
        show(str(path))
    damaged = tell_damage(store for _application, store in found)
    say(f"{counted(rows, 'row')} in {counted(len(paths), 'file')}, {failed} of them not decoded.", err=True)
    return ExitCode.FINDINGS if failed or damaged else ExitCode.OK
