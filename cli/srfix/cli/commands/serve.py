"""`srfix serve`: answers for a store while its application cannot."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.commands.state.reading import RowReading, reading_options
from srfix.cli.commands.state.written import kind_option
from srfix.cli.commands.stores_to_serve import StoreLayout, StoresToServe
from srfix.cli.commands.watch import OFF, listen_address
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import isolation_option
from srfix.cli.options.values import Choice, handing_over, option
from srfix.cli.output.speaking import say, say_aside
from srfix.cli.version import version
from srfix.recovery.ids_in_words import counted
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.recovery.serving.guarding import Credentials
    from srfix.recovery.serving.starting import Place

_kind_options = handing_over(
    "layout",
    StoreLayout,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    listen: tuple[str, int]
    advertise: tuple[str, int] | None
    group: str | None
    standbys: int
    is_global: bool
    token: str | None = field(repr=False)
    user: str | None = field(repr=False)
    tls_certificate: str | None
    tls_key: str | None
    tls_ca: str | None

    def credentials(self) -> Credentials:
        from srfix.recovery.serving.guarding import Credentials
        from srfix.serde.registry.secret import revealed

        if self.token is not None and self.user is not None:
            raise UsageError("Give either --token or --user.")
        user, password = (None, None) if self.user is None else user_and_password(self.user)
        return Credentials(token=None if self.token is None else revealed(self.token), user=user, password=password)

    def place(self, application: str | None = None) -> Place:
        from srfix.recovery.serving.starting import Place, Tls

        if self.group is None and (self.standbys or self.is_global):
            raise UsageError("--standbys and --global are for several members: give --group.")
        if self.group is not None and self.group == application:
            raise UsageError(
                f"--group {self.group} is the application's own group. srfix must take no part in it: give another name."
            )
        tls = None
        if self.tls_ca is not None and self.tls_certificate is None:
            raise UsageError(
                "--tls-ca is for the other members' certificates: give --tls-certificate and --tls-key, too."
            )
        if self.tls_certificate is not None or self.tls_key is not None:
            if self.tls_certificate is None or self.tls_key is None:
                raise UsageError("TLS needs both --tls-certificate and --tls-key.")
            tls = Tls(certificate=self.tls_certificate, key=self.tls_key, authority=self.tls_ca)
        host, port = self.listen
        advertise = None
        if self.advertise is not None:
            name, number = self.advertise
            advertise = f"[{name}]:{number}" if ":" in name else f"{name}:{number}"
        return Place(
            host=host,
            port=port,
            advertise=advertise,
            tls=tls,
            group=self.group,
            standbys=self.standbys,
            is_global=self.is_global,
        )


def _address(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[str, int] | None:
    if text == OFF:
        raise click.BadParameter(f"expected HOST:PORT, not {text!r}.")
    return None if text is None else listen_address(ctx, param, text)


def user_and_password(text: str) -> tuple[str, str]:
    """Reads USER:PASSWORD, where PASSWORD or all of it may be env:NAME or file:PATH."""
    from srfix.serde.registry.secret import revealed

    user, colon, password = (revealed(text) if text.startswith(("env:", "file:")) else text).partition(":")
    if not user or not colon:
        raise UsageError("--user takes USER:PASSWORD; PASSWORD, or all of it, may be env:NAME or file:PATH.")
    return user, revealed(password)


_serving_options = handing_over(
    "serving",
    Serving,
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
    option("--token", metavar="TOKEN", help="Ask for this bearer token; env:NAME or file:PATH."),
    option("--user", metavar="USER:PASSWORD", help="Ask for this user; PASSWORD may be env:NAME or file:PATH."),
    option("--tls-certificate", metavar="FILE", help="The server's certificate (PEM)."),
    option("--tls-key", metavar="FILE", help="The key of the certificate (PEM)."),
    option("--tls-ca", metavar="FILE", help="The authority of the other members' certificates (PEM)."),
)


@command()
@option("--application", metavar="ID", help="The application.id.")
@option("--store", metavar="NAME[=TABLE][,…]", help="A state store of it, or several; TABLE is its name in SQL.")
@click.option(
    "--from-topic",
    metavar="TOPIC",
    help="The topic that the store restores from. Default: its changelog, or the source topic that a diagnosis finds.",
)
@click.option(
    "--until",
    type=Choice(Until),
    help="Up to where rows come: committed for a reused source topic, as a restore, or end. Default: as a restore.",
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
@_kind_options
@isolation_option
@_serving_options
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
    from_topic: str | None,
    until: Until | None,
    data_dir: str | None,
    rows_in: str | None,
    state_dir: tuple[str, ...],
    layout: StoreLayout,
    isolation: str,
    serving: Serving,
    max_lag: int,
    reading: RowReading,
    connection: Connection,
) -> ExitCode:
    """Answer for a store over HTTP while its application is down, restoring, or cannot read it.

    srfix fills databases of its own from the changelog, or from the source topic that the store reuses, and follows it.
    GET / is a page, GET /openapi.json describes the API, and ksqlDB's clients can send pull queries. srfix takes no part in
    the application's group, and writes to no topic and no registry. Runs until SIGTERM (exit code 0) or an interrupt.
    """
    from srfix.cli.ending import Ended, Ending
    from srfix.cli.session import open_cluster
    from srfix.recovery.serving.head_start import head_start_from
    from srfix.recovery.serving.redis_rows import redis_rows
    from srfix.recovery.serving.starting import kept_for_one, rocks_in
    from srfix.recovery.serving.starting import serve as serve_stores
    from srfix.serde.properties.kafka_client import ReadOnlyClient

    names = [name.strip() for name in (store or "").split(",") if name.strip()]
    if application is None or not names:
        raise UsageError("Name what to serve: --application ID --store NAME.")
    if (data_dir is None) == (rows_in is None):
        raise UsageError("Give --data-dir DIR, where srfix keeps the rows, or --rows-in redis://….")
    if rows_in is not None and (serving.standbys or serving.is_global):
        raise UsageError("With --rows-in, one member writes each partition: leave out --standbys and --global.")
    if from_topic is not None and len(names) > 1:
        raise UsageError("--from-topic is the topic of one store: give one --store.")
    place = serving.place(application)
    ending = Ending()
    with ExitStack() as stack, suppress(Ended):
        stack.enter_context(ending.watch())
        if data_dir is not None:
            stack.enter_context(kept_for_one(Path(data_dir)))
        cluster, _ = stack.enter_context(open_cluster(connection))
        to_serve = StoresToServe(
            application=application,
            cluster=cluster,
            connection=connection,
            layout=layout,
            isolation=isolation,
            stack=stack,
        )
        stores = [to_serve.store(name, from_topic, until, reading) for name in names]
        for served in stores:
            spec = served.spec
            say(
                f"{spec.name}: {spec.store.kind.value}, {counted(spec.partitions, 'partition')} of {spec.topic}, up to "
                f"{'its end' if spec.until is Until.END else 'the committed offsets'}."
            )
        serve_stores(
            stores,
            place,
            serving.credentials(),
            max_lag_ready=max_lag,
            client=ReadOnlyClient(connection.kafka_config()),
            committed=cluster.committed,
            make_database=rocks_in(Path(data_dir)) if data_dir is not None else redis_rows(rows_in or "", application),
            head_start=head_start_from(map(Path, state_dir), application) if state_dir else None,
            version=version("srfix"),
            on_start=lambda url: say(f"Listening on {url}"),
            tell=say_aside,
        )
    return ending.code
