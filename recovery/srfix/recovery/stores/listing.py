"""What `srfix state ls` shows: applications, tasks and stores, the layout of rows, stores that cannot be opened, and the
version of Streams, by the layout and by the RocksDB that comes with it (rocksdbjni in the poms of its releases).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, UnsetType, field

from srfix.recovery.documents import Count, DatedDocument, Part, PlaceNotLookedAt
from srfix.recovery.errors import LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task, Traces, is_task_in_use
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.detection import detect_format
from srfix.recovery.stores.rocksdb_files import newest_options

_STREAMS: Final = (
    ("5.18.3", "Streams 2.3 to 2.5"),
    ("5.18.4", "Streams 2.6 to 2.8"),
    ("6.19.3", "Streams 3.0"),
    ("6.22.1", "Streams 3.1"),
    ("6.29.4", "Streams 3.2 and 3.3"),
    ("7.1.2", "Streams 3.4 and 3.5"),
    ("7.9.2", "Streams 3.6 to 3.9"),
    ("9.7.3", "Streams 4.0 and 4.1"),
    ("10.1.3", "Streams 4.2 and later"),
)
_ROCKSDB_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    streams: str
    """In words: `4.3 or later`, `2.6.2, 2.6.3, 2.7.1, 2.7.2 or 2.8`."""
    because: str
    rocksdb: str | None = None
    """The RocksDB that wrote the stores' OPTIONS files last; None if there are none, as in many copies."""


def generation_of(application: ApplicationState) -> Generation:
    streams, because = _by_layout(application.traces)
    rocksdb = _rocksdb(application)
    narrower = None if rocksdb is None else streams_by_rocksdb(rocksdb)
    if narrower is not None:
        because = f"{because}; RocksDB {rocksdb} comes with {narrower}"
    return Generation(streams=streams, because=because, rocksdb=rocksdb)


def _by_layout(traces: Traces) -> tuple[str, str]:
    if traces.has_offsets_column_families:
        return "4.3 or later", "stores keep their offsets themselves"
    if traces.has_position_files:
        return "3.2 to 4.2", "there are position files"
    if traces.has_task_locks and traces.has_process_metadata:
        return "2.6.2, 2.6.3, 2.7.1, 2.7.2 or 2.8", "tasks have locks, and there is process metadata"
    if traces.has_task_locks:
        return "2.6.1 or before, or 2.7.0", "tasks have locks, and there is no process metadata"
    if traces.has_process_metadata:
        return "3.0 or later", "there is process metadata, and tasks have no locks"
    return "not known", "the folder has neither locks nor process metadata: it may be an incomplete copy"


def _rocksdb(application: ApplicationState) -> str | None:
    for task in application.tasks:
        for store in task.stores:
            for database in store.existing_databases():
                options = newest_options(database)
                if options is not None and options.rocksdb_version is not None:
                    return options.rocksdb_version
    return None


class Offset(Part):
    """The offset that a restore has reached in a partition."""

    topic: str
    partition: Count
    offset: int | None
    """Null for unknown (-4)."""


class ListedStore(Part, kw_only=True):
    """A task's part of a store."""

    name: str = field(name="store")
    kind: StoreKind
    form: str | None
    """The layout of its rows, such as timestamped-kv; null if srfix could not detect it."""
    form_certain: bool
    """False if only its name or some of its rows show the form."""
    form_because: str
    """What shows the layout, or why srfix could not detect it."""
    problem: str | None
    """Why it cannot be opened; null if it can, or if srfix did not try."""
    path: str
    is_shut: bool | UnsetType = field(name="not_permitted", default=UNSET)
    """True if it cannot be opened because this user may not read it; whether it is damaged is not known."""
    databases: Count
    changelog: str
    """The name of its own changelog, whether or not it exists."""
    offsets: list[Offset] | None
    """The offsets that restores have reached, as the store itself records them; null if it does not keep them."""
    closed: bool | None
    """False if a process was killed while it had the store open; null if the store does not show it."""


class ListedTask(Part):
    """A task's folder."""

    name: str = field(name="task")
    subtopology: int | None
    partition: int | None
    topology: str | None
    in_use: bool | None
    checkpoint: list[Offset] | None
    """The offsets that restores have reached, as the checkpoint records them; null if there is none."""
    stores: list[ListedStore]


class ListedApplication(Part):
    """An application's folder."""

    application: str
    path: str
    streams: str
    """The versions of Streams that leave such a folder, in words."""
    because: str = field(name="streams_because")
    rocksdb: str | None
    """The RocksDB that wrote the OPTIONS files."""
    is_in_use: bool | None = field(name="in_use")
    tasks: list[ListedTask]
    problems: list[PlaceNotLookedAt]


class StateLs(DatedDocument, tag="srfix.state-ls/1"):
    """The contents of a state directory: `srfix state ls`."""

    directory: str
    applications: list[ListedApplication]
    not_looked_at: list[PlaceNotLookedAt] | UnsetType = UNSET
    """Folders that may belong to applications, but that this user may not read."""


def listed_application(application: ApplicationState, forms: Mapping[str, StoreForm]) -> ListedApplication:
    return ListedApplication.of(
        application,
        generation_of(application),
        tasks=[_task(application, task, forms) for task in application.tasks],
    )


def _task(application: ApplicationState, task: Task, forms: Mapping[str, StoreForm]) -> ListedTask:
    return ListedTask.of(
        task,
        in_use=is_task_in_use(application, task),
        checkpoint=None if task.checkpoint is None else task.checkpoint.entries,
        stores=[_store(application, task, store, forms[store.path]) for store in task.stores],
    )


def _store(application: ApplicationState, task: Task, store: StoreDirectory, form: StoreForm) -> ListedStore:
    return ListedStore.of(
        store,
        form,
        form=None if form.form is None else form.form.value,
        form_certain=form.is_certain,
        form_because=form.because,
        databases=len(store.existing_databases()),
        changelog=application.changelog(task, store.name),
        offsets=None if store.offsets is None else store.offsets.entries,
        closed=None if store.offsets is None else not store.offsets.is_open,
    )


def streams_by_rocksdb(version: str) -> str | None:
    """The Streams releases that come with this RocksDB, in words; None for a version that no known release has."""
    match = _ROCKSDB_VERSION.match(version)
    return None if match is None else next((streams for rocksdb, streams in _STREAMS if rocksdb == match[0]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreForm:
    form: StoreFormat | None
    because: str
    is_certain: bool = False
    problem: str | None = None
    """A clause that says why a store of Kafka Streams cannot be opened; None if it can, or if srfix did not try."""
    is_shut: bool = False


def form_of(store: StoreDirectory) -> StoreForm:
    try:
        detected = detect_format(store)
    except LibraryMissingError:
        return StoreForm(form=None, because="rocksdict is not installed: pip install 'srfix[state]'")
    except NotPermittedError as error:
        return StoreForm(form=None, because=error.message, problem=error.message, is_shut=True)
    except StateDirectoryError as error:
        clause = error.message.removesuffix(".")
        return StoreForm(form=None, because=clause, problem=None if store.kind is StoreKind.OTHER else clause)
    return StoreForm(form=detected.format, because=detected.why, is_certain=detected.is_certain)


def forms_of(application: ApplicationState) -> dict[str, StoreForm]:
    return {store.path: form_of(store) for task in application.tasks for store in task.stores}


def unreadable_stores(application: ApplicationState, forms: dict[str, StoreForm]) -> Iterator[tuple[str, StoreForm]]:
    for task in application.tasks:
        for store in task.stores:
            form = forms[store.path]
            if form.problem is not None:
                yield f"store {store.name} of task {task.name}: {form.problem}", form
