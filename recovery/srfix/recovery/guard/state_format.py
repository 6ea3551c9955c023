"""A state directory that an older Kafka Streams cannot open: no code of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment
from srfix.serde.subjects.names import Role

_OFFSETS_IN_ROCKSDB: Final = StreamsVersion(4, 3)
"""From here on every RocksDB has the column family `offsets`, which older versions cannot open (KIP-1035)."""


def cannot_open(judged: JudgedStore, target: StreamsVersion) -> Iterator[Foretold]:
    """What a change from 4.3 or later to an older version brings about."""
    store, running = judged.store, judged.assumed.running
    if running is None or not target < _OFFSETS_IN_ROCKSDB <= running:
        return
    role = Role.VALUE
    yield judged.foretold(
        None,
        role,
        severity=Severity.BREAKS_ON_UPGRADE,
        certainty=Certainty.POSSIBLE,  # a store in memory leaves nothing
        moment=Moment.UPGRADE,
        subject=store.changelog_subject(role),
        explanation=f"Kafka Streams {running} keeps offsets in each RocksDB (column family offsets), and {target} cannot open "
        "such a store: it dies on a state directory that is kept.",
        first=(
            "Delete the state directory with the change, after a look that a restore can be read (what is foretold here).",
        ),
    )
