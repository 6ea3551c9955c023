"""`srfix diagnose`: which store cannot be read after recovery, and exactly why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Final

import click

from srfix.cli.commands.shared import advice_blocks, ignored_line, judge, open_session, secrets_to_add
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import (
    CensusEngineChoice,
    EvidenceOptions,
    Gate,
    Hurry,
    Selection,
    connection_options,
    decode_values_option,
    engine_options,
    evidence_options,
    gate_options,
    given_options,
    hurry_options,
    output_option,
    selection_options,
)
from srfix.cli.output import (
    Block,
    Commands,
    FieldList,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Report,
    Table,
    say,
    write_report,
)
from srfix.recovery.checks import BY_CODE
from srfix.recovery.clock import now
from srfix.recovery.commands import Given
from srfix.recovery.findings import Diagnosis, Evidence, Finding, IdAtFault, Severity, Skipped, diagnosis_document
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.repair.planning import ONLY_ON_REQUEST
from srfix.serde.subjects import Role

_MOST_NAMES: Final = 5
"""Names in one line, and possible sources that are told in full."""
_FEW_TOPICS: Final = 2
"""Topics besides the source whose evidence is told in full."""


@click.command()
@connection_options
@selection_options
@evidence_options
@hurry_options
@engine_options
@decode_values_option
@gate_options
@output_option
def diagnose(
    connection: Connection,
    selection: Selection,
    evidence: EvidenceOptions,
    hurry: Hurry,
    engine: CensusEngineChoice,
    decode_values: bool,
    gate: Gate,
    output: OutputFormat,
) -> ExitCode:
    """Find the state stores that cannot be read after recovery, and say exactly why. Reads only.

    With nothing but --bootstrap-servers and --registry it finds the candidates by itself.
    """
    with open_session(
        connection, selection, evidence, hurry, decode_values=decode_values, choice=engine, quiet=gate.quiet
    ) as session:
        diagnosis = session.examine().diagnosis
    judged = judge(diagnosis, gate, selection)
    document = diagnosis_document(diagnosis, srfix_version=version("srfix"), generated_at=now()) | judged.document
    if judged.writes_report(output):
        blocks = (*_blocks(diagnosis, given_options()), *judged.blocks)
        write_report(Report(document=document, blocks=blocks), output)
    for line in judged.lines:
        say(line, err=True)
    if not judged.is_quiet:
        say(_summary(diagnosis), err=True)
    return judged.code


def _blocks(diagnosis: Diagnosis, given: Given) -> list[Block]:
    blocks: list[Block] = []
    if not diagnosis.findings:
        blocks.append(Paragraph(_nothing_found(diagnosis)))
    elif len(diagnosis.findings) > 1:
        # No table: an application and a store of usual length leave no room for other columns.
        blocks.append(ItemList(tuple(f"{_title(finding)}{_keys(finding)}" for finding in diagnosis.findings)))
    for finding in diagnosis.findings:
        blocks.extend(_finding_blocks(finding))
    if diagnosis.skipped:
        blocks += [Heading("Not looked at", level=2), ItemList(tuple(_skipped(diagnosis.skipped)))]
    if diagnosis.ignored:
        blocks.append(Paragraph(ignored_line(diagnosis)))
    blocks.extend(advice_blocks(diagnosis.applications))
    to_repair = {f.code for f in diagnosis.findings if f.repairable and f.severity is not Severity.NOTE}
    if to_repair:
        unasked = sorted(to_repair) if to_repair <= ONLY_ON_REQUEST else ()  # not planned unless asked for
        also = [word for code in unasked for word in ("--also", code)]
        blocks += [
            Heading("To repair it", level=2),
            Commands(
                (
                    given.command("plan", *also, "-o", "plan.json"),
                    given.command("apply", "plan.json"),
                    given.command("verify", "plan.json"),
                )
            ),
            *secrets_to_add(given, "plan", "apply", "verify"),
        ]
    return blocks


def _nothing_found(diagnosis: Diagnosis) -> str:
    if diagnosis.is_inconclusive:
        return "Nothing was found, but not everything could be looked at: this is no clean bill of health."
    stores = f" {len(diagnosis.examined)} suspicious store(s) examined." if diagnosis.examined else ""
    besides = " besides what was ignored" if diagnosis.ignored else ""
    return f"Nothing is wrong{besides}.{stores}"


def _skipped(skipped: Iterable[Skipped]) -> Iterator[str]:
    """First what could hide a finding; what was left out for one reason in one line."""
    by_reason: dict[tuple[bool, str], list[str]] = {}
    for each in skipped:
        by_reason.setdefault((each.could_hide, each.reason), []).append(each.what)
    for (could_hide, reason), what in sorted(by_reason.items(), key=lambda item: not item[0][0]):
        yield f"{_some(what)}: {reason}{' (could hide a finding)' if could_hide else ''}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _title(finding: Finding) -> str:
    role = " (keys)" if finding.role is Role.KEY else ""
    return f"{finding.code}, {finding.severity.value}: {finding.application} / {finding.store}{role}"


def _keys(finding: Finding) -> str:
    if finding.severity is Severity.NOTE or not finding.schema_ids:
        return ""
    ids = enumerated(fault.schema_id for fault in finding.schema_ids)
    known = [fault.live_keys for fault in finding.schema_ids if fault.live_keys is not None]
    least = "at least " if any(fault.is_partial for fault in finding.schema_ids) else ""
    return f": schema id(s) {ids}" + (f" in {least}{sum(known)} live key(s)" if known else "")


def _finding_blocks(finding: Finding) -> list[Block]:
    source = "not decided" if finding.source is None else f"{finding.source.topic} (subject {finding.source.subject})"
    registered = enumerated(finding.registered_ids) or "nothing"
    blocks: list[Block] = [
        Heading(_title(finding)),
        Paragraph(finding.explanation),
        FieldList(
            (
                ("subject", finding.subject),
                ("schema ids there", registered),
                ("restores from", source),
                *_other_splits(finding),
            )
        ),
    ]
    if finding.severity is not Severity.NOTE:
        # A note stands beside a finding with the same numbers, or has nothing that anybody must count.
        if any(fault.partitions for fault in finding.schema_ids):
            is_partial = any(fault.is_partial for fault in finding.schema_ids)
            blocks.append(
                Table(
                    ("schema id", "partition", "live keys", "pending keys", "offsets"),
                    tuple(row for fault in finding.schema_ids for row in _places(fault)),
                    title=BY_CODE[finding.code].partial if is_partial else None,
                )
            )
        if evidence := tuple(_evidence(finding)):
            blocks += [Heading("Evidence", level=2), ItemList(evidence)]
        if finding.considered:
            blocks += [Heading("Possible sources", level=2), ItemList(tuple(_possible(finding)))]
        if finding.observations:
            blocks += [
                Heading("Seen of the application", level=2),
                ItemList(tuple(f"{o.kind} {o.says}: {o.detail} ({o.weight.value})" for o in finding.observations)),
            ]
    blocks.append(Paragraph(f"Next: {finding.next}"))
    return blocks


def _other_splits(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.other_splits:
        yield "name also fits", f"{', '.join(finding.other_splits)} (application/store)"


def _evidence(finding: Finding) -> Iterator[str]:
    """What speaks of the application and of the source; of the other topics only if they are few."""
    if finding.considered:
        if not _has_several_splits(finding):
            yield from (_piece(piece) for piece in finding.evidence if piece.topic is None)
        return
    source = finding.source and finding.source.topic
    others = list(dict.fromkeys(p.topic for p in finding.evidence if p.topic is not None and p.topic != source))
    is_long = source is not None and len(others) > _FEW_TOPICS
    for piece in finding.evidence:
        if not is_long or piece.topic in (None, source):
            yield _piece(piece)
    if is_long:
        yield f"compared and not chosen: {_some(others)} (--output json has what speaks for and against each)"


def _has_several_splits(finding: Finding) -> bool:
    return len({(each.application, each.store) for each in finding.considered}) > 1


def _piece(piece: Evidence) -> str:
    speaks_of = piece.topic or f"application {piece.application}"
    worth = f"{piece.weight.value} against it" if piece.against else piece.weight.value
    detail = piece.detail.removeprefix(f"group {piece.application}: ") if piece.topic is None else piece.detail
    return f"{speaks_of}: {detail} ({piece.kind}, {worth})"


def _possible(finding: Finding) -> Iterator[str]:
    """The first of the possible sources, each with what speaks for and against it.

    What speaks of the application stands there only where the application is in question.
    """
    several = _has_several_splits(finding)
    for each in finding.considered[:_MOST_NAMES]:
        topic = f"topic {each.topic}{' (gone)' if each.is_gone else ''}" if each.topic else "no known topic"
        whose = f"store {each.store} of {each.application}, from {topic}" if several else topic
        pieces = [piece for piece in each.evidence if several or piece.topic is not None]
        pro = "; ".join(piece.detail for piece in pieces if not piece.against) or "nothing"
        con = "; ".join(piece.detail for piece in pieces if piece.against) or "nothing"
        yield f"{whose}. For it: {pro}. Against it: {con}"
    if more := [each.topic or "no known topic" for each in finding.considered[_MOST_NAMES:]]:
        yield f"also possible: {_some(list(dict.fromkeys(more)))} (--output json has what speaks for and against each)"


def _places(fault: IdAtFault) -> list[tuple[str, ...]]:
    return [
        (
            str(fault.schema_id),
            str(place.partition),
            "-" if place.live_keys is None else str(place.live_keys),
            str(place.pending_keys),
            f"{place.first_offset} to {place.last_offset}",
        )
        for place in fault.partitions
    ]


def _summary(diagnosis: Diagnosis) -> str:
    notes = sum(finding.severity is Severity.NOTE for finding in diagnosis.findings)
    wrong = len(diagnosis.findings) - notes
    skipped = f", {len(diagnosis.skipped)} thing(s) not looked at" if diagnosis.skipped else ""
    ignored = f", {len(diagnosis.ignored)} ignored" if diagnosis.ignored else ""
    return f"{wrong} finding(s), {notes} note(s), {len(diagnosis.examined)} store(s) examined{skipped}{ignored}."
