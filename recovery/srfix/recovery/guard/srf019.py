"""SRF019: a restore before 3.8 stores what a global store's own processor would have transformed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.facts.store_rows import ProcessedRows
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment, StoreKind
from srfix.recovery.ids_in_words import counted
from srfix.serde.subjects.names import Role

CODE: Final = "SRF019"

_GLOBAL_STORES_REPROCESS: Final = StreamsVersion(3, 8)
"""From here on a restore of `addGlobalStore` runs its processor (KAFKA-7663, KIP-1024)."""


def untransformed(judged: JudgedStore) -> Iterator[Foretold]:
    """What a restore goes past: by the rows on disk, or where a person named the processor."""
    store, running = judged.store, judged.running
    if store.kind is not StoreKind.GLOBAL or (running is not None and running >= _GLOBAL_STORES_REPROCESS):
        return
    facts = judged.facts()
    found = None if facts is None else facts.processed
    if found is not None and found.transformed:
        yield _seen(judged, found)
        return
    if found is not None and found.untold and found.not_compared is not None:
        judged.sight.skip(_undecided(judged, found.not_compared))
    if not store.may_have_own_processor:
        return
    yield judged.foretold(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        certainty=Certainty.UNTOLD,
        moment=Moment.RESTORE,
        subject=store.changelog_subject(Role.VALUE),
        explanation=f"The processor of global store {store.name} has a name that a person gave it. If it changes what it "
        f"stores, a restore before Kafka Streams 3.8 goes past it, and stores the records of topic {store.topic} as they are.",
        first=(f"Look in the code whether the processor of {store.name} stores what it is given, unchanged.",),
    )


def _seen(judged: JudgedStore, found: ProcessedRows) -> Foretold:
    store, running = judged.store, judged.running
    rows = counted(found.transformed, "row")
    differ = "differs" if found.transformed == 1 else "differ"
    return judged.foretold(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        certainty=Certainty.UNTOLD if running is None else judged.of_version(running),
        moment=Moment.RESTORE,
        subject=store.changelog_subject(Role.VALUE),
        explanation=f"On disk {rows} of global store {store.name} {differ} from the record of the same key in topic "
        f"{store.topic}: a processor fills it. A restore before Kafka Streams 3.8 goes past it, and stores the records as they "
        "are.",
        first=("Keep the state directories, and upgrade to Kafka Streams 3.8 or later.",),
    )


def _undecided(judged: JudgedStore, why: str) -> Skipped:
    store = judged.store
    return Skipped(
        what=f"whether a processor changes what global store {store.name} of application {store.application} holds (SRF019)",
        reason=why,
        could_hide=True,
        subjects=(store.changelog_subject(Role.VALUE),),
    )
