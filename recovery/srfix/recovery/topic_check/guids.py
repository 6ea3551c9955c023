"""The GUIDs by which keys or values name their schema, in the payload or in a header, and the registry's ids for them.
A census only counts GUIDs; this module reads which they are, in a second pass over the partitions that have any.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable
from uuid import UUID

from srfix.recovery.census.interface import Census, IdCount, PartitionCensus, RoleCensus
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.topics import Lives
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import WireError
from srfix.serde.schemas.errors import EndpointNotSupportedError, SchemaNotFoundError
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId, parse


@runtime_checkable
class _GuidIds(Protocol):
    """A registry that has ids for GUIDs (Confluent 8.0 on)."""

    def ids_of_guid(self, guid: str) -> Mapping[str, SchemaId]:
        """The id of a GUID's content, in each context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidsFound:
    census: Census
    """The census with the records of resolved GUIDs counted under their ids."""
    by_id: Mapping[SchemaId, tuple[UUID, ...]]
    unknown: tuple[UUID, ...] = ()
    unread: str | None = None
    """Why srfix did not look at some GUIDs, in words; None if it looked at all."""


def resolve_guids(
    cluster: Cluster,
    registry: ReadableRegistry,
    census: Census,
    role: Role,
    *,
    context: str,
    lives: Lives,
    deadline_s: float | None = None,
) -> GuidsFound:
    """Reads the GUIDs until the deadline, also those of aborted transactions, and asks for the id of each."""
    if not any(partition.of(role).guids for partition in census.partitions):
        return GuidsFound(census=census, by_id={})
    if not isinstance(registry, _GuidIds):
        return GuidsFound(census=census, by_id={}, unread="this registry client cannot look up GUIDs")
    counted: dict[int, Mapping[UUID, IdCount]] = {}
    unread = None
    give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
    try:
        for partition in census.partitions:
            if partition.of(role).guids:
                counted[partition.partition] = _counted(cluster, census.topic, partition, role, lives, give_up_at)
    except GaveUp:
        unread = f"the deadline of {deadline_s:g} s (--deadline) was reached before srfix had read all of them"
    ids: dict[UUID, SchemaId] = {}
    unknown: list[UUID] = []
    for guid in sorted({guid for guids in counted.values() for guid in guids}):
        try:
            schema_id = registry.ids_of_guid(str(guid)).get(context)
        except SchemaNotFoundError:
            schema_id = None
        except EndpointNotSupportedError:
            return GuidsFound(
                census=census,
                by_id={},
                unread="this registry does not know GUIDs (Confluent's registry does from 8.0 on)",
            )
        if schema_id is None:
            unknown.append(guid)
        else:
            ids[guid] = schema_id
    return GuidsFound(
        census=census.with_role(role, lambda part: _folded(part.of(role), counted.get(part.partition, {}), ids)),
        by_id={
            schema_id: tuple(g for g in sorted(ids) if ids[g] == schema_id) for schema_id in sorted(set(ids.values()))
        },
        unknown=tuple(unknown),
        unread=unread,
    )


def _counted(
    cluster: Cluster, topic: str, partition: PartitionCensus, role: Role, lives: Lives, give_up_at: float | None
) -> Mapping[UUID, IdCount]:
    counts: dict[UUID, IdCount] = {}
    latest: dict[bytes, tuple[UUID | None, int]] = {}
    for record in cluster.read(
        topic, partition.partition, partition.start_offset, partition.end_offset, give_up_at=give_up_at
    ):
        guid = _guid(record, role)
        if record.key is not None:
            latest[record.key] = (None if record.value is None and role is Role.VALUE else guid, record.offset)
        if guid is None:
            continue
        before = counts.get(guid)
        counts[guid] = IdCount(
            schema_id=SchemaId(0),  # known once all are read
            records=1 if before is None else before.records + 1,
            live_keys=0,
            pending_keys=0,
            first_offset=record.offset if before is None else before.first_offset,
            last_offset=record.offset,
            live_offset=None,
        )
    every = lives is Lives.EVERY_RECORD
    return {
        guid: replace(
            count,
            live_keys=count.records if every else sum(guid_now == guid for guid_now, _offset in latest.values()),
            live_offset=count.last_offset
            if every
            else max((offset for guid_now, offset in latest.values() if guid_now == guid), default=None),
        )
        for guid, count in counts.items()
    }


def _guid(record: RawRecord, role: Role) -> UUID | None:
    payload = record.key if role is Role.KEY else record.value
    try:
        frame = parse(payload, headers=list(record.headers), role=role)
    except WireError:
        return None
    return None if frame is None else frame.guid


def _folded(before: RoleCensus, counted: Mapping[UUID, IdCount], ids: Mapping[UUID, SchemaId]) -> RoleCensus:
    resolved = [replace(count, schema_id=ids[guid]) for guid, count in counted.items() if guid in ids]
    return replace(
        before,
        ids=tuple(_merged((*before.ids, *resolved))),
        guids=max(0, before.guids - sum(count.records for count in resolved)),
    )


def _merged(counts: Iterable[IdCount]) -> Iterator[IdCount]:
    """One count for each id, ascending."""
    by_id: dict[SchemaId, IdCount] = {}
    for count in counts:
        other = by_id.get(count.schema_id)
        if other is None:
            by_id[count.schema_id] = count
            continue
        offsets = [offset for offset in (count.live_offset, other.live_offset) if offset is not None]
        by_id[count.schema_id] = replace(
            count,
            records=count.records + other.records,
            live_keys=(count.live_keys or 0) + (other.live_keys or 0),
            pending_keys=count.pending_keys + other.pending_keys,
            first_offset=min(count.first_offset, other.first_offset),
            last_offset=max(count.last_offset, other.last_offset),
            live_offset=max(offsets, default=None),
        )
    yield from (by_id[schema_id] for schema_id in sorted(by_id))
