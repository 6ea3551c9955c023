"""If an answer takes long, a line on standard error says what srfix waits for. A broker that is down is silent for a
quarter of a minute, a registry that hangs for two minutes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import Final

from srfix.serde.waiting import watch_with

FIRST_S: Final = 5.0
"""After this number of seconds, a line tells of the wait."""
AGAIN_S: Final = 30.0
"""Seconds between two lines about the same wait."""
_LOOK_S: Final = 0.5


class SlowAnswers:
    """Tells of waits while it is open, in its own thread. Thread-safe."""

    def __init__(self, tell: Callable[[str], None], *, first_s: float = FIRST_S, again_s: float = AGAIN_S) -> None:
        self._tell, self._first_s, self._again_s = tell, first_s, again_s
        self._numbers = count()
        self._running: dict[int, tuple[str, float]] = {}
        self._told: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def __enter__(self) -> SlowAnswers:
        watch_with(self)
        return self

    def __exit__(self, *_: object) -> None:
        watch_with(nullcontext)
        self._over.set()

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        number = next(self._numbers)
        self._running[number] = (what, time.monotonic())
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, daemon=True, name="srfix-slow-answers")
            self._thread.start()
        try:
            yield
        finally:
            del self._running[number]

    def _look(self) -> None:
        while not self._over.wait(min(_LOOK_S, self._first_s)):
            now = time.monotonic()
            for what, began in list(self._running.values()):
                waited_s, notice_time = now - began, self._told.get(what)
                if waited_s >= self._first_s and (notice_time is None or now - notice_time >= self._again_s):
                    self._told[what] = now
                    self._tell(f"Waiting for {what}: no answer for {waited_s:.0f} s.")
