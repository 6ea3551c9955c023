"""Asks again, as the failing reader would: fresh client, census, content look-ups, rows decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks._counting import restorable_ids
from srfix.recovery.cluster import Cluster
from srfix.recovery.plan_file import Plan, PlannedFinding
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.survey import ask_membership
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import SrfixError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry import RegistryClient
from srfix.serde.resolve import UnderOneSubject
from srfix.serde.subjects import ChangelogSubject, Role, Subject
from srfix.serde.wire import SchemaId

__all__ = ["Confirmed", "NotLookedAt", "Problem", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Something that holds."""

    subject: Subject
    """The phantom subject."""
    what: str
    """What was asked and answered, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that does not hold."""

    subject: Subject
    """The phantom subject."""
    what: str
    """What is wrong, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLookedAt:
    """Something that could not be asked: neither confirmed nor a problem, but no clean bill of health."""

    subject: Subject
    """The phantom subject."""
    what: str
    """What, and why."""


Event = Confirmed | Problem | NotLookedAt


def verify(
    plan: Plan,
    cluster: Cluster,
    engine: CensusEngine,
    registry: RegistryClient,
    *,
    on_progress: Callable[[CensusProgress], None] | None = None,
) -> Iterator[Event]:
    """Verifies each store of a plan. Reads only.

    Per store: the census again; for each id that a restore loads a content look-up with `deleted=true`, its id
    compared; and per (id, partition) at least one live record decoded under the phantom subject alone. The subject's
    configuration must be what it was before the repair.

    :param registry: a fresh client: nothing that an earlier step remembered may answer.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    topics = cluster.topics()
    for finding in plan.findings:
        count = topics.get(finding.source_topic)
        if count is None:
            yield Problem(
                subject=finding.subject,
                what=f"topic {finding.source_topic}, from which the store restores, is gone from this cluster; check "
                "--bootstrap-servers",
            )
            continue
        census = engine.count(
            CensusRequest(
                topic=finding.source_topic,
                partitions=tuple(range(count)),
                committed=_commits(cluster, finding, count),
            ),
            on_progress=on_progress,
        )
        for partition in census.partitions:
            if partition.stopped_early is not None:
                yield NotLookedAt(
                    subject=finding.subject,
                    what=f"{census.topic} partition {partition.partition}: {partition.stopped_early}",
                )
        yield from _members(finding, census, registry)
        yield from _rows(finding, census, cluster, registry)
        yield from _configuration(finding, plan, registry)


def _commits(cluster: Cluster, finding: PlannedFinding, partitions: int) -> Mapping[int, int | None]:
    answers = cluster.committed(finding.application, [(finding.source_topic, p) for p in range(partitions)])
    return {partition: offset for (_topic, partition), offset in answers.items()}


def _members(finding: PlannedFinding, census: Census, registry: RegistryClient) -> Iterator[Event]:
    for schema_id in restorable_ids(census, finding.role):
        membership = ask_membership(registry, finding.subject, schema_id)
        if not membership.is_known:
            yield Problem(
                subject=finding.subject,
                what=f"schema id {schema_id}, which live records carry, is unknown to the registry (srfix explain "
                "SRF011)",
            )
        elif membership.error_code is not None:
            yield Problem(
                subject=finding.subject,
                what=f"schema id {schema_id} is not registered here ({membership.error_code}); plan and apply again",
            )
        elif membership.answered_id != schema_id:
            yield Confirmed(
                subject=finding.subject,
                what=f"schema id {schema_id} is registered here by content, as id {membership.answered_id}: readers "
                "accept it",
            )
        else:
            yield Confirmed(subject=finding.subject, what=f"schema id {schema_id} is registered here")


def _rows(finding: PlannedFinding, census: Census, cluster: Cluster, registry: RegistryClient) -> Iterator[Event]:
    deserialize = AvroDeserializer(
        UnderOneSubject(registry, ChangelogSubject(application=finding.application, store=finding.store))
    )
    context = SerdeContext(topic=finding.source_topic, role=finding.role)
    decoded: dict[SchemaId, int] = {}
    for partition in census.partitions:
        for count in partition.of(finding.role).ids:
            if count.live_offset is None:
                continue
            record = cluster.record_at(finding.source_topic, partition.partition, count.live_offset)
            if record is None:
                yield NotLookedAt(
                    subject=finding.subject,
                    what=f"{finding.source_topic} partition {partition.partition} offset {count.live_offset}: "
                    "compacted away "
                    "since it was counted, so that no row there was read; verify again",
                )
                continue
            try:
                deserialize(record.key if finding.role is Role.KEY else record.value, context)
            except SrfixError as error:
                yield Problem(
                    subject=finding.subject,
                    what=f"{finding.source_topic} partition {partition.partition} offset {count.live_offset} cannot "
                    "be read: "
                    f"{error}",
                )
            else:
                decoded[count.schema_id] = decoded.get(count.schema_id, 0) + 1
    for schema_id, rows in sorted(decoded.items()):
        yield Confirmed(
            subject=finding.subject,
            what=f"{rows} live row(s) with schema id {schema_id}, one per partition, read under this subject alone",
        )


def _configuration(finding: PlannedFinding, plan: Plan, registry: RegistryClient) -> Iterator[Event]:
    expected = plan.expects[finding.subject].config
    found = read_subject_state(registry, finding.subject).config
    if found == expected:
        yield Confirmed(subject=finding.subject, what="its configuration is what it was before the repair")
    else:
        yield Problem(
            subject=finding.subject,
            what=f"its configuration is {found} where {expected} stood before the repair; finish it with srfix "
            "apply, or put "
            "it back by hand",
        )
