"""Findings: what is wrong, or worth knowing, and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from srfix.recovery.severity import Severity
from srfix.serde.html import heading, pairs, paragraph, table
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId


class Weight(Enum):
    """The weight of a piece of evidence, best first."""

    CONCLUSIVE = "conclusive"
    STRONG = "strong"
    WEAK = "weak"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    kind: str
    """The kind of evidence; `evidence.rules` lists the kinds."""
    topic: Topic | None
    """The topic that it is about; None if it is about the application, or about the store with any topic."""
    weight: Weight
    detail: str
    against: bool = False
    application: str | None = None
    """The application that it is about; None if it is about the topic for any application."""

    @property
    def is_conclusive(self) -> bool:
        return self.weight is Weight.CONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    application: str
    store: str
    topic: Topic | None
    is_gone: bool
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    kind: str
    """`reader`, `streams-version`, `group-state` or `isolation`."""
    says: str
    """The value that it points to: a reader as in `--reader`, versions, a group's state, an isolation level."""
    weight: Weight
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    topic: Topic
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAtFault:
    partition: int
    live_keys: int | None
    """Keys that a restore puts in the store with this id; None if nothing is restored (no committed offset)."""
    pending_keys: int
    """Keys whose latest record is not yet committed and carries it."""
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdAtFault:
    schema_id: SchemaId
    live_keys: int | None = None
    """Sum over the partitions; None if nothing is restored in any of them, or no record carries it."""
    records: int = 0
    partitions: tuple[PartitionAtFault, ...] = ()
    is_partial: bool = False
    """True if the topic was not read to its end: all numbers cover only the records that were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or worth knowing. One per (code, application, store, role)."""

    code: str
    """SRF001 …; `srfix explain CODE` says what it means."""
    severity: Severity
    application: str
    store: str
    role: Role
    subject: Subject
    """The phantom subject, or the subject at fault."""
    source: Source | None
    """The source that the store restores from; None while the evidence does not decide."""
    schema_ids: tuple[IdAtFault, ...] = ()
    """The ids at fault, ascending."""
    registered_ids: tuple[SchemaId, ...] = ()
    """The ids under `subject` now (with soft-deleted versions), ascending."""
    evidence: tuple[Evidence, ...] = ()
    """The evidence that `source` is the source."""
    explanation: str
    """What broke, for how many keys in which partitions."""
    next: str
    repairable: bool
    """True if `srfix plan` has a repair for it."""
    observations: tuple[Observation, ...] = ()
    considered: tuple[Considered, ...] = ()
    """If `source` is not decided, the hypotheses that are left, likeliest first."""
    other_splits: tuple[str, ...] = ()
    """Other stores that the subject's name allows, as `application/store`: the application's name may end at another
    place.
    """
    mirrors: tuple[Subject, ...] = ()
    """The same subject in other contexts, at fault as well."""
    notes: tuple[Finding, ...] = ()
    """Notes on this finding's repair (SRF012): what the registry would refuse, and what an interrupted repair left."""

    def _repr_html_(self) -> str:
        return "".join(
            (
                heading(f"{self.code}: {self.severity.value}"),
                pairs(
                    (
                        ("application", self.application),
                        ("store", self.store),
                        (f"subject ({self.role.value}s)", self.subject),
                        ("source", "not decided" if self.source is None else self.source.topic),
                        ("repairable", "yes" if self.repairable else "no"),
                    )
                ),
                paragraph(self.explanation),
                table(
                    ("schema id", "live keys", "records", "partitions"),
                    (
                        (
                            f"{fault.schema_id}",
                            "not restored" if fault.live_keys is None else fault.live_keys,
                            f"{fault.records}{' or more' if fault.is_partial else ''}",
                            ", ".join(str(place.partition) for place in fault.partitions),
                        )
                        for fault in self.schema_ids
                    ),
                ),
                paragraph(self.next),
                *(paragraph(f"About the repair ({note.code}): {note.explanation} {note.next}") for note in self.notes),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that was not looked at."""

    what: str
    reason: str
    could_hide: bool
    """True if it could hide a finding: then a result without findings does not mean healthy."""
    subjects: tuple[Subject, ...] = ()
    """The internal subjects that it concerns, whether they exist or not. A person who acknowledges all of them
    (`--ignore`) acknowledges this. Empty if it concerns more than known subjects.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    subjects: tuple[Subject, ...]
    pattern: str
    what: str
    severity: Severity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationAdvice:
    application: str
    observations: tuple[Observation, ...] = ()
    advice: tuple[str, ...] = ()
    do_not: tuple[str, ...] = ()
    """What must not be done before the repair, each as words behind "do not"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The result of a diagnosis."""

    findings: tuple[Finding, ...]
    """Worst first, then by application, store, role, code."""
    skipped: tuple[Skipped, ...]
    examined: tuple[str, ...]
    """The stores that were examined, as `application/store`."""
    applications: tuple[ApplicationAdvice, ...] = ()
    """What to do for each application that has findings, by name."""
    ignored: tuple[Ignored, ...] = ()
    """The findings that a person has acknowledged; they do not change the outcome."""

    def _repr_html_(self) -> str:
        if self.is_inconclusive:
            verdict = "srfix found nothing, but it skipped a check that could have found something."
        elif self.findings:
            verdict = f"{counted(len(self.findings), 'finding')}, worst first."
        else:
            verdict = "Nothing was found."
        return "".join(
            (
                heading("Diagnosis"),
                paragraph(verdict),
                table(
                    ("code", "severity", "application", "store", "subject", "source", "repairable", "on its repair"),
                    (
                        (
                            finding.code,
                            finding.severity.value,
                            finding.application,
                            finding.store,
                            finding.subject,
                            "not decided" if finding.source is None else finding.source.topic,
                            "yes" if finding.repairable else "no",
                            ", ".join(note.code for note in finding.notes),
                        )
                        for finding in self.findings
                    ),
                ),
                table(
                    ("not looked at", "why", "could hide a finding"),
                    ((left.what, left.reason, "yes" if left.could_hide else "no") for left in self.not_looked_at),
                ),
            )
        )

    @property
    def not_looked_at(self) -> tuple[Skipped, ...]:
        """The things in `skipped`, each once: `skipped` has an entry for every store that a thing concerns."""
        distinct: dict[tuple[str, str, bool], Skipped] = {}
        for skip in self.skipped:
            distinct.setdefault((skip.what, skip.reason, skip.could_hide), skip)
        return tuple(distinct.values())

    @property
    def has_findings(self) -> bool:
        """True if something other than notes was found."""
        return any(finding.severity is not Severity.NOTE for finding in self.findings)

    @property
    def is_inconclusive(self) -> bool:
        """True if srfix found nothing, but skipped a check that could have found something."""
        return not self.has_findings and any(skipped.could_hide for skipped in self.skipped)


def is_conclusive(evidence: Iterable[Evidence], topic: Topic) -> bool:
    """True if a piece of the evidence names this topic without doubt; advice that deletes or rewrites data needs this."""
    return any(piece.is_conclusive and piece.topic == topic and not piece.against for piece in evidence)


def finding_order(finding: Finding) -> tuple[int, str, str, str, str, str]:
    return (
        finding.severity.rank,
        finding.application,
        finding.store,
        finding.role.value,
        finding.code,
        finding.subject,
    )


def evidence_order(evidence: Evidence) -> tuple[bool, int, str, str, str]:
    return evidence.against, _WEIGHT[evidence.weight], evidence.kind, evidence.topic or "", evidence.detail


_WEIGHT = {weight: rank for rank, weight in enumerate(Weight)}
