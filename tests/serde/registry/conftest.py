"""A server that answers what a test tells it to: for the odd answers that no well-behaved registry gives."""

from __future__ import annotations

import json
import pickle
import socket
import ssl
import struct
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest
import trustme

from srfix.serde import RegistryClient, RetryPolicy

REGISTRY_JSON = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int = 200
    body: bytes = b""
    content_type: str | None = REGISTRY_JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: Literal["before", "within"] | None = None
    """Close the connection before the answer, or in the middle of its body."""
    held_until: threading.Event | None = None
    """Answer only when this is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    method: str
    target: str
    """The request line's target, untouched."""
    headers: Mapping[str, str]
    body: bytes


class ScriptedRegistry:
    """Answers from a script, then with the standing answer; remembers what arrived."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.connections = 0
        self._script: deque[Reply] = deque()
        self._standing = Reply(status=500, body=b'{"error_code":500,"message":"the script is at its end"}')
        self._held: list[threading.Event] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20
            wbufsize = -1  # one packet per answer: two would wait for a delayed acknowledgement

            def setup(self) -> None:
                scripted.connections += 1
                super().setup()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def handle_any(self) -> None:
                scripted._answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients that hang up in the middle are part of the tests

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def answers(self, body: object = None, **more: Any) -> None:
        """Adds an answer to the script; bytes are sent as they are, anything else as JSON; more is a `Reply`'s."""
        reply = Reply(body=body if isinstance(body, bytes) else json.dumps(body).encode(), **more)
        if reply.held_until is not None:
            self._held.append(reply.held_until)
        self._script.append(reply)

    def fails(self, status: int, error_code: int, message: str = "no", **more: Any) -> None:
        """Adds an error answer in a registry's form."""
        self.answers({"error_code": error_code, "message": message}, status=status, **more)

    def cuts(self) -> None:
        """Takes the next request and closes the connection without a word."""
        self.answers(cut="before")

    def always(self, body: object, *, status: int = 200) -> None:
        """The answer when the script is at its end."""
        self._standing = Reply(status=status, body=json.dumps(body).encode())

    def forget(self) -> None:
        """Empties the script and what was seen."""
        self._script.clear()
        self.seen.clear()

    @property
    def targets(self) -> list[str]:
        """What was asked: method and target."""
        return [f"{one.method} {one.target}" for one in self.seen]

    def stop(self) -> None:
        for event in self._held:
            event.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = dict(handler.headers.items())
        self.seen.append(Seen(method=handler.command, target=handler.path, headers=headers, body=body))
        try:
            reply = self._script.popleft()
        except IndexError:
            reply = self._standing
        if reply.held_until is not None:
            reply.held_until.wait(20)
        if reply.cut == "before":
            handler.close_connection = True
            # A reset, as from a peer that died.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if reply.content_type is not None:
            handler.send_header("Content-Type", reply.content_type)
        handler.send_header("Content-Length", str(len(reply.body) + (10 if reply.cut == "within" else 0)))
        handler.end_headers()
        handler.wfile.write(reply.body)
        if reply.cut == "within":
            handler.close_connection = True


def everything_shown_of(error: BaseException) -> str:
    """All that a log, a pickle or a traceback with locals could show."""
    shown = [
        "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format()),
        repr(pickle.dumps(error)),
    ]
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is not None:
            shown += [str(link), repr(link), repr(link.args), repr(vars(link))]
            waiting += [link.__cause__, link.__context__]
    return "\n".join(shown)


@contextmanager
def scripted(tls: ssl.SSLContext | None = None) -> Iterator[ScriptedRegistry]:
    running = ScriptedRegistry(tls=tls)
    yield running
    running.stop()


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    with scripted() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[ScriptedRegistry]:
    with scripted() as running:
        yield running


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def tls_server(tls: ssl.SSLContext) -> Iterator[ScriptedRegistry]:
    with scripted(tls) as running:
        yield running


@pytest.fixture
def mutual_tls_server(authority: trustme.CA, tls: ssl.SSLContext) -> Iterator[ScriptedRegistry]:
    """Answers only clients with a certificate of the authority."""
    authority.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    with scripted(tls) as running:
        yield running


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return str(tmp_path / "ca.pem")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections and that nobody else gets meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def waits() -> list[float]:
    """The waits between attempts, in seconds, in place of sleeping."""
    return []


MakeClient = Callable[..., RegistryClient]


@pytest.fixture
def make_client(server: ScriptedRegistry, waits: list[float]) -> Iterator[MakeClient]:
    """Makes clients of the scripted server, or of other URLs, that note their waits instead of sleeping."""
    made: list[RegistryClient] = []

    def make(*urls: str, attempts: int = 4, max_wait_s: float = 20.0, patience_s: float = 0.0, **options: Any) -> Any:
        bounds: Any = {"max_attempts": attempts, "max_wait_s": max_wait_s, "leader_patience_s": patience_s}
        retry = RetryPolicy(sleep=waits.append, **bounds)
        made.append(RegistryClient(urls or (server.url,), retry=retry, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client: MakeClient) -> RegistryClient:
    return make_client()
