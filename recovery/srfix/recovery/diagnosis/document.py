"""The document of a diagnosis, `srfix.diagnosis/2`: its lists are sorted, and items that differ only a little share one
entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from msgspec import UNSET, UnsetType, field

from srfix.recovery.baseline import BesideBaseline
from srfix.recovery.documents import Code, Count, DatedDocument, Id, Part, Skipped
from srfix.recovery.findings import (
    Considered,
    Diagnosis,
    Evidence,
    Finding,
    IdAtFault,
    PartitionAtFault,
    Weight,
    evidence_order,
    finding_order,
)
from srfix.recovery.severity import Severity
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Topic

_FEW: Final = 3
"""Up to this number, pieces of evidence or hypotheses have an entry each, even if they differ only in the topic."""


class SeenObservation(Part):
    """A sign of the store's reader, of its Kafka Streams version, or of its group."""

    kind: str
    """`reader`, `streams-version` or `group-state`."""
    says: str
    """The value that the sign points to."""
    weight: Weight
    detail: str


class Advice(Part):
    """What to do for an application with findings."""

    application: str
    observations: list[SeenObservation]
    """Signs of its readers, its Kafka Streams and its group."""
    advice: list[str]
    """What to do and what not to do, in order."""
    do_not: list[str]
    """What must not be done before a repair, each as words behind "do not"."""


class FindingSource(Part):
    """The topic that a store restores from."""

    topic: str
    subject: str


class FaultyPartitions(Part):
    """The partitions that hold an id at fault."""

    partitions: list[Count]
    """The partitions, ascending; the numbers below hold for each of them."""
    live_keys: Count | None
    """Keys that a restore loads with this id, in each partition; null without a committed offset."""
    pending_keys: Count
    """Keys whose latest record is not yet committed."""
    first_offset: Count
    last_offset: Count


class FaultyId(Part):
    """A schema id that the reader will not accept."""

    schema_id: Id = field(name="id")
    live_keys: Count | None
    """Over all partitions; null if nothing is restored."""
    records: Count
    is_partial: bool = field(name="partial")
    """True if the topic was not read to its end, so there may be more."""
    partitions: list[FaultyPartitions]


class PieceOfEvidence(Part):
    """A reason to believe, or not to believe, that a store restores from a topic."""

    kind: str
    topic: str | None
    """The topic that the evidence is about."""
    weight: Weight
    detail: str
    against: bool
    """True if the evidence is against this topic or this application."""
    application: str | None
    """The application that the evidence is about."""
    topics: list[str] | UnsetType = UNSET
    """All topics for which the same holds, `topic` first; only if there are more than three."""


class Hypothesis(Part):
    """An application to which a store may belong, and a topic from which the store may restore."""

    application: str
    store: str
    topic: str | None
    is_gone: bool = field(name="gone")
    """True if the topic no longer exists."""
    evidence: list[PieceOfEvidence]
    topics: list[str] | UnsetType = UNSET
    """All topics for which the same holds, `topic` first; only if there are more than three."""


class RepairNote(Part):
    """A note on a repair."""

    code: Code
    schema_ids: list[Id]
    """The ids that the registry would refuse."""
    explanation: str
    """What the registry would refuse, and why; or what an interrupted repair left."""
    next: str
    """What to do."""
    repairable: bool = field(name="overcome")
    """True if the plan works around the refusal, so that nobody has to do anything."""


class DiagnosedFinding(Part):
    """One thing that is wrong, or worth knowing."""

    code: Code
    """`srfix explain CODE` says what it means."""
    severity: Severity
    application: str
    store: str
    role: Role
    subject: str
    """The phantom subject, or the subject at fault."""
    source: FindingSource | None
    """The topic that the store restores from; null while undecided."""
    schema_ids: list[FaultyId]
    """The ids at fault, ascending."""
    registered_ids: list[Id]
    """The ids under the subject, with those of soft-deleted versions."""
    evidence: list[PieceOfEvidence]
    explanation: str
    next: str
    """What to do."""
    repairable: bool
    """True if `srfix plan` has a repair for it."""
    observations: list[SeenObservation]
    hypotheses: list[Hypothesis]
    """If the source is undecided: the hypotheses that are left, likeliest first."""
    other_splits: list[str]
    """Other stores that fit the subject's name, as application/store."""
    mirrors: list[str]
    """The same subject in other contexts, at fault as well."""
    notes: list[RepairNote]
    """Notes on its repair (SRF012). A note without such a finding is listed as a finding."""


class AcknowledgedSubject(Part):
    """A finding or a skipped check about a subject, which a person has acknowledged."""

    subject: str
    pattern: str
    """The pattern of --ignore."""
    what: str
    severity: Severity | None
    """Null for something that srfix did not look at."""


class Summary(Part):
    """The diagnosis in numbers."""

    findings: Count
    """Findings, without the notes."""
    notes: Count
    not_looked_at: Count
    ignored: Count
    by_severity: dict[str, Count]
    """Findings by severity, notes too."""
    stores_examined: list[str]
    """As application/store."""
    healthy: bool
    """True if nothing is wrong, and srfix made every check that could have found something."""


class DiagnosisDocument(DatedDocument, tag="srfix.diagnosis/2"):
    """The result of `srfix diagnose`."""

    findings: list[DiagnosedFinding]
    """Worst first; notes are among them."""
    skipped: list[Skipped]
    """What srfix did not look at, each thing once."""
    applications: list[Advice]
    """What to do for each application that has findings."""
    ignored: list[AcknowledgedSubject]
    """Things that a person has acknowledged."""
    summary: Summary
    baseline: BesideBaseline | UnsetType = UNSET
    """Only with --baseline or --write-baseline."""


def diagnosis_document(diagnosis: Diagnosis, *, srfix_version: str, generated_at: str) -> dict[str, Json]:
    """The `srfix.diagnosis/2` document of a diagnosis; `generated_at` in ISO 8601, UTC."""
    severities = [finding.severity for finding in diagnosis.findings]
    return DiagnosisDocument(
        srfix=srfix_version,
        generated_at=generated_at,
        findings=[_finding(finding) for finding in sorted(diagnosis.findings, key=finding_order)],
        skipped=sorted(map(Skipped.of, diagnosis.not_looked_at)),
        applications=[
            Advice.of(advice) for advice in sorted(diagnosis.applications, key=lambda advice: advice.application)
        ],
        ignored=[
            AcknowledgedSubject.of(entry, subject=subject)
            for entry in sorted(diagnosis.ignored, key=lambda entry: (entry.subjects, entry.what, entry.pattern))
            for subject in sorted(entry.subjects)
        ],
        summary=Summary(
            findings=len(severities) - severities.count(Severity.NOTE),
            notes=severities.count(Severity.NOTE),
            not_looked_at=len(diagnosis.not_looked_at),
            ignored=len(diagnosis.ignored),
            by_severity={severity.value: severities.count(severity) for severity in Severity if severity in severities},
            stores_examined=sorted(diagnosis.examined),
            healthy=not diagnosis.has_findings and not diagnosis.is_inconclusive,
        ),
    ).to_json()


def _finding(finding: Finding) -> DiagnosedFinding:
    return DiagnosedFinding.of(
        finding,
        schema_ids=[FaultyId.of(fault, partitions=_folded(fault.partitions)) for fault in _by_id(finding.schema_ids)],
        registered_ids=sorted(finding.registered_ids),
        evidence=_evidence(finding.evidence, None if finding.source is None else finding.source.topic),
        hypotheses=_hypotheses(finding.considered),
        other_splits=sorted(finding.other_splits),
        mirrors=sorted(finding.mirrors),
        notes=[
            RepairNote.of(note, schema_ids=[fault.schema_id for fault in _by_id(note.schema_ids)])
            for note in sorted(finding.notes, key=finding_order)
        ],
    )


def _by_id(faults: Iterable[IdAtFault]) -> list[IdAtFault]:
    return sorted(faults, key=lambda fault: fault.schema_id)


def _hypotheses(considered: Iterable[Considered]) -> list[Hypothesis]:
    """The hypotheses. If many differ only in the topic, they share one entry; sorted by the first of each."""

    def likeness(candidate: Considered) -> tuple[object, ...]:
        seen = tuple(_but_for_topic(piece, candidate.topic) for piece in candidate.evidence)
        return candidate.application, candidate.store, candidate.is_gone, seen

    return [
        Hypothesis.of(candidate, evidence=_evidence(candidate.evidence, candidate.topic), topics=topics)
        for candidate, topics in _folded_topics(considered, likeness)
    ]


def _evidence(pieces: Iterable[Evidence], topic: Topic | None) -> list[PieceOfEvidence]:
    """The evidence in order; pieces that say the same of many topics share one entry, but for the topic in question."""

    def likeness(piece: Evidence) -> tuple[object, ...]:
        return piece.topic in (None, topic), *_but_for_topic(piece, piece.topic)

    folded = _folded_topics(sorted(pieces, key=evidence_order), likeness)
    return [PieceOfEvidence.of(piece, topics=topics) for piece, topics in folded]


def _but_for_topic(piece: Evidence, topic: Topic | None) -> tuple[object, ...]:
    detail = piece.detail if topic is None else piece.detail.replace(topic, "")
    return piece.kind, piece.weight, piece.against, piece.application, piece.topic == topic, detail


_Alike = TypeVar("_Alike", Considered, Evidence)


def _folded_topics(
    every: Iterable[_Alike], likeness: Callable[[_Alike], tuple[object, ...]]
) -> Iterator[tuple[_Alike, list[Topic | None] | UnsetType]]:
    alike: defaultdict[tuple[object, ...], list[_Alike]] = defaultdict(list)
    for candidate in every:
        alike[likeness(candidate)].append(candidate)
    for same in alike.values():
        if len(same) <= _FEW:
            yield from ((candidate, UNSET) for candidate in same)
        else:
            yield same[0], [candidate.topic for candidate in same]


def _folded(places: Iterable[PartitionAtFault]) -> list[FaultyPartitions]:
    """Partitions with equal numbers share one entry, which holds for each of them; sorted by the first of each."""
    equal: dict[tuple[int | None, int, int, int], FaultyPartitions] = {}
    for place in sorted(places, key=lambda place: place.partition):
        numbers = place.live_keys, place.pending_keys, place.first_offset, place.last_offset
        equal.setdefault(numbers, FaultyPartitions.of(place, partitions=[])).partitions.append(place.partition)
    return list(equal.values())
