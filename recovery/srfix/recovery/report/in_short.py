"""Each finding in a few facts: the missing ids, whether the rows are intact, and the writes of a repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.bodies import Bodies
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Finding, IdAtFault, Severity, Weight
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.printable import counted

_MOST_IDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class IdStanding:
    fault: IdAtFault
    under_source: bool | None
    under_phantom: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInShort:
    finding: Finding
    data: str | None
    """Whether the rows themselves are intact, as far as srfix looked; None if it does not know."""
    writes: int | None
    ids: tuple[IdStanding, ...] = ()

    @property
    def certainty(self) -> str | None:
        """How certain its source is: the weight of the best evidence for it; None while it is undecided."""
        source = self.finding.source
        if source is None:
            return None
        weights = {e.weight for e in self.finding.evidence if e.topic == source.topic and not e.against}
        return next((weight.value for weight in Weight if weight in weights), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InShort:
    stores: tuple[StoreInShort, ...]
    notes: tuple[Finding, ...]
    do_not: tuple[str, ...]
    """What must not be done before the repair, each as words behind "do not", once for all applications."""
    writes: int | None


def in_short(examination: Examination, plan: Plan | None) -> InShort:
    """The first screen of a diagnosis, and of the plan of its repair, if there is one."""
    diagnosis = examination.diagnosis
    wrong = [finding for finding in diagnosis.findings if finding.severity is not Severity.NOTE]
    writes = Counter(() if plan is None else (action.subject for action in plan.actions))
    stores = tuple(
        StoreInShort(
            finding=finding,
            data=_data(finding, wrong, examination.facts),
            writes=writes[finding.subject] or None if finding.repairable else None,
            ids=tuple(_standings(finding, examination.facts)),
        )
        for finding in wrong
    )
    return InShort(
        stores=stores,
        notes=tuple(finding for finding in diagnosis.findings if finding.severity is Severity.NOTE),
        do_not=tuple(dict.fromkeys(words for advice in diagnosis.applications for words in advice.do_not)),
        writes=sum(writes.values()) or None,
    )


def _standings(finding: Finding, facts: Sequence[StoreFacts]) -> Iterator[IdStanding]:
    role = next((store_facts.roles.get(finding.role) for store_facts in _of_store(finding, facts)), None)
    if role is None or finding.source is None or len(finding.schema_ids) > _MOST_IDS:
        return
    for fault in finding.schema_ids:
        memberships = (
            memberships_of_source.get(fault.schema_id)
            for memberships_of_source in (role.source_memberships, {**role.row_memberships, **role.memberships})
        )
        source, phantom = (
            None if membership is None else membership.is_known and membership.error_code is None
            for membership in memberships
        )
        yield IdStanding(fault=fault, under_source=source, under_phantom=phantom)


def _data(finding: Finding, wrong: Iterable[Finding], facts: Sequence[StoreFacts]) -> str | None:
    """The facts about the rows: what a finding of this store says of them, or how many were decoded."""
    own = BY_CODE[finding.code].data
    if own is not None:
        return own
    for other in wrong:
        words = BY_CODE[other.code].data
        is_of_store = (other.application, other.store) == (finding.application, finding.store)
        if words is not None and is_of_store and not _is_of_other_rows(other, finding):
            return f"{words} ({other.code})"
    if not any(fault.live_keys for fault in finding.schema_ids):
        return None
    for store_facts in _of_store(finding, facts):
        bodies = store_facts.bodies.get(finding.role)
        if bodies is None or not bodies.decoded:
            continue
        if bodies.undecodable:
            is_read_by_java = all(rows.is_only_too_long for rows in bodies.undecodable)
            return f"some live rows {'have bytes left over' if is_read_by_java else 'do not decode'}"
        return _intact(bodies, is_partial=any(fault.is_partial for fault in finding.schema_ids))
    return "not looked at"


def _is_of_other_rows(other: Finding, finding: Finding) -> bool:
    """True if both name their schema ids, and have none in common."""
    ids, others = ({fault.schema_id for fault in each.schema_ids} for each in (finding, other))
    return other.role is finding.role and bool(ids) and bool(others) and ids.isdisjoint(others)


def _of_store(finding: Finding, facts: Iterable[StoreFacts]) -> Iterator[StoreFacts]:
    of_store = (finding.application, finding.store)
    return (known for known in facts if (known.store.application, known.store.name) == of_store)


def _intact(bodies: Bodies, *, is_partial: bool) -> str:
    if not bodies.is_whole or is_partial:
        decoded = bodies.decoded
        rows = counted(decoded, "live row") if is_partial else f"{decoded:,} of {bodies.live_keys:,} live rows"
        return f"{rows} {'was read, and decodes' if decoded == 1 else 'were read, and all decode'}"
    return (
        "no damage seen: the only live row decodes"
        if bodies.live_keys == 1
        else f"no damage seen: all {bodies.live_keys:,} live rows decode"
    )
