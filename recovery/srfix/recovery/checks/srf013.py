"""SRF013: live values that are not framed. Processing may skip them; a restore copies them raw (KAFKA-8037).

Bodies that do not fit their schema are not looked for here: that takes decoding every live record.
"""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.stores import StoreFacts
from srfix.serde.subjects import Role

__all__ = ["CODE", "check"]

CODE = "SRF013"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store whose value serde asks a registry. Keys are compared, not read: nothing is said of them."""
    role = facts.roles.get(Role.VALUE)
    if facts.source is None or facts.census is None or role is None:
        return
    places = [
        (partition.partition, partition.values.live_unframed_keys, partition.values.first_unframed_offset)
        for partition in facts.census.partitions
        if partition.values.live_unframed_keys
    ]
    if not places:
        return
    total = sum(live or 0 for _partition, live, _first in places)
    where = ", ".join(f"{live} in partition {partition} (from offset {first} on)" for partition, live, first in places)
    topic = facts.source.topic
    yield Finding(
        code=CODE,
        severity=Severity.BROKEN,
        application=facts.store.application,
        store=facts.store.name,
        role=Role.VALUE,
        subject=role.subject,
        source=facts.source,
        registered_ids=role.state.schema_ids,
        evidence=facts.evidence,
        explanation=f"{total} live key(s) of topic {topic} have a value that no schema registry serializer framed: {where}. "
        f"While processing, an exception handler may skip such a record; a restore copies it into store "
        f"{facts.store.name} as it is (KAFKA-8037), and the first read of the row fails.",
        next=f"No registration helps. Write the same keys to topic {topic} again with valid values, or a tombstone, and let "
        f"{facts.store.application} commit beyond them.",
        repairable=False,
    )
