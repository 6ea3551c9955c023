"""`/metrics` and `/healthz`, served while a watch runs."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from srfix.cli.metrics.standing import Families, Standing
from srfix.serde.errors import UsageError
from srfix.serde.property_names import names_servers

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_PATIENCE_S = 10.0
"""The server drops a client that sends no request for this time."""


@contextmanager
def serving(standing: Standing, host: str, port: int) -> Iterator[tuple[str, int]]:
    """Serves until the block ends. Gives the block the address, because with port 0 the system chooses the port."""
    registry = CollectorRegistry()
    registry.register(Families(standing))
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        kind = type("_Server", (_Server,), {"address_family": family})
        application = _application(standing, registry)
        server: WSGIServer = make_server(host, port, application, server_class=kind, handler_class=_Handler)
    except OSError as error:
        is_plain = ":" not in host or names_servers(f"[{host}]:1")  # otherwise the text may contain a password
        where = f"{host}:{port}" if is_plain else "the address"
        raise UsageError(
            f"srfix cannot listen on {where} (--listen): {error.strerror or error}. Choose another HOST:PORT, or "
            "`--listen off`."
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="srfix-metrics", daemon=True)
    thread.start()
    try:
        yield str(server.server_address[0]), int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _application(standing: Standing, registry: CollectorRegistry) -> WSGIApplication:
    metrics: Callable[..., Iterable[bytes]] = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        match environ["REQUEST_METHOD"], environ.get("PATH_INFO", ""):
            case "GET" | "HEAD", "/metrics":
                try:
                    return metrics(environ, start_response)
                except (TypeError, ValueError):  # prometheus_client could not parse the Accept header
                    return metrics({**environ, "HTTP_ACCEPT": ""}, start_response)
            case "GET" | "HEAD", "/healthz":
                is_healthy, document = standing.health()
                status = "200 OK" if is_healthy else "503 Service Unavailable"
                start_response(status, [("Content-Type", "application/json"), ("Cache-Control", "no-store")])
                return [json.dumps(document).encode() + b"\n"]
            case "GET" | "HEAD", _:
                start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
                return [b"This server has only /metrics and /healthz.\n"]
            case _:
                start_response("405 Method Not Allowed", [("Content-Type", "text/plain; charset=utf-8")])
                return [b"This server answers only GET and HEAD.\n"]

    return answer


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Does not look up the host's name, because that may wait for a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs nothing if a client closes the connection during an answer."""


class _Handler(WSGIRequestHandler):
    timeout = _PATIENCE_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base's name)
        """Logs nothing for a scrape."""
