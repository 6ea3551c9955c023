"""The newest live record of each schema id in each partition, read by its offset."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from srfix.recovery.census.interface import Census, IdCount
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRecord:
    """The newest live record of one id in one partition."""

    partition: int
    count: IdCount
    """What the census counted of the id there."""
    offset: int
    record: RawRecord | None
    """The record; None if it was compacted away since it was counted."""


def newest_live(
    cluster: Cluster, census: Census, role: Role, *, most: int | None = None
) -> tuple[tuple[LiveRecord, ...], int]:
    """The newest live record of each (id, partition), by partition and id; and how many places `most` left out.

    Where there are more than `most`, every id is looked at in one partition before any is in a second one.
    """
    by_id: defaultdict[SchemaId, list[tuple[int, IdCount, int]]] = defaultdict(list)
    for partition in census.partitions:
        for count in partition.of(role).ids:
            if count.live_offset is not None:
                by_id[count.schema_id].append((partition.partition, count, count.live_offset))
    ranked = sorted(
        ((rank, place) for places in by_id.values() for rank, place in enumerate(places)),
        key=lambda ranked: (ranked[0], ranked[1][1].schema_id),
    )
    chosen = sorted((place for _rank, place in ranked[:most]), key=lambda place: (place[0], place[1].schema_id))
    records = dict(cluster.records_at(census.topic, {(p, offset) for p, _count, offset in chosen})) if chosen else {}
    return (
        tuple(
            LiveRecord(partition=p, count=count, offset=offset, record=records[p, offset])
            for p, count, offset in chosen
        ),
        len(ranked) - len(chosen),
    )
