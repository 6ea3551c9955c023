"""State directories of Kafka Streams: their tasks, their stores, and the topics from which the stores restore.

    <state.dir>/<application.id>/
        <subtopology>_<partition>/      a task; below `__<name>__/` for a named topology
            .checkpoint                 up to 4.2
            rocksdb/<store>/            key-value stores
            <store>/<store>.<segment>/  window and session stores
        global/                         global stores, in the same form

Nothing is opened for writing. In-memory stores leave nothing here. The layout differs by version; `Traces` has the
signs of the version.
"""

from __future__ import annotations

import struct
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from srfix.recovery.errors import NotPermittedError, StateDirectoryError
from srfix.recovery.findings import Weight
from srfix.recovery.internal_topics import parse
from srfix.recovery.state.checkpoints import Checkpoint, StoreOffsets
from srfix.recovery.state.rocksdb import CURRENT
from srfix.serde.files import is_there, open_file
from srfix.serde.subjects.names import Topic, changelog_topic


class StoreKind(Enum):
    """How a store is laid out on disk."""

    KEY_VALUE = "key-value"
    """`rocksdb/<store>/`: stores of `table()` and `globalTable()`, among others."""
    SEGMENTED = "segmented"
    """`<store>/<store>.<segment>/`: window and session stores, which never restore from a source topic."""
    OTHER = "other"
    """A directory of another form: the user's own kind of store, or a segmented store without segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDirectory:
    name: str
    kind: StoreKind
    path: str
    offsets: StoreOffsets | None = None
    """The offsets that the store keeps itself, from Streams 4.3 on; None if it keeps none, or was not asked."""

    def databases(self) -> tuple[Path, ...]:
        """The folders of its databases: its own, or its segments', the oldest first. One may lack its database: it is
        damaged, or no row came yet. None of a store of another kind."""
        if self.kind is StoreKind.KEY_VALUE:
            return (Path(self.path),)
        try:
            starts = {path: segment_start(path, self.name) for path in Path(self.path).iterdir() if path.is_dir()}
        except PermissionError as error:
            raise NotPermittedError.of(error.filename or self.path) from None
        except OSError as error:
            raise StateDirectoryError(f"{self.path} cannot be read: {error.strerror or error}") from None
        return tuple(
            sorted((path for path, start in starts.items() if start is not None), key=lambda p: starts[p] or 0)
        )

    def existing_databases(self) -> tuple[Path, ...]:
        """Those of its databases that exist; none if its folder cannot be read."""
        try:
            return tuple(path for path in self.databases() if is_there(path / CURRENT))
        except StateDirectoryError:
            return ()


def segment_start(path: Path, store: str) -> int | None:
    """The time from which on a segment holds rows, in milliseconds since the epoch; None if its name does not show it."""
    behind = path.name.removeprefix(f"{store}.")
    return int(behind) if behind != path.name and behind.isascii() and behind.isdecimal() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    """As Streams prints it: `3_0`; `global`; with a named topology `<topology>__3_0`."""
    path: str
    subtopology: int | None
    partition: int | None
    topology: str | None = None
    """The named topology that it belongs to; None for the usual, unnamed one."""
    stores: tuple[StoreDirectory, ...] = ()
    checkpoint: Checkpoint | None = None

    @property
    def is_global(self) -> bool:
        return self.subtopology is None

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics from which some store of the task restores, as far as they are written down; sorted."""
        of_stores = {topic for store in self.stores if store.offsets is not None for topic in store.offsets.topics}
        return tuple(sorted(of_stores.union(self.checkpoint.topics if self.checkpoint is not None else ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Signs in the layout of the Streams version that wrote it."""

    has_process_metadata: bool
    """`kafka-streams-process-metadata`: 2.6.2, 2.6.3, 2.7.1, 2.7.2, 2.8.0 and later."""
    has_task_locks: bool
    """`.lock` in a task's or the global directory: up to 2.8."""
    has_position_files: bool
    """`<store>.position`: 3.2 to 4.2."""
    has_offsets_column_families: bool
    """The column family `offsets`: 4.3 and later."""
    has_rocksdb_6: bool = False
    """RocksDB 6 or later opened a store last (`OPTIONS-…`): 3.0 and later, because 2.8 has 5.18."""
    has_rocksdb_5_18_3: bool = False
    """RocksDB 5.18.3 or older opened all stores last: up to 2.5, because 2.6 has 5.18.4 (seen on 2.5.1, 2.6.3, 2.7.0
    and 2.8.2).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationState:
    application: str
    """The application.id, by the names of the changelogs in its checkpoints, else by the folder's name."""
    path: str
    tasks: tuple[Task, ...]
    traces: Traces
    is_in_use: bool | None
    """True if a process holds the folder's lock; None if srfix cannot see that."""
    problems: tuple[Unreadable, ...] = ()

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(sorted({store.name for task in self.tasks for store in task.stores}))

    def prefix(self, task: Task) -> str:
        return self.application if task.topology is None else f"{self.application}-{task.topology}"

    def changelog(self, task: Task, store: str) -> Topic:
        """The name of the store's own changelog, whether or not it exists."""
        return changelog_topic(self.prefix(task), store)

    def without_checkpoint(self) -> tuple[Task, ...]:
        """The tasks whose stores have no record of the topics from which they restore."""
        return tuple(task for task in self.tasks if task.stores and not task.topics)


LOCK: Final = ".lock"
_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, pid."""


def is_locked(path: Path) -> bool | None:
    """True if another process holds a POSIX lock on the file (`FileChannel.lock`); False if there is no such file; None
    if srfix cannot see it: on another system than Linux, or if it may not read the file. Asked with F_GETLK: to take
    the lock, even for an instant, could stop an application that starts at that moment."""
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        with open_file(path) as file:
            wanted = _FLOCK.pack(fcntl.F_RDLCK, 0, 0, 0, 0)
            kind = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, wanted))[0]
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return bool(kind != fcntl.F_UNLCK)


def is_task_locked(task: Task) -> bool | None:
    """True if a process holds the task's own lock, which Streams up to 2.8 has; None if srfix cannot see that."""
    return is_locked(Path(task.path) / LOCK)


def is_task_in_use(application: ApplicationState, task: Task) -> bool | None:
    """The same also for Streams 3.0 and later, where only the application has a lock."""
    return is_task_locked(task) if application.traces.has_task_locks else application.is_in_use


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSource:
    topic: Topic
    weight: Weight
    """Conclusive if no other store and topic are left, weak if the store is one of several."""
    detail: str
    rivals: tuple[str, ...] = ()
    """Other stores of the same tasks that may also restore from the topic; at most one of all these stores does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOnDisk:
    prefix: str
    name: str
    kind: StoreKind
    tasks: tuple[str, ...]
    is_global: bool
    own_changelog: Topic | None
    """Its own changelog, if one of its tasks names it; then it reuses no source topic."""
    sources: tuple[RestoreSource, ...]
    """The topics that it may restore from; empty if it has a changelog, or if nothing is written down."""
    is_silent: bool

    @property
    def restores_from_nowhere(self) -> bool:
        """True if its tasks name topics to restore from, none of them this store's: its logging is disabled."""
        return not (self.is_silent or self.sources or self.own_changelog is not None)


def stores_on_disk(application: ApplicationState) -> tuple[StoreOnDisk, ...]:
    """All stores of an application, by prefix and name; the tasks of a sub-topology together. `.checkpoint` names
    topics, but no store: if, without changelogs, one store and one topic are left, they belong together."""
    groups: dict[tuple[str, int | None], list[Task]] = defaultdict(list)
    for task in application.tasks:
        groups[application.prefix(task), task.subtopology].append(task)
    stores = [store for tasks in groups.values() for store in _stores(application, tasks)]
    return tuple(sorted(stores, key=lambda store: (store.prefix, store.name)))


def topic_of(
    application: ApplicationState, store: StoreDirectory, task: Task
) -> tuple[Topic | None, tuple[Topic, ...]]:
    """The topic from which a task's part of a store is restored; otherwise None, and those from which it may be."""
    if store.kind is StoreKind.SEGMENTED:  # window and session stores never restore from a source topic
        return application.changelog(task, store.name), ()
    for store_on_disk in stores_on_disk(application):
        if store_on_disk.name != store.name or task.name not in store_on_disk.tasks:
            continue
        if store_on_disk.own_changelog is not None:
            return store_on_disk.own_changelog, ()
        sure = [source.topic for source in store_on_disk.sources if source.weight is Weight.CONCLUSIVE]
        return (sure[0], ()) if len(sure) == 1 else (None, tuple(source.topic for source in store_on_disk.sources))
    return None, ()


def _stores(application: ApplicationState, tasks: list[Task]) -> Iterable[StoreOnDisk]:
    kinds = {store.name: store.kind for task in tasks for store in task.stores}
    topics = {topic for task in tasks for topic in task.topics}
    changelogs = {name: application.changelog(tasks[0], name) for name in kinds}
    own = {name: changelog for name, changelog in changelogs.items() if changelog in topics}
    # Window and session stores are never made directly from a topic.
    left = sorted(name for name, kind in kinds.items() if name not in own and kind is not StoreKind.SEGMENTED)
    prefix = application.prefix(tasks[0])
    # The changelog of a store without a directory is no source either.
    unclaimed = sorted(topic for topic in topics if parse(topic, application=prefix) is None)
    for name, kind in kinds.items():
        holders = [task for task in tasks if any(store.name == name for store in task.stores)]
        parts = [store for task in holders for store in task.stores if store.name == name]
        kept_offsets = [store.offsets for store in parts if store.offsets is not None]
        versions = sorted({topic for kept in kept_offsets for topic in kept.topics}.difference(own.values()))
        sources: tuple[RestoreSource, ...] = ()
        if name in left:
            detail = "the store's own offsets (in its column family `offsets`, Streams 4.3 and later) name this topic"
            weight = Weight.CONCLUSIVE if len(versions) == 1 else Weight.WEAK
            sources = tuple(
                RestoreSource(topic=topic, weight=weight, detail=detail) for topic in versions
            ) or _by_elimination(name, left, unclaimed, holders)
        yield StoreOnDisk(
            prefix=prefix,
            name=name,
            kind=kind,
            tasks=tuple(task.name for task in holders),
            is_global=tasks[0].is_global,
            own_changelog=own.get(name),
            sources=sources,
            is_silent=not any(task.topics or task.checkpoint is not None for task in holders)
            and not any(kept.restores_from_nowhere for kept in kept_offsets),
        )


def _by_elimination(
    name: str, stores: list[str], topics: list[Topic], holders: list[Task]
) -> tuple[RestoreSource, ...]:
    names_it = (
        f"the checkpoint of task {holders[0].name} names this topic"
        if len(holders) == 1
        else f"the checkpoints of {len(holders)} tasks name this topic"
    )
    if len(stores) == 1 and len(topics) == 1:
        detail = (
            f"{names_it}, and only {name} can restore from it: every other store there has a changelog of its own, or "
            "restores from no source topic"
        )
        return (RestoreSource(topic=topics[0], weight=Weight.CONCLUSIVE, detail=detail),)
    rivals = tuple(other for other in stores if other != name)
    detail = (
        f"{names_it}, but the topic may also belong to {', '.join(rivals)}"
        if rivals
        else f"{names_it}, and other topics, too"
    )
    return tuple(RestoreSource(topic=topic, weight=Weight.WEAK, detail=detail, rivals=rivals) for topic in topics)
