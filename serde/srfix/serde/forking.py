"""Locks and connections for a process that forks, like Spark's and multiprocessing's workers: in the child a lock that
another thread held stays locked for ever, and parent and child may read each other's answers. All of serde and recovery
uses these; a test checks it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ForkLock:
    """A re-entrant lock. In a forked child it is free, unless the forking thread holds it."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew_unless_ours(self) -> None:
        """For a child process: a thread that held the lock does not exist there, so it cannot release it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_LOCKS: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _LOCKS:
        lock.renew_unless_ours()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew_all)


class PerProcess(Generic[T]):
    """A value that each process makes at its first use; a forked child makes its own."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        made = self._made
        if made is None or made[0] != os.getpid():
            made = self._made = os.getpid(), self._make()
        return made[1]

    def made(self) -> T | None:
        """This process's value, None if it has made none yet."""
        made = self._made
        return made[1] if made is not None and made[0] == os.getpid() else None
