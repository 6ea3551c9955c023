"""The texts that the short and the detailed report of a diagnosis share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from srfix.cli.output.interface import Block, Commands, Paragraph, Tone, Verdict, grouped, titled_list
from srfix.recovery.commands import CommandLine
from srfix.recovery.findings import ApplicationAdvice, Diagnosis, Finding, Severity, Skipped
from srfix.recovery.repair.planning.wanted import ONLY_ON_REQUEST
from srfix.serde.printable import capitalized, counted
from srfix.serde.subjects.names import Role

_MOST_NAMES: Final = 5
"""The most names in one line."""


def nothing_found(diagnosis: Diagnosis) -> str:
    if diagnosis.is_inconclusive:
        return "No problem found, but some checks could not run. So this does not mean that all is well."
    stores = f" {counted(len(diagnosis.examined), 'suspicious store')} examined." if diagnosis.examined else ""
    besides = " apart from ignored things" if diagnosis.ignored else ""
    return f"Nothing is broken now{besides}.{stores}"


def verdict_of(diagnosis: Diagnosis) -> Verdict:
    """The diagnosis in one line, with the number of skipped checks."""
    if not diagnosis.has_findings:
        tone = Tone.UNSURE if diagnosis.is_inconclusive else Tone.GOOD
        return Verdict(text=nothing_found(diagnosis), tone=tone)
    counts = Counter(finding.severity for finding in diagnosis.findings)
    notes = counts.pop(Severity.NOTE, 0)
    kinds = [severity for severity in Severity if counts[severity]]
    wrong = sum(counts.values())
    how_bad = kinds[0].value if len(kinds) == 1 else ", ".join(f"{counts[kind]:,} {kind.value}" for kind in kinds)
    stores = f"{counted(len(diagnosis.examined), 'store')} examined"
    if hiding := sum(skipped.could_hide for skipped in diagnosis.not_looked_at):
        unseen = f"; {counted(hiding, 'skipped check')} could hide more findings"
    elif harmless_count := len(diagnosis.not_looked_at):
        unseen = f"; {counted(harmless_count, 'skipped check')}, none can hide a finding"
    else:
        unseen = "; no check was skipped"
    noted = f", {counted(notes, 'note')}" if notes else ""
    tone = tone_of(kinds[0])
    return Verdict(text=f"{counted(wrong, 'finding')}: {how_bad}", tone=tone, more=f"{stores}{noted}{unseen}.")


def tone_of(severity: Severity) -> Tone:
    match severity:
        case Severity.BROKEN | Severity.SILENT:
            return Tone.BAD
        case Severity.BREAKS_ON_RESTORE | Severity.BREAKS_ON_UPGRADE:
            return Tone.LATER
        case Severity.LITTER | Severity.NOTE:
            return Tone.NOTE


def title(finding: Finding) -> str:
    role = " (keys)" if finding.role is Role.KEY else ""
    return f"{finding.code}, {finding.severity.value}: {finding.application} / {finding.store}{role}"


def skipped_lines(skipped: Iterable[Skipped]) -> Iterator[str]:
    """The skipped checks. Those that could hide a finding stand first; those with the same reason share a line."""
    by_reason = grouped(skipped, lambda gap: (gap.could_hide, gap.reason))
    for (could_hide, reason), gaps in sorted(by_reason.items(), key=lambda item: not item[0][0]):
        yield f"{some([gap.what for gap in gaps])}: {reason}{' (could hide a finding)' if could_hide else ''}"


def some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def repair_on_request(diagnosis: Diagnosis) -> list[str] | None:
    """The options with which `srfix plan` repairs the findings; None if it can repair none of them."""
    to_repair = {f.code for f in diagnosis.findings if f.repairable and f.severity is not Severity.NOTE}
    if not to_repair:
        return None
    unasked = sorted(to_repair) if to_repair <= ONLY_ON_REQUEST else ()  # planned only on request
    return [word for code in unasked for word in ("--also", code)]


def advice_blocks(applications: Sequence[ApplicationAdvice]) -> Iterator[Block]:
    for application_advice in applications:
        yield from titled_list(
            f"What to do: {application_advice.application}", application_advice.advice, is_numbered=True, is_apart=True
        )


def to_run(command_line: CommandLine, *commands: Sequence[str]) -> Iterator[Block]:
    """The commands, and the secrets to add to them."""
    yield Commands(tuple(command_line.command(*words) for words in commands))
    yield from secrets_to_add(command_line, *(words[0] for words in commands))


def secrets_to_add(command_line: CommandLine, *commands: str) -> Iterator[Block]:
    """The secrets to add to the commands above, because srfix prints none; nothing if none is missing."""
    left_out = command_line.left_out(*commands)
    if left_out:
        yield Paragraph(f"{capitalized(left_out)}.", is_of_commands=True)


def ignored_line(diagnosis: Diagnosis) -> str:
    """One line about ignored things: the findings with their severity, and the number of skipped checks."""
    findings = [
        f"{ignored_finding.what}, {ignored_finding.severity.value}"
        for ignored_finding in diagnosis.ignored
        if ignored_finding.severity is not None
    ]
    unseen = len(diagnosis.ignored) - len(findings)
    parts = [f"{counted(len(findings), 'finding')} ({', '.join(findings)})"] if findings else []
    parts += [counted(unseen, "skipped check")] if unseen else []
    patterns = ", ".join(dict.fromkeys(ignored_finding.pattern for ignored_finding in diagnosis.ignored))
    return f"--ignore {patterns} hides {' and '.join(parts)}."
