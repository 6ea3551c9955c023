"""Whether the source of a store is certain enough for advice that deletes or rewrites data."""

from __future__ import annotations

from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.findings import is_conclusive
from srfix.recovery.stores import StoreFacts

__all__ = ["is_certain", "make_certain"]


def is_certain(facts: StoreFacts) -> bool:
    """True if a conclusive piece of evidence names the source: a topology, a state directory, ksqlDB, or the person."""
    return facts.source is not None and is_conclusive(facts.evidence, facts.source.topic)


def make_certain(facts: StoreFacts, context: CheckContext) -> str:
    """What makes it certain, in a sentence with the command to run then."""
    store = facts.store
    topic = facts.source.topic if facts.source is not None else "TOPIC"
    again = context.given.quoted(
        "diagnose",
        *("--application", store.application),
        *("--store", store.name),
        *("--source", f"{store.name}={topic}"),
    )
    return (
        f"No evidence is conclusive that store {store.name} restores from topic {topic}. Look it up (Topology.describe(), "
        f"EXPLAIN in ksqlDB, or the code); if it does, run {again}."
    )
