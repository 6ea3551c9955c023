"""What is known: findings that a person has written down, and that are no news to a job which runs again and again.

A finding is known by what stays the same from run to run: code, role, and its store, or its topic and subject. One that has
become worse than it was written down is news.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

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
class Known:
    """A finding's identity: of a store, of a topic and a subject that its reader asks, or of a subject alone."""

    code: str
    """Empty where the catalogue has none."""
    application: str = ""
    store: str = ""
    topic: str = ""
    """That of a finding of `srfix check`; empty for a store's."""
    subject: str = ""
    """Empty for a store's."""
    role: Role

    def __str__(self) -> str:
        of_keys = " (keys)" if self.role is Role.KEY else ""
        return f"{self.code or 'no code'} {f'{self.application}/{self.store}' if self.store else self.subject}{of_keys}"

    def document(self) -> dict[str, Json]:
        """The code, and what else is not empty."""
        found: dict[str, Json] = {name: value for name in _PLACES if (value := getattr(self, name))}
        return {"code": self.code or None, **found, "role": self.role.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The findings that are known, each with how bad it was then."""

    findings: Mapping[Known, Severity]
    path: str
    """Where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was found beside a baseline."""

    known: tuple[Known, ...] = ()
    """What is no news."""
    worse: tuple[tuple[Known, Severity, Severity], ...] = ()
    """What has become worse, with how bad it was and is; it is news."""
    gone: tuple[Known, ...] = ()
    """What the baseline knows and, within what was asked, was not found."""


def worst(found: Iterable[tuple[Known, Severity]]) -> dict[Known, Severity]:
    """Each once, as bad as it is at worst."""
    by: dict[Known, Severity] = {}
    for known, severity in found:
        by[known] = min(severity, by.get(known, severity), key=lambda each: each.rank)
    return by


def compare(found: Mapping[Known, Severity], baseline: Baseline, *, is_asked: Callable[[Known], bool]) -> Compared:
    """Tells news from what is known.

    :param found: notes too.
    :param is_asked: whether an entry is one that would have been found: of others it is not said that they are gone.
    """
    before = baseline.findings
    worse = {known for known in before.keys() & found.keys() if not before[known].is_at_least(found[known])}
    gone = (known for known in before.keys() - found.keys() if is_asked(known))
    return Compared(
        known=tuple(sorted((before.keys() & found.keys()) - worse)),
        worse=tuple((known, before[known], found[known]) for known in sorted(worse)),
        gone=tuple(sorted(gone)),
    )


def save_baseline(findings: Mapping[Known, Severity], path: str) -> Baseline:
    """Writes the findings down, whole or not at all. The same findings give the same file.

    :raises UsageError: if the disk does not take it, or another file stands there.
    """
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "findings": [each.document() | {"severity": findings[each].value} for each in sorted(findings)],
    }
    try:
        write_whole(path, printable_json(json.dumps(document, indent=2, ensure_ascii=False)).encode() + b"\n")
    except OSError as error:
        raise UsageError(f"The baseline cannot be written to {path} ({error.strerror}).") from error
    return Baseline(findings=findings, path=path)


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


_MAKE: Final = "Write one with --write-baseline FILE."


def _entry(entry: object, path: str) -> tuple[Known, Severity]:
    match entry:
        case {"code": str() | None as code, "role": str(role), **rest} if all(
            isinstance(rest.get(name, ""), str) for name in _PLACES
        ):
            places = {name: str(rest.get(name, "")) for name in _PLACES}
            try:
                known = Known(code=code or "", role=Role(role), **places)
                if (known.application and known.store) or known.subject:
                    return known, Severity(rest.get("severity", Severity.BROKEN.value))
            except ValueError:
                pass
    raise UsageError(
        f"The baseline {path!r} has an entry that is none: it takes code, role (key or value), severity "
        f"({', '.join(severity.value for severity in Severity)}), and application and store, or topic and subject. {_MAKE}"
    )
