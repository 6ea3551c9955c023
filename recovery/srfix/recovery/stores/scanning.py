"""Selects rows of a store, for every layout on disk, and decodes the first ones in a task's part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.parts import SecondAnswers
from srfix.recovery.stores.row_documents import DecodedRow, decoded_rows
from srfix.serde.json_values import to_json
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Bounds of keys and windows; None for no such bound."""

    prefix: bytes | None = None
    first: bytes | None = None
    """The first key, inclusive."""
    last: bytes | None = None
    """The last key, inclusive."""
    window_from_ms: int | None = None
    """Windows that start at this time or later; sessions that end at this time or later."""
    window_to_ms: int | None = None
    """Windows that start at this time or earlier."""

    def rows(self, store: StateStore) -> Iterator[StateRow]:
        """The rows of a store within these bounds. Damage is noted in the store."""
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
    """The keys of a store that decode to this JSON value, each once; a row with one column may be given as the column's
    value. Every key is read, because it is not known in advance under which schema id a key was written.
    """
    keys: set[bytes] = set()
    for batch in store.batches():
        column = decoder.decode_column(store.changelog, Role.KEY, batch.keys, batch.headers)
        for key, value in zip(batch.keys, column.values, strict=True):
            if key not in keys and value is not None and _reads_as(to_json(value), wanted):
                keys.add(key)
                yield key


def _reads_as(read: object, wanted: Json) -> bool:
    if isinstance(read, dict) and len(read) == 1 and not isinstance(wanted, dict):
        (read,) = read.values()
    return read == wanted


def rows_of_key(store: StateStore, key: bytes) -> Iterator[StateRow]:
    """The rows of one key: a single row, or those of its windows, sessions, versions or list."""
    if store.format.is_key_value:
        row = store.get(key)
        if row is not None:
            yield row
        return
    yield from store.rows_of(key)


class Retention:
    """Finds the rows of windows and sessions that are beyond the retention. They stay until their whole segment is
    dropped, but Kafka Streams from 3.5 on hides them: rows that are older than the newest window of the store by the
    retention or more (`AbstractRocksDBSegmentedBytesStore.getActualFrom`). srfix assumes that the newest window in the
    store is the newest that the store has seen.
    """

    def __init__(self, retention_ms: int) -> None:
        self._retention_ms = retention_ms
        self._newest_ms: dict[str, int | None] = {}

    def is_beyond(self, store: StateStore, window: StoredWindow | None) -> bool | None:
        """Whether a row of that window is beyond the retention; None if the row has no window."""
        place = store.directory.path
        if place not in self._newest_ms:
            self._newest_ms[place] = store.newest_window_ms()
        newest_ms = self._newest_ms[place]
        if window is None or newest_ms is None:
            return None
        return window.last_ms <= newest_ms - self._retention_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPart:
    store: StateStore
    rows: tuple[DecodedRow, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanWork:
    wanted: RowFilter
    decoder: RecordDecoder
    second: SecondAnswers
    limit: int

    def __call__(self, part: StateStore) -> ScannedPart:
        rows = decoded_rows(part, self.wanted.rows(part), self.decoder, topic=part.changelog)
        return ScannedPart(store=part, rows=tuple(islice(rows, self.limit)), notes=self.second.taken())

    def places(self, part: StateStore) -> Sequence[Path]:
        return (Path(part.directory.path),)
