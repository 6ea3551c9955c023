"""SRF019: a restore before 3.8 stores what a global store's own processor would have transformed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.facts import StreamsVersion
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment
from srfix.serde.subjects import Role

CODE: Final = "SRF019"

_GLOBAL_STORES_REPROCESS: Final = StreamsVersion(3, 8)
"""From here on a restore of `addGlobalStore` runs its processor (KAFKA-7663, KIP-1024)."""


def untransformed(judged: JudgedStore) -> Iterator[Foretold]:
    """What a restore goes past, where a person named the processor."""
    store, running = judged.store, judged.running
    if not store.may_have_own_processor or (running is not None and running >= _GLOBAL_STORES_REPROCESS):
        return
    yield Foretold(
        code=CODE,
        severity=Severity.SILENT,
        certainty=Certainty.UNTOLD,
        moment=Moment.RESTORE,
        application=store.application,
        store=store.name,
        role=Role.VALUE,
        subject=store.changelog_subject(Role.VALUE),
        topic=store.topic,
        explanation=f"The processor of global store {store.name} has a name that a person gave it. If it changes what it "
        f"stores, a restore before Kafka Streams 3.8 goes past it, and stores the records of topic {store.topic} as they are.",
        first=(f"Look in the code whether the processor of {store.name} stores what it is given, unchanged.",),
    )
