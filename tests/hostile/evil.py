"""An HTTP server that means harm: it writes bytes to a socket, and obeys nobody."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Behaviour: TypeAlias = Callable[[socket.socket, str], None]
"""Gets the connection after each request, with the request's head; when it returns the connection is read again."""


class EvilServer:
    """Listens on a port of this machine; `heads` is what it was asked."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.heads: list[str] = []
        self.stopped = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._open.append(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while head := self._head(connection):
                self.heads.append(head)
                self._behaviour(connection, head)

    def _head(self, connection: socket.socket) -> str:
        got = b""
        while b"\r\n\r\n" not in got:
            piece = connection.recv(65536)
            if not piece:
                return ""
            got += piece
        head, _, rest = got.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        for line in text.split("\r\n"):
            name, _, value = line.partition(":")
            if name == "Content-Length":
                while len(rest) < int(value):
                    rest += connection.recv(65536)
        return text

    def close(self) -> None:
        self.stopped.set()
        self._socket.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[EvilServer]:
    server = EvilServer(behaviour)
    try:
        yield server
    finally:
        server.close()


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK", kind: bytes = b"application/json") -> Behaviour:
    """The same answer to everything."""

    def behave(connection: socket.socket, head: str) -> None:
        lines = [b"HTTP/1.1 " + status, b"Content-Type: " + kind, b"Content-Length: %d" % len(body), *headers]
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    return behave
