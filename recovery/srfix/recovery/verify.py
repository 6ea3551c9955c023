"""Asks again, as the failing reader would: fresh client, census, content look-ups, rows decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from srfix.recovery.bodies import newest_live
from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks._counting import answered_through, restorable_ids
from srfix.recovery.circumstances import Circumstances
from srfix.recovery.cluster import Cluster
from srfix.recovery.plan_file import Plan, PlannedFinding
from srfix.recovery.playbook import Verified
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.supplied import Supplied
from srfix.recovery.survey import ask_membership
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import SrfixError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.models import Json
from srfix.serde.resolve import UnderOneSubject
from srfix.serde.subjects import FixedSubject, Role, Subject
from srfix.serde.wire import SchemaId

__all__ = ["Confirmed", "Event", "EveryRow", "NotLookedAt", "Problem", "circumstances_now", "outcome_of", "verify"]


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


class EveryRow(Protocol):
    """Reads every row that a restore loads, where `verify` itself reads one for each schema id and partition."""

    def events(
        self, finding: PlannedFinding, census: Census, registry: RegistryClient, *, deadline_s: float | None = None
    ) -> Iterator[Event]:
        """What came of it, under the phantom subject alone and with the source's subject behind it. Partitions that the
        census did not read to their end are left out.

        :param deadline_s: seconds after which it stops, and says so.
        """


def verify(
    plan: Plan,
    cluster: Cluster,
    engine: CensusEngine,
    registry: RegistryClient,
    *,
    supplied: Supplied | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
    every_row: EveryRow | None = None,
) -> Iterator[Event]:
    """Verifies each store of a plan. Reads only.

    Per store: the census again; for each id that a restore loads a content look-up with `deleted=true`, its id
    compared; and per (id, partition) at least one live record decoded under the phantom subject alone. The subject's
    configuration and mode must be what they were before the repair.

    :param registry: a fresh client: nothing that an earlier step remembered may answer.
    :param supplied: state directories, topologies and ksqlDB's answers: a global table, in whose restore committed offsets
        play no part, is known from them, or from the plan.
    :param deadline_s: seconds after which the census of each topic stops; what it leaves unread is not looked at.
    :param max_records: records of each topic after which its census stops likewise.
    :param every_row: what reads every live row after that; None leaves it at one for each schema id and partition.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    topics = cluster.topics()
    known_global = {
        (known.application, store.name) for known in plan.circumstances for store in known.stores if store.is_global
    }
    for finding in plan.findings:
        where = (finding.application, finding.store)
        is_global = where in known_global or (supplied is not None and supplied.is_global(*where))
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
                committed=None if is_global else _commits(cluster, finding, count),
                deadline_s=deadline_s,
                max_records=max_records,
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
        if every_row is not None:
            yield from every_row.events(finding, census, registry, deadline_s=deadline_s)


def _commits(cluster: Cluster, finding: PlannedFinding, partitions: int) -> Mapping[int, int | None]:
    answers = cluster.committed(finding.application, [(finding.source_topic, p) for p in range(partitions)])
    return {partition: offset for (_topic, partition), offset in answers.items()}


def _members(finding: PlannedFinding, census: Census, registry: RegistryClient) -> Iterator[Event]:
    # With SRF004 the ids at fault are in kept state, not in the topic.
    kept = finding.schema_ids if finding.code == "SRF004" else ()
    for schema_id in sorted({*restorable_ids(census, finding.role), *kept}):
        membership = ask_membership(registry, finding.subject, schema_id)
        if not membership.is_known:
            yield Problem(
                subject=finding.subject,
                what=f"schema id {schema_id}, which live records carry, is unknown to the registry (srfix explain "
                "SRF011)",
            )
        elif membership.problem is not None:
            yield Problem(
                subject=finding.subject,
                what=f"schema id {schema_id}: the registry does not take its text for a schema "
                f"({membership.error_code}: "
                f"{membership.problem}), so that the reader's look-up fails; srfix diagnose says what stands in the "
                "way",
            )
        elif membership.error_code is not None:
            yield Problem(
                subject=finding.subject,
                what=f"schema id {schema_id} is not registered here ({membership.error_code}); plan and apply again",
            )
        elif membership.answered_subject is not None:
            yield Confirmed(
                subject=finding.subject,
                what=f"schema id {schema_id} is not registered here, but its look-up is "
                f"{answered_through(finding.subject, membership.answered_subject)}",
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
    deserialize = SchemaDeserializer(UnderOneSubject(registry, FixedSubject(**{finding.role.value: finding.subject})))
    context = SerdeContext(topic=finding.source_topic, role=finding.role)
    decoded: dict[SchemaId, int] = {}
    for live in newest_live(cluster, census, finding.role)[0]:
        where = f"{finding.source_topic} partition {live.partition} offset {live.offset}"
        if live.record is None:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: compacted away since it was counted, so that no row there was read; verify again",
            )
            continue
        try:
            deserialize(live.record.key if finding.role is Role.KEY else live.record.value, context)
        except SrfixError as error:
            yield Problem(subject=finding.subject, what=f"{where} cannot be read: {error}")
        else:
            decoded[live.count.schema_id] = decoded.get(live.count.schema_id, 0) + 1
    for schema_id, rows in sorted(decoded.items()):
        yield Confirmed(
            subject=finding.subject,
            what=f"{rows} live row(s) with schema id {schema_id}, one per partition, read under this subject alone",
        )


def _configuration(finding: PlannedFinding, plan: Plan, registry: RegistryClient) -> Iterator[Event]:
    expected = plan.expects[finding.subject]
    found = read_subject_state(registry, finding.subject)
    if found.config == expected.config:
        yield Confirmed(subject=finding.subject, what="its configuration is what it was before the repair")
    else:
        yield Problem(
            subject=finding.subject,
            what=f"its configuration is {_said(found.config)} where {_said(expected.config)} stood before the repair; "
            "finish it "
            "with srfix apply, or put it back by hand",
        )
    if found.mode != expected.mode:
        yield Problem(
            subject=finding.subject,
            what=f"its mode is {_mode(found.mode)} where {_mode(expected.mode)} stood before the "
            "repair; finish it with srfix apply, or put it back by hand",
        )


def _said(config: Mapping[str, Json] | None) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(config.items())) if config else "none of its own"


def _mode(mode: str | None) -> str:
    return mode or "none of its own"


def circumstances_now(plan: Plan, cluster: Cluster, supplied: Supplied) -> Iterator[Circumstances]:
    """What is known of each application of a plan, its group and its ksqlDB query asked now."""
    for known in plan.circumstances:
        stores = tuple(
            replace(store, is_global=store.is_global or supplied.is_global(known.application, store.name))
            for store in known.stores
        )
        known = replace(known, stores=stores)
        for answers, query in supplied.queries(known.application):
            version = known.ksqldb_version if answers.server is None else answers.server.version
            state = query.state or known.query_state
            known = replace(known, query=query.query_id, query_state=state, ksqldb_version=version)
        yield known.with_group(cluster.group_state(known.application))


def outcome_of(application: str, plan: Plan, events: Iterable[Event]) -> Verified:
    """What the verification says of one application of the plan."""
    subjects = {finding.subject for finding in plan.findings if finding.application == application}
    of_it = [event for event in events if event.subject in subjects]
    if any(isinstance(event, Problem) for event in of_it):
        return Verified.PROBLEMS
    return Verified.NOT_SEEN if any(isinstance(event, NotLookedAt) for event in of_it) else Verified.HOLDS
