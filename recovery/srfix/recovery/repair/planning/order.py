"""In which order a plan repairs: what unblocks most comes first, and an application's stores stay together.

An application works again when all of its stores are readable. So a repair that is interrupted, or of which a part is carried
out (`srfix apply` with `--only`), leaves as many applications whole as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from srfix.recovery.diagnosis.diagnose import Examination
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Finding
from srfix.recovery.repair.planning.repairs import SubjectRepair
from srfix.serde.subjects.names import Role

_STOPPED: Final = frozenset({"Empty", "Dead"})
"""States of a group without members: its threads have died, or somebody stopped it."""


def by_what_they_unblock(repairs: Sequence[SubjectRepair], examination: Examination) -> tuple[SubjectRepair, ...]:
    """The repairs, application by application: the worst finding first, then who is down, then by the rows that are read
    again, then by name; within an application likewise.
    """
    found: dict[tuple[str, str, Role], list[Finding]] = {}
    for finding in examination.diagnosis.findings:
        found.setdefault((finding.application, finding.store, finding.role), []).append(finding)
    states = {known.application: known.state for known in examination.applications}

    def of_repair(repair: SubjectRepair) -> tuple[int, int]:
        of_it = found.get((*_store_of(repair), repair.want.role.role), ())
        own = [finding for finding in of_it if finding.code == repair.want.code]
        # Without a census nothing tells how bad it is: then as bad as can be.
        return min((finding.severity.rank for finding in own), default=0), -_live_keys(own)

    together: dict[str, list[SubjectRepair]] = {}
    for repair in repairs:
        together.setdefault(_store_of(repair)[0], []).append(repair)

    def of_application(name: str) -> tuple[int, int, int, str]:
        ranks = [of_repair(repair) for repair in together[name]]
        return min(rank for rank, _ in ranks), _down(states.get(name)), sum(live for _, live in ranks), name

    return tuple(
        repair
        for name in sorted(together, key=of_application)
        for repair in sorted(together[name], key=lambda repair: (*of_repair(repair), _store_of(repair)[1]))
    )


def _store_of(repair: SubjectRepair) -> tuple[str, str]:
    """Application and store; empty of a topic's repair."""
    facts = repair.want.facts
    return (facts.store.application, facts.store.name) if isinstance(facts, StoreFacts) else ("", "")


def _live_keys(findings: Iterable[Finding]) -> int:
    return sum(fault.live_keys or 0 for finding in findings for fault in finding.schema_ids)


def _down(state: str | None) -> int:
    """Who is known to be down first, who is known to run last."""
    if state is None:
        return 1
    return 0 if state in _STOPPED else 2
