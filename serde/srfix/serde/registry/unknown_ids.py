"""Remembers schema ids that the registry did not know just now, so that garbage causes no storm of requests."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import TypeVar

from srfix.serde.bounds import UnknownIdBounds
from srfix.serde.forking import ForkLock
from srfix.serde.schemas.errors import SchemaNotFoundError

T = TypeVar("T")


class _Writes:
    """The number of writes that all clients of this process have sent."""

    count = 0


def note_write() -> None:
    """Notes that a write is being sent, or was sent: results of earlier requests no longer count."""
    _Writes.count += 1


def writes_sent() -> int:
    return _Writes.count


class UnknownIds:
    def __init__(self, bounds: UnknownIdBounds, clock: Callable[[], float]) -> None:
        self._bounds = bounds
        self._clock = clock
        self._lock = ForkLock()
        self._refused: dict[Hashable, tuple[float, int, SchemaNotFoundError]] = {}

    def unless_known(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The result of `ask`; raises the error without a request if the registry did not know the id a moment ago."""
        remembered = self._refused.get(key)
        if remembered is not None:
            until, writes, error = remembered
            if writes == _Writes.count and self._clock() < until:
                raise copy.copy(error)  # a new error with its own frames
        writes = _Writes.count
        try:
            return ask()
        except SchemaNotFoundError as error:
            self._put(key, writes, copy.copy(error))
            raise

    def forget(self) -> None:
        with self._lock:
            self._refused.clear()

    def _put(self, key: Hashable, writes: int, error: SchemaNotFoundError) -> None:
        if not (self._bounds.most and self._bounds.remember_s):
            return
        with self._lock:
            self._refused.pop(key, None)
            while len(self._refused) >= self._bounds.most:
                del self._refused[next(iter(self._refused))]  # the oldest
            self._refused[key] = (self._clock() + self._bounds.remember_s, writes, error)
