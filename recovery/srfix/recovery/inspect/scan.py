"""The census of one topic for a person, with the subjects that hold its ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import UNSET, UnsetType, field

from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.topic_lookup import partitions_of
from srfix.recovery.documents import Count, DatedDocument, Id, NotLookedAt, Part
from srfix.recovery.facts.refusals import Holders, find_holders
from srfix.recovery.findings import Skipped
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import RegistryError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic, subject_for
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    census: Census
    application: str | None
    """The group whose committed offsets limit a restore; None if everything up to the end counts as live."""
    roles: tuple[Role, ...]
    holders: Holders | None
    """The versions that hold the ids; None without a registry, or if it did not answer."""
    skipped: tuple[Skipped, ...]

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        return tuple(sorted({schema_id for role in self.roles for schema_id in self.census.ids(role)}))


def scan_topic(
    topic: str,
    *,
    cluster: Cluster,
    engine: CensusEngine,
    registry: ReadableRegistry | None,
    application: str | None = None,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    roles: tuple[Role, ...] = (Role.KEY, Role.VALUE),
    deadline_s: float | None = None,
    max_records: int | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
) -> Scan:
    """Counts the topic; reads only. If the registry does not answer, only the subjects' names are missing."""
    partitions = partitions_of(cluster, topic)
    committed: dict[int, int | None] | None = None
    if application is not None:
        offsets = cluster.committed(application, [(topic, partition) for partition in partitions])
        committed = {partition: offsets.get((Topic(topic), partition)) for partition in partitions}
    census = engine.count(
        CensusRequest(
            topic=Topic(topic),
            partitions=partitions,
            committed=committed,
            isolation=isolation,
            deadline_s=deadline_s,
            max_records=max_records,
        ),
        on_progress=on_progress,
    )
    ids = {schema_id for role in roles for schema_id in census.ids(role)}
    holders: Holders | None = None
    skipped: list[Skipped] = []
    if registry is not None:
        try:
            holders = find_holders(registry, ids, likely=[subject_for(topic, role) for role in roles])
        except RegistryError as error:
            skipped.append(Skipped(what="the subjects of the schema ids", reason=error.message, could_hide=True))
    return Scan(census=census, application=application, roles=roles, holders=holders, skipped=tuple(skipped))


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
    """The offset at which a restore ends."""
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
    """The group whose committed offsets limit a restore."""
    restore_ends_at: str
    is_partial: bool = field(name="partial")
    roles: CountedRoles


class HoldingVersion(Part):
    """A version that holds the id."""

    subject: str
    version: int
    deleted: bool


class HeldId(Part):
    """A schema id, and the versions that hold it."""

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
    """The versions that hold the ids; null without a registry."""
    skipped: list[NotLookedAt]


def counted_topic(scan: Scan) -> CountedTopic:
    roles = {
        role.value: CountedRole([CountedPartition.of(part, part.of(role)) for part in scan.census.partitions])
        for role in scan.roles
    }
    return CountedTopic.of(
        scan.census,
        application=scan.application,
        restore_ends_at="the end" if scan.application is None else "the committed offsets",
        roles=CountedRoles(**roles),
    )


def held_ids(scan: Scan) -> list[HeldId] | None:
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
