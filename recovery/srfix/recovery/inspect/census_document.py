"""The `srfix.census/1` document: what a census counted, as JSON."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from srfix.recovery.documents import Count, DatedDocument, Id, NotLookedAt, Part
from srfix.recovery.inspect.scan import Scan
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role


class CountedId(Part):
    """A schema id in a partition's keys or values."""

    schema_id: Id = field(name="id")
    records: Count
    live_keys: Count | None
    pending_keys: Count
    first_offset: Count
    last_offset: Count


class CountedPartition(Part):
    """A partition's keys or values."""

    partition: Count
    start_offset: Count
    end_offset: Count
    committed_offset: Count | None
    restore_limit: Count | None
    """Where a restore ends."""
    records: Count
    ids: list[CountedId]
    nulls: Count
    guids: Count
    """Payloads that name their schema by GUID."""
    unframed: Count
    first_unframed_offset: Count | None
    live_unframed_keys: Count | None
    stopped_early: str | None
    """Why reading stopped before the end; null if it did not."""


class CountedRole(Part):
    """A topic's keys or values."""

    partitions: list[CountedPartition]


class CountedRoles(Part):
    """Keys and values, as far as they were asked for."""

    key: CountedRole | UnsetType = UNSET
    value: CountedRole | UnsetType = UNSET


class CountedTopic(Part):
    """A topic."""

    topic: str
    isolation: Isolation
    application: str | None
    """The group whose committed offsets bound what a restore loads."""
    restore_ends_at: str
    is_partial: bool = field(name="partial")
    roles: CountedRoles


class HoldingVersion(Part):
    """A version that holds the id."""

    subject: str
    version: int
    deleted: bool


class HeldId(Part):
    """A schema id, and who holds it."""

    id: Id
    subjects: list[HoldingVersion]
    complete: bool
    """False if only likely subjects were asked."""


class CensusDocument(DatedDocument, tag="srfix.census/1"):
    """Which schema ids live where in a topic: `srfix scan`."""

    registry: str | None
    """Its URLs, without secrets; null if none was named."""
    topics: list[CountedTopic]
    schema_ids: list[HeldId] | None
    """Who holds the ids; null without a registry."""
    skipped: list[NotLookedAt]


def counted_topic(scan: Scan) -> CountedTopic:
    """The topic of a scan."""
    roles = {role.value: _role(scan, role) for role in scan.roles}
    return CountedTopic.of(
        scan.census,
        application=scan.application,
        restore_ends_at="the end" if scan.application is None else "the committed offsets",
        roles=CountedRoles(**roles),
    )


def _role(scan: Scan, role: Role) -> CountedRole:
    return CountedRole([CountedPartition.of(partition, partition.of(role)) for partition in scan.census.partitions])


def held_ids(scan: Scan) -> list[HeldId] | None:
    """Who holds the ids that a scan met; None without a registry."""
    holders = scan.holders
    if holders is None:
        return None
    return [
        HeldId(
            id=schema_id,
            subjects=[HoldingVersion.of(holder) for holder in holders.by_id.get(schema_id, ())],
            complete=holders.is_complete,
        )
        for schema_id in scan.schema_ids
    ]
