"""A task's part of a store, read only: rows, look-ups, ranges, windows, sessions. Damage is noted (`damage`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from srfix.recovery.errors import LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task, segment_start
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.database import look_up, read_batches
from srfix.recovery.state.reading.detection import Detected, detect_format, segments
from srfix.recovery.state.reading.rows import RowBatch, StateRow
from srfix.recovery.state.reading.seeking import Where, everywhere, of_key, of_keys, of_times, with_prefix
from srfix.recovery.state.rocksdb import ROWS_IN_A_CHUNK, Opening, opened, salvaged
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Topic

_MOST_DAMAGES: Final = 20
"""How many damages are kept; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDamage:
    database: str
    rows_before: int
    """Rows of that database which were read before it."""
    problem: str
    ends_it: bool
    """True if nothing after it in that database could be read; False for a row that was passed over."""
    is_shut: bool = False
    """True if this user may not read it: whether it is damaged is not known."""


@dataclass(slots=True, kw_only=True)
class StateStore:
    name: str
    task: Task
    directory: StoreDirectory
    detected: Detected
    changelog: Topic
    is_in_use: bool | None
    """True if a process holds the application's lock: rows in its memory are not seen. None if srfix cannot see it."""
    salvages: bool = False
    """True to read rows after a damage that RocksDB's repair of the view saves; then it does not end the reading."""
    opening: Opening = opened
    """Opens its databases; srfix's own, which it serves, are open already."""
    damage: list[StoreDamage] = field(default_factory=list)
    damages: int = 0

    @property
    def is_damaged(self) -> bool:
        return any(not damage.is_shut for damage in self.damage)

    @property
    def is_shut(self) -> bool:
        return any(damage.is_shut for damage in self.damage)

    @property
    def format(self) -> StoreFormat:
        return self.detected.format

    @property
    def partition(self) -> int | None:
        return self.task.partition

    @property
    def oldest_segment_ms(self) -> int | None:
        """The time from which the oldest segment holds windows, or ends of sessions; None if there is no segment."""
        starts = (segment_start(path, self.name) for path in self._databases())
        return next((start for start in starts if start is not None), None)

    def newest_window_ms(self) -> int | None:
        """The start of the newest window, or the end of the newest session, in the store; None if there is none."""
        windows = (
            window
            for path in self._databases()[-1:]
            for batch in self._batches(path, everywhere)
            for window in batch.windows or ()
        )
        return max((window.last_ms for window in windows if window is not None), default=None)

    def __iter__(self) -> Iterator[StateRow]:
        return self.rows()

    def rows(self) -> Iterator[StateRow]:
        """All rows, segment after segment, oldest first, each in the order of its stored keys."""
        for batch in self.batches():
            yield from batch.rows()

    def batches(self, *, size: int = ROWS_IN_A_CHUNK) -> Iterator[RowBatch]:
        """The same rows as columns, at most `size` stored ones together; the first batches are short."""
        if size < 1:
            raise UsageError(f"A batch has at least one row, not {size}.")
        for path in self._databases():
            yield from self._batches(path, everywhere, size=size)

    def get(self, key: bytes) -> StateRow | None:
        if self.format is StoreFormat.VERSIONED:
            return self.version_at(key)
        if not self.format.is_key_value:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) can have several rows for a key.")
        for path in self._databases():
            note = partial(self._note, path)
            row = look_up(
                path,
                self.format,
                key,
                note,
                salvages=self.salvages,
                is_in_use=self.is_in_use,
                opening=self.opening,
            )
            if row is not None:
                return row
        return None

    def rows_of(self, key: bytes) -> Iterator[StateRow]:
        """In the order of `rows`, by the order of stored keys; lists and subscriptions are read completely."""
        for path in self._databases():
            for row in self._read(path, of_key(self.format, key)):
                if row.key == key:
                    yield row

    def range(self, lower: bytes | None = None, upper: bytes | None = None) -> Iterator[StateRow]:
        """The rows whose keys are between two keys, both inclusive (`ReadOnlyKeyValueStore.range`), by bytes."""
        for path, last_ms in self._segments():
            for row in self._read(path, of_keys(self.format, lower, upper, last_ms=last_ms)):
                if (lower is None or row.key >= lower) and (upper is None or row.key <= upper):
                    yield row

    def prefix(self, prefix: bytes) -> Iterator[StateRow]:
        """The rows whose keys have this beginning (`ReadOnlyKeyValueStore.prefixScan`)."""
        for path in self._databases():
            for row in self._read(path, with_prefix(self.format, prefix)):
                if row.key.startswith(prefix):
                    yield row

    def fetch(
        self, key: bytes | None = None, *, from_ms: int | None = None, to_ms: int | None = None
    ) -> Iterator[StateRow]:
        """Windows that start between two times, both inclusive (`ReadOnlyWindowStore.fetch`), of one key or of all."""
        if not self.format.is_windowed:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) has no windows to fetch.")
        for row in self._of_times(key, from_ms, to_ms):
            if row.window is None or (key is not None and row.key != key):
                continue
            if (from_ms is None or row.window.start_ms >= from_ms) and (to_ms is None or row.window.start_ms <= to_ms):
                yield row

    def sessions(
        self, key: bytes | None = None, *, earliest_end_ms: int | None = None, latest_start_ms: int | None = None
    ) -> Iterator[StateRow]:
        """Sessions that end no earlier and start no later (`SessionStore.findSessions`), of one key or of all."""
        if not self.format.is_of_sessions:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) has no sessions.")
        for row in self._of_times(key, earliest_end_ms, None):
            if row.window is None or row.window.end_ms is None or (key is not None and row.key != key):
                continue
            ends_late = earliest_end_ms is None or row.window.end_ms >= earliest_end_ms
            if ends_late and (latest_start_ms is None or row.window.start_ms <= latest_start_ms):
                yield row

    def history(self, key: bytes) -> tuple[StateRow, ...]:
        if self.format is not StoreFormat.VERSIONED:
            raise StateDirectoryError(f"store {self.name} ({self.format.value}) keeps no versions.")
        return tuple(sorted(self.rows_of(key), key=lambda row: row.valid_from_ms or 0, reverse=True))

    def version_at(self, key: bytes, *, as_of_ms: int | None = None) -> StateRow | None:
        """The version that holds at a time, or the latest (`VersionedKeyValueStore.get`); None for a tombstone."""
        for row in self.history(key):
            begins = row.valid_from_ms is not None and (as_of_ms is None or row.valid_from_ms <= as_of_ms)
            ends = row.valid_to_ms is not None and (as_of_ms is None or row.valid_to_ms <= as_of_ms)
            if begins:
                return None if ends or row.value is None else row
        return None

    def _of_times(self, key: bytes | None, from_ms: int | None, to_ms: int | None) -> Iterator[StateRow]:
        if key is None:
            where = of_times(self.format, from_ms=from_ms, to_ms=to_ms)
        else:
            where = of_key(self.format, key, from_ms=from_ms, to_ms=to_ms)
        for path, _last_ms in self._segments(from_ms=from_ms, to_ms=to_ms):
            yield from self._read(path, where)

    def _databases(self) -> tuple[Path, ...]:
        return tuple(path for path, _last_ms in self._segments())

    def _segments(self, *, from_ms: int | None = None, to_ms: int | None = None) -> Iterator[tuple[Path, int | None]]:
        """The segments, like `segments`. If its directory cannot be listed, there are none, and the damage is noted."""
        try:
            yield from segments(self.directory, from_ms=from_ms, to_ms=to_ms)
        except StateDirectoryError as error:
            problem, is_shut = error.message.removesuffix("."), isinstance(error, NotPermittedError)
            self._note(Path(self.directory.path), 0, problem, True, is_shut=is_shut)

    def _read(self, path: Path, where: Where) -> Iterator[StateRow]:
        for batch in self._batches(path, where):
            yield from batch.rows()

    def _batches(self, path: Path, where: Where, *, size: int = ROWS_IN_A_CHUNK) -> Iterator[RowBatch]:
        return read_batches(
            path,
            self.format,
            where,
            partial(self._note, path),
            size=size,
            salvages=self.salvages,
            is_in_use=self.is_in_use,
            opening=self.opening,
        )

    def _note(self, path: Path, read: int, problem: str, ends_it: bool, *, is_shut: bool = False) -> None:
        new_damage = StoreDamage(
            database=str(path), rows_before=read, problem=problem, ends_it=ends_it, is_shut=is_shut
        )
        for index, damage in enumerate(self.damage):
            is_of_this = damage.database in (str(path), self.directory.path)
            if is_of_this and (problem.startswith(damage.problem) or damage.problem.startswith(problem)):
                # The part was read once more, or further than for the detection: the note that says more is kept.
                self.damage[index] = new_damage if len(problem) > len(damage.problem) else damage
                return
        self.damages += 1
        if len(self.damage) < _MOST_DAMAGES:
            self.damage.append(new_damage)


def open_stores(
    state: ApplicationState,
    name: str | None = None,
    *,
    task: str | None = None,
    form: StoreFormat | None = None,
    salvages: bool = False,
) -> Iterator[StateStore]:
    """The stores of an application, or those of one name or task, task after task. See `open_store`."""
    for task_on_disk in state.tasks:
        if task not in (None, task_on_disk.name):
            continue
        for directory in task_on_disk.stores:
            if name not in (None, directory.name):
                continue
            yield open_store(state, task_on_disk, directory, form=form, salvages=salvages)


def open_store(
    state: ApplicationState,
    task: Task,
    directory: StoreDirectory,
    *,
    form: StoreFormat | None = None,
    salvages: bool = False,
) -> StateStore:
    """A store of a task, opened when its rows are read. If its format is not given, nor detected, damage is noted."""
    problem: StateDirectoryError | None = None
    if form is not None:
        detected = Detected(format=form, why="the user named this format", is_certain=True)
    else:
        try:
            detected = detect_format(directory)
        except LibraryMissingError:
            raise
        except StateDirectoryError as error:
            problem = error
            detected = _detected_of_damaged(directory, salvages=salvages)
    store = StateStore(
        name=directory.name,
        task=task,
        directory=directory,
        detected=detected,
        changelog=state.changelog(task, directory.name),
        is_in_use=state.is_in_use,
        salvages=salvages,
    )
    if problem is not None:
        clause, is_shut = problem.message.removesuffix("."), isinstance(problem, NotPermittedError)
        store._note(Path(directory.path), 0, clause, True, is_shut=is_shut)
    return store


def _detected_of_damaged(directory: StoreDirectory, *, salvages: bool) -> Detected:
    if salvages:
        with suppress(StateDirectoryError):
            detection = detect_format(directory, opening=salvaged)
            return Detected(
                format=detection.format,
                why=f"srfix saw only the rows that RocksDB could save: {detection.why}",
                is_certain=False,
            )
    is_key_value = directory.kind is StoreKind.KEY_VALUE
    guess = StoreFormat.TIMESTAMPED_KV if is_key_value else StoreFormat.TIMESTAMPED_WINDOW
    return Detected(format=guess, why="it could not be read", is_certain=False)
