"""Whether rows are intact is said of what was looked at alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.bodies import Bodies, UndecodableRows
from srfix.recovery.facts.stores import StoreFacts, SuspectStore
from srfix.recovery.findings import Diagnosis, Finding, IdAtFault, PartitionAtFault, Severity, Source
from srfix.recovery.report.in_short import in_short
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId
from tests.recovery.staging import FINDING

FAULT = IdAtFault(
    schema_id=SchemaId(1),
    live_keys=3,
    records=3,
    partitions=(PartitionAtFault(partition=0, live_keys=3, pending_keys=0, first_offset=0, last_offset=2),),
)


def finding(code: str, severity: Severity = Severity.BROKEN, *, repairable: bool = True) -> Finding:
    source = Source(topic=Topic("users"), subject=Subject("users-value"))
    return replace(FINDING, code=code, severity=severity, source=source, schema_ids=(FAULT,), repairable=repairable)


def examined(*findings: Finding, bodies: Bodies | None = None) -> Examination:
    facts = StoreFacts(
        store=SuspectStore(application="app", name="store"),
        source=findings[0].source,
        evidence=(),
        census=None,
        roles={},
        bodies={} if bodies is None else {Role.VALUE: bodies},
    )
    return Examination(diagnosis=Diagnosis(findings=findings, skipped=(), examined=()), facts=(facts,))


TRUNCATED: Final = UndecodableRows(
    partition=0, schema_id=SchemaId(7), keys=1, first_offset=0, last_offset=0, reason="cut off", is_only_too_long=False
)


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        (None, "not looked at"),
        (Bodies(undecodable=(), decoded=0, live_keys=3, newest_only=True), "not looked at"),
        (
            Bodies(undecodable=(), decoded=2, live_keys=3, newest_only=True),
            "2 of 3 live rows were read, and all decode",
        ),
        (
            Bodies(undecodable=(TRUNCATED,), decoded=3, live_keys=3, newest_only=True),
            "some live rows do not decode",
        ),
        (
            Bodies(undecodable=(replace(TRUNCATED, is_only_too_long=True),), decoded=3, live_keys=3, newest_only=True),
            "some live rows have bytes left over",
        ),
        (
            Bodies(undecodable=(), decoded=1, live_keys=3, newest_only=True),
            "1 of 3 live rows was read, and decodes",
        ),
        (Bodies(undecodable=(), decoded=3, live_keys=3, newest_only=True), "no damage seen: all 3 live rows decode"),
        (
            Bodies(undecodable=(), decoded=1, live_keys=1, newest_only=False),
            "no damage seen: the only live row decodes",
        ),
        (
            Bodies(undecodable=(), decoded=3, live_keys=3, newest_only=False, left_out=("x",)),
            "3 of 3 live rows were read, and all decode",
        ),
    ],
)
def test_data_is_intact_as_far_as_it_was_decoded(bodies: Bodies | None, words: str) -> None:
    [store] = in_short(examined(finding("SRF001"), bodies=bodies), None).stores
    assert (store.data, store.writes) == (words, None)


def test_a_topic_that_was_not_read_to_its_end_is_not_called_intact() -> None:
    bodies = Bodies(undecodable=(), decoded=3, live_keys=3, newest_only=False)
    partial = replace(finding("SRF001"), schema_ids=(replace(FAULT, is_partial=True),))
    [store] = in_short(examined(partial, bodies=bodies), None).stores
    assert store.data == "3 live rows were read, and all decode"


def test_what_another_finding_of_the_store_says_of_the_rows_counts() -> None:
    bodies = Bodies(undecodable=(), decoded=3, live_keys=3, newest_only=False)
    broken, undecodable = in_short(
        examined(finding("SRF001"), finding("SRF013", repairable=False), bodies=bodies), None
    ).stores
    assert broken.data == "not intact: some rows are not framed, or do not decode (SRF013)"
    assert undecodable.data == "not intact: some rows are not framed, or do not decode"


def test_findings_that_are_notes_stand_apart() -> None:
    note = finding("SRF003", Severity.NOTE)
    short = in_short(examined(finding("SRF001"), note), None)
    assert ([store.finding.code for store in short.stores], short.notes) == (["SRF001"], (note,))
