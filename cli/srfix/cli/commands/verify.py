"""`srfix verify`: asks again, as the failing reader would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

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
    isolation_of,
    isolation_option,
    only_option,
    output_option,
    quiet_option,
)
from srfix.cli.output import (
    Block,
    Folded,
    Heading,
    ItemList,
    OutputFormat,
    Paragraph,
    Report,
    Table,
    Tone,
    Verdict,
    say,
    write_report,
)
from srfix.cli.version import version
from srfix.recovery.ids_in_words import counted

if TYPE_CHECKING:
    from srfix.recovery.findings import ApplicationAdvice
    from srfix.recovery.repair import Plan
    from srfix.recovery.repair.verify import Event
    from srfix.serde.registry import Json
    from srfix.serde.subjects import Subject


_MOST_PROBLEMS: Final = 2
"""Problems that are told without --details."""
_MOST_UNSEEN: Final = 4
"""Things not looked at that are told without --details."""

_FEW_OUTCOMES: Final = 20
"""Outcomes that stand unfolded where a format can fold."""
_TONES: Final = {ExitCode.OK: Tone.GOOD, ExitCode.FINDINGS: Tone.BAD, ExitCode.REFUSED: Tone.UNSURE}


@click.command()
@click.argument("path", metavar="PLAN|JOURNAL", type=click.Path(path_type=Path))
@only_option
@isolation_option
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
    only: tuple[str, ...],
    isolation: str,
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

    Of a plan that writes to a topic (srfix state seed-changelog, plan-expiry) that topic is read again: whether each planned
    row, or deletion, is there, or was written over since.
    """
    from srfix.cli.commands.shared import advice_blocks, connection_of_plan, open_cluster, show_progress, verify_topic
    from srfix.recovery.advice import upon_verification, upon_verification_in_short
    from srfix.recovery.census import LocalCensus, ProcessCensus
    from srfix.recovery.findings import ApplicationAdvice
    from srfix.recovery.repair import part_of, read_plan_or_journal, require_digest
    from srfix.recovery.repair.verify import NotLookedAt, circumstances_now, outcome_of, tally
    from srfix.recovery.repair.verify import verify as verify_plan
    from srfix.recovery.topic_plan import is_topic_journal, is_topic_plan

    given = given_options()
    if is_topic_plan(path) or is_topic_journal(path):
        return verify_topic(path, expect_digest=expect_digest, connection=connection, quiet=quiet, output=output)
    plan = read_plan_or_journal(path)
    require_digest(plan, expect_digest, where=path)
    plan = part_of(plan, only)
    connection = connection_of_plan(connection, plan)
    applications = sorted({f.application for f in plan.findings if f.application is not None})
    supplied = evidence.read(application=applications[0] if len(applications) == 1 else None)
    problems = [f"ksqlDB ({answers.origin}): {problem}" for answers in supplied.ksqldb for problem in answers.problems]
    if not quiet:
        for problem in problems:
            say(problem, err=True)
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
                isolation=isolation_of(isolation),
                on_progress=None if quiet else show_progress(),
                every_row=None if isinstance(counting, LocalCensus | ProcessCensus) else counting,
            )
        )
        outcomes = [
            (known, outcome_of(known.application, plan, events)) for known in circumstances_now(plan, cluster, supplied)
        ]
    advice = [
        ApplicationAdvice(application=known.application, advice=tuple(upon_verification(known, outcome, given=given)))
        for known, outcome in outcomes
    ]
    code = _code(events)
    if not events:
        blocks: list[Block] = [
            Paragraph("The plan repairs nothing, so nothing was verified; srfix diagnose says how things stand.")
        ]
    else:
        blocks = [Heading(_verdict(events)), *(_in_detail(events) if details else _in_short(events))]
        if output.folds:
            blocks += _by_id(events)
    in_short = tuple(upon_verification_in_short(outcomes, given=given))
    blocks += advice_blocks(advice) if details else [ItemList(in_short)] if in_short else []
    document = _document(plan, events, advice, verified=code is ExitCode.OK)
    is_quiet = quiet and code is ExitCode.OK
    if not is_quiet or output is OutputFormat.JSON:
        verdict = Verdict(text=_verdict(events), tone=_TONES[code]) if events else None
        where = (("cluster", connection.cluster_shown), ("registry", plan.registry))
        write_report(Report(document=document, blocks=tuple(blocks), verdict=verdict, where=where), output)
    if is_quiet:
        return code
    if quiet:
        for problem in problems:
            say(problem, err=True)
    counts = tally(events)
    if output is OutputFormat.JSON:
        for looked in counts:
            whose = f"{looked.subject}: " if len(counts) > 1 else ""
            say(f"{whose}{_counted(looked.ids, looked.rows)}.", err=True)
        for event in events:
            if isinstance(event, NotLookedAt):
                say(f"Not looked at: {event.what} (subject {event.subject}).", err=True)
    say(f"{_totals(events)}.", err=True)
    return code


def _totals(events: Sequence[Event]) -> str:
    from srfix.recovery.repair.verify import Confirmed, NotLookedAt, Problem

    problems, unseen = _count(events, Problem), _count(events, NotLookedAt)
    not_seen = f", {counted(unseen, 'thing')} not looked at" if unseen else ""
    return f"{_count(events, Confirmed)} confirmed, {counted(problems, 'problem')}{not_seen}"


def _count(events: Sequence[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)


def _verdict(events: Sequence[Event]) -> str:
    """Whether the repair holds, and how much was looked at."""
    from srfix.recovery.repair.verify import NotLookedAt, Problem, tally

    looked = tally(events)
    seen = _counted(sum(each.ids for each in looked), sum(each.rows for each in looked))
    if problems := _count(events, Problem):
        return f"Not repaired: {counted(problems, 'problem')}; {seen}"
    if unseen := _count(events, NotLookedAt):
        return f"Not verified, though no problem was seen: {counted(unseen, 'thing')} not looked at; {seen}"
    return f"Verified: {seen}"


def _code(events: Sequence[Event]) -> ExitCode:
    from srfix.recovery.repair.verify import Confirmed, Problem

    if any(isinstance(event, Problem) for event in events):
        return ExitCode.FINDINGS
    holds = bool(events) and all(isinstance(event, Confirmed) for event in events)
    return ExitCode.OK if holds else ExitCode.REFUSED


def _counted(ids: int, rows: int) -> str:
    return f"{counted(ids, 'schema id')} asked for, {counted(rows, 'live row')} read"


def _in_short(events: Sequence[Event]) -> Iterator[Block]:
    """What is wrong and what was not looked at, in the words of the checks; of the rest how much was looked at."""
    from srfix.recovery.repair.verify import NotLookedAt, Problem, tally

    yield from _part("Problems", events, Problem, most=_MOST_PROBLEMS)
    yield from _part("Not looked at", events, NotLookedAt, most=_MOST_UNSEEN)
    looked = tally(events)
    holds = [each for each in looked if each.confirmed and not each.problems and not each.not_looked_at]
    if holds and len(looked) == 1:
        yield Paragraph(holds[0].subject)
    elif holds:
        yield Heading("Confirmed", level=2)
        yield ItemList(tuple(f"{each.subject}: {_counted(each.ids, each.rows)}" for each in holds))


def _in_detail(events: Sequence[Event]) -> Iterator[Block]:
    from srfix.recovery.repair.verify import Confirmed, NotLookedAt, Problem

    yield from _part("Problems", events, Problem)
    yield from _part("Not looked at", events, NotLookedAt)
    yield from _part("Confirmed", events, Confirmed)


def _part(title: str, events: Sequence[Event], kind: type[Event], *, most: int | None = None) -> Iterator[Block]:
    """The events of a kind, subject by subject: a phantom subject's name is too long to stand in every line.

    :param most: how many are told, shared out among the subjects; the others are counted.
    """
    by_subject: dict[Subject, list[str]] = {}
    for event in events:
        if isinstance(event, kind):
            by_subject.setdefault(event.subject, []).append(event.what)
    if by_subject:
        yield Heading(title, level=2)
    for subject, told in by_subject.items():
        yield Paragraph(f"Subject {subject}")
        shown = len(told) if most is None else max(1, most // len(by_subject))
        if len(told) > shown + 1:
            told = [*told[:shown], f"and {len(told) - shown} more: --details"]
        yield ItemList(tuple(told))


def _by_id(events: Sequence[Event]) -> Iterator[Block]:
    """What came of each id, subject by subject; what is wrong first."""
    from srfix.recovery.repair.verify import Confirmed, NotLookedAt, tally

    tables: list[Block] = []
    for looked in tally(events):
        asked = [event for event in events if event.subject == looked.subject and not isinstance(event, NotLookedAt)]
        asked.sort(key=lambda event: (isinstance(event, Confirmed), event.schema_id is None, event.schema_id or 0))
        rows = tuple(
            (
                "-" if event.schema_id is None else str(event.schema_id),
                "holds" if isinstance(event, Confirmed) else "does not hold",
                f"{event.rows:,}" if event.rows else "-",
                event.what,
            )
            for event in asked
        )
        tables.append(Table(("schema id", "outcome", "rows read", "what"), rows, title=f"Subject {looked.subject}"))
    is_short = sum(len(table.rows) for table in tables if isinstance(table, Table)) <= _FEW_OUTCOMES
    yield Folded("What came of each id", tuple(tables), is_open=is_short)


def _document(
    plan: Plan, events: Sequence[Event], advice: Sequence[ApplicationAdvice], *, verified: bool
) -> dict[str, Json]:
    from srfix.recovery.findings import advice_document
    from srfix.recovery.repair.verify import Confirmed, NotLookedAt, tally

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
