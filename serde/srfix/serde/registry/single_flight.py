"""One request for many threads that need the same answer at the same time.

By hand: cachetools' `cached(condition=…)` lets those who waited ask one after another where the first one failed, so that a
registry that is down costs each of 16 threads the time-outs of all before it; and its pending keys outlive a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

from srfix.serde.forking import ForkLock, PerProcess

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Who comes while another thread asks for the same gets its answer, or its error.

    A cache belongs within, in what is asked: around it, a thread that looked into the cache just before the answer came
    would ask again. Thread-safe; a forked child asks itself.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._flights: PerProcess[dict[Hashable, Future[T]]] = PerProcess(dict)

    def once(self, key: Hashable, ask: Callable[[], T]) -> T:
        """What `ask` answers, here or in the thread that asks for this key already.

        If that thread is interrupted, one of those that wait asks in its place. An error is kept for nobody who comes later.
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
        mine.cancel()  # nothing where it is done
