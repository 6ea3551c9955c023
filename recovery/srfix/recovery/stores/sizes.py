"""How large a store is, how old its rows are, and which schema ids they carry."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import UNSET, UnsetType, field

from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import RowBatch, StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.state.row_ids import IdTally
from srfix.recovery.stores.rocksdb_files import (
    RocksDBOptions,
    log_that_hurts,
    newest_options,
    options_that_hurt,
    read_logs,
)
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import BY_GUID, UNFRAMED

_TABLE: Final = re.compile(r"(\d+)\.sst")
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
AGES: Final = (
    ("up to an hour", _HOUR_MS),
    ("up to a day", _DAY_MS),
    ("up to 7 days", 7 * _DAY_MS),
    ("up to 30 days", 30 * _DAY_MS),
    ("up to 90 days", 90 * _DAY_MS),
    ("up to a year", 365 * _DAY_MS),
    ("older", None),
)
"""The bars of the histogram of ages: a name, and the oldest age in milliseconds, inclusive."""


class AgeCount(Part):
    """The rows of an age."""

    age: str
    entries: Count


class IdCount(Part):
    """The rows that carry a schema id."""

    id: Count
    entries: Count


class Damage(Part, kw_only=True):
    """A part that could not be read."""

    database: str
    rows_before: Count
    problem: str
    is_shut: bool | UnsetType = field(name="not_permitted", default=UNSET)
    """True if this user may not read it; whether it is damaged is not known."""


class SizedStore(Part):
    """A task's part of a store."""

    application: str
    store: str
    format: str
    """The form of its rows: plain-kv, timestamped-kv, session, …"""
    task: str
    partition: int | None
    entries: Count
    key_bytes: Count
    value_bytes: Count
    disk_bytes: Count
    tombstones: Count
    """Versions that delete their key."""
    oldest_ms: int | None
    newest_ms: int | None
    ages: list[AgeCount]
    key_ids: list[IdCount]
    """Schema ids in keys."""
    value_ids: list[IdCount]
    """Schema ids in values."""
    unframed_keys: Count
    unframed_values: Count
    hurts: list[str]
    """Entries in RocksDB's OPTIONS and LOG that are known to cause problems."""
    rocksdb_versions: list[str] = field(name="rocksdb")
    """Which RocksDB opened its databases last; empty without OPTIONS files."""
    compressions: list[str] = field(name="compression")
    """The compression of its rows, according to its OPTIONS: none, lz4, snappy, zstd, …"""
    compactions: list[str] = field(name="compaction")
    """universal, level, fifo or none, according to its OPTIONS."""
    log_of_errors_alone: bool | None
    """True if its LOG does not record stalls and tombstones; null without OPTIONS files."""
    damage: list[Damage]


class StateSize(DatedDocument, tag="srfix.state-size/1"):
    """How large stores on disk are: `srfix state size`."""

    directory: str
    stores: list[SizedStore]


def size_of(store: StateStore, *, application: str, now_ms: int) -> SizedStore:
    """Reads all rows of a task's part of a store; damage is noted in the store. Memory stays flat."""
    tally = _Tally(now_ms, store.format)
    for batch in store.batches():
        tally.add(batch)
    paths = store.directory.existing_databases()
    by_path = {path: newest_options(path) for path in paths}
    options = [settings for settings in by_path.values() if settings is not None]
    return SizedStore.of(
        tally,
        application=application,
        store=store.name,
        format=store.format.value,
        task=store.task.name,
        partition=store.partition,
        disk_bytes=sum(size for path in paths for _number, size in _tables(path)),
        ages=[AgeCount(age=name, entries=tally.ages[name]) for name, _most in AGES],
        key_ids=_ids(tally.peeked.ids(Role.KEY)),
        value_ids=_ids(tally.peeked.ids(Role.VALUE)),
        unframed_keys=_unframed(tally.peeked, Role.KEY),
        unframed_values=_unframed(tally.peeked, Role.VALUE),
        hurts=list(dict.fromkeys(sentence for path in paths for sentence in _hurts(path, by_path[path]))),
        rocksdb_versions=sorted(
            {settings.rocksdb_version for settings in options if settings.rocksdb_version is not None}
        ),
        compressions=sorted({name for settings in options for name in settings.compressions}),
        compactions=sorted({name for settings in options for name in settings.compactions}),
        log_of_errors_alone=all(settings.logs_errors_alone for settings in options) if options else None,
        damage=[Damage.of(damage) for damage in store.damage],
    )


def _ids(counts: Mapping[SchemaId, int]) -> list[IdCount]:
    return [IdCount(id=schema_id, entries=count) for schema_id, count in counts.items()]


def _unframed(ids: IdTally, role: Role) -> int:
    return ids.counts[role][UNFRAMED] + ids.counts[role][BY_GUID]


def _hurts(database: Path, options: RocksDBOptions | None) -> Iterator[str]:
    if options is not None:
        yield from options_that_hurt(options)
    log = read_logs(database)
    if log is not None:
        yield from log_that_hurts(log, (number for number, _size in _tables(database)))


def _tables(database: Path) -> Iterator[tuple[int, int]]:
    try:
        for path in database.iterdir():
            if match := _TABLE.fullmatch(path.name):
                yield int(match[1]), path.stat().st_size
    except OSError:
        return


def times_of(batch: RowBatch) -> Iterator[int]:
    times = batch.timestamps_ms
    if times is None or None in times:
        times = [time_of(row) for row in batch.rows()]
    return (time for time in times if time is not None)


def time_of(row: StateRow) -> int | None:
    if row.timestamp_ms is not None:
        return row.timestamp_ms
    if row.window is not None:
        return row.window.start_ms if row.window.end_ms is None else row.window.end_ms
    return row.valid_from_ms


class _Tally:
    def __init__(self, now_ms: int, form: StoreFormat) -> None:
        self._now_ms = now_ms
        self.entries = self.key_bytes = self.value_bytes = self.tombstones = 0
        self.oldest_ms: int | None = None
        self.newest_ms: int | None = None
        self.ages: Counter[str] = Counter()
        self.peeked = IdTally(form)

    def add(self, batch: RowBatch) -> None:
        values = [value for value in batch.values if value is not None]
        self.entries += len(batch)
        self.key_bytes += sum(map(len, batch.keys))
        self.value_bytes += sum(map(len, values))
        self.tombstones += len(batch) - len(values)
        self._add_times(sorted(times_of(batch)))
        self.peeked.add(batch)

    def _add_times(self, times: Sequence[int]) -> None:
        """In ascending order."""
        if not times:
            return
        self.oldest_ms = times[0] if self.oldest_ms is None else min(self.oldest_ms, times[0])
        self.newest_ms = times[-1] if self.newest_ms is None else max(self.newest_ms, times[-1])
        end = len(times)
        for name, most in AGES:
            begin = 0 if most is None else bisect_left(times, self._now_ms - most, hi=end)
            self.ages[name] += end - begin
            end = begin
