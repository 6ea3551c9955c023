"""State directories of a world: which tasks and checkpoints there are, and databases in Streams' layout.

Layout and bytes are those of the facts ("State directory layout by version", "Byte formats"): `rocksdb/<store>` below a
task, rows under `keyValueWithTimestamp` with eight bytes of timestamp before the value, or under `default` without.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rocksdict import Options, Rdict

from srfix.recovery.state.checkpoints import Checkpoint, CheckpointEntry
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task, Traces
from srfix.serde.subjects.names import Topic
from tests.recovery.worlds.world import DiskRow, Kind, TrueStore, World

_TIMESTAMPED: Final = "keyValueWithTimestamp"
_ON_DISK: Final = (Kind.TABLE, Kind.GLOBAL, Kind.AGGREGATE, Kind.UNLOGGED)

Bytes = Callable[[DiskRow], tuple[bytes, bytes]]
"""A row's key and value, without a timestamp."""


def is_on_disk(store: TrueStore) -> bool:
    """True for a key-value store, which is below `rocksdb/`."""
    return store.kind in _ON_DISK


def state_of(world: World, application: str, folder: Path, bytes_of: Bytes) -> ApplicationState:
    """The directory of an application in a folder: databases are written if the world gives their rows."""
    path = folder / application
    stores = [store for store in world.truth if store.application == application and is_on_disk(store)]
    usual = [store for store in stores if store.kind is not Kind.GLOBAL]
    numbers = {
        0,
        *(number for store in usual if (key := _key(store)) in world.disk for number in world.disk[key].partitions),
    }
    tasks = [_task(world, path, usual, number, bytes_of) for number in sorted(numbers)]
    tables = [store for store in stores if store.kind is Kind.GLOBAL]
    if tables:
        tasks.append(_task(world, path, tables, None, bytes_of))
    has_task_locks = application not in world.renewed and not world.is_reprocessing
    if not has_task_locks:  # from 3.0 on there is one for all of them
        path.mkdir(parents=True, exist_ok=True)
        (path / ".lock").touch()
    return ApplicationState(
        application=application,
        path=str(path),
        tasks=tuple(task for task in tasks if task.stores),
        traces=Traces(
            has_process_metadata=world.layouts.get(application) == "2.6.3",
            has_task_locks=has_task_locks,
            has_position_files=False,
            has_offsets_column_families=False,
        ),
        is_in_use=application in world.in_use,
    )


def _key(store: TrueStore) -> str:
    return f"{store.application}/{store.name}"


def _task(world: World, path: Path, stores: list[TrueStore], partition: int | None, bytes_of: Bytes) -> Task:
    """A task with its part of each store; the global one holds all partitions in one database."""
    name = "global" if partition is None else f"0_{partition}"
    held = []
    for store in stores:
        at = path / name / "rocksdb" / store.name
        disk = world.disk.get(_key(store))
        if disk is None:
            if partition in (None, 0):
                held.append((store, at))
        elif (partition or 0) in disk.partitions:
            _write(at, [bytes_of(row) for row in disk.partitions[partition or 0]], is_timestamped=disk.is_timestamped)
            held.append((store, at))
    topics = sorted({store.topic or store.changelog for store, _ in held if store.kind is not Kind.UNLOGGED})
    entries = tuple(
        CheckpointEntry(
            topic=Topic(topic), partition=number, offset=_offset(world, held[0][0], topic, partition, number)
        )
        for topic in topics
        for number in ([partition] if partition is not None else range(_partitions(world, topic)))
    )
    # An empty checkpoint is not written as a file; a thread that dies before its first commit leaves no file either.
    is_written = bool(entries) and (partition is None or world.layouts.get(held[0][0].application) != "died")
    return Task(
        name=name,
        path=str(path / name),
        subtopology=None if partition is None else 0,
        partition=partition,
        stores=tuple(StoreDirectory(name=store.name, kind=StoreKind.KEY_VALUE, path=str(at)) for store, at in held),
        checkpoint=Checkpoint(path=str(path / name / ".checkpoint"), entries=entries) if is_written else None,
    )


def _offset(world: World, store: TrueStore, topic: str, task: int | None, partition: int) -> int | None:
    """The number in a checkpoint for a partition; None for `-4`, if no record came yet."""
    layout = world.layouts.get(store.application, "2.5")
    if topic not in world.topics or layout == "behind":
        return 0
    limit = world.topics[topic].logs[partition].end
    if task is not None and topic != store.changelog:
        group = world.groups.get(store.application)
        limit = min(limit, limit if group is None else group.commits.get((topic, partition), limit))
    if task is None or layout == "2.5":
        return limit
    return limit - 1 if limit else None


def _partitions(world: World, topic: str) -> int:
    return len(world.topics[topic].logs) if topic in world.topics else 1


def _write(at: Path, rows: list[tuple[bytes, bytes]], *, is_timestamped: bool) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    database = Rdict(str(at), options)
    family = database.create_column_family(_TIMESTAMPED, options) if is_timestamped else database
    for key, value in rows:
        family[key] = (struct.pack(">q", 1_592_300_000_000) if is_timestamped else b"") + value
    if is_timestamped:
        family.close()
    database.close()
    (at / "rocksdict-config.json").unlink(missing_ok=True)
