"""Which rows of a store are asked for, however the store lies on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.stores.rows import StateRow
from srfix.recovery.state.stores.store import StateStore
from srfix.serde.json_values import to_json
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role


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
        return (self.window_from_ms is None or row.window.last_ms >= self.window_from_ms) and (
            self.window_to_ms is None or row.window.start_ms <= self.window_to_ms
        )


def keys_that_read_as(store: StateStore, decoder: RecordDecoder, wanted: Json) -> Iterator[bytes]:
    """The keys of a store that a reader sees as this JSON value, each once; a row of one column may be given as its value.

    Every key is read: under which of its schema ids a key was written is not known beforehand.

    :raises RegistryError: if the registry could not be asked.
    """
    found: set[bytes] = set()
    for batch in store.batches():
        column = decoder.decode_column(store.changelog, Role.KEY, batch.keys, batch.headers)
        for key, value in zip(batch.keys, column.values, strict=True):
            if key not in found and value is not None and _reads_as(to_json(value), wanted):
                found.add(key)
                yield key


def _reads_as(read: object, wanted: Json) -> bool:
    if isinstance(read, dict) and len(read) == 1 and not isinstance(wanted, dict):
        (read,) = read.values()
    return read == wanted


def rows_of_key(store: StateStore, key: bytes) -> Iterator[StateRow]:
    """The rows of one key: one, or those of its windows, sessions, versions or list."""
    if store.format.is_key_value:
        found = store.get(key)
        if found is not None:
            yield found
        return
    yield from store.rows_of(key)
