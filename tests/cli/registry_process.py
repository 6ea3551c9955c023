"""A fixture registry as a process of its own that dies at a chosen request, and comes back with what it held.

What takes effect before it dies is on its disk then, as with a real registry, whose store is a Kafka topic.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from srfix.fixtures.registry.http.intercept import Answer
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import TIMEOUT_S, environment

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """When it dies."""

    method: str
    """Of the request."""
    path: str
    """A regular expression, searched in the request's target."""
    call: int = 1
    """Which of the requests that fit, from 1."""
    moment: Literal["before", "after"]
    """Before the request takes effect, or after that and before its answer."""


class MortalRegistry(FixtureRegistry):
    """Dies of SIGKILL at one request; `state` is where it keeps what it holds."""

    def __init__(self, *, port: int, state: Path, death: Death | None) -> None:
        super().__init__(port=port)
        self._state = state
        self._death = death
        self._seen = 0
        self._counting = threading.Lock()
        if state.exists():
            self._store = pickle.loads(state.read_bytes())

    def save(self) -> None:
        """Writes what it holds to its file."""
        with self._lock:
            self._state.write_bytes(pickle.dumps(self._store))

    def _answer(
        self,
        method: str,
        target: str,
        body: bytes,
        authorization: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer | None:
        dies = self._dies_of(method, target)
        if dies == "before":
            self._die()
        answer = super()._answer(method, target, body, authorization, headers)
        if dies == "after":
            self._die()
        return answer

    def _dies_of(self, method: str, target: str) -> Literal["before", "after"] | None:
        death = self._death
        if death is None or death.method != method or not re.search(death.path, target):
            return None
        with self._counting:
            self._seen += 1
            return death.moment if self._seen == death.call else None

    def _die(self) -> None:
        self.save()
        os.kill(os.getpid(), signal.SIGKILL)


class RegistryProcess:
    """The process, which can be started again on the same port with the same content."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self, death: Death | None = None) -> None:
        """Starts it, and waits until it listens."""
        arguments = [] if death is None else [death.method, death.path, str(death.call), death.moment]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.registry_process", str(self._port), str(self._state), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )
        self._process = process
        assert process.stdout is not None
        self.url = process.stdout.readline().strip()
        assert self.url, "the registry did not start"
        self._port = int(self.url.rpartition(":")[2])

    def wait_until_dead(self) -> None:
        """Returns once it has died of its signal."""
        assert self._process is not None
        assert self._process.wait(TIMEOUT_S) == -signal.SIGKILL
        self._close()

    def stop(self) -> None:
        """Ends it, if it still runs; what it holds is kept."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            self._process.wait(TIMEOUT_S)
            self._close()

    def _close(self) -> None:
        assert self._process is not None
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process = None


@contextmanager
def registry_process(like: FixtureRegistry, state: Path) -> Iterator[RegistryProcess]:
    """One with the content of another, not started yet; ended whatever happens."""
    with like._lock:
        state.write_bytes(pickle.dumps(like._store))
    process = RegistryProcess(state)
    try:
        yield process
    finally:
        process.stop()


def _serve(port: str, state: str, *death: str) -> None:
    when: Death | None = None
    if death:
        method, path, call, moment = death
        when = Death(method=method, path=path, call=int(call), moment="before" if moment == "before" else "after")
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: ended.set())

    def end_with_the_parent() -> None:
        sys.stdin.read()
        ended.set()

    registry = MortalRegistry(port=int(port), state=Path(state), death=when)
    with registry:
        threading.Thread(target=end_with_the_parent, daemon=True).start()
        sys.stdout.write(f"{registry.url}\n")
        sys.stdout.flush()
        ended.wait()
        registry.save()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
