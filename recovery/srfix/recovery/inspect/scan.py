"""The census of one topic, for a person who wants to see it, and who holds the ids that are in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.topic_lookup import partitions_of
from srfix.recovery.facts.holders import Holders, find_holders
from srfix.recovery.findings import Skipped
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import RegistryError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic, subject_for
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A topic, counted."""

    census: Census
    application: str | None
    """The group whose committed offsets bound what a restore loads; None: everything up to the end counts as live."""
    roles: tuple[Role, ...]
    """What was asked for: keys, values or both."""
    holders: Holders | None
    """Who holds the ids; None without a registry, or where it did not answer."""
    skipped: tuple[Skipped, ...]

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """Every id in the roles that were asked for, ascending."""
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
    """Counts the topic. Read-only.

    A registry that does not answer costs the subjects' names, not the census.

    :param deadline_s: seconds after which the read stops: the census is partial then.
    :param max_records: records after which it stops likewise.
    """
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
