"""Sends one request for many threads that need the same answer at the same time.

It does not use cachetools: with its `cached(condition=…)`, if the first request fails, the waiting threads repeat it
one after another. So if a registry is down, each of 16 threads waits for the time-outs of all threads before it. Its
pending keys also survive a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

from srfix.serde.forking import ForkLock, PerProcess

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """A thread that asks while another thread asks for the same key gets that thread's answer or error.

    A cache belongs inside `ask`. If it were outside, a thread that looked into the cache just before the answer came
    would ask again. Thread-safe; a forked child sends its own request.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._flights: PerProcess[dict[Hashable, Future[T]]] = PerProcess(dict)

    def once(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The result of `ask`, called here or in the thread that already asks for this key.

        If that thread is interrupted, one of the waiting threads asks instead. Later callers never get an old error.
        """
        while True:
            mine: Future[T] = Future()
            try:
                with self._lock:
                    flight = self._flights.get().setdefault(key, mine)
                if flight is mine:
                    return self._ask_and_share(key, mine, ask)
            finally:
                self._end(key, mine)
            try:
                return flight.result()
            except CancelledError:
                continue

    def _ask_and_share(self, key: Hashable, mine: Future[T], ask: Callable[[], T]) -> T:
        try:
            answer = ask()
        except Exception as error:
            mine.set_exception(error)
            raise
        mine.set_result(answer)
        return answer

    def _end(self, key: Hashable, mine: Future[T]) -> None:
        with self._lock:
            flights = self._flights.get()
            if flights.get(key) is mine:
                del flights[key]
        mine.cancel()  # has no effect if it is done
