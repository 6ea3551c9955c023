"""The inputs that a person gives besides cluster and registry: state directories, printed topologies, ksqlDB's answers.
And which of a topology's stores are tables made directly from one topic.

Only those, and global stores, can restore from a source topic (`TableSourceNode`, `InternalStreamsBuilder.
reuseKTableSourceTopics`); a store anywhere else in the graph has a changelog of its own, or none. The printed text does
not show whether the topic is reused; only the cluster shows that there is no changelog.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.findings import Weight
from srfix.recovery.internal_topics import recognise
from srfix.recovery.topology import Processor, SourceNode, Subtopology, Topology
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription
    from srfix.recovery.state.directory import ApplicationState, StoreOnDisk, Unreadable

_TABLE_PROCESSOR: Final = re.compile(r"KTABLE-SOURCE-\d{10}")
_GENERATED: Final = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-.+-\d{10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    store: str
    topic: Topic
    is_global: bool
    """True for a global store, which restores from its topic in every version and configuration."""
    weight: Weight
    """How certain it is that the store belongs to that table."""
    detail: str


def table_sources(topology: Topology) -> tuple[TableSource, ...]:
    """The stores that may restore from a source topic. Conclusive: a global store, and `KTABLE-SOURCE-…` directly
    behind a source of one topic. Strong: a source called `<processor>-source`, as by `table(topic, Consumed.as(name))`.
    """
    sources = {
        (table.store, table.topic): table
        for part in topology.subtopologies
        for node in part.nodes
        if isinstance(node, Processor)
        for table in _tables(part, node)
    }
    return tuple(sources[key] for key in sorted(sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProcessor:
    """The user's own processor over a global store (`Topology.addGlobalStore`)."""

    name: str
    topic: Topic


def own_processor(topology: Topology, store: str) -> OwnProcessor | None:
    """The user's own processor over a global store; None if there is none, or if it looks like a table's: the
    `addGlobalStore` of `StreamsBuilder` names its processor like `globalTable` (seen on 2.6.3, 2.7.0, 3.9.2 and 4.3.1).
    """
    for part in topology.subtopologies:
        for node in part.nodes:
            if not (part.is_global and isinstance(node, Processor) and store in node.stores):
                continue
            source = part.source_of(node)
            if source is None or len(source.topics) != 1 or source.name == f"{node.name}-source":
                continue
            if not _GENERATED.fullmatch(node.name):
                return OwnProcessor(name=node.name, topic=source.topics[0])
    return None


def _tables(part: Subtopology, processor: Processor) -> Iterator[TableSource]:
    source = part.source_of(processor)
    if source is None or len(source.topics) != 1:
        return
    weight = _weight(part, processor, source)
    if weight is None:
        return
    (topic,) = source.topics
    where = "of a global store" if part.is_global else f"of sub-topology {part.number}"
    for store in processor.stores:
        yield TableSource(
            store=store,
            topic=topic,
            is_global=part.is_global,
            # A user's own processor may hold another store beside the table's.
            weight=weight if len(processor.stores) == 1 else Weight.WEAK,
            detail=f"the store belongs to processor {processor.name} {where}, which directly follows a source that "
            "reads only this topic",
        )


def _weight(part: Subtopology, processor: Processor, source: SourceNode) -> Weight | None:
    if part.is_global or _TABLE_PROCESSOR.fullmatch(processor.name):
        return Weight.CONCLUSIVE
    if _GENERATED.fullmatch(processor.name):
        return None
    if source.name == f"{processor.name}-source":
        return Weight.STRONG
    # `table()` names both or neither. And a join's own topics, which are printed without their prefix, feed no tables.
    is_joins = any(recognise(f"application-{topic}") for topic in source.topics)
    return None if _GENERATED.fullmatch(source.name) or is_joins else Weight.WEAK


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTopology:
    topology: Topology
    origin: str
    application: str | None
    """Its application; None if nobody named it, because the text does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """All given inputs, already read; each part itself lists what could not be read."""

    state: tuple[ApplicationState, ...] = ()
    shut: tuple[Unreadable, ...] = ()
    """Folders beside the state directories that may belong to applications, but that this user may not read."""
    topologies: tuple[GivenTopology, ...] = ()
    ksqldb: tuple[KsqldbAnswers, ...] = ()

    def with_owners(self) -> Supplied:
        """A copy in which a topology without an application belongs to the application whose stores on disk are all in
        this topology. If no application fits, or if several fit, the topology stays without one.
        """
        on_disk: dict[str, set[str]] = {}
        for store in self.stores_on_disk():
            on_disk.setdefault(store.prefix, set()).add(store.name)

        def owned(topology: GivenTopology) -> GivenTopology:
            if topology.application is not None:
                return topology
            owners = [name for name, stores in on_disk.items() if stores <= set(topology.topology.stores)]
            return replace(topology, application=owners[0]) if len(owners) == 1 else topology

        return replace(self, topologies=tuple(map(owned, self.topologies)))

    @property
    def applications(self) -> tuple[str, ...]:
        of_topologies = {topology.application for topology in self.topologies if topology.application is not None}
        return tuple(sorted(self.applications_by_themselves | of_topologies))

    @property
    def applications_by_themselves(self) -> frozenset[str]:
        """The applications that state directories and ksqlDB name, and those that a person named for a topology."""
        on_disk = {store.prefix for store in self.stores_on_disk()} | {state.application for state in self.state}
        named = (answers.application_of(query) for answers in self.ksqldb for query in answers.queries)
        return frozenset(on_disk) | frozenset(name for name in named if name)

    def stores_on_disk(self) -> Iterator[StoreOnDisk]:
        """Every store of every state directory; a store in several directories comes once for each of them."""
        from srfix.recovery.state.directory import stores_on_disk

        for application in self.state:
            yield from stores_on_disk(application)

    def on_disk(self, application: str, store: str) -> Iterator[StoreOnDisk]:
        """The store, once for each state directory that has it."""
        return (disk for disk in self.stores_on_disk() if (disk.prefix, disk.name) == (application, store))

    def tables(self, application: str) -> Iterator[tuple[GivenTopology, TableSource]]:
        """The tables in topologies that belong, or may belong, to an application; those of ksqlDB's queries, too."""
        topologies = [printed for printed in self.topologies if printed.application in (None, application)]
        topologies += (
            GivenTopology(topology=query.topology, origin=answers.origin, application=application)
            for answers, query in self.queries(application)
            if query.topology is not None
        )
        return ((topology, table) for topology in topologies for table in table_sources(topology.topology))

    def stores_of_topologies(self, application: str) -> frozenset[str]:
        own = (printed.topology for printed in self.topologies if printed.application == application)
        return frozenset(store for topology in own for store in topology.stores)

    def queries(self, application: str) -> Iterator[tuple[KsqldbAnswers, QueryDescription]]:
        for answers in self.ksqldb:
            yield from ((answers, query) for query in answers.queries_of(application))

    def is_global(self, application: str, store: str) -> bool:
        """True if a state directory or a topology of that application shows the store as a global one."""
        return self.is_told_global(application, store) is True

    def is_told_global(self, application: str, store: str) -> bool | None:
        """Like `is_global`, but None if neither a state directory nor a topology shows the store at all."""
        verdicts = [disk.is_global for disk in self.on_disk(application, store)]
        verdicts += [
            table.is_global
            for topology, table in self.tables(application)
            if table.store == store and topology.application == application
        ]
        return any(verdicts) if verdicts else None
