"""Limits the rows of one body of JSON or Protobuf, and the JSON key sets that a deserializer remembers. The body's size
does not limit the rows: `{}` in an array becomes a row with all columns of its STRUCT, and an absent property its
schema's default. Only values that cost more than the allowance for their minimal bytes are counted."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from threading import local
from typing import Final, Generic, TypeAlias, TypeVar

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import PayloadBoundError
from srfix.serde.forking import ForkLock
from srfix.serde.printable import counted

_CONTAINER: Final = 4
_CHARACTERS: Final = 32

_Steps = TypeVar("_Steps")


class Budget(local):
    """The number of values that the present body may still make, for each thread."""

    def __init__(self, fewest_bytes: int = len("{},")) -> None:
        self._bounds = payload_bounds()
        self._granted = self._bounds.values_per_byte * fewest_bytes
        self._left = self._size = 0
        self.is_needed = False
        """True if something is counted: then `begin` must be called for each body."""

    def begin(self, size: int) -> None:
        self._size = size
        self._left = self._bounds.budget(size)

    def price(self, values: int) -> int:
        """The amount to spend for this number of values: nothing if their bytes cover it."""
        if values <= self._granted:
            return 0
        self.is_needed = True
        return values

    def price_of_row(self, columns: Iterable[int]) -> int:
        """The amount to spend for each row. `columns` gives each column's value if nothing feeds it."""
        return self.price(_CONTAINER + sum(columns))

    def spend(self, values: int) -> None:
        """:raises PayloadBoundError: if the body makes more values than allowed."""
        self._left -= values
        if self._left < 0:
            raise PayloadBoundError(
                f"The rows of the body have more than {self._bounds.budget(self._size):,} values, the limit for a body "
                f"of {counted(self._size, 'byte')}. It is hostile or corrupt, or you must raise the limits "
                "(srfix.serde.bounds: values, values_per_byte).",
                bound="values",
            )


def cost_of_default(value: object) -> int:
    cost, stack = 0, [value]
    while stack:
        part = stack.pop()
        cost += 1
        if isinstance(part, str | bytes):
            cost += len(part) // _CHARACTERS
        elif isinstance(part, dict):
            cost += _CONTAINER
            stack.extend(part.values())
        elif isinstance(part, list | tuple):
            cost += _CONTAINER
            stack.extend(part)
    return cost


_Known: TypeAlias = "dict[tuple[str, ...], _Steps]"


class Shapes(Generic[_Steps]):
    """The sets of keys that all readers of a deserializer remember. The oldest are forgotten first."""

    def __init__(self) -> None:
        bounds = payload_bounds()
        self._most, self._most_bytes = bounds.shapes, bounds.shape_bytes
        self._bytes = 0
        self._remembered: deque[tuple[_Known[_Steps], tuple[str, ...], int]] = deque()
        self._lock = ForkLock()

    def put(self, table: _Known[_Steps], keys: tuple[str, ...], steps: _Steps) -> None:
        size = sum(map(sys.getsizeof, keys)) + sys.getsizeof(keys)
        if size > self._most_bytes // self._most:
            return  # a set so large that all others would be forgotten
        with self._lock:
            if keys in table:
                return
            table[keys] = steps
            self._remembered.append((table, keys, size))
            self._bytes += size
            while len(self._remembered) > self._most or self._bytes > self._most_bytes:
                other, forgotten, size = self._remembered.popleft()
                other.pop(forgotten, None)
                self._bytes -= size
