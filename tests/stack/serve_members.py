"""Members of `srfix serve`: processes that a test asks, kills, stops and starts again."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from tests.stack.command import SRFIX

_READY_S: Final = 40.0


def wait_until(is_so: Callable[[], bool], *, timeout_s: float = _READY_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Serve:
    """A member: a process of its own.

    :param address: where it is asked; by default it listens there, on a free port.
    :param token: what it is asked with.
    :param entered: in which context its process is started.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        address: str | None = None,
        token: str | None = None,
        entered: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.folder = folder
        self.address = address or f"127.0.0.1:{_free_port()}"
        listens = () if address else ("--listen", self.address)
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        asks = ("--token", token) if token else ()
        self._command = [SRFIX, "serve", "--data-dir", str(folder), *listens, *asks, *arguments]
        self._entered = entered
        self.start()

    def start(self) -> None:
        with self._entered():
            self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def get(self, path: str, *, timeout_s: float = 5.0) -> tuple[int, Any]:
        request = urllib.request.Request(f"http://{self.address}{path}", headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def is_ready(self) -> bool:
        with suppress(OSError):
            return self.get("/readyz")[0] == 200
        return False

    def listens(self) -> bool:
        with suppress(OSError):
            return self.get("/healthz")[0] == 200
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(15)
        finally:
            self.process.kill()


@contextmanager
def serving(members: Sequence[Serve]) -> Iterator[Sequence[Serve]]:
    with ExitStack() as stack:
        for member in members:
            stack.callback(member.end)
        wait_until(lambda: all(member.is_ready() for member in members))
        yield members
