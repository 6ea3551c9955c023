"""From which topic a store restores, as a state directory tells it: by its own offsets, or by elimination.

`.checkpoint` names topics from which some store of the task restores, and no store. So what has a changelog of its own
there is taken out on both sides; where one store and one topic are left, they belong together. A store of Streams 4.3
and later names its topic itself. In-memory stores leave nothing on either side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from srfix.recovery.findings import Weight
from srfix.recovery.internal_topics import parse
from srfix.recovery.state.directory import ApplicationState, StoreKind, Task
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSource:
    """A topic that a store may restore from."""

    topic: Topic
    weight: Weight
    """Conclusive if nothing else is left, weak if the store is one of several."""
    detail: str
    rivals: tuple[str, ...] = ()
    """Other stores of the same tasks that may restore from it as well: of all of them at most one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOnDisk:
    """One store, over all its tasks."""

    prefix: str
    """The application.id, with a named topology behind it where there is one."""
    name: str
    kind: StoreKind
    tasks: tuple[str, ...]
    is_global: bool
    own_changelog: Topic | None
    """Its own changelog, where one of its tasks names it: then no source topic is reused for it."""
    sources: tuple[RestoreSource, ...]
    """The topics that it may restore from; none if it has a changelog, or nothing is written down."""
    is_silent: bool
    """True if none of its tasks says anything: no checkpoint, and no offsets of the store's own."""

    @property
    def restores_from_nowhere(self) -> bool:
        """True if its tasks say what they restore from, and nothing of it is this store's: its logging is disabled."""
        return not (self.is_silent or self.sources or self.own_changelog is not None)


def stores_on_disk(application: ApplicationState) -> tuple[StoreOnDisk, ...]:
    """All stores of an application, by prefix and name; the tasks of a sub-topology together."""
    groups: dict[tuple[str, int | None], list[Task]] = defaultdict(list)
    for task in application.tasks:
        groups[application.prefix(task), task.subtopology].append(task)
    found = [store for tasks in groups.values() for store in _stores(application, tasks)]
    return tuple(sorted(found, key=lambda store: (store.prefix, store.name)))


def _stores(application: ApplicationState, tasks: list[Task]) -> Iterable[StoreOnDisk]:
    kinds = {store.name: store.kind for task in tasks for store in task.stores}
    topics = {topic for task in tasks for topic in task.topics}
    changelogs = {name: application.changelog(tasks[0], name) for name in kinds}
    own = {name: changelog for name, changelog in changelogs.items() if changelog in topics}
    # Window and session stores are never made straight from a topic.
    left = sorted(name for name, kind in kinds.items() if name not in own and kind is not StoreKind.SEGMENTED)
    prefix = application.prefix(tasks[0])
    # The changelog of a store whose directory is gone is no source either.
    unclaimed = sorted(topic for topic in topics if parse(topic, application=prefix) is None)
    for name, kind in kinds.items():
        holders = [task for task in tasks if any(store.name == name for store in task.stores)]
        said = sorted(
            {
                topic
                for task in holders
                for store in task.stores
                if store.name == name and store.offsets is not None
                for topic in store.offsets.topics
            }.difference(own.values())
        )
        sources: tuple[RestoreSource, ...] = ()
        if name in left:
            sources = _said_itself(said) if said else _by_elimination(name, left, unclaimed, holders)
        yield StoreOnDisk(
            prefix=prefix,
            name=name,
            kind=kind,
            tasks=tuple(task.name for task in holders),
            is_global=tasks[0].is_global,
            own_changelog=own.get(name),
            sources=sources,
            is_silent=not any(task.topics or task.checkpoint is not None for task in holders)
            and not any(
                store.offsets is not None and store.offsets.restores_from_nowhere
                for task in holders
                for store in task.stores
                if store.name == name
            ),
        )


def _said_itself(topics: list[Topic]) -> tuple[RestoreSource, ...]:
    weight = Weight.CONCLUSIVE if len(topics) == 1 else Weight.WEAK
    detail = "the store's own offsets (column family offsets, Streams 4.3 and later) name it"
    return tuple(RestoreSource(topic=topic, weight=weight, detail=detail) for topic in topics)


def _by_elimination(
    name: str, stores: list[str], topics: list[Topic], holders: list[Task]
) -> tuple[RestoreSource, ...]:
    where = (
        f"the checkpoint of task {holders[0].name}" if len(holders) == 1 else f"the checkpoints of {len(holders)} tasks"
    )
    if len(stores) == 1 and len(topics) == 1:
        detail = f"{where} names it, and {name} is the only store there without a changelog of its own"
        return (RestoreSource(topic=topics[0], weight=Weight.CONCLUSIVE, detail=detail),)
    rivals = tuple(other for other in stores if other != name)
    detail = (
        f"{where} names it; it may as well belong to {', '.join(rivals)}"
        if rivals
        else f"{where} names it, but other topics besides"
    )
    return tuple(RestoreSource(topic=topic, weight=Weight.WEAK, detail=detail, rivals=rivals) for topic in topics)
