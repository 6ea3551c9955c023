"""The end of a command that reports findings: which make it fail, which are known, and the lines about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import to_builtins

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.gate import Gate
from srfix.cli.options.options import Selection
from srfix.cli.output.interface import Block, OutputFormat, Paragraph, Report
from srfix.cli.output.speaking import say_aside, say_total, write_report
from srfix.recovery.baseline import (
    BesideBaseline,
    Compared,
    FindingIdentity,
    KnownFinding,
    compare,
    load_baseline,
    save_baseline,
    worst,
)
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.severity import Severity
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json

if TYPE_CHECKING:
    from srfix.recovery.checks.topic_findings import TopicFinding
    from srfix.recovery.findings import Diagnosis, Finding
    from srfix.recovery.forecasts import Foretold


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The findings, and the exit code that follows."""

    code: ExitCode
    is_quiet: bool
    """True if the user gave --quiet and there is nothing to report."""
    document: dict[str, Json]
    """Additional keys of the document."""
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]
    """Lines for standard error even with --quiet: what to do about the baseline."""

    def writes_report(self, output: OutputFormat) -> bool:
        """True unless the command is quiet. With JSON it is always true, because a program always gets its document."""
        return not self.is_quiet or output.is_for_programs

    def conclude(
        self, report: Report, output: OutputFormat, *, asides: Iterable[str] = (), lines: Iterable[str]
    ) -> ExitCode:
        """Writes the report with the judgement, says the lines (`asides` first), and gives the exit code."""
        if self.writes_report(output):
            document, blocks = {**report.document, **self.document}, (*report.blocks, *self.blocks)
            write_report(replace(report, document=document, blocks=blocks), output)
        say_aside(*(self.lines if self.is_quiet else (*asides, *self.lines)))
        for line in () if self.is_quiet else lines:
            say_total(line, output)
        return self.code


def judge(
    findings: Iterable[tuple[FindingIdentity, Severity]],
    gate: Gate,
    *,
    beside: Iterable[tuple[FindingIdentity, Severity]] = (),
    untold: Iterable[tuple[FindingIdentity, Severity]] = (),
    is_asked: Callable[[FindingIdentity], bool],
    is_partial: bool,
) -> Judged:
    """Compares the findings with the baseline and decides the exit code; `beside` never makes the command fail."""
    failing, open_ = worst(findings), worst(untold)
    bad_enough = {key: severity for key, severity in failing.items() if severity.is_at_least(gate.fail_on)}
    compared, lines, document = Compared(), list[str](), dict[str, Json]()
    baseline = None
    if gate.write_baseline is not None:
        baseline = save_baseline(bad_enough, gate.write_baseline)
        lines.append(f"Baseline written to {gate.write_baseline}: {counted(len(bad_enough), 'known finding')}.")
    elif gate.baseline is not None:
        baseline = load_baseline(gate.baseline)
    if baseline is not None:
        compared = compare(worst((*beside, *open_.items(), *failing.items())), baseline, is_asked=is_asked)
        beside_baseline = BesideBaseline(
            file=baseline.path,
            known=[KnownFinding.of_identity(finding_key) for finding_key in compared.known],
            gone=[KnownFinding.of_identity(finding_key) for finding_key in compared.gone],
        )
        document["baseline"] = to_builtins(beside_baseline)
    known_keys = frozenset(compared.known)
    unseen = is_partial or any(
        severity.is_at_least(gate.fail_on) for key, severity in open_.items() if key not in known_keys
    )
    code = ExitCode.FINDINGS if bad_enough.keys() - known_keys else ExitCode.REFUSED if unseen else ExitCode.OK
    lines += _lines(compared, gate, is_partial=unseen)
    below = {key: severity for key, severity in failing.items() if key not in known_keys | bad_enough.keys()}
    return Judged(
        code=code,
        is_quiet=gate.quiet and code is ExitCode.OK,
        document=document,
        blocks=tuple(_blocks(compared, below, gate)),
        lines=tuple(lines),
    )


def judge_diagnosis(diagnosis: Diagnosis, gate: Gate, selection: Selection) -> Judged:
    """Judges a diagnosis, limited to the selected stores."""
    acknowledged = {ignored_finding.what for ignored_finding in diagnosis.ignored}

    def is_asked(key: FindingIdentity) -> bool:
        is_selected = selection.application in (None, key.application) and selection.store in (None, key.store)
        is_ignored = f"{key.code} {key.application}/{key.store}" in acknowledged
        return is_selected and bool(key.store) and not is_ignored

    return judge(
        map(of_store, diagnosis.findings),
        gate,
        beside=(of_store(note) for finding in diagnosis.findings for note in finding.notes),
        is_asked=is_asked,
        is_partial=any(skipped.could_hide for skipped in diagnosis.skipped),
    )


def of_store(finding: Finding | Foretold) -> tuple[FindingIdentity, Severity]:
    """The key by which a baseline knows a store's finding or prediction, and its severity."""
    finding_key = FindingIdentity(
        code=finding.code or "",
        application=finding.application,
        store=finding.store,
        subject="" if finding.store else finding.subject,
        role=finding.role,
    )
    return finding_key, finding.severity


def of_topic(finding: TopicFinding) -> tuple[FindingIdentity, Severity]:
    finding_key = FindingIdentity(code=finding.code, topic=finding.topic, subject=finding.subject, role=finding.role)
    return finding_key, finding.severity


def _blocks(compared: Compared, below: dict[FindingIdentity, Severity], gate: Gate) -> Iterator[Block]:
    if compared.known:
        yield Paragraph(
            f"The baseline lists these findings, so they do not cause exit code 1: {enumerated(compared.known)}."
        )
    if any(severity.is_at_least(Gate().fail_on) for severity in below.values()):
        named = [f"{finding_key}, {severity.value}" for finding_key, severity in below.items()]
        yield Paragraph(
            f"These findings are below --fail-on ({gate.fail_on.value}), so they do not cause exit code 1: {enumerated(named)}."
        )


def _lines(compared: Compared, gate: Gate, *, is_partial: bool) -> Iterator[str]:
    for finding_key, before, now in compared.worse:
        yield f"--baseline: {finding_key} is worse than in the baseline: {before.value} then, {now.value} now."
    for finding_key in compared.gone:
        if is_partial:
            yield f"--baseline: {finding_key} was not found, but srfix could not look at everything."
        else:
            yield (
                f"--baseline: {finding_key} no longer occurs. Remove it from {gate.baseline}, otherwise nobody will "
                "notice when it comes back. --write-baseline writes the file again."
            )
