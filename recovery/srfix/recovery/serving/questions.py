"""The rows that a client asks a served store for, and how a member answers them from the partitions that it holds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import msgspec

from srfix.recovery.documents import Part
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.serving.liveness import PartitionRead
from srfix.recovery.serving.partition import Progress, ServedPartition, ServedStore
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.rows import RowFilter, decoded_rows, row_document, rows_of_key
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.schemas.models import Json

CHUNK: Final = 500
"""How many rows are read and decoded together."""
_COUNTED: Final = 5_000
_FEW_KEYS: Final = 4
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
    counts: bool = False
    """True to count the rows, and read none."""
    is_raw: bool = False
    """True for the bytes of the values, not decoded."""

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
            elif store.format.is_windowed:
                yield from store.fetch(key, from_ms=first, to_ms=last)
            elif store.format.is_of_sessions:
                yield from store.sessions(key, earliest_end_ms=first, latest_start_ms=last)
            else:
                yield from rows_of_key(store, key)


class Piece(Part, kw_only=True):
    """Some rows of a partition, in the order of its stored keys; the last piece of a partition is `done`."""

    partition: int
    rows: list[msgspec.Raw] = msgspec.field(default_factory=list)
    """Each as JSON: `srfix.state-row/1`, or, raw, its value in base64. None of a question that only counts."""
    count: int = 0
    offset: int = 0
    """Every record of the log before this offset is in these rows, and, from a RocksDB, no later one."""
    done: bool = True
    problem: str | None = None
    """Why the partition could not be read (on)."""
    read: PartitionRead | None = None
    """Where the rows were read; None if there is a problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A store as members serve it: where its rows come from, and how they are read."""

    spec: ServedStore
    decoder: RecordDecoder
    key_bytes: KeyBytes | None = None
    """None if keys are only bytes."""
    has_framed_keys: bool = False
    """True if `key_bytes` may ask a registry."""
    partitioner: Partitioner = partition_of
    table: str | None = None
    """Its name for a SQL client; None for the store's."""
    columns: tuple[dict[str, str], dict[str, str]] | None = None
    """The columns of keys and of values that a SQL client sees, with ksqlDB's types; None if they are not known."""
    wrong_ids: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The schema ids of its rows that a subject lacks, as far as a diagnosis has found it."""
    window_size_ms: int | None = None
    """The size of time windows, which no store holds; None if it was not given."""

    @property
    def name(self) -> str:
        return self.spec.name

    def read_now(self, part: ServedPartition, question: Question) -> Piece | None:
        """The rows of a few keys, if that waits for nothing: no batch that is written, no other machine, no schema. None
        if it would, or if they cannot be read."""
        keys, has_one_row = question.keys, self.spec.store.kind.format.is_key_value
        if keys is None or len(keys) > _FEW_KEYS or question.counts or not (has_one_row and part.database.is_near):
            return None
        try:
            found = part.look_up(keys)
        except Exception:  # noqa: BLE001  (`chunks` meets it again, and says what it is)
            return None
        if found is None:
            return None
        rows, offset = found
        if not question.is_raw and any(self.decoder.asks_anew(row.key, row.value, row.headers) for row in rows):
            return None
        documents = self._documents(part.place, rows, is_raw=question.is_raw)
        return Piece(partition=part.number, rows=documents, count=len(rows), offset=offset)

    def chunks(self, part: ServedPartition, question: Question) -> Generator[Piece]:
        """The rows of any question as they are now, some at a time; at least one piece.

        :raises StateDirectoryError: if rows cannot be read.
        """
        store, progress = part.frozen()
        generation, rows = part.generation, self._rows(part, store, question, progress)
        size, is_last = _COUNTED if question.counts else CHUNK, False
        while not is_last:
            chunk = list(islice(rows, size))
            is_last = len(chunk) < size
            if part.generation != generation and not part.database.is_near:
                raise StateDirectoryError(f"partition {part.number} of {self.name} is being filled anew.")
            documents = [] if question.counts else self._documents(store, chunk, is_raw=question.is_raw)
            yield Piece(partition=part.number, rows=documents, count=len(chunk), offset=progress.offset, done=is_last)

    def _documents(self, store: StateStore, rows: Sequence[StateRow], *, is_raw: bool) -> list[msgspec.Raw]:
        if is_raw:
            return [msgspec.Raw(msgspec.json.encode(row.value)) for row in rows]
        decoded = decoded_rows(store, rows, self.decoder, topic=self.spec.topic)
        documents = (row_document(row, application=self.spec.application or None) for row in decoded)
        return [msgspec.Raw(msgspec.json.encode(document)) for document in documents]

    def _rows(
        self, part: ServedPartition, store: StateStore, question: Question, progress: Progress
    ) -> Iterator[StateRow]:
        """Those that Kafka Streams answers from 3.5 on: none beyond the retention, and no deleted version."""
        beyond_ms, at_ms = part.newest_beyond_ms(progress), question.at_ms
        try:
            for row in question.rows(store):
                if row.valid_from_ms is None:
                    is_shown = beyond_ms is None or row.window is None or row.window.last_ms > beyond_ms
                else:  # of a time beyond the history only a version that still holds is known (`RocksDBVersionedStore.get`)
                    is_known = beyond_ms is None or at_ms is None or at_ms > beyond_ms or row.valid_to_ms is None
                    is_shown = is_known and row.value is not None
                if is_shown:
                    yield row
        except Exception as error:  # rocksdict raises a bare Exception for every error of RocksDB
            if type(error) is not Exception:
                raise
            raise StateDirectoryError(f"partition {part.number} of {self.name}: RocksDB says {error}.") from error
        if store.damage:
            raise StateDirectoryError(f"partition {part.number} of {self.name}: {store.damage[0].problem}.")
