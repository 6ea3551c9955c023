"""Ends what was opened for an object, from a URL say; what was passed to it is its owner's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self


def close_nothing() -> None:
    """What was passed is its owner's."""


class Closing:
    """`close()`, also as a context manager."""

    _close: Callable[[], None] = staticmethod(close_nothing)

    def close(self) -> None:
        """Closes the connections of a client that was made for this, from a URL; one that was passed is its owner's."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
