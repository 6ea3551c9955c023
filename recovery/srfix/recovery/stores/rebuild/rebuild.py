"""Rebuilds a store from the topic that it restores from, with the rows of a restore or with rows under another schema.

| store | of each partition |
|---|---|
| reuses its source topic | the records from the log's start up to min(end, committed offset of the group) |
| has a changelog | the records from the log's start to its end |
| global | the records of all partitions from the log's start to its end |

Null keys are skipped, a tombstone removes, the last record of a key counts. Kafka Streams itself restores or processes
the later records when it opens the directory. The store is built here, or task by task, each by a worker of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.documents import json_of
from srfix.recovery.state.checkpoints import checkpoint_entries
from srfix.recovery.state.directory import ApplicationState, Task
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.state.writing.staging import Staging, finished_before, staged
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer
from srfix.recovery.stores.choices import OnError, Until
from srfix.recovery.stores.parts import PartsEngine, SecondAnswers, new_attempt, take
from srfix.recovery.stores.rebuild.change import Change, StoreChange
from srfix.recovery.stores.rebuild.migrate import Migration, TaskFolder, check, migrate_into
from srfix.recovery.stores.rebuild.report import ReadRange, Tally
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Topic

_GLOBAL: Final = "global"


class TopicReader(Protocol):
    """The questions to the cluster; `srfix.recovery.cluster.Cluster` implements it."""

    def topics(self) -> Mapping[Topic, int]: ...

    def committed(
        self, group: str, topic_partitions: list[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]: ...

    def watermarks(self, topic: str, partitions: list[int]) -> Mapping[int, tuple[int, int]]: ...

    def stable_ends(self, topic: str, partitions: list[int]) -> Mapping[int, int]: ...

    def read(
        self, topic: str, partition: int, begin: int, end: int, *, isolation: Isolation
    ) -> Iterator[RawRecord]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    application: str
    store: StoreToWrite
    topic: Topic
    until: Until
    release: Release
    subtopology: int | None
    named_topology: str | None = None
    partitions: tuple[int, ...] | None = None
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    """Whether to leave out records of aborted transactions, like a restore under exactly-once."""
    payload: Change | None = None
    on_error: OnError = OnError.FAIL
    beside: ApplicationState | None = None
    """The application's present state, whose other stores are copied; with None, only this store is written."""
    takes_open: bool = False
    """As `Migration.takes_open`, for the stores of `beside`."""

    @property
    def is_global(self) -> bool:
        return self.subtopology is None

    def task(self, partition: int) -> str:
        if self.is_global:
            return _GLOBAL
        name = f"{self.subtopology}_{partition}"
        return name if self.named_topology is None else f"__{self.named_topology}__/{name}"


def build(job: Rebuild, cluster: TopicReader, ranges: Sequence[ReadRange], staging: Staging, tally: Tally) -> None:
    folders = {} if job.beside is None else take_over(job, staging, tally)
    if job.payload is None:
        _restore(job, cluster, ranges, staging.whole, folders, tally)
    else:
        raw = staging.scratch / job.application
        _restore(job, cluster, ranges, raw, {}, Tally())
        _rewrite(job, raw, staging.whole, folders, tally)


Build: TypeAlias = Callable[[Rebuild, TopicReader, Sequence[ReadRange], Staging, Tally], None]


def take_over(job: Rebuild, staging: Staging, tally: Tally) -> dict[str, TaskFolder]:
    assert job.beside is not None
    return migrate_into(job.beside, staging.whole, _taken_over(job), tally, without=frozenset({job.store.name}))


def _taken_over(job: Rebuild) -> Migration:
    return Migration(release=job.release, changes={}, on_error=job.on_error, takes_open=job.takes_open)


def rebuild(
    job: Rebuild, cluster: TopicReader, target: Path, *, request: Mapping[str, Json], build: Build = build
) -> Json:
    """Writes the application's new folder, with the promises of `migrate`."""
    if job.beside is not None:
        check(job.beside, _taken_over(job), frozenset({job.store.name}))
    done = finished_before(target, request)
    if done is not None:
        return done
    ranges = _ranges(job, cluster)
    with staged(target, request) as staging:
        tally = Tally(notes=staging.notes)
        build(job, cluster, ranges, staging, tally)
        tally.refuse_unreadable(job.on_error)
        if job.payload is None:
            tally.notes.append(
                f"{job.store.name}: srfix counts the records that it wrote. Of several records of a key only "
                "the last one remains, and a tombstone removes the key."
            )
        staging.report = tally.as_json() | {"ranges": json_of(ranges)}
    return staging.report


def _ranges(job: Rebuild, cluster: TopicReader) -> tuple[ReadRange, ...]:
    count = cluster.topics().get(job.topic)
    if count is None:
        raise UsageError(f"This user sees no topic {job.topic!r}. Check --from-topic.")
    partitions = list(range(count)) if job.partitions is None else sorted(set(job.partitions))
    if beyond := [partition for partition in partitions if partition >= count]:
        raise UsageError(
            f"The topic {job.topic!r} has the partitions 0 to {count - 1}; {beyond[0]} is not one of them."
        )
    logs = cluster.watermarks(job.topic, partitions)
    if job.isolation is Isolation.READ_COMMITTED:
        stable = cluster.stable_ends(job.topic, partitions)
        logs = {partition: (begin, min(end, stable[partition])) for partition, (begin, end) in logs.items()}
    limits: dict[int, int] = {partition: logs[partition][1] for partition in partitions}
    if job.until is Until.COMMITTED and not job.is_global:
        places = [(str(job.topic), partition) for partition in partitions]
        for (_topic, partition), offset in cluster.committed(job.application, places).items():
            limits[partition] = min(limits[partition], offset or 0)
        if not any(limits.values()) and any(end for _, end in logs.values()):
            raise UsageError(
                f"The group {job.application!r} has committed nothing for {job.topic}: Kafka Streams would restore "
                "nothing, and process the topic from its start. Check --application; for a changelog, give --until end."
            )
    return tuple(
        ReadRange(partition=partition, start_offset=logs[partition][0], end_offset=max(limits[partition], 0))
        for partition in partitions
    )


def _by_task(job: Rebuild, ranges: Sequence[ReadRange]) -> dict[str, list[ReadRange]]:
    by_task: dict[str, list[ReadRange]] = {}
    for read_range in ranges:
        # Without a committed offset, nothing is restored: Kafka Streams makes that task's store itself.
        if read_range.end_offset > 0:
            by_task.setdefault(job.task(read_range.partition), []).append(read_range)
    return by_task


def _restore(
    job: Rebuild,
    cluster: TopicReader,
    ranges: Sequence[ReadRange],
    parent: Path,
    folders: Mapping[str, TaskFolder],
    tally: Tally,
) -> None:
    for task, parts in _by_task(job, ranges).items():
        folder = folders.get(task) or TaskFolder(parent / task, job.release)
        counts = tally.store(task, job.store.name)
        starts = [(job.topic, read_range.partition, read_range.end_offset) for read_range in parts]
        entries = checkpoint_entries(starts, job.release.offset_meaning(is_global=job.is_global))
        with store_writer(job.store, folder.path, job.release) as writer:
            for read_range in parts:
                for record in cluster.read(
                    job.topic,
                    read_range.partition,
                    read_range.start_offset,
                    read_range.end_offset,
                    isolation=job.isolation,
                ):
                    if record.key is not None:
                        counts.rows += 1
                        writer.restore(record.key, record.value, timestamp_ms=record.timestamp, headers=record.headers)
            writer.finish(entries)
            counts.late = writer.rows.late
        folder.has_come_to(entries)
        folder.finish()


def _rewrite(job: Rebuild, raw: Path, whole: Path, folders: dict[str, TaskFolder], tally: Tally) -> None:
    if not raw.is_dir():
        return
    (state,) = read_state_directory(raw)
    changes = {job.store.name: StoreChange(payload=job.payload, form=job.store.kind.format)}
    migration = Migration(release=job.release, changes=changes, on_error=job.on_error)
    migrate_into(state, whole, migration, tally, folders=folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskToBuild:
    path: str
    ranges: tuple[ReadRange, ...]
    """The ranges from which its store is rebuilt; empty for a task of which only other stores are copied."""
    beside: Task | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltTask:
    folder: str
    tally: Tally
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildWork:
    job: Rebuild
    """The rebuild; of the present state, only the folder counts."""
    kafka: Mapping[str, str] = field(repr=False)
    timeout_s: float
    folder: str
    second: SecondAnswers

    def __call__(self, part: TaskToBuild) -> BuiltTask:
        attempt = new_attempt(Path(self.folder))
        whole, scratch = new_attempt(attempt), new_attempt(attempt)
        beside = self.job.beside
        own = None if beside is None or part.beside is None else replace(beside, tasks=(part.beside,))
        tally = Tally()
        with Cluster(self.kafka, timeout_s=self.timeout_s) as cluster:
            build(
                replace(self.job, beside=own),
                cluster,
                part.ranges,
                Staging(whole=whole, scratch=scratch),
                tally,
            )
        return BuiltTask(folder=str(whole / part.path), tally=tally, notes=self.second.taken())

    def places(self, part: TaskToBuild) -> Sequence[Path]:
        taken_over = () if part.beside is None else (Path(part.beside.path),)
        return (Path(self.folder), *taken_over)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOnSpark:
    """The `build` for `rebuild` on Spark: one Spark task for each task of the application."""

    engine: PartsEngine
    kafka: Mapping[str, str] = field(repr=False)
    timeout_s: float
    second: SecondAnswers
    tell: Callable[[Iterable[str]], None]
    """Gets these notes."""

    def __call__(
        self, job: Rebuild, cluster: TopicReader, ranges: Sequence[ReadRange], staging: Staging, tally: Tally
    ) -> None:
        tasks = tasks_to_build(job, ranges)
        work = RebuildWork(
            job=job,
            kafka=self.kafka,
            timeout_s=self.timeout_s,
            folder=str(staging.scratch),
            second=self.second,
        )
        built = self.engine.run(work, tasks, doing=f"rebuilding {job.store.name}")
        if job.beside is not None:
            take_over(replace(job, beside=replace(job.beside, tasks=())), staging, tally)
        for task, built_task in zip(tasks, built, strict=True):
            take(Path(built_task.folder), staging.whole / task.path)
            tally.add(built_task.tally)
        self.tell(note for built_task in built for note in built_task.notes)
        # In the order in which one process writes them: first the copied stores, then the store, by partition.
        order = {job.task(read_range.partition): read_range.partition for read_range in ranges}
        tally.stores.sort(key=lambda store: (1, order.get(store.task, 0)) if store.store == job.store.name else (0, 0))


def tasks_to_build(job: Rebuild, ranges: Sequence[ReadRange]) -> list[TaskToBuild]:
    beside = job.beside
    taken_over = (
        {} if beside is None else {str(Path(task.path).relative_to(beside.path)): task for task in beside.tasks}
    )
    restored = _by_task(job, ranges)
    return [
        TaskToBuild(path=path, ranges=tuple(restored.get(path, ())), beside=taken_over.get(path))
        for path in dict.fromkeys((*taken_over, *restored))
    ]
