"""A note on a repair stands with the finding that it repairs, and never vanishes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from srfix.recovery.diagnosis.document import diagnosis_document
from srfix.recovery.diagnosis.examination import with_notes
from srfix.recovery.findings import Diagnosis, Finding, Severity
from srfix.serde.subjects.names import Subject
from tests.documents import check_printed
from tests.recovery.staging import FINDING

pytestmark = pytest.mark.core


def finding(
    code: str, severity: Severity = Severity.BROKEN, *, repairable: bool = True, store: str = "store"
) -> Finding:
    return replace(
        FINDING,
        code=code,
        severity=severity,
        store=store,
        subject=Subject(f"app-{store}-changelog-value"),
        explanation=f"why {code}",
        next="what to do",
        repairable=repairable,
    )


BROKEN, HARMLESS = finding("SRF001"), finding("SRF001", Severity.NOTE)
OVERCOME, REFUSED = finding("SRF012", Severity.NOTE), finding("SRF012", Severity.NOTE, repairable=False)


@pytest.mark.parametrize("note", [OVERCOME, REFUSED])
def test_it_stands_with_the_finding_of_its_subject(note: Finding) -> None:
    elsewhere = finding("SRF001", store="other")
    assert with_notes([note, elsewhere, BROKEN]) == [elsewhere, replace(BROKEN, notes=(note,))]


@pytest.mark.parametrize(
    "alone", [(), (finding("SRF013", repairable=False),), (finding("SRF003", Severity.NOTE, repairable=False),)]
)
def test_without_one_that_is_repaired_it_is_a_finding(alone: tuple[Finding, ...]) -> None:
    assert with_notes([*alone, REFUSED]) == [*alone, REFUSED]


def test_where_nothing_fails_what_stands_in_the_way_is_still_seen() -> None:
    assert with_notes([HARMLESS, OVERCOME]) == [replace(HARMLESS, notes=(OVERCOME,))]
    assert with_notes([HARMLESS, REFUSED]) == [HARMLESS, REFUSED]


def test_the_document_has_it_within_the_finding_and_counts_no_note() -> None:
    diagnosis = Diagnosis(findings=tuple(with_notes([BROKEN, REFUSED])), skipped=(), examined=("app/store",))
    document = diagnosis_document(diagnosis, srfix_version="1", generated_at="2026-01-01T00:00:00Z")
    check_printed(json.dumps(document))
    assert [each["code"] for each in document["findings"]] == ["SRF001"]  # type: ignore[union-attr, index, call-overload]
    assert document["findings"][0]["notes"] == [  # type: ignore[index, call-overload]
        {
            "code": "SRF012",
            "schema_ids": [],
            "explanation": "why SRF012",
            "next": "what to do",
            "overcome": False,
        }
    ]
    assert (document["summary"]["findings"], document["summary"]["notes"]) == (1, 0)  # type: ignore[index, call-overload]
