"""The document of a diagnosis: JSON, its keys as documented, its lists sorted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery import Diagnosis, Finding, Severity, diagnosis_document
from srfix.recovery.findings import (
    ApplicationAdvice,
    Considered,
    Evidence,
    IdAtFault,
    PartitionAtFault,
    Skipped,
    Source,
    Weight,
)
from srfix.serde import Role, Subject, Topic
from srfix.serde.schemas.models import Json
from srfix.serde.wire import SchemaId
from tests.recovery.staging import FINDING

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
topics = text.map(Topic)
subjects = text.map(Subject)
ids = st.integers(0, 2**31 - 1).map(SchemaId)
counts = st.integers(0, 2**40)

evidence = st.builds(Evidence, kind=text, topic=topics, weight=st.sampled_from(Weight), detail=text)
partitions = st.builds(
    PartitionAtFault,
    partition=st.integers(0, 999),
    live_keys=st.none() | counts,
    pending_keys=counts,
    first_offset=counts,
    last_offset=counts,
)
faults = st.builds(
    IdAtFault,
    schema_id=ids,
    live_keys=st.none() | counts,
    records=counts,
    partitions=st.lists(partitions, max_size=3, unique_by=lambda p: p.partition).map(tuple),
)
findings = st.builds(
    Finding,
    code=st.sampled_from(["SRF001", "SRF003", "SRF011", "SRF012"]),
    severity=st.sampled_from(Severity),
    application=text,
    store=text,
    role=st.sampled_from(Role),
    subject=subjects,
    source=st.none() | st.builds(Source, topic=topics, subject=subjects),
    schema_ids=st.lists(faults, max_size=3, unique_by=lambda fault: fault.schema_id).map(tuple),
    registered_ids=st.lists(ids, max_size=3, unique=True).map(tuple),
    evidence=st.lists(evidence, max_size=3).map(tuple),
    explanation=text,
    next=text,
    repairable=st.booleans(),
)
diagnoses = st.builds(
    Diagnosis,
    findings=st.lists(findings, max_size=4, unique_by=lambda f: (f.code, f.application, f.store, f.role)).map(tuple),
    skipped=st.lists(st.builds(Skipped, what=text, reason=text, could_hide=st.booleans()), max_size=3).map(tuple),
    examined=st.lists(text, max_size=3).map(tuple),
    applications=st.lists(
        st.builds(ApplicationAdvice, application=text, advice=st.lists(text, max_size=3).map(tuple)),
        max_size=3,
        unique_by=lambda told: told.application,
    ).map(tuple),
)

FINDING_KEYS = {
    "code",
    "severity",
    "application",
    "store",
    "role",
    "subject",
    "source",
    "schema_ids",
    "registered_ids",
    "evidence",
    "explanation",
    "next",
    "repairable",
}
PARTITION_KEYS = ("live_keys", "pending_keys", "first_offset", "last_offset")


def document_of(diagnosis: Diagnosis) -> dict[str, Json]:
    return diagnosis_document(diagnosis, srfix_version="0", generated_at="2020-06-16T03:00:00+00:00")


def listed(document: Json, key: str) -> list[dict[str, Json]]:
    assert isinstance(document, dict)
    rows = document[key]
    assert isinstance(rows, list)
    kept = [row for row in rows if isinstance(row, dict)]
    assert len(kept) == len(rows)
    return kept


class TestDiagnosisDocument:
    @given(diagnoses)
    def test_it_is_json_with_the_documented_keys(self, diagnosis: Diagnosis) -> None:
        document = document_of(diagnosis)
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert {"schema", "srfix", "generated_at", "findings", "skipped", "summary"} <= document.keys()
        assert document["schema"] == "srfix.diagnosis/2"
        told = {each["application"]: each["advice"] for each in listed(document, "applications")}
        assert told == {each.application: [*each.advice] for each in diagnosis.applications}
        for finding in listed(document, "findings"):
            assert finding.keys() >= FINDING_KEYS
            for fault in listed(finding, "schema_ids"):
                assert {"id", "live_keys", "records", "partitions"} <= fault.keys()
                for partition in listed(fault, "partitions"):
                    assert partition.keys() >= {"partitions", *PARTITION_KEYS}
            for piece in listed(finding, "evidence"):
                assert {"kind", "topic", "weight", "detail"} <= piece.keys()
            if finding["source"] is not None:
                assert isinstance(finding["source"], dict)
                assert {"topic", "subject"} <= finding["source"].keys()
        for skipped in listed(document, "skipped"):
            assert {"what", "reason", "could_hide_a_finding"} <= skipped.keys()

    @given(diagnoses)
    def test_its_lists_are_sorted(self, diagnosis: Diagnosis) -> None:
        document = document_of(diagnosis)
        for finding in listed(document, "findings"):
            assert finding["registered_ids"] == sorted(finding["registered_ids"])  # type: ignore[type-var, arg-type]
            by_id = [fault["id"] for fault in listed(finding, "schema_ids")]
            assert by_id == sorted(by_id)  # type: ignore[type-var]
            for fault in listed(finding, "schema_ids"):
                folded: list[Any] = [place["partitions"] for place in listed(fault, "partitions")]
                assert folded == sorted(map(sorted, folded))
        ranks = [[s.value for s in Severity].index(str(f["severity"])) for f in listed(document, "findings")]
        assert ranks == sorted(ranks)

    @given(faults)
    def test_each_partition_stands_once_with_its_numbers(self, fault: IdAtFault) -> None:
        finding = replace(FINDING, schema_ids=(fault,))
        document = document_of(Diagnosis(findings=(finding,), skipped=(), examined=()))
        [written] = listed(listed(document, "findings")[0], "schema_ids")
        unfolded = {
            partition: {name: value for name, value in place.items() if name != "partitions"}
            for place in listed(written, "partitions")
            for partition in cast(list[int], place["partitions"])
        }
        assert unfolded == {
            place.partition: {key: getattr(place, key) for key in PARTITION_KEYS} for place in fault.partitions
        }

    @given(diagnoses)
    def test_it_does_not_depend_on_the_order_of_what_was_found(self, diagnosis: Diagnosis) -> None:
        backwards = Diagnosis(
            findings=diagnosis.findings[::-1],
            skipped=diagnosis.skipped[::-1],
            examined=diagnosis.examined[::-1],
            applications=diagnosis.applications[::-1],
        )
        assert document_of(backwards) == document_of(diagnosis)

    @given(diagnoses)
    def test_its_summary_agrees_with_the_exit_code(self, diagnosis: Diagnosis) -> None:
        summary = document_of(diagnosis)["summary"]
        assert isinstance(summary, dict)
        notes = sum(finding.severity is Severity.NOTE for finding in diagnosis.findings)
        assert (summary["findings"], summary["notes"]) == (len(diagnosis.findings) - notes, notes)
        assert bool(summary["findings"]) == diagnosis.has_findings
        assert summary["healthy"] == (not diagnosis.has_findings and not diagnosis.is_inconclusive)


class TestDiagnosis:
    @given(diagnoses)
    def test_it_is_never_both_found_and_inconclusive(self, diagnosis: Diagnosis) -> None:
        assert not (diagnosis.has_findings and diagnosis.is_inconclusive)

    def test_a_note_alone_is_no_finding(self) -> None:
        assert not Diagnosis(findings=(), skipped=(), examined=()).has_findings

    def test_what_hides_nothing_leaves_it_conclusive(self) -> None:
        harmless = Skipped(what="w", reason="r", could_hide=False)
        assert not Diagnosis(findings=(), skipped=(harmless,), examined=()).is_inconclusive
        assert Diagnosis(
            findings=(), skipped=(harmless, Skipped(what="w", reason="r", could_hide=True)), examined=()
        ).is_inconclusive

    def test_what_is_not_looked_at_for_several_stores_is_told_once(self) -> None:
        left = [Skipped(what="topic t", reason="too long", could_hide=True, subjects=(Subject(s),)) for s in ("a", "b")]
        diagnosis = Diagnosis(findings=(), skipped=tuple(left), examined=())
        document = document_of(diagnosis)
        assert len(listed(document, "skipped")) == 1
        assert cast("Any", document["summary"])["not_looked_at"] == 1
        assert diagnosis.skipped == tuple(left)  # each is acknowledged by its own subjects

    @pytest.mark.parametrize(("topics", "entries"), [(3, 3), (5, 1)])
    def test_many_hypotheses_that_differ_in_the_topic_alone_are_one_entry(self, topics: int, entries: int) -> None:
        names = [Topic(f"t{number}") for number in range(topics)]
        pieces = [
            Evidence(
                kind="schema-similarity", topic=name, weight=Weight.STRONG, detail=f"all fields are those of {name}"
            )
            for name in names
        ]
        considered = [
            Considered(application="shop", store="s", topic=piece.topic, is_gone=False, evidence=(piece,))
            for piece in pieces
        ]
        finding = replace(FINDING, source=None, evidence=tuple(pieces), considered=tuple(considered))
        (told,) = listed(document_of(Diagnosis(findings=(finding,), skipped=(), examined=())), "findings")
        for of_it in listed(told, "hypotheses"), listed(told, "evidence"):
            assert [each.get("topics") for each in of_it] == ([names] if entries == 1 else [None] * entries)
            assert of_it[0]["topic"] == "t0"

    def test_what_is_seen_of_the_source_stands_by_itself(self) -> None:
        pieces = [Evidence(kind="k", topic=Topic(f"t{n}"), weight=Weight.WEAK, detail="read") for n in range(6)]
        finding = replace(
            FINDING, source=Source(topic=Topic("t3"), subject=Subject("t3-value")), evidence=tuple(pieces)
        )
        (told,) = listed(document_of(Diagnosis(findings=(finding,), skipped=(), examined=())), "findings")
        assert [each["topic"] for each in listed(told, "evidence")] == ["t0", "t3"]
