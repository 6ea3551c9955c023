"""`srfix state get` and `srfix state scan`: print the rows of one key, or of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, not_read
from srfix.cli.commands.state.reading import RowReading, reading_options, refuse_retention_on_spark, retention_option
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import SPARK, CensusEngineChoice, task_engine_options
from srfix.cli.options.options import output_option
from srfix.cli.options.typed_bytes import taken_as_text
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say_aside
from srfix.recovery.typed_keys import json_of_key, key_bytes
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Subject

if TYPE_CHECKING:
    from srfix.recovery.stores.rows import DecodedRow


@command()
@directory_argument
@click.argument("key")
@choice_options
@reading_options
@retention_option
@connection_options
@output_option
def get(
    directory: str,
    key: str,
    choice: StoreChoice,
    reading: RowReading,
    retention_ms: int | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Print the rows of KEY in a store of DIR: the row, or one for each window, session or version. Writes nothing.

    KEY is text, or bytes with a prefix: hex:…, base64:…, int:…, long:… or double:…. If a text begins with such a prefix,
    write text:… before it. With --key-format KEY may be JSON: '{"ID": 4}', or 4 if the key has one column. srfix then reads
    every key. srfix looks in all tasks; if two tasks hold the key, it prints two rows. Exit code 1 if there is no row, if the
    row cannot be decoded, or if the store is damaged.
    """
    return print_rows_of_key(directory, key, choice, reading, retention_ms, connection, output)


def print_rows_of_key(
    directory: str,
    key: str,
    choice: StoreChoice,
    reading: RowReading,
    retention_ms: int | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    from srfix.cli.reports.rows import not_decoded, write_rows
    from srfix.recovery.stores.rows import decoded_rows, keys_that_read_as, rows_of_key

    pairs = choice.one_store(directory)
    application, stores = pairs[0][0].application, [store for _application, store in pairs]
    wanted = key_bytes(key)
    as_json = json_of_key(key) if reading.key_format or reading.key_columns else None
    with reading.decoder(connection, application=application, store=pairs[0][1].name) as decoder:

        def decoded() -> Iterator[DecodedRow]:
            for store in stores:
                typed = () if as_json is None else keys_that_read_as(store, decoder, as_json)
                for stored_key in dict.fromkeys((wanted, *typed)):
                    yield from decoded_rows(store, rows_of_key(store, stored_key), decoder, topic=store.changelog)

        read, failed = write_rows(decoded(), output, application=application, stores=stores, retention_ms=retention_ms)
    unread = not_read(pairs)
    unread.say()
    if not read:
        say_aside(*taken_as_text(key))
        say_aside(
            f"srfix looked for the bytes 0x{wanted.hex()}"
            f"{'' if as_json is None else ', and for keys that decode to the same value'}. If the "
            "stored keys begin with a schema id, write hex:00000000…, or JSON with --key-format. `srfix state scan` shows "
            "the stored keys.",
        )
    say_aside(f"{counted(read, 'row')} in {counted(len(pairs), 'task')}{not_decoded(failed)}.")
    return unread.code(is_wrong=bool(failed) or (not read and not unread.is_unseen))


@command()
@directory_argument
@choice_options
@click.option("--prefix", metavar="KEY", help="Only keys whose bytes begin with these bytes.")
@click.option(
    "--from", "from_key", metavar="KEY", help="Only keys from this key on, inclusive, in the order of their bytes."
)
@click.option("--to", "to_key", metavar="KEY", help="Only keys up to this key, inclusive.")
@click.option(
    "--window-from",
    type=int,
    metavar="MS",
    help="Only windows that start at this time or later, and sessions that end at this time or later.",
)
@click.option(
    "--window-to", type=int, metavar="MS", help="Only windows and sessions that start at this time or earlier."
)
@click.option(
    "--not-registered",
    metavar="SUBJECT",
    help=(
        "Only rows whose schema id is not registered under SUBJECT; srfix asks as the failing reader asks. If SUBJECT "
        "ends in -key, srfix looks at the ids of the keys, otherwise at the ids of the values."
    ),
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The largest number of rows, in all."
)
@reading_options
@retention_option
@connection_options
@task_engine_options
@output_option
def scan(
    directory: str,
    choice: StoreChoice,
    prefix: str | None,
    from_key: str | None,
    to_key: str | None,
    window_from: int | None,
    window_to: int | None,
    not_registered: str | None,
    limit: int,
    reading: RowReading,
    retention_ms: int | None,
    connection: Connection,
    engine: CensusEngineChoice,
    output: OutputFormat,
) -> ExitCode:
    """Print the rows of a store in DIR, task after task, in the order of its keys. Writes nothing.

    Keys and values are bytes unless you give --key-format and --value-format. KEY is text, or bytes with a prefix: hex:…,
    base64:…, int:…, long:… or double:…. If a text begins with such a prefix, write text:… before it. Times are in
    milliseconds since the epoch. `--output json` prints one JSON document on each line. Exit code 1 if a row cannot be
    decoded, if --not-registered finds a row, or if the store is damaged; the rows before the damage are printed. With
    --engine spark srfix reads up to --limit rows of every task, and collects them in this process before it prints them.
    """
    from srfix.cli.on_spark import WatchedParts, tell_notes
    from srfix.cli.reports.rows import not_decoded, write_rows
    from srfix.recovery.stores.parts import SecondAnswers
    from srfix.recovery.stores.rows import RowFilter, ScanWork, decoded_rows
    from srfix.recovery.stores.whereabouts import rows_not_registered

    if not_registered is not None and engine.engine == SPARK:
        raise UsageError(
            "--not-registered asks the registry for each row, and --engine spark cannot do this: give only one of them."
        )
    refuse_retention_on_spark(retention_ms, engine)
    pairs = choice.one_store(engine.path(directory))
    application = pairs[0][0].application
    wanted = RowFilter(
        prefix=None if prefix is None else key_bytes(prefix),
        first=None if from_key is None else key_bytes(from_key),
        last=None if to_key is None else key_bytes(to_key),
        window_from_ms=window_from,
        window_to_ms=window_to,
    )
    stores = [store for _application, store in pairs]
    form = stores[0].format
    if form.layout.windows is None and (window_from, window_to) != (None, None):
        raise UsageError(
            f"The store {stores[0].name} ({form.value}) has no windows: leave out --window-from and --window-to."
        )
    wanted.refuse_swapped(form, keys=("--from", "--to"), windows=("--window-from", "--window-to"))
    second = SecondAnswers() if engine.engine == SPARK else None
    without_id: Counter[Subject] = Counter()
    with (
        reading.decoder(connection, application=application, store=stores[0].name, on_second=second) as decoder,
        ExitStack() as stack,
    ):

        def decoded() -> Iterator[DecodedRow]:
            for store in stores:
                store_rows = wanted.rows(store)
                if not_registered is not None:
                    registry = stack.enter_context(connection.registry_client())
                    store_rows = rows_not_registered(store_rows, registry, Subject(not_registered), without_id)
                yield from decoded_rows(store, store_rows, decoder, topic=store.changelog)

        rows = decoded()
        if second is not None:
            work = ScanWork(wanted=wanted, decoder=decoder, second=second, limit=limit)
            parts = WatchedParts(engine, stack).run(work, stores, doing=f"reading {stores[0].name}")
            stores = [part.store for part in parts]
            tell_notes(note for part in parts for note in part.notes)
            rows = (row for part in parts for row in part.rows)
        read, failed = write_rows(
            islice(rows, limit), output, application=application, stores=stores, retention_ms=retention_ms
        )
    unread = not_read(pairs, stores)
    unread.say()
    if not read:
        say_aside(*taken_as_text(prefix, from_key, to_key))
    for subject, number in without_id.items():
        say_aside(f"srfix did not ask {subject} for {counted(number, 'row')} without a schema id.")
    more = " That is the --limit, so there may be more rows." if read == limit else ""
    say_aside(f"{counted(read, 'row')}{not_decoded(failed)}.{more}")
    return unread.code(is_wrong=bool(failed) or (not_registered is not None and read > 0))
