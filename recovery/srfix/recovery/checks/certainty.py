"""Whether the source of a store is certain enough for advice that deletes or rewrites data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srfix.recovery.findings import is_conclusive
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts


def is_certain(facts: StoreFacts) -> bool:
    """True if a conclusive piece of evidence names the source: a topology, a state directory, ksqlDB, or the person."""
    return facts.source is not None and is_conclusive(facts.evidence, facts.source.topic)


def is_certain_role(facts: StoreFacts, role: RoleFacts) -> bool:
    """True if the store's serde of this role certainly asks a registry: it has a phantom subject, and the keys fit."""
    if not role.state.versions:
        return False
    return role.role is Role.VALUE or (facts.keys is not None and facts.keys.is_certain)


def make_certain(facts: StoreFacts, context: CheckContext) -> str:
    """How to make the source certain, in a sentence with the command to run after that."""
    store = facts.store
    topic = facts.source.topic if facts.source is not None else "TOPIC"
    again = context.command_line.quoted(
        "diagnose",
        *store.options,
        *("--source", f"{store.application}/{store.name}={topic}"),
    )
    return (
        f"No evidence proves that store {store.name} restores from topic {topic}; a store without logging looks the "
        "same (SRF007). Look it up (Topology.describe(), EXPLAIN in ksqlDB, or the code). If the store does restore "
        f"from the topic, run {again}."
    )
