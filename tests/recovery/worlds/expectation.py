"""The expected findings of one store, and their differences from the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.findings import Finding, Severity
from tests.recovery.worlds.seen import is_told_global
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import Kind, TrueStore

OF_MISSING: Final = ("SRF001", "SRF002", "SRF006")
"""Ids that a restore loads are not under the phantom subject: exactly one of these."""
_OF_ROWS: Final = ("SRF003", "SRF004", "SRF005", "SRF010", "SRF011", "SRF013", "SRF015", "SRF017", "SRF018")
"""Given only if some rows are known to be live."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A finding with one code that one store must have, or must not have."""

    code: str
    role: str
    must: bool
    """False: such a finding is wrong."""
    why: str
    """The reason in words, for the reader of a failure."""
    live_keys: dict[int, int] = field(default_factory=dict)
    """For each id at fault, the rows that a restore loads with it; the finding must have these ids."""
    sound: frozenset[int] = frozenset()
    """Ids that the finding must not have."""
    or_else: tuple[str, ...] = ()
    """Other codes that are accepted, if a finding is required."""
    named: frozenset[int] = frozenset()
    """Ids that the finding must have."""
    severity: Severity | None = None
    """The severity that it must have, or must not have."""


def differences(staged: StagedWorld, store: TrueStore, expected: Expectation, findings: list[Finding]) -> Iterator[str]:
    """The differences between a store's findings and the expected ones."""
    codes = (expected.code, *expected.or_else) if expected.must else (expected.code,)
    found = [f for f in findings if f.code in codes and f.role.value == expected.role]
    if not expected.must and expected.severity is not None:
        found = [f for f in found if f.severity is expected.severity]
    name = f"{expected.code} {expected.role} of {store.application}/{store.name}"
    if expected.must and not found and (expected.code not in _OF_ROWS or _is_seen(staged, store)):
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
        for schema_id in expected.named - said.keys():
            yield f"{name} does not name id {schema_id}"
        if expected.severity not in (None, finding.severity):
            yield f"{name} is called {finding.severity.value}, though {expected.why}"


def _is_seen(staged: StagedWorld, store: TrueStore) -> bool:
    """False for a global table that no topology shows: its group committed nothing, so no row is known to be live."""
    return store.kind is not Kind.GLOBAL or is_told_global(staged.world, store)
