"""Which rows of a store are asked for, however the store lies on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.recovery.state.stores import StateRow, StateStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Bounds of keys and windows; None for no such bound."""

    prefix: bytes | None = None
    """What the key begins with."""
    first: bytes | None = None
    """The first key, inclusive."""
    last: bytes | None = None
    """The last key, inclusive."""
    window_from_ms: int | None = None
    """Windows that start then or later, inclusive; of sessions those that end so."""
    window_to_ms: int | None = None
    """Windows that start then or before, inclusive."""

    def rows(self, store: StateStore) -> Iterator[StateRow]:
        """The rows of a store within these bounds. Damage is noted in the store.

        :raises LibraryMissingError: if rocksdict is not installed.
        """
        if self.prefix is not None:
            source = store.prefix(self.prefix)
        elif self.first is not None or self.last is not None:
            source = store.range(self.first, self.last)
        elif store.format.is_windowed:
            source = store.fetch(from_ms=self.window_from_ms, to_ms=self.window_to_ms)
        elif store.format.is_of_sessions:
            source = store.sessions(earliest_end_ms=self.window_from_ms, latest_start_ms=self.window_to_ms)
        else:
            source = store.rows()
        return (row for row in source if self._has(row))

    def _has(self, row: StateRow) -> bool:
        if (self.first is not None and row.key < self.first) or (self.last is not None and row.key > self.last):
            return False
        if self.window_from_ms is None and self.window_to_ms is None:
            return True
        if row.window is None:
            return False
        last = row.window.start_ms if row.window.end_ms is None else row.window.end_ms
        return (self.window_from_ms is None or last >= self.window_from_ms) and (
            self.window_to_ms is None or row.window.start_ms <= self.window_to_ms
        )


def rows_of_key(store: StateStore, key: bytes) -> Iterator[StateRow]:
    """The rows of one key: one, or those of its windows, sessions, versions or list."""
    if store.format.is_key_value:
        found = store.get(key)
        if found is not None:
            yield found
        return
    yield from store.rows_of(key)
