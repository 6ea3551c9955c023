"""Somebody else at the registry, at the worst moment: a gateway in front of it that acts right before a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, TypeAlias

import requests

Cut: TypeAlias = Literal["before", "after"]


@contextmanager
def meddler(registry: str, before: Callable[[str, str, int], Cut | None]) -> Iterator[str]:
    """Forwards every request to the registry, after `before(method, path, how many such before it)`. Yields its URL.

    Where that answers "before" or "after", the connection is cut before, or after, the request took effect.
    """
    seen: dict[tuple[str, str], int] = {}

    class Gateway(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            arrival = (self.command, self.path)
            cut = before(*arrival, seen.get(arrival, 0))
            seen[arrival] = seen.get(arrival, 0) + 1
            self.close_connection = cut is not None
            if cut == "before":
                return
            kept = {name: value for name, value in self.headers.items() if name in ("Content-Type", "Accept")}
            answer = requests.request(self.command, registry + self.path, data=body, headers=kept, timeout=30)
            if cut == "after":
                return
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_DELETE = _forward

        def log_message(self, *_: object) -> None:
            """Keeps the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
