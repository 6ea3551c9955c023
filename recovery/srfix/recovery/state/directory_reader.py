"""Reads state directories from disk. What it cannot read becomes an `Unreadable` of the application, not an error."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from srfix.recovery.errors import LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.recovery.internal_topics import parse, recognise
from srfix.recovery.state.checkpoints import (
    OFFSETS_COLUMN_FAMILY,
    Checkpoint,
    StoreOffsets,
    parse_offsets,
    read_checkpoint,
)
from srfix.recovery.state.directory import (
    LOCK,
    ApplicationState,
    StoreDirectory,
    StoreKind,
    Task,
    Traces,
    Unreadable,
    is_locked,
    segment_start,
)
from srfix.recovery.state.rocksdb import CURRENT, read_column_family
from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import is_there, parse_json, read_file
from srfix.serde.subjects.names import changelog_topic

_TASK: Final = re.compile(r"([0-9]+)_([0-9]+)")
_APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9._-]+")
"""Names that a topic's name can begin with; `lost+found` is not one."""
_NAMED_TOPOLOGY: Final = re.compile(r"__(.+)__")
_GLOBAL: Final = "global"
_ROCKSDB: Final = "rocksdb"
_DEEPEST: Final = 4
"""How many levels of folders lie between an application's folder and a database's, with a named topology, plus one."""
_CHECKPOINT: Final = ".checkpoint"
_ROCKSDB_VERSION: Final = re.compile(rb"^\s*rocksdb_version=(\d+)\.(\d+)\.(\d+)", re.MULTILINE)
_BEGINNING: Final = 4_096
_PROCESS_METADATA: Final = "kafka-streams-process-metadata"


def read_state_directory(path: Path) -> tuple[ApplicationState, ...]:
    try:
        folders = [path] if _is_application(path) else [p for p in sorted(path.iterdir()) if _is_application(p)]
    except (OSError, ValueError) as error:  # ValueError: a null character, or half a surrogate pair
        why = error.strerror if isinstance(error, OSError) else "no directory can have this name"
        if isinstance(error, PermissionError):
            why = NotPermittedError.REMEDY
        raise UsageError(
            f"The state directory {str(path)!r} cannot be read: {why}. Give the application's state.dir, or the "
            "folder in state.dir that has the application.id as its name. A copy is enough."
        ) from error
    if not folders:
        if shut := shut_folders(path):
            raise UsageError(f"{shut[0].path!r} cannot be read: {shut[0].reason}.")
        parents = list(path.absolute().parents)[:_DEEPEST]
        if (above := next(filter(_is_application, parents), None)) is not None:
            raise UsageError(
                f"{str(path)!r} is not a state directory, but is inside one. Give {str(above)!r}, and choose the "
                "part with --task and --store."
            )
        raise UsageError(
            f"{str(path)!r} is not a state directory: neither it nor a folder in it has a task directory (such as "
            f"0_0), 'global' or {_PROCESS_METADATA}. Give the application's state.dir, or the folder in state.dir "
            "that has the application.id as its name."
        )
    applications = (_Reader().application(folder) for folder in folders)
    return tuple(sorted(applications, key=lambda application: (application.application, application.path)))


def shut_folders(path: Path) -> tuple[Unreadable, ...]:
    """Folders that may belong to applications, by their names, but that this user may not read. None among tasks."""
    try:
        entries = () if _is_application(path) else sorted(path.iterdir())
    except OSError:
        return ()
    reason = f"this folder may belong to an application, but {NotPermittedError.REMEDY}"
    return tuple(
        Unreadable(path=str(entry), reason=reason)
        for entry in entries
        if _APPLICATION_ID.fullmatch(entry.name) and entry.is_dir() and not os.access(entry, os.R_OK | os.X_OK)
    )


def _is_application(path: Path) -> bool:
    if not path.is_dir():
        return False
    try:
        return any(
            entry.name == _PROCESS_METADATA
            or (entry.is_dir() and (entry.name == _GLOBAL or _TASK.fullmatch(entry.name) or _is_named(entry)))
            for entry in path.iterdir()
        )
    except PermissionError:
        return False  # this user may not read it, although it may read its siblings: see `shut_folders`


def _rocksdb(database: Path) -> tuple[int, ...]:
    """The RocksDB that opened a store last, by the options of its database or segments; empty if they do not say it."""
    latest = max((*database.glob("OPTIONS-*"), *database.glob("*/OPTIONS-*")), default=None, key=lambda path: path.name)
    try:
        match = None if latest is None else _ROCKSDB_VERSION.search(latest.read_bytes()[:_BEGINNING])
    except OSError:
        return ()
    return tuple(map(int, match.groups())) if match else ()


def _is_named(path: Path) -> bool:
    """True for the folder of a named topology, also if this user may not read it: then it is a problem of the reader."""
    if not _NAMED_TOPOLOGY.fullmatch(path.name):
        return False
    try:
        return any(_TASK.fullmatch(entry.name) for entry in path.iterdir())
    except PermissionError:
        return True


class _Reader:
    def __init__(self) -> None:
        self._problems: list[Unreadable] = []
        self._library_is_missing = False

    def application(self, folder: Path) -> ApplicationState:
        paths = list(self._task_paths(folder))
        # Up to 2.6.1, and in 2.7.0, only tasks have locks.
        locks = [is_locked(path / LOCK) for path in (folder, *(path for path, _topology in paths))]
        in_use = True if True in locks else None if None in locks else False
        tasks = [task for path, topology in paths for task in self._task(path, topology)]
        if in_use:
            self._note(
                folder,
                "a process holds its lock, so the application is running. srfix read the checkpoints, but not the "
                "offsets that the stores keep themselves (Streams 4.3 and later). To read these offsets, too, "
                "stop the application, or give a copy",
            )
        else:
            tasks = [self._with_offsets(task) for task in tasks]
        rocksdb = [
            rocksdb_version
            for task in tasks
            for store in task.stores
            if (rocksdb_version := _rocksdb(Path(store.path)))
        ]
        traces = Traces(
            has_process_metadata=is_there(folder / _PROCESS_METADATA),
            has_task_locks=any(is_there(Path(task.path) / LOCK) for task in tasks),
            has_position_files=any(True for task in tasks for _ in Path(task.path).glob("*.position")),
            has_offsets_column_families=any(store.offsets is not None for task in tasks for store in task.stores),
            has_rocksdb_6=any(version >= (6,) for version in rocksdb),
            has_rocksdb_5_18_3=bool(rocksdb) and max(rocksdb) <= (5, 18, 3),
        )
        self._check_process_metadata(folder)
        return ApplicationState(
            application=_application_id(folder.resolve().name, tasks),
            path=str(folder),
            tasks=tuple(tasks),
            traces=traces,
            is_in_use=in_use,
            problems=tuple(self._problems),
        )

    def _task_paths(self, folder: Path) -> Iterator[tuple[Path, str | None]]:
        named = [(path, match[1]) for path in self._children(folder) if (match := _NAMED_TOPOLOGY.fullmatch(path.name))]
        for parent, topology in [(folder, None), *named]:
            numbered = {path: _TASK.fullmatch(path.name) for path in self._children(parent)}
            for path, match in sorted(numbered.items(), key=lambda item: _task_number(item[0].name)):
                if match:
                    yield path, topology
        if (folder / _GLOBAL).is_dir():
            yield folder / _GLOBAL, None

    def _task(self, path: Path, topology: str | None) -> Iterator[Task]:
        subtopology, partition = _task_number(path.name)
        yield Task(
            name=path.name if topology is None else f"{topology}__{path.name}",
            path=str(path),
            subtopology=subtopology if path.name != _GLOBAL else None,
            partition=partition if path.name != _GLOBAL else None,
            topology=topology,
            stores=tuple(sorted(self._stores(path), key=lambda store: store.name)),
            checkpoint=self._checkpoint(path),
        )

    def _stores(self, path: Path) -> Iterator[StoreDirectory]:
        for child in self._children(path):
            if child.name == _ROCKSDB and not is_there(child / CURRENT):
                for store in self._children(child):
                    yield StoreDirectory(name=store.name, kind=StoreKind.KEY_VALUE, path=str(store))
            else:
                has_segments = any(segment_start(entry, child.name) is not None for entry in self._children(child))
                kind = StoreKind.SEGMENTED if has_segments else StoreKind.OTHER
                yield StoreDirectory(name=child.name, kind=kind, path=str(child))

    def _checkpoint(self, path: Path) -> Checkpoint | None:
        with self._noting(path / _CHECKPOINT):
            try:
                return read_checkpoint(path / _CHECKPOINT)
            except FileNotFoundError:
                return None
        return None

    def _with_offsets(self, task: Task) -> Task:
        if task.checkpoint is not None:
            return task
        return replace(task, stores=tuple(replace(store, offsets=self._offsets_of(store)) for store in task.stores))

    def _offsets_of(self, store: StoreDirectory) -> StoreOffsets | None:
        """The store's own offsets; of its segments, those of the newest that has some, as Kafka Streams reads it."""
        paths = reversed(store.existing_databases())
        return next((offsets for path in paths if (offsets := self._offsets(path)) is not None), None)

    def _offsets(self, path: Path) -> StoreOffsets | None:
        if self._library_is_missing:
            return None
        with self._noting(path):
            try:
                rows = read_column_family(path, OFFSETS_COLUMN_FAMILY)
            except LibraryMissingError as error:
                self._library_is_missing = True
                self._note(
                    path.parent,
                    "there is no .checkpoint, and srfix could not check whether the task's stores keep their "
                    f"offsets themselves (Streams 4.3 and later): {error}",
                )
                return None
            return None if rows is None else parse_offsets(rows, path=str(path))
        return None

    def _check_process_metadata(self, folder: Path) -> None:
        path = folder / _PROCESS_METADATA
        with self._noting(path):
            try:
                content = read_file(path, most_bytes=bounds.MOST_METADATA_BYTES)
            except FileNotFoundError:
                return
            try:
                document = parse_json(content)
            except ValueError:
                document = None
            if not (isinstance(document, dict) and isinstance(document.get("processId"), str)):
                self._note(path, 'its content is not {"processId": "<uuid>"}; the directory may be damaged')

    def _children(self, path: Path) -> list[Path]:
        with self._noting(path):
            return sorted(child for child in path.iterdir() if child.is_dir())
        return []

    @contextmanager
    def _noting(self, path: Path) -> Iterator[None]:
        try:
            yield
        except StateDirectoryError as error:
            self._note(path, error.message)
        except PermissionError:
            self._note(path, f"it cannot be read: {NotPermittedError.REMEDY}")
        except OSError as error:
            self._note(path, f"it cannot be read: {error.strerror or error}")

    def _note(self, path: Path, reason: str) -> None:
        problem = Unreadable(path=str(path), reason=reason)
        if problem not in self._problems:
            self._problems.append(problem)


def _task_number(name: str) -> tuple[int, int]:
    match = _TASK.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else (-1, -1)


def _application_id(folder_name: str, tasks: Iterable[Task]) -> str:
    """The application.id in the names of most known stores' changelogs; else the folder's, which may be a copy's.

    The changelog of a store `plain-windows` also looks like that of a store `windows`, of the application `…-plain`.
    """
    prefixes: Counter[str] = Counter()
    for task in tasks:
        behind = "" if task.topology is None else f"-{task.topology}"
        for store in task.stores:
            for topic in task.topics:
                if topic == changelog_topic(f"{folder_name}{behind}", store.name):
                    return folder_name
                if recognise(topic) is None:
                    continue
                suffix = changelog_topic("", store.name)
                prefix = topic.removesuffix(suffix)
                topic_name = parse(topic, application=prefix) if prefix != topic else None
                if topic_name is not None and topic_name.store == store.name and prefix.endswith(behind):
                    prefixes[prefix.removesuffix(behind)] += 1
    most = max(prefixes.values(), default=0)
    likeliest = [prefix for prefix, times in prefixes.items() if times == most]
    return likeliest[0] if len(likeliest) == 1 else folder_name
