"""Two runs that take turns at every request to a registry, in an order that is given: the same order, the same outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from srfix.serde.registry.http import transport as _transport

PATIENCE_S = 60.0


class Turns:
    """Lets one of several threads run at a time, from one of its requests to the next."""

    def __init__(self, order: Iterable[int], runs: int) -> None:
        """:param order: whose request is next, by number; when it is over, or names one that has ended, the first goes on."""
        self._order = iter(order)
        self._changed = threading.Condition()
        self._alive = set(range(runs))
        self._arrived: set[int] = set()
        self._current: int | None = None
        self._runs = runs

    def wait(self, me: int) -> None:
        """Called before each request: returns when it is the turn of this run."""
        with self._changed:
            self._arrived.add(me)
            if len(self._arrived) == self._runs:  # each has come to its first request
                self._hand_on()
            assert self._changed.wait_for(lambda: self._current == me, timeout=PATIENCE_S)
            self._current = None

    def end(self, me: int) -> None:
        """Called when a run is over."""
        with self._changed:
            self._alive.discard(me)
            self._arrived.add(me)
            if len(self._arrived) == self._runs:
                self._hand_on()

    def _hand_on(self) -> None:
        wanted = next(self._order, None)
        self._current = wanted if wanted in self._alive else min(self._alive, default=None)
        self._changed.notify_all()


@contextmanager
def taking_turns(order: Iterable[int], runs: int) -> Iterator[Turns]:
    """Every request of a thread named `run-<number>` waits for its turn."""
    turns = Turns(order, runs)
    send = _transport.Transport._send

    def in_turn(self: Any, *arguments: Any, **options: Any) -> Any:
        name = threading.current_thread().name
        if name.startswith("run-"):
            turns.wait(int(name.removeprefix("run-")))
        return send(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_transport.Transport, "_send", in_turn)
        yield turns


def run_in_turns(order: Iterable[int], *calls: Callable[[], object]) -> list[BaseException | None]:
    """Carries the calls out, each in a thread; what each raised."""
    raised: list[BaseException | None] = [None] * len(calls)
    with taking_turns(order, len(calls)) as turns:

        def carry_out(number: int) -> None:
            try:
                calls[number]()
            except Exception as error:  # noqa: BLE001  (handed to the test)
                raised[number] = error
            finally:
                turns.end(number)

        threads = [
            threading.Thread(target=carry_out, args=(number,), name=f"run-{number}", daemon=True)
            for number in range(len(calls))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "a run did not get its turn"
    return raised
