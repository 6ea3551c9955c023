"""Which findings the true source of a store calls for, and which it forbids: row by row, from the rules alone.

The rules are those under "Findings" in the architecture. Where they leave a choice, nothing is expected and nothing is
forbidden. Only the default context's plain case is certain for the registry's answers; they are asked, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from srfix.recovery.findings import Finding
from tests.recovery.worlds.restoring import Row, id_of, ids_in_log, live_rows, look_up
from tests.recovery.worlds.schemas import LOST
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import GUID, UNFRAMED, WHOLE, Kind, Record, TrueStore

__all__ = ["Expectation", "differences", "expectations"]

ROLES = ("key", "value")
INCIDENT = ("SRF001", "SRF006")
"""The incident, in a table and in a global table. Which a store is, offsets alone tell by a conclusion that may be wrong."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must be said of one store under one code, or must not."""

    code: str
    role: str
    must: bool
    """False: such a finding is wrong."""
    why: str
    """In words, for whoever reads the failure."""
    live_keys: dict[int, int] = field(default_factory=dict)
    """Per id at fault the rows that a restore loads with it; these must be among the finding's."""
    sound: frozenset[int] = frozenset()
    """Ids that must not be among the finding's."""


def expectations(staged: StagedWorld, store: TrueStore) -> Iterator[Expectation]:
    """All that is certain of a store before any repair."""
    rows = live_rows(staged, store)
    for role in ROLES:
        subject = staged.world.table_subject(store, role)
        live = _live_ids(staged, rows, role)
        asked = {n: look_up(staged, staged.qualified(subject), n) for n in _known(ids_in_log(staged, store, role))}
        missing = {n: count for n, count in live.items() if asked.get(n) is not None}
        sound = frozenset(n for n, code in asked.items() if code is None)
        if missing and store.kind is Kind.GLOBAL and staged.world.is_upgraded and subject not in staged.world.subjects:
            yield Expectation(
                "SRF001", role, False, "a global table on 2.7 asks the source, and no phantom subject stands"
            )
        elif missing:
            yield Expectation("SRF001", role, True, "the reader gets 404 for live rows", missing, sound)
        elif all(code is None for code in asked.values()):
            yield Expectation("SRF001", role, False, "every id of the log is registered under the phantom subject")
        in_log = ids_in_log(staged, store, role)
        if role == "value" and live and not missing and _known(in_log) == in_log:
            yield Expectation("SRF003", role, True, "all live ids are registered under the phantom subject")
        elif role == "value" and missing:
            yield Expectation("SRF003", role, False, "live ids are missing")
        yield from _lost(role, live, ids_in_log(staged, store, role))
        yield from _undecodable(staged, store, role, rows)
    yield from _under_the_source(staged, store, rows)
    yield from _differing_keys(staged, store, rows)
    yield from _not_compacted(staged, store, rows)


def differences(staged: StagedWorld, store: TrueStore, expected: Expectation, findings: list[Finding]) -> Iterator[str]:
    """Where the findings of a store are not what is expected of them."""
    codes = INCIDENT if expected.code in INCIDENT else (expected.code,)
    found = [f for f in findings if f.code in codes and f.role.value == expected.role]
    name = f"{expected.code} {expected.role} of {store.application}/{store.name}"
    if expected.must and not found and (expected.code in INCIDENT or _is_seen(staged, store)):
        yield f"{name} is not there, though {expected.why}"
    if not expected.must and found:
        yield f"{name} is there, though {expected.why}"
    for finding in found if expected.must else ():
        said = {int(fault.schema_id): fault.live_keys for fault in finding.schema_ids}
        for schema_id, live_keys in expected.live_keys.items():
            if schema_id in said and said[schema_id] is None and not _is_seen(staged, store):
                continue
            if said.get(schema_id) != live_keys:
                yield f"{name} says {said.get(schema_id)} live keys of id {schema_id}, {live_keys} is true"
        for schema_id in expected.sound & said.keys():
            yield f"{name} names id {schema_id}, which is registered"


def _is_seen(staged: StagedWorld, store: TrueStore) -> bool:
    """False for a global table of which no topology tells: its group committed nothing, so no row is known to be live."""
    return store.kind is not Kind.GLOBAL or store.application in staged.world.topology_of


def _live_ids(staged: StagedWorld, rows: list[Row], role: str) -> Counter[int]:
    return Counter(found for row in rows if (found := id_of(staged, row.record, role)) is not None)


def _known(ids: object) -> set[int]:
    assert isinstance(ids, (set, dict))
    return set(ids) - set(LOST.values())


def _lost(role: str, live: Counter[int], in_log: set[int]) -> Iterator[Expectation]:
    lost = {n: count for n, count in live.items() if n in LOST.values()}
    if lost:
        yield Expectation("SRF011", role, True, "the registry does not know the id", lost)
    elif not in_log & set(LOST.values()):
        yield Expectation("SRF011", role, False, "the registry knows every id")


def _undecodable(staged: StagedWorld, store: TrueStore, role: str, rows: list[Row]) -> Iterator[Expectation]:
    """SRF013. A role is one of a registry serde if a subject of the store stands for it."""
    is_framed_role = staged.world.table_subject(store, role) in staged.world.subjects
    bad = [row for row in rows if _is_bad(row.record, role)]
    if not bad:
        yield Expectation("SRF013", role, False, "every live row is what its writer wrote")
    elif is_framed_role and any(row.record.value == UNFRAMED for row in bad) and role == "value":
        yield Expectation("SRF013", role, True, "live values are not framed")
    elif is_framed_role and staged.world.decode_values and any(not _is_whole(row.record, role) for row in bad):
        yield Expectation("SRF013", role, True, "live rows do not decode")


def _is_bad(record: Record, role: str) -> bool:
    if role == "key":
        return not _is_whole(record, role)
    return not _is_whole(record, role) or record.value in (UNFRAMED, GUID, *LOST)


def _is_whole(record: Record, role: str) -> bool:
    return record.key is None or record.key.body == WHOLE if role == "key" else record.body == WHOLE


def _under_the_source(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF017: live ids that are not under `<source>-value` either. SRF004: ids that are under the phantom subject alone."""
    source = staged.qualified(f"{store.topic}-value")
    known = _known(_live_ids(staged, rows, "value"))
    elsewhere = {n for n in known if look_up(staged, source, n) is not None}
    live = _live_ids(staged, rows, "value")
    if elsewhere:
        yield Expectation(
            "SRF017", "value", True, "live ids are not under the source's own subject", {n: live[n] for n in elsewhere}
        )
    elif all(look_up(staged, source, n) is None for n in _known(ids_in_log(staged, store, "value"))):
        yield Expectation("SRF017", "value", False, "every id of the log is under the source's own subject")
    phantom = staged.world.subjects.get(staged.world.table_subject(store, "value"))
    held = {staged.ids[version.schema] for version in phantom.versions} if phantom else set()
    own = held - ids_in_log(staged, store, "value")
    if all(look_up(staged, source, n) is None for n in held):
        yield Expectation("SRF004", "value", False, "every id of the phantom subject is under the source's own subject")
    elif not own or any(look_up(staged, source, n) is None for n in own):
        pass  # what the phantom subject holds may be the source's own, put there by a repair
    elif rows and staged.world.is_upgraded and phantom and not any(version.deleted for version in phantom.versions):
        yield Expectation("SRF004", "value", True, "the application's own ids are under the phantom subject alone")


def _differing_keys(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF005: the reader writes keys with the one id that its key subject holds."""
    subject = staged.world.subjects.get(staged.world.table_subject(store, "key"))
    if subject is None or not subject.versions:
        return
    carried = {n: count for n, count in _live_ids(staged, rows, "key").items() if n not in LOST.values()}
    if len(carried) > 1 and len(subject.versions) > 1:
        yield Expectation("SRF005", "key", True, "the reader writes one id, and live keys carry several")
    if len(subject.versions) != 1:
        return
    written = staged.ids[subject.versions[0].schema]
    live = _live_ids(staged, rows, "key")
    others = {n: count for n, count in live.items() if n != written and n not in LOST.values()}
    if others and not subject.versions[0].deleted:
        yield Expectation("SRF005", "key", True, f"the reader writes keys with id {written}", others)
    elif _known(ids_in_log(staged, store, "key")) <= {written}:
        yield Expectation("SRF005", "key", False, "all keys carry the id that the reader writes")


def _not_compacted(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF018: `compact,delete` and `delete` without limits are left open."""
    policy = staged.world.topics[store.topic or ""].policy
    if policy == "compact":
        yield Expectation("SRF018", "value", False, "the source topic is compacted")
    elif policy == "delete" and store.kind is Kind.TABLE and rows:
        yield Expectation("SRF018", "value", True, "the source topic is not compacted")
