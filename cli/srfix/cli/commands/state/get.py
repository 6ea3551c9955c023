"""`srfix state get`: the rows of one key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, not_read
from srfix.cli.commands.state.reading import reading_options, retention_option
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import connection_options
from srfix.cli.options.options import output_option
from srfix.cli.options.typed_bytes import key_bytes, taken_as_text
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say
from srfix.recovery.ids_in_words import counted

if TYPE_CHECKING:
    from srfix.cli.commands.state.reading import RowReading
    from srfix.recovery.state.reading.rows import StateRow
    from srfix.recovery.state.reading.store import StateStore
    from srfix.serde.schemas.models import Json


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

    KEY is text, or bytes: hex:…, base64:…, int:…, long:…, double:…; text:… for a key that begins so itself. With --key-
    format it may be JSON, as the key reads: '{"ID": 4}', or 4 where it has one column; every key is read for that. All
    tasks are looked in; a key that lies in two is two rows. Exit code 1 if no row is there, it cannot be decoded, or the
    store is damaged.
    """
    from srfix.cli.reports.rows import not_decoded, write_rows
    from srfix.recovery.stores.row_documents import decoded_rows
    from srfix.recovery.stores.scanning import keys_that_read_as, rows_of_key

    found = choice.one_store(directory)
    application = found[0][0].application
    wanted = key_bytes(key)
    as_json = _json_of(key) if reading.key_format or reading.key_columns else None
    with reading.decoder(connection, application=application, store=found[0][1].name) as decoder:

        def rows() -> Iterator[tuple[StateStore, StateRow]]:
            for _application, store in found:
                typed = () if as_json is None else keys_that_read_as(store, decoder, as_json)
                for each in dict.fromkeys((wanted, *typed)):
                    for row in rows_of_key(store, each):
                        yield store, row

        decoded = (
            each for store, row in rows() for each in decoded_rows(store, (row,), decoder, topic=store.changelog)
        )
        stores = [store for _application, store in found]
        read, failed = write_rows(decoded, output, application=application, stores=stores, retention_ms=retention_ms)
    unread = not_read(found)
    unread.say()
    if not read:
        for line in taken_as_text(key):
            say(line, err=True)
        say(
            f"Looked for: 0x{wanted.hex()}{'' if as_json is None else ', and what reads so'}. A key with a schema id in front "
            "is another one (hex:00000000…; with --key-format as JSON): `srfix state scan` shows keys as they lie there.",
            err=True,
        )
    say(f"{counted(read, 'row')} in {counted(len(found), 'task')}{not_decoded(failed)}.", err=True)
    return unread.code(is_wrong=bool(failed) or (not read and not unread.is_unseen))


def _json_of(key: str) -> Json:
    """What a key is as JSON; None if it is none."""
    try:
        return cast("Json", json.loads(key))
    except (ValueError, RecursionError):
        return None
