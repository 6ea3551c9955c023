"""`srfix state export`: writes the rows of a store to files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command, path_completion
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, not_read, refuse_within
from srfix.cli.commands.state.reading import RowReading, reading_options, refuse_retention_on_spark, retention_option
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import SPARK, CensusEngineChoice, task_engine_options
from srfix.cli.options.values import Choice, flag
from srfix.cli.output.speaking import say_aside, show
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.stores.choices import ExportFormat
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.exporting import Write


@command()
@directory_argument
@choice_options
@click.option(
    "--to",
    "form",
    type=Choice(ExportFormat),
    help="The format of the files. Required; with --engine spark the default is parquet.",
)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="DIR",
    help="The directory for the files. srfix creates it if it does not exist.",
    **path_completion("DIR"),
)
@flag(
    "--one-file",
    help="One file for all tasks (only with --engine local). Default: one file for each task.",
)
@flag(
    "--typed",
    help="Keys and values as typed columns of --key-columns and --value-columns, instead of JSON (parquet, arrow).",
)
@reading_options
@retention_option
@connection_options
@task_engine_options
def export(
    directory: str,
    choice: StoreChoice,
    form: ExportFormat | None,
    out: str,
    one_file: bool,
    typed: bool,
    reading: RowReading,
    retention_ms: int | None,
    connection: Connection,
    engine: CensusEngineChoice,
) -> ExitCode:
    """Write the rows of a store in DIR to files such as STORE-TASK.parquet. srfix never writes to DIR itself.

    The files hold keys and values as bytes. With --key-format and --value-format the files also hold keys and values as
    JSON. srfix writes rows while it reads, so the store may have any size. A file gets its name when it is complete, and
    srfix overwrites no file. srfix prints the names of the files. Exit code 1 if a row could not be decoded, or if the
    store is damaged; the file then holds the rows before the damage. With --engine spark all files get their names
    together, when all are complete.
    """
    from srfix.cli.on_spark import WatchedParts, tell_notes
    from srfix.recovery.stores.exporting import ExportWork, export_on_spark, exporting
    from srfix.recovery.stores.parts import SecondAnswers
    from srfix.recovery.stores.rows import ROWS_DECODED_TOGETHER, Retention, decoded_batches, typed_columns

    on_spark = engine.engine == SPARK
    if form is None and not on_spark:
        raise UsageError(f"--to is needed: {enumerated(export_format.value for export_format in ExportFormat)}.")
    if one_file and on_spark:
        raise UsageError("--one-file belongs to --engine local: on Spark each task writes a file of its own.")
    refuse_retention_on_spark(retention_ms, engine)
    retention = None if retention_ms is None else Retention(retention_ms)
    pairs = choice.one_store(engine.path(directory))
    application, first = pairs[0]
    target = Path(engine.path(out))
    refuse_within(out, directory, application.path)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The directory {out!r} cannot be made: {error.strerror}.") from error
    kind = form or ExportFormat.PARQUET
    if typed and reading.key_columns is None and reading.value_columns is None:
        raise UsageError("--typed needs the columns: give --value-columns, --key-columns or both.")
    stores = [store for _application, store in pairs]
    second = SecondAnswers() if on_spark else None
    rows = failed = 0
    paths: list[Path] = []
    with (
        reading.decoder(connection, application=application.application, store=first.name, on_second=second) as decoder,
        ExitStack() as stack,
    ):
        if second is not None:
            work = ExportWork(
                form=kind,
                application=application.application,
                decoder=decoder,
                second=second,
                folder=str(target),
                is_typed=typed,
            )
            parts = export_on_spark(WatchedParts(engine, stack), work, stores)
            tell_notes(note for part in parts for note in part.notes)
            rows, failed = sum(part.rows for part in parts), sum(part.failed for part in parts)
            return _report_files([part.path for part in parts], pairs, [part.store for part in parts], rows, failed)
        columns = typed_columns(decoder) if typed else {}
        write: Write | None = None
        for _application, store in pairs:
            if write is None or not one_file:
                stack.close()  # the previous file is complete
                name = first.name if one_file else f"{store.name}-{store.task.name}"
                paths.append(target / f"{name}.{kind.value}")
                write = stack.enter_context(
                    exporting(paths[-1], kind, application=application.application, typed=columns, retention=retention)
                )
            batches = store.batches(size=ROWS_DECODED_TOGETHER)
            for batch in decoded_batches(store, batches, decoder, topic=store.changelog, typed=columns):
                rows, failed = rows + len(batch), failed + write(batch)
    return _report_files(paths, pairs, stores, rows, failed)


def _report_files(
    paths: Sequence[Path | str],
    pairs: Sequence[tuple[ApplicationState, StateStore]],
    stores: Sequence[StateStore],
    rows: int,
    failed: int,
) -> ExitCode:
    from srfix.cli.reports.rows import not_decoded

    for path in paths:
        show(str(path))
    unread = not_read(pairs, stores)
    unread.say()
    say_aside(f"{counted(rows, 'row')} in {counted(len(paths), 'file')}{not_decoded(failed)}.")
    return unread.code(is_wrong=bool(failed))
