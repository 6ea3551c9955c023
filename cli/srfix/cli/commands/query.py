"""`srfix query`: the rows of a key, from `srfix serve`, or from a state directory."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice
from srfix.cli.commands.state.reading import RowReading, reading_options
from srfix.cli.commands.state.rows import print_rows_of_key
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import output_option
from srfix.cli.options.values import option
from srfix.cli.output.interface import OutputFormat, Paragraph, Report, Table
from srfix.cli.output.speaking import say_aside, show_json, write_report
from srfix.recovery.errors import ServingError
from srfix.serde.errors import UsageError

_TIMEOUT_S: Final = 15


@command()
@click.argument("store")
@click.argument("key")
@option("--url", metavar="URL", help="The address of `srfix serve`, such as http://127.0.0.1:8088.")
@option("--state-dir", multiple=True, metavar="DIR", help="Without a server: a state directory; repeatable.")
@option("--application", metavar="ID", help="With --state-dir: the application, if it has several.")
@click.option("--at", type=click.IntRange(min=0), metavar="MS", help="For a versioned store: the version at this time.")
@click.option("--max-lag", metavar="LAG", help="The greatest lag: a number of records, or a time such as 5s.")
@click.option("--min-position", metavar="POSITION", help="The position of an earlier answer: read nothing older.")
@option("--token", metavar="TOKEN", help="The server's bearer token; env:NAME or file:PATH.")
@option("--user", metavar="USER:PASSWORD", help="The server's user; PASSWORD may be env:NAME or file:PATH.")
@reading_options
@connection_options
@output_option
def query(
    store: str,
    key: str,
    url: str | None,
    state_dir: tuple[str, ...],
    application: str | None,
    at: int | None,
    max_lag: str | None,
    min_position: str | None,
    token: str | None,
    user: str | None,
    reading: RowReading,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Print the rows of KEY in STORE, from a server (`srfix serve`), or from a state directory, like `srfix state get`.

    KEY is text, or bytes with a prefix, as for `srfix state get`. A server decodes rows as it was told when it was started;
    the options for formats, columns and subjects, and for the registry, are for a directory. Exit code 1 if there is no
    row, or if it cannot be decoded.
    """
    if (url is None) == (not state_dir):
        raise UsageError("Give --url, the address of a server, or --state-dir, a directory without one.")
    if url is None:
        if any(value is not None for value in (at, max_lag, min_position, token, user)):
            raise UsageError("--at, --max-lag, --min-position, --token and --user are for a server (--url).")
        choice = StoreChoice(application=application, store=store, task=None)
        # Each directory holds other partitions: the key is in one of them.
        codes = [print_rows_of_key(place, key, choice, reading, None, connection, output) for place in state_dir]
        return min(codes)
    params = {"at": at, "max_lag": max_lag, "min_position": min_position}
    answer = _asked(
        f"{url.rstrip('/')}/stores/{quote(store, safe='')}/keys/{quote(key, safe='')}",
        {name: str(value) for name, value in params.items() if value is not None},
        token=token,
        user=user,
    )
    rows = answer["rows"]
    if output is OutputFormat.JSON:
        for row in rows:
            show_json(json.dumps(row))
    else:
        cells = [
            (
                str(row["partition"]),
                _shown(row["key"]),
                _shown(row["value"]),
                row["time"] or "-",
                _window(row["window"]),
            )
            for row in rows
        ]
        table = Table(("partition", "key", "value", "time", "window"), tuple(cells))
        write_report(Report(document={}, blocks=(table if rows else Paragraph("There is no row."),)), output)
    for read in answer["partitions"]:
        lag = "an unknown number of" if read["lag"] is None else f"{read['lag']:,}"
        say_aside(
            f"Partition {read['partition']} was read by {read['member']} ({read['role']}) up to offset {read['offset']:,}; "
            f"{lag} later records were not yet read."
        )
    say_aside(f"Position: {answer['position']}")
    failed = [error["message"] for row in rows for error in row["errors"]]
    say_aside(*failed)
    return ExitCode.OK if rows and not failed else ExitCode.FINDINGS


def _window(window: dict[str, Any] | None) -> str:
    if window is None:
        return "-"
    return f"{window['start_ms']}" if window["end_ms"] is None else f"{window['start_ms']}..{window['end_ms']}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _asked(url: str, params: dict[str, str], *, token: str | None, user: str | None) -> dict[str, Any]:
    import requests

    from srfix.cli.commands.serve import user_and_password
    from srfix.serde.registry.secret import revealed

    headers = {} if token is None else {"authorization": f"Bearer {revealed(token)}"}
    auth = None if user is None else user_and_password(user)
    try:
        response = requests.get(url, params=params, headers=headers, auth=auth, timeout=_TIMEOUT_S)
        document = response.json()
    except requests.exceptions.InvalidURL as error:
        raise UsageError(f"--url is no URL: {error}.") from None
    except (requests.RequestException, ValueError) as error:
        raise ServingError(
            f"The server did not answer ({type(error).__name__}). Check --url, and that `srfix serve` runs."
        ) from None
    if "error" in document or "rows" not in document:
        raise ServingError(str(document.get("error", "The server is no `srfix serve`.")))
    return dict(document)
