"""A task's part of a store: its rows in order, look-ups, ranges, windows, sessions and versions. Nothing is written.

Damage ends nothing: it is kept beside the rows (`StateStore.damage`), each readable row that precedes it is given, and reading
goes on with the next database, or the next row where one alone has another form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path
from typing import Final

from srfix.recovery.errors import FormatError, LibraryMissingError, StateDirectoryError
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task
from srfix.recovery.state.offsets_column_family import OFFSETS_COLUMN_FAMILY
from srfix.recovery.state.rocksdb import OpenedDatabase, opened
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS
from srfix.recovery.state.stores.detection import (
    SESSION_WITH_HEADERS,
    WINDOW_WITH_HEADERS,
    Detected,
    StoreFormat,
    databases,
    detect_format,
)
from srfix.recovery.state.stores.rows import Decode, StateRow, decoder
from srfix.serde.subjects import Topic

_NEWEST_FIRST: Final[tuple[str, ...]] = (WITH_HEADERS, WINDOW_WITH_HEADERS, SESSION_WITH_HEADERS, TIMESTAMPED, PLAIN)
"""Column families with rows; of a key in several the newest counts, as Kafka Streams reads it while it upgrades a store."""
_MOST_DAMAGES: Final = 20
"""Damages that are kept; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDamage:
    """Something in a store that could not be read."""

    database: str
    """The directory of the database."""
    rows_before: int
    """Rows of that database which were read before it."""
    problem: str
    """What is wrong, in a clause."""
    ends_it: bool
    """True if nothing behind it in that database could be read; False for a row that was passed over."""


@dataclass(slots=True, kw_only=True)
class StateStore:
    """One store in one task."""

    name: str
    """The store's name."""
    task: Task
    """The task that it belongs to; the global stores have one, too."""
    directory: StoreDirectory
    """Where it lies."""
    detected: Detected
    """What it was taken for."""
    changelog: Topic
    """What its own changelog would be called, whether or not it exists."""
    is_in_use: bool | None
    """True if a process holds the application's lock: rows in its memory are not seen. None if that cannot be told."""
    damage: list[StoreDamage] = field(default_factory=list)
    """What could not be read so far; the first 20."""
    damages: int = 0
    """How many there were."""

    @property
    def format(self) -> StoreFormat:
        """The form of its rows."""
        return self.detected.format

    @property
    def partition(self) -> int | None:
        """Its partition; None for a global store, which holds all."""
        return self.task.partition

    def __iter__(self) -> Iterator[StateRow]:
        """All rows, by database and the bytes of their stored keys.

        :raises LibraryMissingError: if rocksdict is not installed.
        """
        return self.rows()

    def rows(self) -> Iterator[StateRow]:
        """All rows, segment after segment, oldest first, each in the order of its stored keys."""
        for path in databases(self.directory):
            yield from self._read(path)

    def count(self) -> int:
        """How many rows there are; of versioned stores versions, of lists entries."""
        return sum(1 for _ in self.rows())

    def get(self, key: bytes) -> StateRow | None:
        """The row of a key, in a key-value store; the latest version in a versioned one.

        :raises StateDirectoryError: if the store has windows: `fetch` and `sessions` look those up.
        """
        if self.format is StoreFormat.VERSIONED:
            return self.version_at(key)
        if self.format not in (StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV):
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) has no single row of a key.")
        for path in databases(self.directory):
            for row in self._looked_up(path, key):
                return row
        return None

    def range(self, lower: bytes | None = None, upper: bytes | None = None) -> Iterator[StateRow]:
        """The rows whose keys lie between two, both inclusive (`ReadOnlyKeyValueStore.range`), by bytes."""
        is_key_value = self.format in (StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV)
        for path in databases(self.directory):
            for row in self._read(path, start=lower if is_key_value else None):
                if upper is not None and row.key > upper:
                    if is_key_value:
                        break
                    continue
                if lower is None or row.key >= lower:
                    yield row

    def prefix(self, prefix: bytes) -> Iterator[StateRow]:
        """The rows whose keys begin so (`ReadOnlyKeyValueStore.prefixScan`)."""
        for row in self.range(prefix):
            if row.key.startswith(prefix):
                yield row
            elif self.format in (StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV):
                break

    def fetch(
        self, key: bytes | None = None, *, from_ms: int | None = None, to_ms: int | None = None
    ) -> Iterator[StateRow]:
        """The rows of windows that start between two times, both inclusive (`ReadOnlyWindowStore.fetch`).

        :param key: of one key; None for all.
        :raises StateDirectoryError: if it is no window store.
        """
        if not self.format.is_windowed:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) has no windows to fetch.")
        for row in self.rows():
            if row.window is None or (key is not None and row.key != key):
                continue
            if (from_ms is None or row.window.start_ms >= from_ms) and (to_ms is None or row.window.start_ms <= to_ms):
                yield row

    def sessions(
        self, key: bytes | None = None, *, earliest_end_ms: int | None = None, latest_start_ms: int | None = None
    ) -> Iterator[StateRow]:
        """The sessions that end no earlier and start no later than two times (`SessionStore.findSessions`).

        :param key: of one key; None for all.
        :raises StateDirectoryError: if it is no session store.
        """
        if not self.format.is_of_sessions:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) has no sessions.")
        for row in self.rows():
            if row.window is None or row.window.end_ms is None or (key is not None and row.key != key):
                continue
            ends_late = earliest_end_ms is None or row.window.end_ms >= earliest_end_ms
            if ends_late and (latest_start_ms is None or row.window.start_ms <= latest_start_ms):
                yield row

    def history(self, key: bytes) -> tuple[StateRow, ...]:
        """The versions of a key, newest first, tombstones too.

        :raises StateDirectoryError: if it is no versioned store.
        """
        if self.format is not StoreFormat.VERSIONED:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) keeps no versions.")
        found = [row for row in self.rows() if row.key == key]
        return tuple(sorted(found, key=lambda row: row.valid_from_ms or 0, reverse=True))

    def version_at(self, key: bytes, *, as_of_ms: int | None = None) -> StateRow | None:
        """The version of a key that holds at a time, or the latest (`VersionedKeyValueStore.get`); None for none, or a
        tombstone.

        :raises StateDirectoryError: if it is no versioned store.
        """
        for row in self.history(key):
            begins = row.valid_from_ms is not None and (as_of_ms is None or row.valid_from_ms <= as_of_ms)
            ends = row.valid_to_ms is not None and (as_of_ms is None or row.valid_to_ms <= as_of_ms)
            if begins:
                return None if ends or row.value is None else row
        return None

    def _read(self, path: Path, *, start: bytes | None = None) -> Iterator[StateRow]:
        """The rows of one database, by stored key; damage is noted."""
        read = 0
        try:
            with opened(path) as database:
                for decode, rows in self._stored(database, start):
                    for key, value in rows:
                        try:
                            yield from decode(key, value)
                        except FormatError as error:
                            self._note(path, read, f"key {key[:40].hex()}: {error.message}", ends_it=False)
                        read += 1
        except LibraryMissingError:
            raise
        except StateDirectoryError as error:
            self._note(path, read, error.message.removesuffix("."), ends_it=True)

    def _looked_up(self, path: Path, key: bytes) -> Iterator[StateRow]:
        try:
            with opened(path) as database:
                for family in _of_rows(database):
                    value = database.get(family, key)
                    if value is not None:
                        yield from decoder(self.format, family)(key, value)
                        return
        except LibraryMissingError:
            raise
        except StateDirectoryError as error:
            self._note(path, 0, error.message.removesuffix("."), ends_it=True)

    def _stored(
        self, database: OpenedDatabase, start: bytes | None
    ) -> Iterator[tuple[Decode, Iterable[tuple[bytes, bytes]]]]:
        """Keys and values behind what reads them; of a key in two column families the newest alone."""
        families = _of_rows(database)
        first, *older = families
        if not any(next(database.rows(family), None) for family in older):
            yield decoder(self.format, first), database.rows(first, start=start)
            return

        def ranked(rank: int, family: str) -> Iterator[tuple[bytes, int, bytes]]:
            for key, value in database.rows(family, start=start):
                yield key, rank, value

        decoders = [decoder(self.format, family) for family in families]
        last: bytes | None = None
        for key, rank, value in merge(*(ranked(rank, family) for rank, family in enumerate(families))):
            if key != last:
                yield decoders[rank], ((key, value),)
            last = key

    def _note(self, path: Path, read: int, problem: str, *, ends_it: bool) -> None:
        if any((each.database, each.problem) == (str(path), problem) for each in self.damage):
            return  # read once more
        self.damages += 1
        if len(self.damage) < _MOST_DAMAGES:
            self.damage.append(StoreDamage(database=str(path), rows_before=read, problem=problem, ends_it=ends_it))


def _of_rows(database: OpenedDatabase) -> list[str]:
    families = [family for family in _NEWEST_FIRST if family in database.families]
    if not families:
        others = sorted(database.families - {OFFSETS_COLUMN_FAMILY})
        raise StateDirectoryError(f"it has none of the column families of a store, but {', '.join(others) or 'none'}.")
    return families


def open_stores(
    state: ApplicationState,
    name: str | None = None,
    *,
    task: str | None = None,
    form: StoreFormat | None = None,
) -> Iterator[StateStore]:
    """The stores of an application, task after task; each is opened when its rows are read.

    :param name: of one store; None for all.
    :param task: of one task; None for all.
    :param form: what the store is, where a person says so; None to have it told from what lies there.
    :raises LibraryMissingError: if rocksdict is not installed.
    """
    for each in state.tasks:
        if task not in (None, each.name):
            continue
        for directory in each.stores:
            if name not in (None, directory.name):
                continue
            yield open_store(state, each, directory, form=form)


def open_store(
    state: ApplicationState, task: Task, directory: StoreDirectory, *, form: StoreFormat | None = None
) -> StateStore:
    """One store of a task; its databases are opened when its rows are read. What keeps it from being told is its damage.

    :param form: what the store is, where a person says so; None to have it told from what lies there.
    :raises LibraryMissingError: if rocksdict is not installed.
    """
    problem: str | None = None
    if form is not None:
        detected = Detected(format=form, why="a person says so", is_certain=True)
    else:
        try:
            detected = detect_format(directory)
        except LibraryMissingError:
            raise
        except StateDirectoryError as error:
            problem = error.message.removesuffix(".")
            guess = (
                StoreFormat.TIMESTAMPED_KV if directory.kind is StoreKind.KEY_VALUE else StoreFormat.TIMESTAMPED_WINDOW
            )
            detected = Detected(format=guess, why="it could not be read", is_certain=False)
    store = StateStore(
        name=directory.name,
        task=task,
        directory=directory,
        detected=detected,
        changelog=state.changelog(task, directory.name),
        is_in_use=state.is_in_use,
    )
    if problem is not None:
        store.damages = 1
        store.damage.append(StoreDamage(database=directory.path, rows_before=0, problem=problem, ends_it=True))
    return store
