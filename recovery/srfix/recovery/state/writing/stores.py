"""The directory of one store in a task: one database, or one for each segment of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY, CheckpointEntry, offsets_rows
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.formats.versioned import versioned_segment_interval_ms
from srfix.recovery.state.writing.database import DatabaseWriter, new_database
from srfix.recovery.state.writing.kinds import (
    NO_TIMESTAMP,
    Release,
    WrittenKind,
    check_kind,
    segment_time,
    stored,
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
                f"A store of the kind {self.kind.value} has segments, which follow from its retention: give --retention-ms."
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


class StoreWriter:
    """Writes a store as a restore does: the last record of a key counts, and a tombstone removes the key."""

    def __init__(self, store: StoreToWrite, folder: Path, release: Release) -> None:
        self._store = store
        self._folder = folder
        self._release = release
        self._open = ExitStack()
        self._databases: dict[int, DatabaseWriter] = {}
        self._versions: VersionedRows | None = None
        self._newest_ms = -1
        self.late = 0
        """The number of records that were older than the retention when they came; a restore leaves them out, too."""

    def restore(self, key: bytes, value: bytes | None, *, timestamp_ms: int | None, headers: Headers = ()) -> None:
        kind = self._store.kind
        if kind is WrittenKind.VERSIONED:
            timestamp_ms = NO_TIMESTAMP if timestamp_ms is None else timestamp_ms
            self.late += not self._versioned_rows().put(key, value, timestamp_ms)
            return
        database = self._database_of(key)
        if database is None:
            self.late += 1
            return
        row_key, index_key = stored_keys(kind, key)
        if value is None:
            database.delete(kind.family, row_key)
        else:
            database.put(kind.family, row_key, stored(kind, value, timestamp_ms=timestamp_ms, headers=headers))
        if index_key is not None and value is None:
            database.delete(kind.family, index_key)
        elif index_key is not None:
            database.put(kind.family, index_key, b"")

    def finish(self, entries: Iterable[CheckpointEntry]) -> None:
        """Completes the databases, with the offsets (from 4.3 on), and without rows older than the retention."""
        rows = offsets_rows(entries) if self._release.keeps_offsets_in_stores else {}
        if self._versions is not None:
            self._versions.flush()
        if not self._store.kind.is_segmented:
            self._database(0)
        for database in self._databases.values():
            for key, value in rows.items():
                database.put(OFFSETS_COLUMN_FAMILY, key, value)
        self._open.close()
        for segment in self._databases:
            if self._store.kind.is_segmented and segment < self._oldest_segment:
                _remove(self._path(segment))

    def abandon(self, error: BaseException) -> None:
        self._open.__exit__(type(error), error, error.__traceback__)

    def _database_of(self, key: bytes) -> DatabaseWriter | None:
        if not self._store.kind.is_segmented:
            return self._database(0)
        time_ms = segment_time(self._store.kind, key)
        self._newest_ms = max(self._newest_ms, time_ms)
        segment = time_ms // self._store.interval_ms
        return None if segment < self._oldest_segment else self._database(segment)

    def _versioned_rows(self) -> VersionedRows:
        if self._versions is None:
            self._versions = VersionedRows(
                self._database(0),
                self._store.kind.family,
                retention_ms=self._store.retention_ms or 0,
                interval_ms=self._store.interval_ms,
            )
        return self._versions

    @property
    def _oldest_segment(self) -> int:
        """As in `AbstractSegments.getOrCreateSegmentIfLive`."""
        return max(self._newest_ms - (self._store.retention_ms or 0), 0) // self._store.interval_ms

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
    writer = StoreWriter(store, folder, release)
    try:
        yield writer
    except BaseException as error:
        writer.abandon(error)
        raise


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
