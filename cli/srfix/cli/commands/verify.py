"""`srfix verify`: asks again, as the failing reader would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import click

from srfix.cli.commands.shared import advice_blocks, connection_of_plan, open_cluster, show_progress
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import (
    CensusEngineChoice,
    EvidenceOptions,
    Hurry,
    connection_options,
    details_option,
    engine_options,
    evidence_options,
    expect_digest_option,
    given_options,
    hurry_options,
    output_option,
    quiet_option,
)
from srfix.cli.output import Block, Heading, ItemList, OutputFormat, Paragraph, Report, say, write_report
from srfix.recovery.advice import upon_verification
from srfix.recovery.census import LocalCensus
from srfix.recovery.findings import ApplicationAdvice, advice_document
from srfix.recovery.ids_in_words import counted
from srfix.recovery.repair import Plan, read_plan_or_journal, require_digest
from srfix.recovery.repair.verify import (
    Confirmed,
    Event,
    Looked,
    NotLookedAt,
    Problem,
    circumstances_now,
    outcome_of,
    tally,
)
from srfix.recovery.repair.verify import verify as verify_plan
from srfix.serde.registry import Json


@click.command()
@click.argument("path", metavar="PLAN|JOURNAL", type=click.Path(path_type=Path))
@expect_digest_option
@connection_options
@evidence_options
@hurry_options
@engine_options
@details_option
@quiet_option
@output_option
def verify(
    path: Path,
    expect_digest: str | None,
    connection: Connection,
    evidence: EvidenceOptions,
    hurry: Hurry,
    engine: CensusEngineChoice,
    details: bool,
    quiet: bool,
    output: OutputFormat,
) -> ExitCode:
    """Verify a repair: the ids again, looked up by content, and rows read as the failing reader reads them.

    Reads only. Ends in 0 only if every id of the plan is there, rows of it were read, and the plan left nothing out; in 1
    if something is not repaired, in 2 if something was not looked at.

    Cluster and registry are the plan's own unless they are named otherwise. A state directory, a topology or ksqlDB tell
    of global tables, of which a restore loads everything, and of the query as it is now. With --engine spark every live
    row is read, not one of each schema id and partition; its workers need srfix.
    """
    given = given_options()
    plan = read_plan_or_journal(path)
    require_digest(plan, expect_digest, where=path)
    connection = connection_of_plan(connection, plan)
    applications = sorted({finding.application for finding in plan.findings})
    supplied = evidence.read(application=applications[0] if len(applications) == 1 else None)
    for answers in supplied.ksqldb:
        for problem in answers.problems:
            say(f"ksqlDB ({answers.origin}): {problem}", err=True)
    with open_cluster(connection, engine, quiet=quiet) as (cluster, counting), connection.registry_client() as registry:
        events = list(
            verify_plan(
                plan,
                cluster,
                counting,
                registry,
                supplied=supplied,
                deadline_s=hurry.deadline_s,
                max_records=hurry.max_records,
                on_progress=None if quiet else show_progress(),
                every_row=None if isinstance(counting, LocalCensus) else counting,
            )
        )
        advice = [
            ApplicationAdvice(
                application=known.application,
                advice=tuple(upon_verification(known, outcome_of(known.application, plan, events), given=given)),
            )
            for known in circumstances_now(plan, cluster, supplied)
        ]
    problems = [event for event in events if isinstance(event, Problem)]
    confirmed = [event for event in events if isinstance(event, Confirmed)]
    unseen = [event for event in events if isinstance(event, NotLookedAt)]
    blocks: list[Block] = []
    counts = tally(events)
    for title, part in (("Not repaired", problems), ("Not looked at", unseen)):
        blocks += _part(title, part)
    blocks += _part("Confirmed", confirmed) if details else _confirmed(counts)
    if not events:
        blocks.append(
            Paragraph("The plan repairs nothing, so nothing was verified; srfix diagnose says how things stand.")
        )
    blocks += advice_blocks(advice)
    code = _code(events)
    document = _document(plan, events, advice, verified=code is ExitCode.OK)
    is_quiet = quiet and code is ExitCode.OK
    if not is_quiet or output is OutputFormat.JSON:
        write_report(Report(document=document, blocks=tuple(blocks)), output)
    if is_quiet:
        return code
    for looked in counts:
        whose = f"{looked.subject}: " if len(counts) > 1 else ""  # the only one stands in the report
        say(f"{whose}{_counted(looked)}.", err=True)
    for event in unseen:
        say(f"Not looked at: {event.what} (subject {event.subject}).", err=True)
    not_seen = f", {counted(len(unseen), 'thing')} not looked at" if unseen else ""
    say(f"{len(confirmed)} confirmed, {counted(len(problems), 'problem')}{not_seen}.", err=True)
    return code


def _code(events: Sequence[Event]) -> ExitCode:
    if any(isinstance(event, Problem) for event in events):
        return ExitCode.FINDINGS
    holds = bool(events) and all(isinstance(event, Confirmed) for event in events)
    return ExitCode.OK if holds else ExitCode.REFUSED


def _counted(looked: Looked) -> str:
    return f"{counted(looked.ids, 'schema id')} asked for, {counted(looked.rows, 'live row')} read"


def _confirmed(counts: Sequence[Looked]) -> Iterator[Block]:
    """How much is confirmed of each subject of which something is."""
    items = [
        f"{counted(looked.confirmed, 'check')} of {looked.subject}: {_counted(looked)}"
        for looked in counts
        if looked.confirmed
    ]
    if items:
        yield Heading("Confirmed")
        yield ItemList(tuple(items))


def _part(title: str, events: Sequence[Event]) -> Iterator[Block]:
    """The events, subject by subject: a phantom subject's name is too long to stand in every line."""
    for number, subject in enumerate(dict.fromkeys(event.subject for event in events)):
        if not number:
            yield Heading(title)
        yield Paragraph(f"Subject {subject}")
        yield ItemList(tuple(event.what for event in events if event.subject == subject))


def _document(
    plan: Plan, events: Sequence[Event], advice: Sequence[ApplicationAdvice], *, verified: bool
) -> dict[str, Json]:
    return {
        "schema": "srfix.verification/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "verified": verified,
        "subjects": [
            {
                "subject": looked.subject,
                "ids_asked": looked.ids,
                "rows_read": looked.rows,
                "confirmed": looked.confirmed,
                "problems": looked.problems,
                "not_looked_at": looked.not_looked_at,
            }
            for looked in tally(events)
        ],
        "checks": [
            {
                "subject": event.subject,
                "ok": isinstance(event, Confirmed),
                "what": event.what,
                "schema_id": None if event.schema_id is None else int(event.schema_id),
                "rows": event.rows,
            }
            for event in events
            if not isinstance(event, NotLookedAt)
        ],
        "skipped": [
            {"subject": event.subject, "what": event.what} for event in events if isinstance(event, NotLookedAt)
        ],
        "applications": [advice_document(told) for told in advice],
    }
