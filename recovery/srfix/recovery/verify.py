"""Asks again, as the failing reader would: fresh client, census, content look-ups, rows decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks._counting import listed, restorable_ids
from srfix.recovery.circumstances import Circumstances
from srfix.recovery.cluster import Cluster
from srfix.recovery.plan_file import Plan, PlannedFinding
from srfix.recovery.playbook import Verified
from srfix.recovery.subject_state import SubjectState, read_subject_state
from srfix.recovery.supplied import Supplied
from srfix.recovery.survey import Survey
from srfix.recovery.verify_events import Confirmed, Event, Looked, NotLookedAt, Problem, tally
from srfix.recovery.verify_ids import AskedIds, left_out_elsewhere
from srfix.recovery.verify_keys import keys_missed, keys_of, left_open
from srfix.recovery.verify_rows import rows_read, rows_without_id
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.models import Json
from srfix.serde.subjects import ChangelogSubject, Role, Subject, split_context, within_context_of
from srfix.serde.windowed import WindowKind

__all__ = [
    "Confirmed",
    "Event",
    "EveryRow",
    "Looked",
    "NotLookedAt",
    "Problem",
    "circumstances_now",
    "outcome_of",
    "tally",
    "verify",
]


class EveryRow(Protocol):
    """Reads every row that a restore loads, where `verify` itself reads one for each schema id and partition."""

    def events(
        self,
        finding: PlannedFinding,
        census: Census,
        registry: RegistryClient,
        *,
        window: WindowKind | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Event]:
        """What came of it, under the phantom subject alone and with the source's subject behind it. Partitions that the
        census did not read to their end are left out.

        :param window: the window behind each key; None if they are not windowed.
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

    Per store: the census again; a content look-up with `deleted=true`, its id compared, for each id that the plan speaks
    of, live or not, and for each that a restore loads; and per (id, partition) at least one live record decoded under the
    phantom subject alone. The subject's configuration and mode must be what they were before the repair. A store of which
    no live row was seen is not looked at; what the plan left out, and look-ups by key that miss what was repaired
    (SRF005), are problems.

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
    survey = Survey(cluster=cluster, registry=registry)
    known_global = {
        (known.application, store.name) for known in plan.circumstances for store in known.stores if store.is_global
    }
    stores: set[tuple[str, str, str]] = set()
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
            yield from AskedIds.ask(plan, finding, (), registry).events(registry)
            yield from _standing(plan.expects[finding.subject], registry)
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
        keys = keys_of(finding, census, survey)
        census = keys.census
        asked = AskedIds.ask(plan, finding, restorable_ids(census, finding.role), registry)
        yield from asked.events(registry)
        before = plan.expects[finding.subject]
        known_ids = asked.planned | asked.left_out.keys() | set(before.schema_ids)
        for event in rows_read(
            finding, census, cluster, registry, asked.memberships, known_ids=known_ids, window=keys.window
        ):
            # What reads every row reads these too: they count once.
            yield event if every_row is None else replace(event, rows=0)
        yield from rows_without_id(finding, census)
        yield from left_open(finding, keys)
        yield from _standing(before, registry)
        store = (*where, split_context(finding.subject)[0])
        if store not in stores:  # keys and values of one store are two findings
            yield from keys_missed(finding, keys, survey)
            stores.add(store)
        if every_row is not None:
            yield from every_row.events(finding, census, registry, window=keys.window, deadline_s=deadline_s)
    yield from left_out_elsewhere(plan, registry)


def _commits(cluster: Cluster, finding: PlannedFinding, partitions: int) -> Mapping[int, int | None]:
    answers = cluster.committed(finding.application, [(finding.source_topic, p) for p in range(partitions)])
    return {partition: offset for (_topic, partition), offset in answers.items()}


def _standing(expected: SubjectState, registry: RegistryClient) -> Iterator[Event]:
    """What stood under a subject before the repair, and stands there now: what the repair does not change for good."""
    subject, found = expected.subject, read_subject_state(registry, expected.subject)
    gone = sorted({version.schema_id for version in expected.live} - set(found.schema_ids))
    if gone:
        yield NotLookedAt(
            subject=subject,
            what=f"the rows of the store with schema id {listed(gone)}, which stood here when the plan was made and is gone. "
            "Is this the plan's registry (--registry)? If it was deleted for good, the store's own rows with that id cannot "
            "be read",
        )
    if found.config == expected.config:
        yield Confirmed(subject=subject, what="its configuration is what it was before the repair")
    else:
        yield Problem(
            subject=subject,
            what=f"its configuration is {_said(found.config)} where {_said(expected.config)} stood before the repair; "
            "finish it "
            "with srfix apply, or put it back by hand",
        )
    if found.mode != expected.mode:
        yield Problem(
            subject=subject,
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
    """What the verification says of one application of the plan. A subject of none of them counts for each."""
    owners: dict[Subject, set[str]] = {}
    for finding in plan.findings:
        store = ChangelogSubject(application=finding.application, store=finding.store)
        for subject in (finding.subject, *(within_context_of(finding.subject, store("", role)) for role in Role)):
            owners.setdefault(subject, set()).add(finding.application)
    of_it = [event for event in events if application in owners.get(event.subject, {application})]
    problems = [event for event in of_it if isinstance(event, Problem)]
    if not all(problem.keys_miss for problem in problems):
        return Verified.PROBLEMS
    if any(isinstance(event, NotLookedAt) for event in of_it):
        return Verified.NOT_SEEN
    return Verified.KEYS_MISS if problems else Verified.HOLDS
