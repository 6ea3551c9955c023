"""The whole diagnosis, finding by finding: `srfix diagnose --details`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from srfix.cli.output import interface as blocks
from srfix.cli.reports import diagnosis_words as words
from srfix.cli.reports.pictures import picture_of
from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.commands import CommandLine
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Considered, Diagnosis, Evidence, Finding, Severity
from srfix.recovery.ids_in_words import counted, enumerated

MOST_SOURCES: Final = 5
"""This number of possible sources is shown in full."""
_FEW_TOPICS: Final = 2
"""For this number of topics besides the source, the evidence is shown in full."""


def diagnosis_in_detail(
    diagnosis: Diagnosis, command_line: CommandLine, *, facts: Sequence[StoreFacts] = ()
) -> Iterator[blocks.Block]:
    """The whole report: all findings with their place and reasons, the notes, what was not looked at, and what to do.

    :param facts: the facts behind the diagnosis, for a format that shows pictures.
    """
    if not diagnosis.findings:
        yield blocks.Paragraph(words.nothing_found(diagnosis))
    elif len(diagnosis.findings) > 1:
        # This is not a table, because the names of application and store leave no room for other columns.
        yield blocks.ItemList(tuple(f"{words.title(finding)}{_keys(finding)}" for finding in diagnosis.findings))
    for finding in diagnosis.findings:
        yield blocks.Heading(words.title(finding), tone=words.tone_of(finding.severity))
        yield from finding_in_detail(finding, facts)
    yield from blocks.titled_list("Not looked at", words.skipped_lines(diagnosis.not_looked_at), is_apart=True)
    if diagnosis.ignored:
        yield blocks.Paragraph(words.ignored_line(diagnosis))
    yield from words.advice_blocks(diagnosis.applications)
    also = words.repair_on_request(diagnosis)
    if also is not None:
        yield blocks.Heading("To repair it", level=2, is_apart=True)
        yield blocks.Commands(
            (
                command_line.command("plan", *also, "-o", "plan.json"),
                command_line.command("apply", "plan.json"),
                command_line.command("verify", "plan.json"),
            )
        )
        yield from words.secrets_to_add(command_line, "plan", "apply", "verify")


def _keys(finding: Finding) -> str:
    if finding.severity is Severity.NOTE or not finding.schema_ids:
        return ""
    ids = enumerated(fault.schema_id for fault in finding.schema_ids)
    live_keys = [fault.live_keys for fault in finding.schema_ids if fault.live_keys is not None]
    least = "at least " if any(fault.is_partial for fault in finding.schema_ids) else ""
    named = "schema id" if len(finding.schema_ids) == 1 else "schema ids"
    return f": {named} {ids}" + (f" in {least}{counted(sum(live_keys), 'live key')}" if live_keys else "")


def finding_in_detail(finding: Finding, facts: Sequence[StoreFacts] = ()) -> Iterator[blocks.Block]:
    """The full text about one finding and its repair; with its picture if the caller gives the facts."""
    source = "not decided" if finding.source is None else f"{finding.source.topic} (subject {finding.source.subject})"
    registered = enumerated(finding.registered_ids) or "nothing"
    yield blocks.Paragraph(finding.explanation)
    yield blocks.FieldList(
        (
            ("subject", finding.subject),
            ("schema ids there", registered),
            *((("restores from", source),) if BY_CODE[finding.code].find_of_application is None else ()),
            *(
                (("name also fits", f"{splits} (application/store)"),)
                if (splits := ", ".join(finding.other_splits))
                else ()
            ),
        )
    )
    if facts:
        yield from picture_of(finding, facts)
    if finding.severity is not Severity.NOTE:
        # A note stands beside a finding with the same numbers, or has nothing to count.
        if any(fault.partitions for fault in finding.schema_ids):
            is_partial = any(fault.is_partial for fault in finding.schema_ids)
            yield blocks.table_of(
                ((fault, place) for fault in finding.schema_ids for place in fault.partitions),
                {
                    "schema id": lambda row: row[0].schema_id,
                    "partition": lambda row: row[1].partition,
                    "live keys": lambda row: row[1].live_keys,
                    "not yet committed": lambda row: row[1].pending_keys,
                    "offsets": lambda row: f"{row[1].first_offset} to {row[1].last_offset}",
                },
                title=BY_CODE[finding.code].partial if is_partial else None,
            )
        yield from blocks.titled_list("Evidence", _evidence(finding))
        yield from blocks.titled_list("Possible sources", _possible(finding))
        observations = (
            f"{observation.kind} {observation.says}: {observation.detail} ({observation.weight.value})"
            for observation in finding.observations
        )
        yield from blocks.titled_list("What srfix sees of the application", observations)
    yield blocks.Paragraph(f"Next: {finding.next}")
    for note in finding.notes:
        yield blocks.Heading(f"About the repair ({note.code})", level=2)
        yield blocks.Paragraph(f"{note.explanation} {note.next}")


def _evidence(finding: Finding) -> Iterator[str]:
    """The evidence about the application and the source, and about the other topics if there are only a few."""
    if finding.considered:
        if not _has_several_splits(finding):
            yield from (_piece(piece) for piece in finding.evidence if piece.topic is None)
        return
    source = finding.source and finding.source.topic
    other_topics = list(dict.fromkeys(p.topic for p in finding.evidence if p.topic is not None and p.topic != source))
    is_long = source is not None and len(other_topics) > _FEW_TOPICS
    for piece in finding.evidence:
        if not is_long or piece.topic in (None, source):
            yield _piece(piece)
    if is_long:
        named = words.some(other_topics)
        yield f"compared and not chosen: {named} (--output json shows the evidence for and against each topic)"


def _has_several_splits(finding: Finding) -> bool:
    return len({(candidate.application, candidate.store) for candidate in finding.considered}) > 1


def _piece(piece: Evidence) -> str:
    speaks_of = piece.topic or f"application {piece.application}"
    worth = f"{piece.weight.value} against it" if piece.against else piece.weight.value
    detail = piece.detail.removeprefix(f"group {piece.application}: ") if piece.topic is None else piece.detail
    return f"{speaks_of}: {detail} ({piece.kind}, {worth})"


def _possible(finding: Finding) -> Iterator[str]:
    """The first possible sources, each with the evidence for and against it.

    Evidence about the application is included only if the application is in question.
    """
    several = _has_several_splits(finding)
    for candidate in finding.considered[:MOST_SOURCES]:
        topic = (
            f"topic {candidate.topic}{' (gone)' if candidate.is_gone else ''}" if candidate.topic else "no known topic"
        )
        whose = f"store {candidate.store} of {candidate.application}, from {topic}" if several else topic
        yield f"{whose}. {for_and_against(candidate, several=several)}"
    if more := [candidate.topic or "no known topic" for candidate in finding.considered[MOST_SOURCES:]]:
        yield (
            f"also possible: {words.some(list(dict.fromkeys(more)))} (--output json shows the evidence for and against "
            "each topic)"
        )


def for_and_against(candidate: Considered, *, several: bool = False) -> str:
    """The evidence for and against a possible source. Evidence about the application is included only if the
    application is in question."""
    pieces = [piece for piece in candidate.evidence if several or piece.topic is not None]
    pro = "; ".join(piece.detail for piece in pieces if not piece.against) or "nothing"
    con = "; ".join(piece.detail for piece in pieces if piece.against) or "nothing"
    return f"For it: {pro}. Against it: {con}"
