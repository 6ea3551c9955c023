"""The rows that a client asks a served store for, and how a member answers them from the partitions that it holds."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.rows import DecodedRow, RowFilter, decoded_rows, row_document
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.schemas.models import Json

CHUNK: Final = 500
"""How many rows are read and decoded together."""
KeyBytes = Callable[[Json], Sequence[bytes]]
"""A key as JSON → the bytes under which a serializer may have written it: one for each schema that it may have used."""
Partitioner = Callable[[bytes, int], int]
"""A key's bytes, and the number of partitions → its partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which rows are wanted. Keys are bytes; times are milliseconds since the epoch, inclusive."""

    keys: tuple[bytes, ...] | None = None
    """The bytes that one key, or several, may have; None for rows of any key."""
    within: RowFilter = field(default_factory=RowFilter)
    at_ms: int | None = None
    """For a versioned store: the time at which the version holds; None for now."""

    def partitions(self, count: int, partitioner: Partitioner = partition_of) -> tuple[int, ...]:
        """The partitions that can hold the rows."""
        if self.keys is None:
            return tuple(range(count))
        return tuple(sorted({partitioner(key, count) for key in self.keys}))

    def rows(self, store: StateStore) -> Iterator[StateRow]:
        if self.keys is None:
            yield from self.within.rows(store)
            return
        first, last = self.within.window_from_ms, self.within.window_to_ms
        for key in self.keys:
            if store.format is StoreFormat.VERSIONED:
                row = store.version_at(key, as_of_ms=self.at_ms)
                yield from () if row is None else (row,)
            elif store.format.is_key_value:
                row = store.get(key)
                yield from () if row is None else (row,)
            elif store.format.is_windowed:
                yield from store.fetch(key, from_ms=first, to_ms=last)
            elif store.format.is_of_sessions:
                yield from store.sessions(key, earliest_end_ms=first, latest_start_ms=last)
            else:
                yield from store.rows_of(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """Some rows of a partition, in the order of its stored keys."""

    rows: Sequence[DecodedRow]
    offset: int
    """Every record of the log before this offset is in these rows; a later one may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A store as members serve it: where its rows come from, and how they are read."""

    spec: ServedStore
    decoder: RecordDecoder
    key_bytes: KeyBytes | None = None
    """None if keys are only bytes."""
    hides_expired: bool = True
    """Whether rows beyond the retention are left out, as Kafka Streams 3.5 and later does."""
    partitioner: Partitioner = partition_of
    table: str | None = None
    """Its name for a SQL client; None for the store's."""
    columns: Sequence[tuple[str, str]] | None = None
    """The columns that a SQL client sees, with ksqlDB's types, keys first; None if they are not known."""
    key_columns: Sequence[str] = ()
    window_size_ms: int | None = None
    """The size of time windows, which no store holds; None if it was not given."""

    @property
    def name(self) -> str:
        return self.spec.name

    def read(self, part: ServedPartition, question: Question) -> ReadRows:
        """All rows of a short question, as they are at one offset.

        :raises StateDirectoryError: if rows cannot be read.
        """
        with part.reading() as (store, offset):
            rows = list(self._rows(part, store, question))
        return ReadRows(rows=self.decoded(store, rows), offset=offset)

    def chunks(self, part: ServedPartition, question: Question) -> Iterator[ReadRows]:
        """The rows of a long question, some at a time, while records are applied.

        :raises StateDirectoryError: if rows cannot be read.
        """
        store = part.store()
        rows = self._rows(part, store, question)
        while True:
            offset = part.offset
            chunk = list(islice(rows, CHUNK))
            if not chunk:
                return
            yield ReadRows(rows=self.decoded(store, chunk), offset=offset)

    def count(self, part: ServedPartition, question: Question) -> int:
        return sum(1 for _row in self._rows(part, part.store(), question))

    def decoded(self, store: StateStore, rows: Sequence[StateRow]) -> Sequence[DecodedRow]:
        return list(decoded_rows(store, rows, self.decoder, topic=self.spec.topic))

    def _rows(self, part: ServedPartition, store: StateStore, question: Question) -> Iterator[StateRow]:
        oldest_ms = part.oldest_shown_ms if self.hides_expired else None
        for row in question.rows(store):
            if oldest_ms is None or row.window is None or row.window.last_ms > oldest_ms:
                yield row
        if store.damage:
            raise StateDirectoryError(f"partition {part.number} of {self.name}: {store.damage[0].problem}.")

    def document(self, row: DecodedRow, *, is_raw: bool = False) -> str:
        """A row as the text of `srfix.state-row/1`, or, raw, its value in base64."""
        if is_raw:
            value = row.row.value
            return json.dumps(None if value is None else base64.b64encode(value).decode("ascii"))
        return json.dumps(row_document(row, application=self.spec.application).to_json(), allow_nan=False)
