"""Closes clients that an object has opened itself, for example from a URL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self


def close_nothing() -> None:
    """Closes nothing, because the client that was passed belongs to its owner."""


class Closing:
    """`close()`, also as a context manager."""

    _close: Callable[[], None] = staticmethod(close_nothing)

    def close(self) -> None:
        """Closes the connections of a client that was made here, from a URL; any other belongs to its owner."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
