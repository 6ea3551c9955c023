"""How a diagnosis ends: which findings make it fail, which are known, and what is said of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import Gate, Selection
from srfix.cli.output import Block, OutputFormat, Paragraph, Report, write_report
from srfix.recovery.diagnosis import Compared, Known, compare, is_at_least, load_baseline, save_baseline
from srfix.recovery.findings import Diagnosis, Finding
from srfix.recovery.ids_in_words import counted, enumerated
from srfix.serde.registry import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A diagnosis with its exit code."""

    code: ExitCode
    is_quiet: bool
    """True if it was asked to say nothing, and has nothing to say."""
    document: dict[str, Json]
    """What the document has besides."""
    blocks: tuple[Block, ...]
    """What the report has besides."""
    lines: tuple[str, ...]
    """What to say on standard error even so: what to do about the baseline."""

    def writes_report(self, output: OutputFormat) -> bool:
        """True unless it is quiet; who asked for JSON reads it with a program, which always gets its document."""
        return not self.is_quiet or output.is_for_programs


def judge(diagnosis: Diagnosis, gate: Gate, selection: Selection) -> Judged:
    """Compares with the baseline, writes one if that is wished, and decides.

    :raises UsageError: if the baseline cannot be read, is none, or cannot be written.
    """
    compared = Compared(new=diagnosis.findings, known=(), worse=(), gone=())
    lines: list[str] = []
    baseline = None
    if gate.write_baseline is not None:
        to_know = (found for found in diagnosis.findings if is_at_least(found.severity, gate.fail_on))
        baseline = save_baseline(to_know, gate.write_baseline)
        lines.append(f"Baseline written to {gate.write_baseline}: {counted(len(baseline.findings), 'known finding')}.")
    elif gate.baseline is not None:
        baseline = load_baseline(gate.baseline)
    if baseline is not None:
        compared = compare(diagnosis, baseline, application=selection.application, store=selection.store)
    failing = [found for found in compared.new if is_at_least(found.severity, gate.fail_on)]
    unseen = any(skipped.could_hide for skipped in diagnosis.skipped)
    code = ExitCode.FINDINGS if failing else ExitCode.REFUSED if unseen else ExitCode.OK
    lines += _lines(compared, gate, is_partial=unseen)
    document: dict[str, Json] = {}
    if baseline is not None:
        document["baseline"] = {
            "file": baseline.path,
            "known": [_document(known) for known in compared.known],
            "gone": [_document(known) for known in compared.gone],
        }
    return Judged(
        code=code,
        is_quiet=gate.quiet and code is ExitCode.OK,
        document=document,
        blocks=tuple(_blocks(compared, gate)),
        lines=tuple(lines),
    )


def write_unless_quiet(report: Report, output: OutputFormat, *, quiet: bool, code: ExitCode) -> None:
    """Writes a report, unless --quiet was given and nothing is wrong; a document of JSON is written always."""
    if not (quiet and code is ExitCode.OK) or output.is_for_programs:
        write_report(report, output)


def _blocks(compared: Compared, gate: Gate) -> Iterator[Block]:
    if compared.known:
        yield Paragraph(f"Known from the baseline, and no reason to fail: {enumerated(compared.known)}.")
    below = [found for found in compared.new if not is_at_least(found.severity, gate.fail_on)]
    if any(is_at_least(found.severity, Gate().fail_on) for found in below):
        severity = gate.fail_on.value
        yield Paragraph(f"Below --fail-on ({severity}), and no reason to fail: {enumerated(_names(below))}.")


def _names(findings: list[Finding]) -> list[str]:
    return [f"{found.code} {found.application}/{found.store}, {found.severity.value}" for found in findings]


def _lines(compared: Compared, gate: Gate, *, is_partial: bool) -> Iterator[str]:
    for known, before, now in compared.worse:
        yield f"--baseline: {known} is worse than it was written down: {before.value} then, {now.value} now."
    for known in compared.gone:
        if is_partial:
            yield f"--baseline: {known} was not found, but not everything was looked at."
        else:
            yield (
                f"--baseline: {known} no longer occurs. Take it out of {gate.baseline}, or it would go unnoticed when it "
                "comes back; --write-baseline writes the file anew."
            )


def _document(known: Known) -> Json:
    return {"code": known.code, "application": known.application, "store": known.store, "role": known.role.value}
