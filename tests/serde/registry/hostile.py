"""A server that answers each connection with what a test wrote, byte for byte: for answers that no server should give."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class HostileServer:
    """Reads a request's head, then sends the pieces, until there are no more or the client has hung up."""

    def __init__(
        self,
        pieces: Callable[[], Iterable[bytes]],
        *,
        pause_s: float = 0.0,
        tls: ssl.SSLContext | None = None,
        waits: bool = True,
    ) -> None:
        """
        :param pause_s: seconds before each piece.
        :param waits: False to send without having been asked.
        """
        self._pieces = pieces
        self._tls = tls
        self._waits = waits
        self._pause_s = pause_s
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests = 0
        """How many heads arrived."""
        self.sent = 0
        """Bytes that went out, or into the system's buffers."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def stop(self) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        return connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        with contextlib.suppress(OSError), self._wrapped(connection) as connection:
            while not self._stopped.is_set():
                head = b""
                while self._waits and b"\r\n\r\n" not in head:
                    received = connection.recv(65_536)
                    if not received:
                        return
                    head += received
                self.requests += 1
                for piece in self._pieces():
                    if self._stopped.is_set() or (self._pause_s and self._stopped.wait(self._pause_s)):
                        return
                    connection.sendall(piece)
                    self.sent += len(piece)


@contextmanager
def hostile_server(pieces: Callable[[], Iterable[bytes]], **options: Any) -> Iterator[HostileServer]:
    server = HostileServer(pieces, **options)
    try:
        yield server
    finally:
        server.stop()


def answer(body: bytes = b"", *headers: str, length: int | None = None, status: str = "200 OK") -> bytes:
    """An answer, whole, with a Content-Length that may lie."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    if not any(line.lower().startswith("transfer-encoding") for line in headers):
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def without_end(first: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    """Something, and then the same for ever."""
    return lambda: itertools.chain([first], itertools.repeat(piece))
