"""What `Topology.describe()` prints for the applications of a world."""

from __future__ import annotations

from collections.abc import Iterable

from srfix.recovery.facts.supplied import GivenTopology
from srfix.recovery.topology import parse_topologies
from tests.recovery.worlds.world import Kind, TrueStore, World


def topologies(world: World, application: str) -> Iterable[GivenTopology]:
    """Each store in a sub-topology of its own."""
    stores = [store for store in world.truth if store.application == application and store.kind is not Kind.TRANSIENT]
    parts = [_part(number, store) for number, store in enumerate(stores)]
    if parts:
        for topology in parse_topologies("Topologies:\n" + "".join(parts), origin="topology.txt"):
            yield GivenTopology(topology=topology, origin="topology.txt", application=application)


def _part(number: int, store: TrueStore) -> str:
    heading = " for global store (will not generate tasks)" if store.kind is Kind.GLOBAL else ""
    source = f"KSTREAM-SOURCE-{2 * number:010}"
    processor = _processor(store, f"{2 * number + 1:010}")
    return (
        f"   Sub-topology: {number}{heading}\n"
        f"    Source: {source} (topics: [{store.topic or store.fed_by or 'events'}])\n"
        f"      --> {processor}\n"
        f"    Processor: {processor} (stores: [{store.name}])\n"
        f"      --> none\n      <-- {source}\n"
    )


def _processor(store: TrueStore, number: str) -> str:
    if store.has_own_processor:
        return "upper-case-names"
    made = {
        Kind.TABLE: "KTABLE-SOURCE",
        Kind.GLOBAL: "KTABLE-SOURCE",
        Kind.AGGREGATE: "KSTREAM-AGGREGATE",
        Kind.JOIN_WINDOW: "KSTREAM-JOINTHIS",
        Kind.UNLOGGED: "KSTREAM-TRANSFORMVALUES" if store.fed_by is None else "KTABLE-SOURCE",
    }
    return f"{made[store.kind]}-{number}"
