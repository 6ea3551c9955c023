"""What is made of a plan once, and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

__all__ = ["Kept"]

_T = TypeVar("_T")


class Kept:
    """What was made, by what makes it. It does not travel: a plan that is pickled is as small as before."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[object, object] = {}

    def get(self, make: Callable[[], _T], name: str) -> _T:
        """What goes by the name; made if it was not yet."""
        if name not in self._made:
            self._made[name] = make()
        return cast("_T", self._made[name])

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()
