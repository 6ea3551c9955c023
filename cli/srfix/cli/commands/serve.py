"""`srfix serve`: answers for a store while its application cannot."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.reading import RowReading, reading_options
from srfix.cli.commands.state.written import kind_option
from srfix.cli.commands.stores_to_serve import Layout, StoresToServe
from srfix.cli.commands.watch import host_and_port
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import isolation_option
from srfix.cli.options.values import Choice, chosen_options, handing_over, option, typed_options
from srfix.cli.output.speaking import say, say_aside
from srfix.cli.version import version
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.serving.starting import Place

_layout_options = handing_over(
    "layout",
    Layout,
    click.option(
        "--from-topic",
        metavar="TOPIC",
        help="The topic that the store restores from. Default: its changelog, or the source topic that a diagnosis finds.",
    ),
    click.option(
        "--until",
        type=Choice(Until),
        help="Up to where rows come: committed for a reused source topic, as a restore, or end. Default: as a restore.",
    ),
    isolation_option,
    kind_option,
    click.option(
        "--retention-ms",
        type=click.IntRange(min=1),
        help="How long a window or session store keeps rows, or a versioned one its history. Default: by the changelog.",
    ),
    click.option(
        "--segment-interval-ms", type=click.IntRange(min=1), help="Default: as in Kafka Streams for the retention."
    ),
    click.option("--window-size-ms", type=click.IntRange(min=1), help="For WINDOWEND in pull queries."),
    click.option(
        "--partitioner",
        default="murmur2",
        show_default=True,
        metavar="NAME",
        help="What chose the partition of a key: murmur2 (Java), crc32 (librdkafka), or MODULE:FUNCTION of Python, which "
        "gets the key's bytes and the number of partitions.",
    ),
)


def _place(**values: Any) -> Place:
    try:
        from srfix.recovery.serving.starting import Place
    except ImportError as error:
        raise UsageError(f"`srfix serve` needs {error.name}. Install it: pip install 'srfix[serve]'.") from None
    return Place(**values)


def _address(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[str, int] | None:
    return None if text is None else host_and_port(text)


def authorization(token: str | None, user: str | None) -> str | None:
    """The header for the credentials that --token or --user names; None without them."""
    from srfix.serde.registry.secret import BasicAuth, BearerAuth, Secret, revealed

    chosen = chosen_options("--token", "--user")
    if len(chosen) > 1:
        raise UsageError("Give either --token or --user.")
    if token is not None and "--token" in chosen:
        return BearerAuth(Secret.parse(token)).credentials().headers["Authorization"]
    if user is None:
        return None
    text = revealed(user)
    header = BasicAuth.parse(text).header()
    if not revealed(text.partition(":")[2]):
        raise UsageError("The password of --user is empty. Check where it comes from.")
    return header


_place_options = handing_over(
    "place",
    _place,
    option(
        "--listen",
        default="127.0.0.1:8088",
        show_default=True,
        metavar="HOST:PORT",
        callback=_address,
        help="The address of the HTTP API. Whoever can reach it can read the rows, unless you ask for credentials.",
    ),
    option(
        "--advertise",
        metavar="HOST:PORT",
        callback=_address,
        help="How other members reach this one. Default: the address of --listen.",
    ),
    option("--group", metavar="GROUP", help="Share the partitions with the other members of this consumer group."),
    option(
        "--standbys",
        type=click.IntRange(0, 100),
        default=0,
        show_default=True,
        help="How many more members keep each partition.",
    ),
    click.option("--global", "is_global", is_flag=True, help="Every member of the group keeps every partition."),
    option("--tls-certificate", metavar="FILE", help="The server's certificate (PEM)."),
    option("--tls-key", metavar="FILE", help="The key of the certificate (PEM)."),
    option("--tls-ca", metavar="FILE", help="The authority of the other members' certificates (PEM)."),
)


@command()
@option("--application", metavar="ID", help="The application.id.")
@option("--store", metavar="NAME[=TABLE][,…]", help="A state store of it, or several; TABLE is its name in SQL.")
@click.option(
    "--topic",
    metavar="NAME[=TABLE][,…]",
    help="Instead of a store: a topic, or several, without an application. The rows are the last values of the keys.",
)
@option("--data-dir", metavar="DIR", help="Where srfix keeps the rows. It makes the directory.")
@click.option(
    "--rows-in", metavar="URL", help="Keep the rows in a Redis or Valkey instead: redis://…, or redis+cluster://…."
)
@option(
    "--state-dir",
    multiple=True,
    metavar="DIR",
    help="A state directory of the application, whose rows are a head start; repeatable.",
)
@_layout_options
@_place_options
@option("--token", metavar="TOKEN", help="Ask for this bearer token; env:NAME or file:PATH.")
@option("--user", metavar="USER:PASSWORD", help="Ask for this user; PASSWORD may be env:NAME or file:PATH.")
@option(
    "--max-lag",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="/readyz is 200 up to this lag, in records.",
)
@reading_options
@connection_options
def serve(
    application: str | None,
    store: str | None,
    topic: str | None,
    data_dir: str | None,
    rows_in: str | None,
    state_dir: tuple[str, ...],
    layout: Layout,
    place: Place,
    token: str | None,
    user: str | None,
    max_lag: int,
    reading: RowReading,
    connection: Connection,
) -> ExitCode:
    """Answer for a store over HTTP while its application is down, restoring, or cannot read it.

    srfix fills databases of its own from the changelog, or from the source topic that the store reuses, and follows it; or,
    with --topic, from a topic that you name.
    GET / is a page, GET /openapi.json describes the API, and ksqlDB's clients can send pull queries. srfix takes no part in
    the application's group, and writes to no topic and no registry. Runs until SIGTERM (exit code 0) or an interrupt.
    """
    from srfix.cli.ending import Ended, Ending
    from srfix.cli.session import open_cluster
    from srfix.recovery.serving.guarding import Credentials
    from srfix.recovery.serving.head_start import head_start_from
    from srfix.recovery.serving.redis_rows import redis_rows
    from srfix.recovery.serving.starting import kept_for_one, rocks_in, serve_stores
    from srfix.serde.properties.kafka_client import ReadOnlyClient

    chosen = chosen_options("--store", "--topic")
    application, named = ("", topic) if chosen == ["--topic"] else (application, store)
    names = [name.strip() for name in (named or "").split(",") if name.strip()]
    if len(chosen) != 1 or not names or not (application or "--topic" in chosen):
        raise UsageError("Name what to serve: --application ID --store NAME, or --topic NAME.")
    if application == "" and typed_options("--from-topic", "--until", "--state-dir"):
        raise UsageError("--from-topic, --until and --state-dir are for stores: leave them out with --topic.")
    kept_in = chosen_options("--data-dir", "--rows-in")
    if len(kept_in) != 1:
        raise UsageError("Give --data-dir DIR, where srfix keeps the rows, or --rows-in redis://….")
    if "--rows-in" in kept_in and (place.standbys or place.is_global):
        raise UsageError("With --rows-in, one member writes each partition: leave out --standbys and --global.")
    if layout.from_topic is not None and len(names) > 1:
        raise UsageError("--from-topic is the topic of one store: give one --store.")
    if place.group is not None and place.group == application:
        raise UsageError("--group is the application's own group. srfix must take no part in it: give another name.")
    credentials, ending = Credentials(authorization(token, user)), Ending()
    with ExitStack() as stack, suppress(Ended):
        stack.enter_context(ending.watch())
        if rows_in is not None and "--rows-in" in kept_in:
            make_database = redis_rows(rows_in, application or "")
        else:
            folder = Path(data_dir or "")
            stack.enter_context(kept_for_one(folder))
            make_database = rocks_in(folder)
        cluster, _ = stack.enter_context(open_cluster(connection))
        to_serve = StoresToServe(
            application=application or "", cluster=cluster, connection=connection, layout=layout, stack=stack
        )
        stores = [to_serve.store(name, reading) for name in names]
        for served in stores:
            spec = served.spec
            say(
                f"{spec.name}: {spec.store.kind.value}, {counted(spec.partitions, 'partition')} of {spec.topic}, up to "
                f"{'its end' if spec.until is Until.END else 'the committed offsets'}."
            )
        serve_stores(
            stores,
            place,
            credentials,
            max_lag_ready=max_lag,
            client=ReadOnlyClient(connection.kafka_config()),
            committed=cluster.committed,
            make_database=make_database,
            head_start=head_start_from(map(Path, state_dir)) if state_dir else None,
            version=version("srfix"),
            on_start=lambda url: say(f"Listening on {url}"),
            tell=say_aside,
        )
    return ending.code
