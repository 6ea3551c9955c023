"""Reading records of a topic as they are: no group is joined, nothing is committed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import read_range
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.topic_lookup import partitions_of
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import ReadOnlyClient


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRange:
    topic: str
    partition: int | None = None
    from_offset: int | None = None
    """The first offset, inclusive; None for the start of each log."""
    last: bool = False
    max_records: int = 20


def read_records(config: Mapping[str, str], wanted: RecordRange, *, timeout_s: float = 15.0) -> Iterator[RawRecord]:
    """By partition and offset, up to the present ends, uncommitted too; or those with the highest timestamps."""
    with Cluster(config, timeout_s=timeout_s) as cluster:
        partitions = partitions_of(cluster, wanted.topic)
        if wanted.partition is not None:
            if wanted.partition not in partitions:
                raise UsageError(
                    f"The topic {wanted.topic!r} has the partitions 0 to {len(partitions) - 1}; {wanted.partition} is "
                    "none of them."
                )
            partitions = (wanted.partition,)
        logs = cluster.watermarks(wanted.topic, partitions)
    begins = {
        partition: max(start, end - wanted.max_records if wanted.last else wanted.from_offset or 0)
        for partition, (start, end) in logs.items()
    }
    if wanted.from_offset is not None and all(begins[p] >= logs[p][1] > 0 for p in partitions):
        ends = ", ".join(f"{logs[p][1]} in partition {p}" for p in partitions)
        raise UsageError(
            f"There is no record from offset {wanted.from_offset} on: the log of {wanted.topic!r} ends at {ends}."
        )
    client = ReadOnlyClient(config)

    def read(partition: int) -> Iterator[RawRecord]:
        begin, end = begins[partition], logs[partition][1]
        return read_range(client, wanted.topic, partition, begin, end, timeout_s=timeout_s)

    if wanted.last:
        records = (record for p in partitions for record in read(p))
        newest = heapq.nlargest(wanted.max_records, records, key=lambda r: (r.timestamp or 0, r.partition, r.offset))
        yield from sorted(newest, key=lambda record: (record.partition, record.offset))
        return
    left = wanted.max_records
    for partition in partitions:
        for record in read(partition):
            yield record
            left -= 1
            if not left:
                return
