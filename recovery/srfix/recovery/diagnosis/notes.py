"""Notes on a repair stand with the finding that it repairs, not as findings of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.findings import Finding, Severity


def with_notes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the notes on its repair. A note that goes with no finding stays one itself."""
    found = list(findings)
    notes = [each for each in found if each.severity is Severity.NOTE and BY_CODE[each.code].is_of_repair]
    hosts = [replace(each, notes=tuple(_of(each, notes))) for each in found if each not in notes]
    told = [note for host in hosts for note in host.notes]
    return [*hosts, *(note for note in notes if note not in told)]


def _of(finding: Finding, notes: Sequence[Finding]) -> Iterator[Finding]:
    """The notes on this finding's repair. With a finding that is a note itself, only what its repair would overcome: the
    rest must be seen."""
    if finding.repairable:
        for note in notes:
            if note.subject == finding.subject and (note.repairable or finding.severity is not Severity.NOTE):
                yield note
