"""Puts a member together, and runs it until it is told to end."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import httpx
import portalocker
import uvicorn

from srfix.recovery.serving.api import Api
from srfix.recovery.serving.databases import MakeDatabase, RocksDatabase
from srfix.recovery.serving.following import Committed, Follower
from srfix.recovery.serving.guarding import Credentials, Impatient
from srfix.recovery.serving.head_start import HeadStart
from srfix.recovery.serving.ksql import ksql_routes
from srfix.recovery.serving.membership import Grouped, Membership
from srfix.recovery.serving.node import Node
from srfix.recovery.serving.openapi import openapi
from srfix.recovery.serving.page import page_routes
from srfix.recovery.serving.questions import Served
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import ReadOnlyClient

_BACKLOG: Final = 512
_MOST_CONNECTIONS: Final = 500
_GRACE_S: Final = 5
_UNREAD_MS: Final = 65_000
"""How long a client may read nothing of what is sent to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a member listens, and with which others it shares the partitions. The fields are options of `srfix serve`.

    :raises UsageError: if they do not fit together.
    """

    listen: tuple[str, int]
    advertise: tuple[str, int] | None = None
    """How the other members, and clients, reach it; None for the address on which it listens."""
    group: str | None = None
    """The consumer group of the members; None for a member without others."""
    standbys: int = 0
    is_global: bool = False
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_ca: str | None = None
    """The authority with which the members check each other's certificates; None for those that Python trusts."""

    def __post_init__(self) -> None:
        if self.group is None and (self.standbys or self.is_global):
            raise UsageError("--standbys and --global are for several members: give --group.")
        if (self.tls_certificate is None) != (self.tls_key is None) or (self.tls_ca and not self.tls_key):
            raise UsageError(
                "TLS needs both --tls-certificate and --tls-key; --tls-ca is for the other members' certificates."
            )

    @property
    def scheme(self) -> str:
        return "http" if self.tls_certificate is None else "https"

    def address(self, host: str, port: int) -> str:
        """How the other members, and clients, reach it while it listens on this host and port.

        :raises UsageError: if other members cannot reach it.
        """
        if self.group is not None and self.advertise is None and ip_address(host).is_unspecified:
            raise UsageError(f"Other members cannot reach {host}: say how with --advertise HOST:PORT.")
        host, port = self.advertise or (host, port)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def trust(self) -> ssl.SSLContext | bool:
        """How this member checks the certificates of others.

        :raises UsageError: if one of the files cannot be used.
        """
        if self.tls_certificate is None:
            return True
        option = "--tls-certificate"
        try:
            ssl.create_default_context(cafile=self.tls_certificate)
            option = "--tls-key"
            # Without a password, a key that has one would be asked for on the terminal.
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self.tls_certificate, self.tls_key, "")
            option = "--tls-ca"
            return ssl.create_default_context(cafile=self.tls_ca)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The file of {option} cannot be used ({getattr(error, 'strerror', None) or error}). Each is a PEM file; the "
                "key fits the certificate, and has no password."
            ) from None


@contextmanager
def kept_for_one(folder: Path) -> Iterator[None]:
    """Makes a folder for databases, and keeps other processes out of it.

    :raises UsageError: if the folder cannot be written, or another process uses it.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((folder / ".lock").open("wb"))
            portalocker.lock(lock, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException:
            raise UsageError(f"Another process uses {folder}. Give each `srfix serve` its own --data-dir.") from None
        except OSError as error:
            raise UsageError(f"{folder} cannot be written ({error.strerror or error}). Check --data-dir.") from None
        yield


def rocks_in(folder: Path) -> MakeDatabase:
    """Databases in a folder, each in `<store>/<partition>`."""
    return lambda store, number: RocksDatabase(folder / store / str(number))


def serve_stores(
    stores: Sequence[Served],
    place: Place,
    credentials: Credentials,
    *,
    max_lag_ready: int = 0,
    client: ReadOnlyClient,
    committed: Committed,
    make_database: MakeDatabase,
    head_start: HeadStart | None = None,
    version: str,
    on_start: Callable[[str], None],
    tell: Callable[[str], None],
) -> None:
    """Serves until SIGTERM or an interrupt.

    :param stores: of one application, so that all are read with the same isolation; or topics.
    :param on_start: called with the URL when the server listens.
    :param tell: called with a line of progress until the partitions are caught up, and with notes on them.
    :raises UsageError: if it cannot listen there.
    """
    with ExitStack() as stack:
        listening = _listening(place)
        stack.callback(listening.close)
        address = place.address(*listening.getsockname()[:2])
        membership: Membership
        if place.group is None:
            places = [(store.spec.topic, number) for store in stores for number in range(store.spec.partitions)]
            membership = Membership(address, places)
        else:
            topics = {store.spec.topic for store in stores}
            membership = Grouped(client, place.group, address, topics, credentials.signing(place.group))
        node = Node(
            {store.name: store for store in stores},
            address=address,
            membership=membership,
            make_follower=partial(Follower, client, committed=committed),
            make_database=make_database,
            scheme=place.scheme,
            standbys=place.standbys,
            is_global=place.is_global,
            head_start=head_start,
        )
        stack.callback(node.close)
        http = httpx.AsyncClient(
            headers=None if credentials.header is None else {"authorization": credentials.header},
            trust_env=False,  # no proxy stands between members
            verify=place.trust(),
            timeout=httpx.Timeout(5.0, connect=0.5),
            limits=httpx.Limits(max_connections=200, max_keepalive_connections=50),
        )
        api = Api(node, http, credentials, max_lag_ready=max_lag_ready, tell=tell)
        api.add_routes([*ksql_routes(api, version), *page_routes(api, openapi(version), version)])
        server = _server(api, place)
        on_start(f"{place.scheme}://{address}")
        server.run(sockets=[listening])


def _listening(place: Place) -> socket.socket:
    try:
        family = socket.getaddrinfo(*place.listen, type=socket.SOCK_STREAM)[0][0]
        has_both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listening = socket.create_server(place.listen, family=family, backlog=_BACKLOG, dualstack_ipv6=has_both)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; elsewhere a client that does not read may keep its connection
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
        return listening
    except OSError as error:
        raise UsageError(
            f"srfix cannot listen on {':'.join(map(str, place.listen))} (--listen): {error.strerror or error}. Choose another "
            "HOST:PORT."
        ) from error


def _server(api: Api, place: Place) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            api.app,
            http=Impatient,
            loop="uvloop",
            ws="none",
            lifespan="on",
            log_level="error",  # anybody can make it warn, as often as he likes
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE_S,
            ssl_certfile=place.tls_certificate,
            ssl_keyfile=place.tls_key,
        )
    )
