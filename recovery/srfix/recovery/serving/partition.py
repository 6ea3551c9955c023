"""One partition of a store that srfix serves: its log's records become rows as in a restore, and are read as a store.

| store | log | rows |
|---|---|---|
| with a changelog | the changelog | as a restore makes them |
| that reuses its source topic | the source topic | as a restore makes them: the raw bytes of the topic |
| global | the topic | the same |

Records without a key are left out, a tombstone removes, and a record older than the retention is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from srfix.recovery.clock import now_ms
from srfix.recovery.cluster.raw_record import headers_of
from srfix.recovery.errors import StateDirectoryError, WrittenElsewhereError
from srfix.recovery.serving.databases import PartitionDatabase
from srfix.recovery.serving.liveness import PartitionLag
from srfix.recovery.state.directory import StoreDirectory, StoreKind, Task
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.detection import Detected
from srfix.recovery.state.reading.rows import StateRow, decoder
from srfix.recovery.state.reading.seeking import version_segments
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.state.rocksdb import OpenedDatabase
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import RestoredRows, StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import Message

RestoredRow: TypeAlias = tuple[bytes, bytes | None, int | None, Headers]
"""A record of a log: key, value, timestamp, headers."""
_STRAYS_AMONG: Final = 50
_STRAYS_EVERY_S: Final = 10.0
_TOGETHER: Final = 5_000
_CONFIRMED_S: Final = 3.0
"""How long it counts what was seen of the end of a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedStore:
    """A store to serve, and where its rows come from."""

    application: str
    """Empty for a topic that is served by itself."""
    store: StoreToWrite
    topic: Topic
    partitions: int
    until: Until = Until.END
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    tombstones_kept_ms: int | None = None
    """How long the topic keeps tombstones (`delete.retention.ms`), if it is compacted. A database that was left alone for
    longer could lack deletes, so it is filled anew."""
    origin: str = ""
    """The cluster: rows of another origin are not served."""
    topic_id: str | None = None
    """The id that the topic has until it is deleted (KIP-516), if the cluster gives it one: nor are those of another id."""

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def made_of(self) -> str:
        store, read = self.store, (self.until.value, self.isolation.value)
        of_topic = (self.origin, self.topic) if self.topic_id is None else (self.origin, self.topic, self.topic_id)
        return "/".join(map(str, (*of_topic, *read, store.kind.value, store.retention_ms, store.interval_ms)))

    def forgets_deletes_since(self, time_ms: int) -> bool:
        """True if the topic may have lost tombstones of records before this time."""
        return self.tombstones_kept_ms is not None and now_ms() - time_ms > self.tombstones_kept_ms


class Progress(msgspec.Struct, kw_only=True):
    """How far a partition was read, as it is written with the rows."""

    made_of: str
    offset: int
    """The next offset to read."""
    time_ms: int
    """When this was written."""
    newest_ms: int = -1
    """The newest time of its windows, sessions or versions."""
    record_ms: int | None = None
    """The timestamp of the last record."""
    is_mixed: bool = False
    """True if rows of a head start may be newer than the offset: they are not shown before the log was read to its end."""
    is_filled: bool = False
    """See `ServedPartition.is_filled`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Directory(StoreDirectory):
    parts: tuple[Path, ...]

    def databases(self) -> tuple[Path, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class _PartWriter:
    """A part as `RestoredRows` writes it: the changes of the present batch, which it can read back."""

    partition: ServedPartition
    part: int
    changes: dict[bytes, bytes | None] = field(default_factory=dict)

    def put(self, _family: str, key: bytes, value: bytes) -> None:
        self.changes[key] = value

    def delete(self, _family: str, key: bytes) -> None:
        self.changes[key] = None

    def delete_prefix(self, family: str, prefix: bytes) -> None:
        rows = self.partition.database.rows(self.part, family).rows(family, start=prefix)
        stored = takewhile(lambda key: key.startswith(prefix), (key for key, _value in rows))
        self.changes.update(dict.fromkeys((*stored, *(key for key in self.changes if key.startswith(prefix)))))

    def get(self, family: str, key: bytes) -> bytes | None:
        if key in self.changes:
            return self.changes[key]
        return self.partition.database.rows(self.part, family).get(family, key)


class ServedPartition:
    """A partition of a store: one thread applies records, any thread reads.

    :raises StateDirectoryError: if its progress cannot be read.
    """

    def __init__(self, served: ServedStore, number: int, database: PartitionDatabase) -> None:
        self.served = served
        self.number = number
        self.database = database
        self.notes: list[str] = []
        self.end: int | None = None
        """The end of its log when it was last seen, or the offset up to which it is to be read; None if not yet seen."""
        self._seen_s = float("-inf")
        self._is_closed = self.is_abandoned = False
        self.generation = 0
        """How often its rows were removed, to be filled anew."""
        self.problem: str | None = None
        """Why it cannot go on, in words."""
        self.applied = self.applied_bytes = 0
        self._has_strays, self._looked_for_strays_s = False, float("-inf")
        self._lock = Lock()
        self._writers: dict[int, _PartWriter] = {}
        self.place = self._store({})
        """The store as its rows name it; without rows."""
        self.progress = self._last_progress()
        self._begin()

    def _begin(self) -> None:
        self._writers.clear()
        family = self.served.store.kind.family
        has_versions = self.served.store.kind is WrittenKind.VERSIONED
        self._rows = RestoredRows(
            self.served.store,
            self._writer,
            newest_ms=self.progress.newest_ms,
            segments=version_segments(self.database.rows(0, family), family) if has_versions else (),
        )

    def _last_progress(self) -> Progress:
        found = self.database.progress()
        try:
            progress = None if found is None else msgspec.json.decode(found, type=Progress)
        except msgspec.MsgspecError:
            return self._anew("another version of srfix wrote its progress")
        if progress is None or progress.offset == 0:  # nothing was read, or a head start was not finished
            return self._anew(None)
        if progress.made_of != self.served.made_of:
            return self._anew(
                "it was made from another topic (or one that was deleted and made again), for another kind of store, or with "
                "another --until or --isolation"
            )
        if self.served.forgets_deletes_since(progress.time_ms):
            return self._anew("it was last read before the topic began to forget its deletes (delete.retention.ms)")
        return progress

    def _anew(self, why: str | None) -> Progress:
        self.database.clear()
        if why is not None:
            self.notes.append(f"partition {self.number} is filled anew: {why}")
        return Progress(made_of=self.served.made_of, offset=0, time_ms=now_ms())

    def start_anew(self, why: str) -> None:
        """Removes all rows, so that the log is read again from its start."""
        with self._lock:
            self.generation += 1
            self.end = None  # it may have been that of another topic
            self.progress = self._anew(why)
            self._begin()

    def see_end(self, end: int, at_s: float | None = None) -> None:
        """Somebody who knows has said where its log ends.

        :param at_s: by `time.monotonic`, when he was asked; None for now.
        """
        self.end = end
        self._seen_s = time.monotonic() if at_s is None else at_s
        self._see_whether_filled()

    def _see_whether_filled(self) -> None:
        # A head start beyond the end is not of this log, unless records came after it.
        is_of_log = self.applied > 0 or (self.end or 0) >= self.offset or self.served.until is Until.COMMITTED
        if not self.progress.is_filled and self.lag.records == 0 and is_of_log:
            with self._lock:
                self.progress = msgspec.structs.replace(self.progress, is_mixed=False, is_filled=True)

    @property
    def offset(self) -> int:
        """The next offset to read: every record before it is in the rows."""
        return self.progress.offset

    @property
    def lag(self) -> PartitionLag:
        """How far it is behind the end of its log, which is not known if it was not seen of late."""
        progress, seen, unseen_s = self.progress, self.end, time.monotonic() - self._seen_s
        end = None if seen is None or unseen_s >= _CONFIRMED_S else max(seen, progress.offset)
        if seen is None:
            lag_ms: int | None = None
        elif seen > progress.offset:
            lag_ms = None if progress.record_ms is None else max(now_ms() - progress.record_ms, 0)
        else:
            lag_ms = 0 if end is not None else int(unseen_s * 1000)
        is_caught_up = end == progress.offset and not progress.is_mixed and self.problem is None
        return PartitionLag(current=progress.offset, end=end, lag_ms=lag_ms, is_caught_up=is_caught_up)

    @property
    def is_filled(self) -> bool:
        """True if the log was read to its end once: before that, a key without a row may have one."""
        return self.progress.is_filled

    def has_strays(self, partitioner: Callable[[bytes, int], int]) -> bool:
        """True if one of its first 50 rows belongs to another partition by this partitioner. False is no proof."""
        now_s = time.monotonic()
        if not self._has_strays and now_s - self._looked_for_strays_s > _STRAYS_EVERY_S:
            self._looked_for_strays_s = now_s
            keys = [row.key for row in islice(self.frozen()[0].rows(), _STRAYS_AMONG)]
            self._has_strays = any(partitioner(key, self.served.partitions) != self.number for key in keys)
        return self._has_strays

    def newest_beyond_ms(self, progress: Progress) -> int | None:
        """The newest time that was beyond the retention then; None for a store that has none, or no rows."""
        store, newest_ms = self.served.store, progress.newest_ms
        if store.retention_ms is None or newest_ms < 0:
            return None
        # AbstractDualSchemaRocksDBSegmentedBytesStore.getActualFrom shows time-first windows for a millisecond longer, and
        # RocksDBVersionedStore.get the history.
        is_longer = store.kind.format in (StoreFormat.TIME_FIRST_WINDOW, StoreFormat.VERSIONED)
        return newest_ms - store.retention_ms - is_longer

    def apply(self, messages: Sequence[Message], *, offset: int | None = None) -> None:
        """Takes records of this partition, in their order; all of them become visible together, with the position.

        :param offset: the next offset to read, if it is not that after the last record.
        :raises StateDirectoryError: for a record that does not fit the kind of store; nothing of the batch is kept.
        """
        rows, size = self._rows, 0
        record_ms = self.progress.record_ms
        try:
            for message in messages:
                key, value = message.key(), message.value()
                if key is None:
                    continue
                _kind, timestamp_ms = message.timestamp()
                record_ms = timestamp_ms if timestamp_ms >= 0 else None
                size += len(key) + len(value or b"")
                rows.restore(key, value, timestamp_ms=record_ms, headers=headers_of(message))
            rows.flush()
            after = offset if offset is not None else (messages[-1].offset() or 0) + 1
            self._commit(self._progress_at(after, record_ms))
        except WrittenElsewhereError:
            self.progress = self._last_progress()
            self._begin()
            return
        except BaseException:
            self._begin()
            raise
        self.applied += len(messages)
        self.applied_bytes += size
        self._see_whether_filled()

    def start_with(self, rows: Iterable[RestoredRow], offset: int) -> None:
        """Takes rows that some other process restored, as those of the log before an offset. If it is killed meanwhile,
        the partition is filled from the log.

        :raises StateDirectoryError: if `is_abandoned` was set meanwhile.
        """
        for number, (key, value, timestamp_ms, headers) in enumerate(rows):
            if number % _TOGETHER == 0:
                if self.is_abandoned:
                    raise StateDirectoryError("the member ends")
                self._commit(self._progress_at(0))
            self._rows.restore(key, value, timestamp_ms=timestamp_ms, headers=headers)
        self._commit(msgspec.structs.replace(self._progress_at(offset), is_mixed=True))

    def _progress_at(self, offset: int, record_ms: int | None = None) -> Progress:
        last = self.progress  # another thread may see its end meanwhile
        return Progress(
            made_of=self.served.made_of,
            offset=offset,
            time_ms=now_ms(),
            newest_ms=self._rows.newest_ms,
            record_ms=record_ms,
            is_mixed=last.is_mixed,
            is_filled=last.is_filled,
        )

    def _commit(self, progress: Progress) -> None:
        with self._lock:
            changes = {part: writer.changes for part, writer in self._writers.items()}
            self.database.commit(changes, msgspec.json.encode(progress), is_filling=not progress.is_filled)
            self.progress = progress
            for rows in changes.values():
                rows.clear()
            for part in self.database.parts():
                if part < self._rows.oldest_segment:
                    self.database.drop(part)
                    self._writers.pop(part, None)

    def _writer(self, part: int) -> _PartWriter:
        if part not in self._writers:
            self._writers[part] = _PartWriter(self, part)
        return self._writers[part]

    def look_up(self, keys: Iterable[bytes]) -> tuple[list[StateRow], int] | None:
        """For a key-value store: the rows of some keys, and the offset up to which its rows are. None if somebody applies
        records now, or has closed it."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._is_closed:
                return None
            kind = self.served.store.kind
            stored = self.database.rows(0, kind.family)
            found = [(key, stored.get(kind.family, key)) for key in keys]
            read = decoder(kind.format, kind.family)
            return [row for key, value in found if value is not None for row in read(key, value)], self.progress.offset
        finally:
            self._lock.release()

    def frozen(self) -> tuple[StateStore, Progress]:
        """The store with the rows that it has now, and how far they are.

        :raises StateDirectoryError: if it was closed.
        """
        with self._lock:
            if self._is_closed:
                raise StateDirectoryError(f"this member has given up partition {self.number}")
            family = self.served.store.kind.family
            opened = {part: self.database.rows(part, family, is_frozen=True) for part in self.database.parts()}
            return self._store(opened), self.progress

    def _store(self, parts: Mapping[int, OpenedDatabase]) -> StateStore:
        kind, interval_ms, name = self.served.store.kind, self.served.store.interval_ms, self.served.name
        place = Path(f"partition {self.number}")
        opened = {
            place / f"{name}.{part * interval_ms}" if kind.is_segmented else place: rows for part, rows in parts.items()
        }
        return StateStore(
            name=name,
            task=Task(name=str(self.number), path=str(place), subtopology=0, partition=self.number),
            directory=_Directory(
                name=name,
                kind=StoreKind.SEGMENTED if kind.is_segmented else StoreKind.KEY_VALUE,
                path=str(place),
                parts=tuple(opened),
            ),
            detected=Detected(format=kind.format, why="srfix wrote it", is_certain=True),
            changelog=self.served.topic,
            is_in_use=True,
            opening=lambda path: nullcontext(opened[path]),
        )

    def measured(self) -> Mapping[str, int]:
        with self._lock:
            return {} if self._is_closed else self.database.measured()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self.database.close()
