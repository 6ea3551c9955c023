"""A store rebuilt task by task, each of them by a worker of Spark, into one directory that is there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.state.directory import Task
from srfix.recovery.state.writing.staging import Staging
from srfix.recovery.stores.parts import PartsEngine, SecondAnswers, new_attempt, take
from srfix.recovery.stores.rebuild.rebuild import Rebuild, TopicReader, build, take_over
from srfix.recovery.stores.rebuild.report import ReadRange, Tally

_WHOLE, _SCRATCH = "whole", "scratch"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskToBuild:
    """The directory of one task."""

    path: str
    """Where it is, below the application's folder."""
    ranges: tuple[ReadRange, ...]
    """What its store is rebuilt from; none for a task of which other stores alone are taken over."""
    beside: Task | None
    """The task as it is now, whose other stores are taken over; None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltTask:
    """A task's directory that was written."""

    folder: str
    tally: Tally
    notes: tuple[str, ...]
    """Where a second subject answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildWork:
    """Writes the directory of each task, with a client of its own."""

    asked: Rebuild
    """What is to be rebuilt; of the state beside, the folder alone counts."""
    kafka: Mapping[str, str] = field(repr=False)
    """librdkafka's configuration, secrets filled in."""
    timeout_s: float
    folder: str
    """Where attempts have their folders."""
    second: SecondAnswers
    """What the policy of `asked.payload` tells of second subjects."""

    def __call__(self, part: TaskToBuild) -> BuiltTask:
        attempt = new_attempt(Path(self.folder))
        whole, scratch = new_attempt(attempt), new_attempt(attempt)
        beside = self.asked.beside
        own = None if beside is None or part.beside is None else replace(beside, tasks=(part.beside,))
        tally = Tally()
        with Cluster(self.kafka, timeout_s=self.timeout_s) as cluster:
            build(
                replace(self.asked, beside=own),
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
    """What `rebuild` builds with: a task of Spark's for each task of the application."""

    engine: PartsEngine
    kafka: Mapping[str, str] = field(repr=False)
    timeout_s: float
    second: SecondAnswers
    """What the policy of a rebuild's payload tells of second subjects."""
    tell: Callable[[Iterable[str]], None]
    """Is told what it told."""

    def __call__(
        self, asked: Rebuild, cluster: TopicReader, ranges: Sequence[ReadRange], staging: Staging, tally: Tally
    ) -> None:
        tasks = tasks_to_build(asked, ranges)
        work = RebuildWork(
            asked=asked,
            kafka=self.kafka,
            timeout_s=self.timeout_s,
            folder=str(staging.scratch),
            second=self.second,
        )
        built = self.engine.run(work, tasks, doing=f"rebuilding {asked.store.name}")
        if asked.beside is not None:
            take_over(replace(asked, beside=replace(asked.beside, tasks=())), staging, tally)
        for task, each in zip(tasks, built, strict=True):
            take(Path(each.folder), staging.whole / task.path)
            tally.add(each.tally)
        self.tell(note for each in built for note in each.notes)
        # In the order in which one process writes them: what is taken over, then the store, by partition.
        order = {asked.task(each.partition): each.partition for each in ranges}
        tally.stores.sort(
            key=lambda found: (1, order.get(found.task, 0)) if found.store == asked.store.name else (0, 0)
        )


def tasks_to_build(asked: Rebuild, ranges: Sequence[ReadRange]) -> list[TaskToBuild]:
    """The tasks whose directories are written: those of the state beside, and those that restore something."""
    beside = asked.beside
    taken_over = (
        {} if beside is None else {str(Path(task.path).relative_to(beside.path)): task for task in beside.tasks}
    )
    restored: dict[str, list[ReadRange]] = {}
    for each in ranges:
        if each.end_offset > 0:
            restored.setdefault(asked.task(each.partition), []).append(each)
    return [
        TaskToBuild(path=path, ranges=tuple(restored.get(path, ())), beside=taken_over.get(path))
        for path in dict.fromkeys((*taken_over, *restored))
    ]
