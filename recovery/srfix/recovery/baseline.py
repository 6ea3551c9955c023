"""A baseline: findings that a person has written down, so that a job does not report them as new unless they get worse.
A finding is recognised by its code, role, and its store, or its topic and subject.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

import msgspec
from msgspec import UNSET, UnsetType

from srfix.recovery.documents import Code, Document, Part
from srfix.recovery.severity import Severity
from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import parse_json, read_file, write_whole
from srfix.serde.printable import printable_json
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role

SCHEMA: Final = "srfix.baseline/1"
_PLACES: Final = ("application", "store", "topic", "subject")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FindingIdentity:
    """What a finding is about: a store, a topic and a subject that its reader asks, or only a subject."""

    code: str
    """Empty if the catalogue has no code for the finding."""
    application: str = ""
    store: str = ""
    topic: str = ""
    """The topic, for a finding of `srfix check`; empty for a finding about a store."""
    subject: str = ""
    role: Role

    def __str__(self) -> str:
        of_keys = " (keys)" if self.role is Role.KEY else ""
        return f"{self.code or 'no code'} {f'{self.application}/{self.store}' if self.store else self.subject}{of_keys}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    findings: Mapping[FindingIdentity, Severity]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    known: tuple[FindingIdentity, ...] = ()
    worse: tuple[tuple[FindingIdentity, Severity, Severity], ...] = ()
    """Findings that have become worse, with the severity then and now; they count as new."""
    gone: tuple[FindingIdentity, ...] = ()
    """Entries of the baseline that this run looked for and did not find."""


class KnownFinding(Part, kw_only=True):
    """A finding, by the parts that stay the same from run to run."""

    code: Code | None
    """Null if the catalogue has no code for the finding."""
    application: str | UnsetType = UNSET
    store: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    """The topic, for a finding of `srfix check`, which is not about a store."""
    subject: str | UnsetType = UNSET
    """The subject, for a finding that is not about a store."""
    role: Role

    @classmethod
    def of_identity(cls, identity: FindingIdentity, **more: object) -> Self:
        """Empty fields are left out."""
        return cls.of(
            identity, code=identity.code or None, **{name: getattr(identity, name) or UNSET for name in _PLACES}, **more
        )


class BaselineFinding(KnownFinding, kw_only=True):
    """A finding that a person has written down."""

    severity: Severity
    """How bad it was when it was written down; a finding that is worse now counts as new."""


class BaselineDocument(Document, tag=SCHEMA):
    """The findings that are known: a later `srfix diagnose`, `check` or `guard` with `--baseline` does not fail for them."""

    findings: list[BaselineFinding]


class BesideBaseline(Part):
    """The findings compared with a baseline; only with --baseline or --write-baseline."""

    file: str
    known: list[KnownFinding]
    """Findings that the baseline knows: no reason to fail."""
    gone: list[KnownFinding]
    """Entries of the baseline that were not found."""


def worst(severities: Iterable[tuple[FindingIdentity, Severity]]) -> dict[FindingIdentity, Severity]:
    by: dict[FindingIdentity, Severity] = {}
    for identity, severity in severities:
        by[identity] = min(severity, by.get(identity, severity), key=lambda candidate: candidate.rank)
    return by


def compare(
    findings: Mapping[FindingIdentity, Severity], baseline: Baseline, *, is_asked: Callable[[FindingIdentity], bool]
) -> Compared:
    """Separates new findings from known ones. An entry that this run did not look for is not called gone."""
    before = baseline.findings
    worse = {
        identity for identity in before.keys() & findings.keys() if not before[identity].is_at_least(findings[identity])
    }
    gone = (identity for identity in before.keys() - findings.keys() if is_asked(identity))
    return Compared(
        known=tuple(sorted((before.keys() & findings.keys()) - worse)),
        worse=tuple((identity, before[identity], findings[identity]) for identity in sorted(worse)),
        gone=tuple(sorted(gone)),
    )


def save_baseline(findings: Mapping[FindingIdentity, Severity], path: str) -> Baseline:
    """Writes the findings down, whole or not at all. The same findings give the same file."""
    document = BaselineDocument(
        [BaselineFinding.of_identity(identity, severity=findings[identity]) for identity in sorted(findings)]
    )
    try:
        write_whole(path, printable_json(json.dumps(document.to_json(), indent=2, ensure_ascii=False)).encode() + b"\n")
    except OSError as error:
        raise UsageError(f"The baseline cannot be written to {path} ({error.strerror}).") from error
    return Baseline(findings=findings, path=path)


def load_baseline(path: str) -> Baseline:
    try:
        document = parse_json(read_file(path, most_bytes=bounds.MOST_EVIDENCE_BYTES))
    except OSError as error:
        raise UsageError(f"The baseline {path!r} cannot be read: {error.strerror}. {_MAKE}") from error
    except ValueError as error:
        raise UsageError(f"The baseline {path!r} is not JSON ({error}). {_MAKE}") from error
    match document:
        case {"schema": str(schema), "findings": list(findings)} if schema == SCHEMA:
            return Baseline(findings=dict(_entry(entry, path) for entry in findings), path=path)
        case {"schema": str(schema)} if schema == SCHEMA:
            raise UsageError(f"The baseline {path!r} has no list of findings. {_MAKE}")
        case {"schema": str(schema)} if schema.startswith("srfix."):
            raise UsageError(f"{path!r} is a {schema[:100]}, and --baseline takes a {SCHEMA}. {_MAKE}")
        case _:
            raise UsageError(f"{path!r} is not a baseline of srfix. {_MAKE}")


_MAKE: Final = "Write one with --write-baseline FILE."


def _entry(entry: Json, path: str) -> tuple[FindingIdentity, Severity]:
    if isinstance(entry, dict):
        with suppress(msgspec.ValidationError):
            finding = msgspec.convert({"severity": Severity.BROKEN.value} | entry, BaselineFinding)
            places = {name: value for name in _PLACES if (value := getattr(finding, name)) is not UNSET}
            identity = FindingIdentity(code=finding.code or "", role=finding.role, **places)
            if (identity.application and identity.store) or identity.subject:
                return identity, finding.severity
    raise UsageError(
        f"The baseline {path!r} has an invalid entry: an entry needs code, role (key or value), severity "
        f"({', '.join(severity.value for severity in Severity)}), and either application and store or topic and subject. "
        f"{_MAKE}"
    )
