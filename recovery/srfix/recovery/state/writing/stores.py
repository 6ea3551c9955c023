"""The directory of one store in a task: one database, or one for each segment of time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY, CheckpointEntry, offsets_rows
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.formats.versioned import versioned_segment_interval_ms
from srfix.recovery.state.writing.database import DatabaseWriter, RowWriter, new_database
from srfix.recovery.state.writing.kinds import (
    NO_TIMESTAMP,
    Release,
    WrittenKind,
    check_kind,
    segment_time,
    stored_keys,
)
from srfix.recovery.state.writing.versions import VersionedRows
from srfix.serde.errors import UsageError

_ROCKSDB: Final = "rocksdb"
_LEAST_INTERVAL_MS: Final = 60_000
_MOST_OPEN: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreToWrite:
    name: str
    kind: WrittenKind
    retention_ms: int | None = None
    """For windows and sessions, how long it keeps rows; for versions, the history retention; None for a key-value store."""
    segment_interval_ms: int | None = None
    """For a store with a retention, how long a segment is; None for Kafka Streams' default."""

    def __post_init__(self) -> None:
        if self.kind.has_retention != (self.retention_ms is not None):
            raise UsageError(
                f"The segments of a store of the kind {self.kind.value} depend on its retention: give --retention-ms."
                if self.kind.has_retention
                else f"A store of the kind {self.kind.value} has no retention: leave out --retention-ms."
            )

    @property
    def interval_ms(self) -> int:
        """For windows and sessions half the retention, at least a minute; else `versioned_segment_interval_ms`."""
        retention_ms = self.retention_ms or 0
        if self.kind is WrittenKind.VERSIONED:
            return self.segment_interval_ms or versioned_segment_interval_ms(retention_ms)
        return self.segment_interval_ms or max(retention_ms // 2, _LEAST_INTERVAL_MS)


class RestoredRows:
    """The rows that a restore makes of a topic: the last record of a key counts, and a tombstone removes the key.

    :param writer: the rows of a segment, by its number; of a store without segments, those of 0.
    :param newest_ms: what `newest_ms` was, to go on with rows that are there.
    :param segments: for a versioned store, the segments of its rows that are there.
    """

    def __init__(
        self,
        store: StoreToWrite,
        writer: Callable[[int], RowWriter],
        *,
        newest_ms: int = -1,
        segments: Iterable[int] = (),
    ) -> None:
        self._kind = store.kind
        self._family = store.kind.family
        self._stored_value = store.kind.format.layout.values[self._family].encode
        self._is_segmented = store.kind.is_segmented
        self._interval_ms = store.interval_ms
        self._retention_ms = store.retention_ms or 0
        self._writer = writer
        self._newest_ms = newest_ms
        self._only_part = None if store.kind.has_retention else writer(0)
        self._versions: VersionedRows | None = None
        self.late = 0
        """The number of records that were older than the retention when they came; a restore leaves them out, too."""
        if store.kind is WrittenKind.VERSIONED:
            self._versions = VersionedRows(
                writer(0),
                self._family,
                retention_ms=self._retention_ms,
                interval_ms=self._interval_ms,
                newest_ms=newest_ms,
                segments=segments,
            )

    @property
    def newest_ms(self) -> int:
        """The newest time of its windows, sessions or versions; -1 for none."""
        return self._newest_ms if self._versions is None else self._versions.newest_ms

    def restore(self, key: bytes, value: bytes | None, *, timestamp_ms: int | None, headers: Headers = ()) -> None:
        if self._only_part is not None:
            if value is None:
                self._only_part.delete(self._family, key)
            else:
                self._only_part.put(self._family, key, self._stored_value(value, timestamp_ms, headers))
            return
        if self._versions is not None:
            timestamp_ms = NO_TIMESTAMP if timestamp_ms is None else timestamp_ms
            self.late += not self._versions.put(key, value, timestamp_ms)
            return
        segment = self._segment_of(key)
        if segment < self.oldest_segment:
            self.late += 1
            return
        writer = self._writer(segment)
        row_key, index_key = stored_keys(self._kind, key)
        if value is None:
            writer.delete(self._family, row_key)
        else:
            writer.put(self._family, row_key, self._stored_value(value, timestamp_ms, headers))
        if index_key is not None and value is None:
            writer.delete(self._family, index_key)
        elif index_key is not None:
            writer.put(self._family, index_key, b"")

    def flush(self) -> None:
        if self._versions is not None:
            self._versions.flush()

    def _segment_of(self, key: bytes) -> int:
        """The number of the segment of a key, whose time counts as seen."""
        time_ms = segment_time(self._kind, key)
        self._newest_ms = max(self._newest_ms, time_ms)
        return time_ms // self._interval_ms

    @property
    def oldest_segment(self) -> int:
        """The first that is kept, as in `AbstractSegments.getOrCreateSegmentIfLive`; 0 of a store without segments."""
        return max(self._newest_ms - self._retention_ms, 0) // self._interval_ms if self._is_segmented else 0


class StoreWriter:
    """Writes a store's directory as a restore does."""

    def __init__(self, store: StoreToWrite, folder: Path, release: Release, databases: ExitStack) -> None:
        self._store = store
        self._folder = folder
        self._release = release
        self._open = databases
        self._databases: dict[int, DatabaseWriter] = {}
        self.rows = RestoredRows(store, self._database)
        self.restore = self.rows.restore

    def finish(self, entries: Iterable[CheckpointEntry]) -> None:
        """Completes the databases, with the offsets (from 4.3 on), and without rows older than the retention."""
        offsets = offsets_rows(entries) if self._release.keeps_offsets_in_stores else {}
        self.rows.flush()
        if not self._store.kind.is_segmented:
            self._database(0)
        for database in self._databases.values():
            for key, value in offsets.items():
                database.put(OFFSETS_COLUMN_FAMILY, key, value)
        self._open.close()
        for segment in self._databases:
            if segment < self.rows.oldest_segment:
                shutil.rmtree(self._path(segment))

    def _database(self, segment: int) -> DatabaseWriter:
        if segment not in self._databases:
            if len(self._databases) >= _MOST_OPEN:
                raise StateDirectoryError(
                    f"{self._folder}: {self._store.name} would have more than {_MOST_OPEN:,} segments. Check --retention-ms."
                )
            own = (OFFSETS_COLUMN_FAMILY,) if self._release.keeps_offsets_in_stores else ()
            families = (self._store.kind.family, *own)
            self._databases[segment] = self._open.enter_context(
                new_database(self._path(segment), families, self._release)
            )
        return self._databases[segment]

    def _path(self, segment: int) -> Path:
        if not self._store.kind.is_segmented:
            return self._folder / _ROCKSDB / self._store.name
        return self._folder / self._store.name / f"{self._store.name}.{segment * self._store.interval_ms}"


@contextmanager
def store_writer(store: StoreToWrite, folder: Path, release: Release) -> Iterator[StoreWriter]:
    check_kind(store.kind, release)
    with ExitStack() as databases:
        yield StoreWriter(store, folder, release, databases)
