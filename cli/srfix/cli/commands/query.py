"""`srfix query`: the rows of a key, from `srfix serve`, or from a state directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.serve import authorization
from srfix.cli.commands.state.choosing import StoreChoice
from srfix.cli.commands.state.reading import RowReading, reading_options
from srfix.cli.commands.state.rows import print_rows_of_key
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import output_option
from srfix.cli.options.values import chosen_options, option, typed_options
from srfix.cli.output.interface import OutputFormat, Paragraph, Report, table_of
from srfix.cli.output.speaking import say_aside, show_json, write_report
from srfix.cli.reports.rows import span
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
    chosen = chosen_options("--url", "--state-dir")
    if len(chosen) != 1:
        raise UsageError("Give --url, the address of a server, or --state-dir, a directory without one.")
    if url is None or "--url" not in chosen:
        if typed_options("--at", "--max-lag", "--min-position", "--token", "--user"):
            raise UsageError("--at, --max-lag, --min-position, --token and --user are for a server (--url).")
        choice = StoreChoice(application=application, store=store, task=None)
        # Each directory holds other partitions: the key is in one of them.
        codes = [print_rows_of_key(place, key, choice, reading, None, connection, output) for place in state_dir]
        return min(codes)
    params = {"at": at, "max_lag": max_lag, "min_position": min_position}
    answer = _asked(
        f"{url.rstrip('/')}/stores/{quote(store, safe='')}/keys/{quote(key, safe='')}",
        {name: str(value) for name, value in params.items() if value is not None},
        authorization(token, user),
    )
    rows = answer["rows"]
    if output is OutputFormat.JSON:
        for row in rows:
            show_json(json.dumps(row))
    else:
        table = table_of(rows, _COLUMNS) if rows else Paragraph("There is no row.")
        write_report(Report(document={}, blocks=(table,)), output)
    for read in answer["partitions"]:
        lag = "an unknown number of" if read["lag"] is None else f"{read['lag']:,}"
        say_aside(
            f"Partition {read['partition']} was read by {read['member']} ({read['role']}) up to offset {read['offset']:,}; "
            f"{lag} later records were not yet read."
        )
    say_aside(*(f"Partition {gap['partition']} was not read: {gap['reason']}." for gap in answer["failed"]))
    say_aside(f"Position: {answer['position']}")
    failed = [error["message"] for row in rows for error in row["errors"]]
    say_aside(*failed)
    return ExitCode.OK if rows and not failed else ExitCode.FINDINGS


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_COLUMNS: Final[Mapping[str, Callable[[dict[str, Any]], str | None]]] = {
    "partition": lambda row: row["partition"],
    "key": lambda row: _shown(row["key"]),
    "value": lambda row: _shown(row["value"]),
    "time": lambda row: row["time"],
    "window": lambda row: row["window"] and span(row["window"]["start_ms"], row["window"]["end_ms"]),
}


def _asked(url: str, params: dict[str, str], header: str | None) -> dict[str, Any]:
    import requests

    headers = {} if header is None else {"Authorization": header}
    try:
        # With an `auth` of its own, requests looks for no credentials in ~/.netrc.
        response = requests.get(url, params=params, headers=headers, auth=lambda request: request, timeout=_TIMEOUT_S)
        document = response.json()
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema):
        raise UsageError("--url is not the address of a server. Give http://HOST:PORT, or https://HOST:PORT.") from None
    except requests.exceptions.SSLError:
        raise ServingError(
            "TLS with the server failed. If its certificate is from an authority of yours, set REQUESTS_CA_BUNDLE to the "
            "authority's file (PEM); if the server has no TLS, give http://HOST:PORT."
        ) from None
    except (requests.RequestException, ValueError) as error:
        raise ServingError(
            f"The server did not answer ({type(error).__name__}). Check --url, and that `srfix serve` runs."
        ) from None
    if "error" in document or "rows" not in document:
        do = "Give" if header is None else "Check"
        more = f" {do} --token or --user." if response.status_code == requests.codes.unauthorized else ""
        raise ServingError(str(document.get("error", "The server is no `srfix serve`.")) + more)
    return dict(document)
