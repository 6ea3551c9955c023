"""What a printed topology says of its stores: which of them are tables made straight from one topic.

Only those, and global stores, can restore from a source topic (`TableSourceNode`, `InternalStreamsBuilder.
reuseKTableSourceTopics`); a store anywhere else in the graph has a changelog of its own, or none. The text is the same
whether the topic is reused or not: that no changelog exists must be seen on the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.findings import Weight
from srfix.recovery.internal_topics import recognise
from srfix.recovery.topology import Processor, SourceNode, Subtopology, Topology
from srfix.serde.subjects.names import Topic

_TABLE_PROCESSOR: Final = re.compile(r"KTABLE-SOURCE-\d{10}")
_GENERATED: Final = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-.+-\d{10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    store: str
    topic: Topic
    is_global: bool
    """True for a global store, which restores from its topic in every version and configuration."""
    weight: Weight
    """How certain it is that the store is that table."""
    detail: str


def table_sources(topology: Topology) -> tuple[TableSource, ...]:
    """The stores that may restore from a source topic, by store and topic.

    Conclusive: a global store, and the store of a processor `KTABLE-SOURCE-…` directly behind a source of one topic.
    Processors that a person named keep no sign of what they are: strong where the source is called
    `<processor>-source`, as `table(topic, Consumed.as(name))` calls it, weak where a person named both, as in
    `addReadOnlyStateStore`. Anything else is no table.
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
    """A processor of the user's own over a global store (`Topology.addGlobalStore`)."""

    name: str
    topic: Topic


def own_processor(topology: Topology, store: str) -> OwnProcessor | None:
    """The processor of the user's own over a global store; None if there is none, or it cannot be told from a table's.

    A person has named it. `globalTable` calls its own `KTABLE-SOURCE-…`, or with `Consumed.as(name)` by that name behind a
    source `<name>-source`; the `addGlobalStore` of `StreamsBuilder` names its processor in the same ways (seen on 2.6.3, 2.7.0,
    3.9.2 and 4.3.1), and only its rows tell it from that.
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
            # A processor of the user's own may hold a store for something else beside the table's.
            weight=weight if len(processor.stores) == 1 else Weight.WEAK,
            detail=f"processor {processor.name} {where} holds the store, directly behind a source of this topic alone",
        )


def _weight(part: Subtopology, processor: Processor, source: SourceNode) -> Weight | None:
    if part.is_global or _TABLE_PROCESSOR.fullmatch(processor.name):
        return Weight.CONCLUSIVE
    if _GENERATED.fullmatch(processor.name):
        return None
    if source.name == f"{processor.name}-source":
        return Weight.STRONG
    # `table()` names both or neither; and behind a join's own topics, printed without their prefix, stand no tables.
    is_joins = any(recognise(f"application-{topic}") for topic in source.topics)
    return None if _GENERATED.fullmatch(source.name) or is_joins else Weight.WEAK
