"""The cost of a restore: records, bytes, time and memory, per task and store.

Offsets are counted as records, so after compaction there are fewer records. Bytes are those of keys and values,
estimated by the mean of a sample. Memory is the amount that Streams gives a RocksDB, unless a RocksDBConfigSetter says
otherwise (`RocksDBStore`): a block cache of 50 MiB and three memtables of 16 MiB, for each segment of a window or
session store too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from msgspec import UNSET, UnsetType, field

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.facts.rows_on_disk import Place
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.serde.subjects.names import Topic

BYTES_OF_A_DATABASE: Final = (50 + 3 * 16) * 1024 * 1024
"""The most memory that a database needs, in bytes."""
ACCEPTABLE_LAG: Final = 10_000
"""How many records an instance may lag before Streams prefers another one (`acceptable.recovery.lag`, 2.6)."""
_SAMPLE: Final = 2_000


class EstimatedStore(Part, kw_only=True):
    """The cost of restoring a task's part of a store."""

    application: str
    task: str
    store: str
    topic: str
    is_source: bool = field(name="source_topic")
    records: Count
    """Records from the log's start."""
    records_left: Count
    """Records from the checkpoint on, at most."""
    records_left_at_least: Count | UnsetType = UNSET
    """Records from the checkpoint on, at least: fewer than records_left if the directory does not show whether its
    checkpoint names the last record in the store (Kafka Streams 2.6 and later) or the one after it.
    """
    bytes_: int | None = field(name="bytes")
    records_per_s: float | None
    seconds: float | None
    memory_bytes: Count
    would_a_standby_spare_it: bool = field(name="standby_spares_it")


def estimate_restore(
    cluster: Cluster, place: Place, topic: Topic, *, partitions: Iterable[int], rate: float | None = None
) -> EstimatedStore:
    """The cost of restoring these partitions. Without a rate (records per second), 2,000 records are timed."""
    application, task, store = place.state, place.task, place.store
    wanted = list(partitions)
    logs = dict(cluster.watermarks(topic, wanted))
    is_source = topic != application.changelog(task, store.name)
    if is_source and not task.is_global:
        committed = cluster.committed(application.application, [(topic, partition) for partition in wanted])
        logs = {
            partition: (begin, min(end, committed.get((topic, partition)) or begin))
            for partition, (begin, end) in logs.items()
        }
    records = sum(max(0, end - begin) for begin, end in logs.values())
    most = _left(place, topic, logs, OffsetMeaning.POSITION)
    fewest = _left(place, topic, logs, OffsetMeaning.LAST_RECORD)
    mean, measured = _sampled(cluster, topic, logs)
    per_s = measured if rate is None else rate
    return EstimatedStore(
        application=application.application,
        task=task.name,
        store=store.name,
        topic=topic,
        is_source=is_source,
        records=records,
        records_left=most,
        records_left_at_least=fewest,
        bytes_=0 if not records else None if mean is None else round(mean * records),
        records_per_s=per_s,
        seconds=0.0 if not records else None if not per_s else records / per_s,
        memory_bytes=max(1, len(store.existing_databases())) * BYTES_OF_A_DATABASE,
        would_a_standby_spare_it=records > ACCEPTABLE_LAG,
    )


def _left(place: Place, topic: Topic, logs: Mapping[int, tuple[int, int]], meaning: OffsetMeaning) -> int:
    return sum(
        max(0, end - max(begin, place.reached(topic, partition, meaning) or 0))
        for partition, (begin, end) in logs.items()
    )


def _sampled(cluster: Cluster, topic: Topic, logs: dict[int, tuple[int, int]]) -> tuple[float | None, float | None]:
    """A record's mean size, and the records per second, without the first one, which waits for the connection."""
    partition = max(logs, key=lambda partition_id: logs[partition_id][1] - logs[partition_id][0], default=None)
    if partition is None or logs[partition][0] >= logs[partition][1]:
        return None, None
    sizes: list[int] = []
    began = 0.0
    for record in islice(cluster.read(topic, partition, *logs[partition]), _SAMPLE):
        began = began or time.monotonic()
        sizes.append(len(record.key or b"") + len(record.value or b""))
    took = time.monotonic() - began
    mean = sum(sizes) / len(sizes) if sizes else None
    return mean, (len(sizes) - 1) / took if len(sizes) > 100 and took > 0 else None


class StateEstimate(DatedDocument, tag="srfix.state-estimate/1"):
    """The cost of a restore: `srfix state estimate`."""

    directory: str
    stores: list[EstimatedStore]
    not_looked_at: list[str]
