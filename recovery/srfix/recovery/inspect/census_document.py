"""The `srfix.census/1` document: what a census counted, as JSON."""

from __future__ import annotations

from srfix.recovery.census.interface import IdCount, PartitionCensus, RoleCensus
from srfix.recovery.inspect.scan import Scan
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role


def census_document(scan: Scan, *, srfix_version: str, generated_at: str, registry: str | None) -> dict[str, Json]:
    """The document of a scan; `generated_at` in ISO 8601, UTC; `registry` its URLs without secrets."""
    census = scan.census
    return {
        "schema": "srfix.census/1",
        "srfix": srfix_version,
        "generated_at": generated_at,
        "registry": registry,
        "topics": [
            {
                "topic": census.topic,
                "isolation": census.isolation.value,
                "application": scan.application,
                "restore_ends_at": "the end" if scan.application is None else "the committed offsets",
                "partial": census.is_partial,
                "roles": {role.value: _role(scan, role) for role in scan.roles},
            }
        ],
        "schema_ids": _schema_ids(scan),
        "skipped": [{"what": skipped.what, "reason": skipped.reason} for skipped in scan.skipped],
    }


def _role(scan: Scan, role: Role) -> Json:
    return {"partitions": [_partition(partition, partition.of(role)) for partition in scan.census.partitions]}


def _partition(partition: PartitionCensus, role: RoleCensus) -> Json:
    return {
        "partition": partition.partition,
        "start_offset": partition.start_offset,
        "end_offset": partition.end_offset,
        "committed_offset": partition.committed_offset,
        "restore_limit": partition.restore_limit,
        "records": partition.records,
        "ids": [_id(count) for count in role.ids],
        "nulls": role.nulls,
        "guids": role.guids,
        "unframed": role.unframed,
        "first_unframed_offset": role.first_unframed_offset,
        "live_unframed_keys": role.live_unframed_keys,
        "stopped_early": partition.stopped_early,
    }


def _id(count: IdCount) -> Json:
    return {
        "id": int(count.schema_id),
        "records": count.records,
        "live_keys": count.live_keys,
        "pending_keys": count.pending_keys,
        "first_offset": count.first_offset,
        "last_offset": count.last_offset,
    }


def _schema_ids(scan: Scan) -> Json:
    if scan.holders is None:
        return None
    by_id = scan.holders.by_id
    return [
        {
            "id": int(schema_id),
            "subjects": [
                {"subject": holder.subject, "version": holder.version, "deleted": holder.deleted}
                for holder in by_id.get(schema_id, ())
            ],
            "complete": scan.holders.is_complete,
        }
        for schema_id in scan.schema_ids
    ]
