"""What engines make of a plan once, kept with the plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

_T = TypeVar("_T")


class Kept:
    """Results by name. They are not pickled: a pickled plan stays small."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[object, object] = {}

    def get(self, make: Callable[[], _T], name: str) -> _T:
        """The result of that name, which `make` makes at the first call."""
        if name not in self._made:
            self._made[name] = make()
        return cast("_T", self._made[name])

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()
