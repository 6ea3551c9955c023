"""Rewrites an application's state directory row by row: for another version of Kafka Streams, another kind of store, or
another schema. The original stays; a store without RocksDB is copied unchanged.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.checkpoints import (
    OFFSETS_COLUMN_FAMILY,
    CheckpointEntry,
    StoreOffsets,
    checkpoint_text,
    parse_offsets,
    with_meaning,
)
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, Task
from srfix.recovery.state.formats.values import SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS, WITH_HEADERS
from srfix.recovery.state.reading.detection import detect_format
from srfix.recovery.state.rocksdb import CURRENT, opened
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.kinds import Release, check_form, check_kind
from srfix.recovery.state.writing.staging import finished_before, staged
from srfix.recovery.stores.choices import OnError
from srfix.recovery.stores.rebuild.change import RowChange, StoreChange, form_to_change, in_order
from srfix.recovery.stores.rebuild.report import Tally
from srfix.serde.errors import UsageError
from srfix.serde.files import is_there
from srfix.serde.schemas.models import Json

_PROCESS_METADATA: Final = "kafka-streams-process-metadata"
_POSITIONS: Final = (Release(3, 2), Release(4, 3))
"""From the first version on, and before the second, there are `<store>.position` files."""
_HEADERS: Final = frozenset({WITH_HEADERS, SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS})
_CHECKPOINT: Final = ".checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    release: Release
    before: Release | None = None
    """The version that wrote the original; None if its checkpoints mean the same."""
    changes: Mapping[str, StoreChange]
    """Store → the change to its rows; the rows of other stores are copied unchanged."""
    on_error: OnError = OnError.FAIL
    takes_open: bool = False
    """Whether to take stores that a killed process left open, which is right unless the application runs exactly-once."""


def migrate(state: ApplicationState, target: Path, migration: Migration, *, request: Mapping[str, Json]) -> Json:
    """The new directory, which must not exist before, exists completely, or not at all. A run that died just before its
    end is recognised by its request. Returns `Tally.as_json`."""
    check(state, migration, frozenset())
    done = finished_before(target, request)
    if done is not None:
        return done
    with staged(target, request) as staging:
        tally = Tally(notes=staging.notes)
        migrate_into(state, staging.whole, migration, tally)
        tally.refuse_unreadable(migration.on_error)
        staging.report = tally.as_json()
    return staging.report


def check(state: ApplicationState, migration: Migration, without: frozenset[str]) -> None:
    if state.is_in_use:
        raise StateDirectoryError(
            f"{state.path}: a process holds its lock, and rows that it has not flushed would be missing. Stop the "
            "application, then run again."
        )
    for task in state.tasks:
        for store in task.stores:
            if store.name not in without and store.offsets is not None and not migration.takes_open:
                refuse_open(store.offsets, store.path)
    for name in migration.changes:
        if name not in state.stores:
            store_names = ", ".join(state.stores) or "none"
            raise UsageError(f"{state.path} has no store {name!r}; it has: {store_names}.")


def migrate_into(
    state: ApplicationState,
    folder: Path,
    migration: Migration,
    tally: Tally,
    *,
    without: frozenset[str] = frozenset(),
    folders: dict[str, TaskFolder] | None = None,
) -> dict[str, TaskFolder]:
    """Writes the tasks into a folder, without some stores; returns them by their paths below the application's."""
    folders = {} if folders is None else folders
    for task in state.tasks:
        relative = str(Path(task.path).relative_to(state.path))
        if relative not in folders:
            folders[relative] = TaskFolder(folder / relative, migration.release)
        _write_task(task, folders[relative], migration, tally, without)
    metadata = Path(state.path) / _PROCESS_METADATA
    if metadata.is_file() and migration.release.has_process_metadata:
        shutil.copyfile(metadata, folder / _PROCESS_METADATA)
    for task_folder in folders.values():
        task_folder.finish()
    return folders


def _write_task(task: Task, folder: TaskFolder, migration: Migration, tally: Tally, without: frozenset[str]) -> None:
    def as_meant_now(entries: tuple[CheckpointEntry, ...]) -> tuple[CheckpointEntry, ...]:
        before, now = migration.before or migration.release, migration.release
        is_global = task.is_global
        return with_meaning(
            entries, before.offset_meaning(is_global=is_global), now.offset_meaning(is_global=is_global)
        )

    if task.checkpoint is not None:
        folder.keeps_checkpoint(as_meant_now(task.checkpoint.entries))
    for store in task.stores:
        if store.name not in without:
            folder.has_come_to(as_meant_now(_write_store(task, store, folder, migration, tally)))
    first, end = _POSITIONS
    if first <= migration.release < end:
        for file in Path(task.path).glob("*.position"):
            shutil.copyfile(file, folder.path / file.name)


def _write_store(
    task: Task, store: StoreDirectory, folder: TaskFolder, migration: Migration, tally: Tally
) -> tuple[CheckpointEntry, ...]:
    """Returns the offsets that it has reached, of its newest database."""
    relative = Path(store.path).relative_to(task.path)
    paths = store.databases()
    if not any(is_there(path / CURRENT) for path in paths):
        if store.name in migration.changes:
            raise UsageError(
                f"{store.path} is not a RocksDB database of Kafka Streams, so srfix cannot rewrite its rows."
            )
        shutil.copytree(store.path, folder.path / relative)
        tally.notes.append(f"{store.path} is not a RocksDB database of Kafka Streams, so srfix copied it as it is.")
        return ()
    wanted_change = migration.changes.get(store.name)
    form = None if wanted_change is None else form_to_change(store, wanted_change)
    if wanted_change is not None and wanted_change.kind is not None:
        check_kind(wanted_change.kind, migration.release)
    elif (detected := detect_format(store)).is_certain:
        check_form(detected.format, migration.release, store.path)
    change = RowChange(wanted_change, form=form, task=task.name, store=store.name, tally=tally)
    newest: tuple[CheckpointEntry, ...] = ()
    for database in paths:
        target = folder.path / relative / database.relative_to(store.path)
        entries = copy_database(database, target, migration.release, change, takes_open=migration.takes_open)
        newest = entries or newest
    return newest


def refuse_open(offsets: StoreOffsets, path: str) -> None:
    if offsets.is_open:
        raise StateDirectoryError(
            f"{path} was left open (`status` 1 in its column family `offsets`): its process was killed. An "
            "application that runs exactly-once throws such a store away and restores it, because its rows may be "
            "ahead of the committed offsets. Start the application once on the directory and close it, or fill the "
            "store from its topic with `srfix state rebuild`; if the application runs at-least-once, give "
            "--take-open."
        )


def copy_database(
    source: Path, folder: Path, release: Release, change: RowChange, *, takes_open: bool = False
) -> tuple[CheckpointEntry, ...]:
    """Rewrites a database, row by row; returns the offsets that the database itself keeps."""
    with opened(source) as before:
        rows = in_order(before.families - {OFFSETS_COLUMN_FAMILY})
        families = dict.fromkeys(change.family(name) for name in rows)
        if not release.has_headers_stores and (unknown := _HEADERS.intersection(families)):
            raise UsageError(
                f"{source}: its rows are in column families with headers ({', '.join(sorted(unknown))}), which Kafka "
                f"Streams {release} does not have. Name the kind that the store is to become, such as timestamped-kv."
            )
        offsets: dict[bytes, bytes] = {}
        if OFFSETS_COLUMN_FAMILY in before.families:
            offsets = dict(before.rows(OFFSETS_COLUMN_FAMILY))
            if not takes_open:
                refuse_open(parse_offsets(offsets, path=str(source)), str(source))
        if release.keeps_offsets_in_stores:
            families[OFFSETS_COLUMN_FAMILY] = None
        with new_database(folder, families, release) as now:
            for name in rows:
                into = change.family(name)
                for key, value in change.values(name, before.rows(name)):
                    now.put(into, key, value)
            if release.keeps_offsets_in_stores:
                for key, value in offsets.items():
                    now.put(OFFSETS_COLUMN_FAMILY, key, value)
    return parse_offsets(offsets, path=str(source)).entries if offsets else ()


class TaskFolder:
    """Gathers the entries of the task's checkpoint; `finish` writes them."""

    def __init__(self, path: Path, release: Release) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._release = release
        self._entries: dict[tuple[str, int], CheckpointEntry] = {}
        self._is_wanted = not release.keeps_offsets_in_stores

    def has_come_to(self, entries: Iterable[CheckpointEntry]) -> None:
        """Records the offsets that a store has reached; if stores keep them, only for a file that exists anyway."""
        self._entries.update({(entry.topic, entry.partition): entry for entry in entries})

    def keeps_checkpoint(self, entries: Iterable[CheckpointEntry]) -> None:
        """Takes over the entries of a checkpoint file, which Kafka Streams 4.3 and later read once and then delete."""
        self._is_wanted = True
        self.has_come_to(entries)

    def finish(self) -> None:
        """Writes the checkpoint; none without entries, as Kafka Streams does."""
        entries = [self._entries[place] for place in sorted(self._entries) if self._entries[place].offset is not None]
        if entries and self._is_wanted:
            (self.path / _CHECKPOINT).write_bytes(checkpoint_text(entries))
