"""What is known: findings that a person has written down, and that are no news to a job which runs again and again.

A finding is known by what stays the same from run to run: code, application, store and role. One that has become worse than it
was written down is news.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from srfix.recovery.findings import Diagnosis, Finding, Severity
from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import parse_json, read_file, write_whole
from srfix.serde.printable import printable_json
from srfix.serde.registry import Json
from srfix.serde.subjects import Role

SCHEMA: Final = "srfix.baseline/1"
_RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Known:
    """A finding's identity."""

    code: str
    application: str
    store: str
    role: Role

    def __str__(self) -> str:
        of_keys = " (keys)" if self.role is Role.KEY else ""
        return f"{self.code} {self.application}/{self.store}{of_keys}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The findings that are known, each with how bad it was then."""

    findings: dict[Known, Severity]
    path: str
    """Where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A diagnosis beside a baseline."""

    new: tuple[Finding, ...]
    """What the baseline does not know, or knows as less bad."""
    known: tuple[Known, ...]
    worse: tuple[tuple[Known, Severity, Severity], ...]
    """What has become worse, with how bad it was and is; it is among `new` too."""
    gone: tuple[Known, ...]
    """What the baseline knows and the diagnosis, within what was asked of it, does not have."""


def identity(finding: Finding) -> Known:
    """What a finding is known by."""
    return Known(code=finding.code, application=finding.application, store=finding.store, role=finding.role)


def is_at_least(severity: Severity, other: Severity) -> bool:
    """True if it is as bad as the other, or worse."""
    return _RANK[severity] <= _RANK[other]


def compare(
    diagnosis: Diagnosis, baseline: Baseline, *, application: str | None = None, store: str | None = None
) -> Compared:
    """Tells news from what is known.

    :param application: the one that was looked at, if not all: nothing is said of others' entries.
    :param store: likewise.
    """
    found = {identity(each): each.severity for finding in diagnosis.findings for each in (finding, *finding.notes)}
    acknowledged = {each.what for each in diagnosis.ignored}
    worse = {
        known: (before, found[known])
        for known, before in baseline.findings.items()
        if known in found and not is_at_least(before, found[known])
    }
    in_scope = (
        known
        for known in baseline.findings
        if application in (None, known.application) and store in (None, known.store)
    )
    return Compared(
        new=tuple(
            finding
            for finding in diagnosis.findings
            if identity(finding) not in baseline.findings or identity(finding) in worse
        ),
        known=tuple(sorted(known for known in found if known in baseline.findings and known not in worse)),
        worse=tuple((known, *worse[known]) for known in sorted(worse)),
        gone=tuple(
            sorted(
                known
                for known in in_scope
                if known not in found and f"{known.code} {known.application}/{known.store}" not in acknowledged
            )
        ),
    )


def save_baseline(findings: Iterable[Finding], path: str) -> Baseline:
    """Writes the findings down, whole or not at all. The same findings give the same file.

    :raises UsageError: if the disk does not take it, or another file stands there.
    """
    known = {identity(finding): finding.severity for finding in findings}
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "findings": [
            {
                "code": each.code,
                "application": each.application,
                "store": each.store,
                "role": each.role.value,
                "severity": known[each].value,
            }
            for each in sorted(known)
        ],
    }
    try:
        write_whole(path, printable_json(json.dumps(document, indent=2, ensure_ascii=False)).encode() + b"\n")
    except OSError as error:
        raise UsageError(f"The baseline cannot be written to {path} ({error.strerror}).") from error
    return Baseline(findings=known, path=path)


def load_baseline(path: str) -> Baseline:
    """Reads what `save_baseline` wrote.

    :raises UsageError: if it cannot be read, or is no baseline.
    """
    try:
        document = parse_json(read_file(path, most_bytes=bounds.MOST_EVIDENCE_BYTES))
    except OSError as error:
        raise UsageError(f"The baseline {path!r} cannot be read: {error.strerror}. {_MAKE}") from error
    except ValueError as error:
        raise UsageError(f"The baseline {path!r} is not JSON ({error}). {_MAKE}") from error
    match document:
        case {"schema": str(schema), "findings": list(findings)} if schema == SCHEMA:
            return Baseline(findings=dict(_entry(each, path) for each in findings), path=path)
        case {"schema": str(schema)} if schema == SCHEMA:
            raise UsageError(f"The baseline {path!r} has no list of findings. {_MAKE}")
        case {"schema": str(schema)} if schema.startswith("srfix."):
            raise UsageError(f"{path!r} is a {schema[:100]}, and --baseline takes a {SCHEMA}. {_MAKE}")
        case _:
            raise UsageError(f"{path!r} is no baseline of srfix. {_MAKE}")


_MAKE: Final = "Write one with srfix diagnose --write-baseline FILE."


def _entry(entry: object, path: str) -> tuple[Known, Severity]:
    match entry:
        case {"code": str(code), "application": str(application), "store": str(store), "role": str(role), **rest}:
            try:
                known = Known(code=code, application=application, store=store, role=Role(role))
                return known, Severity(rest.get("severity", next(iter(Severity)).value))
            except ValueError:
                pass
    raise UsageError(
        f"The baseline {path!r} has an entry that is none: it takes code, application, store, role (key or value) and "
        f"severity ({', '.join(severity.value for severity in Severity)}). {_MAKE}"
    )
