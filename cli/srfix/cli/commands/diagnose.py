"""`srfix diagnose`: which store cannot be read after recovery, and exactly why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import options
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.gate import Gate, gate_options
from srfix.cli.options.given import given_options
from srfix.cli.options.values import option
from srfix.cli.output.interface import Block, OutputFormat, Report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.severity import Severity
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.findings import Diagnosis


def _collected(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Refuses, before the diagnosis begins, a file name that the collector would ignore."""
    if path is not None and path.suffix != ".prom":
        raise click.BadParameter(f"node_exporter's textfile collector reads files that end in .prom; {path} does not.")
    return path


@command()
@connection_options
@options.selection_options
@evidence_options
@options.hurry_options
@engine_options
@options.decode_values_option
@options.changelogs_option
@options.details_option
@gate_options
@option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=_collected,
    help="Also write the outcome to this file, for node_exporter's textfile collector (FILE ends in .prom).",
)
@options.findings_output_option
def diagnose(
    connection: Connection,
    selection: options.Selection,
    evidence: EvidenceOptions,
    hurry: options.Hurry,
    engine: CensusEngineChoice,
    decode_values: bool,
    changelogs: bool,
    details: bool,
    gate: Gate,
    metrics: Path | None,
    output: OutputFormat,
) -> ExitCode:
    """Find the state stores that cannot be read after recovery, and say why. Reads only.

    srfix finds the stores by itself; --bootstrap-servers and --registry are enough.
    """
    from srfix.cli.metrics.textfile import metrics_written
    from srfix.cli.session import open_session

    with (
        metrics_written(metrics) as take_diagnosis,
        open_session(
            connection,
            selection,
            evidence,
            hurry,
            decode_values=decode_values,
            whole_changelogs=changelogs,
            choice=engine,
            quiet=gate.quiet,
        ) as session,
    ):
        examination = session.examine()
        from srfix.cli.reports.diagnosis import diagnosis_in_detail, diagnosis_in_short, foreseen
        from srfix.cli.reports.diagnosis_words import verdict_of
        from srfix.cli.reports.judging import judge_diagnosis
        from srfix.recovery.diagnosis.document import diagnosis_document

        diagnosis = examination.diagnosis
        take_diagnosis(diagnosis)
        judged = judge_diagnosis(diagnosis, gate, selection)
        is_short = judged.writes_report(output) and not details and not output.is_for_programs
        short = foreseen(session, examination) if is_short else None
        where = session.where
    command_line = given_options()
    facts = examination.facts if output.folds else None
    if short is None:
        blocks: Iterable[Block] = diagnosis_in_detail(diagnosis, command_line, facts=facts or ())
    else:
        blocks = diagnosis_in_short(diagnosis, short, command_line, facts=facts)
    document = diagnosis_document(diagnosis, srfix_version=version("srfix"), generated_at=now())
    report = Report(document=document, blocks=tuple(blocks), verdict=verdict_of(diagnosis), where=where)
    return judged.conclude(report, output, asides=session.unsaid, lines=[_summary(diagnosis)])


def _summary(diagnosis: Diagnosis) -> str:
    notes = sum(finding.severity is Severity.NOTE for finding in diagnosis.findings)
    wrong = len(diagnosis.findings) - notes
    skipped = f", {counted(len(diagnosis.not_looked_at), 'thing')} not looked at" if diagnosis.not_looked_at else ""
    ignored = f", {len(diagnosis.ignored)} ignored" if diagnosis.ignored else ""
    noted = f", {counted(notes, 'note')}" if notes else ""
    examined = counted(len(diagnosis.examined), "store")
    return f"{counted(wrong, 'finding')}{noted}, {examined} examined{skipped}{ignored}."
