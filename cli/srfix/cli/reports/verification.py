"""What `srfix verify` says of a repair: verdict, what was confirmed, what is wrong, what was not looked at. And how it reads
the topic of a plan that writes to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource
from msgspec import field

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import CONNECTION_PARAMETERS, Connection
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import conclude
from srfix.cli.reports.plan_running import PlanOutcome, cluster_of_plan
from srfix.cli.session import open_cluster
from srfix.cli.version import version
from srfix.recovery.diagnosis.document import Advice
from srfix.recovery.documents import Count, Id, Part
from srfix.recovery.findings import ApplicationAdvice
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.plans.sign_off import require_digest
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem, VerifiedSubject, tally
from srfix.recovery.topic_plan.expiring import kept_records_path
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, TopicPlan
from srfix.recovery.topic_plan.verifying import TopicCheck, TopicOutcome, verify_topic_plan
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json

_MOST_PROBLEMS: Final = 2
"""The most problems that the report shows without --details."""
_MOST_UNSEEN: Final = 4
"""The most skipped checks that the report shows without --details."""
_FEW_OUTCOMES: Final = 20
"""Up to this number of results, a format that can fold shows them unfolded."""


def verification_blocks(events: Sequence[Event], *, details: bool, folds: bool) -> Iterator[blocks.Block]:
    if not events:
        yield blocks.Paragraph(
            "The plan repairs nothing, so there was nothing to verify. srfix diagnose says what is wrong now."
        )
        return
    yield blocks.Heading(verification_verdict(events), tone=blocks.TONES[verification_code(events)])
    if details:
        yield from _part("Problems", events, Problem)
        yield from _part("Not looked at", events, NotLookedAt)
        yield from _part("Confirmed", events, Confirmed)
    else:
        yield from _in_short(events)
    if folds:
        yield from _by_id(events)


def verification_totals(events: Sequence[Event]) -> str:
    problems, unseen = _count(events, Problem), _count(events, NotLookedAt)
    not_seen = f", {counted(unseen, 'thing')} not looked at" if unseen else ""
    return f"{counted(_count(events, Confirmed), 'check')} passed, {counted(problems, 'problem')}{not_seen}"


def _count(events: Sequence[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)


def verification_verdict(events: Sequence[Event]) -> str:
    tallies = tally(events)
    amount = looked_at(sum(each.ids for each in tallies), sum(each.rows for each in tallies))
    if problems := _count(events, Problem):
        return f"Not repaired: {counted(problems, 'problem')}; {amount}"
    if unseen := _count(events, NotLookedAt):
        return f"Not verified, though srfix saw no problem: {counted(unseen, 'thing')} not looked at; {amount}"
    return f"Verified: {amount}"


def verification_code(events: Sequence[Event]) -> ExitCode:
    if any(isinstance(event, Problem) for event in events):
        return ExitCode.FINDINGS
    holds = bool(events) and all(isinstance(event, Confirmed) for event in events)
    return ExitCode.OK if holds else ExitCode.REFUSED


def looked_at(ids: int, rows: int) -> str:
    return f"{counted(ids, 'schema id')} looked up, {counted(rows, 'live row')} read"


def _in_short(events: Sequence[Event]) -> Iterator[blocks.Block]:
    """What is wrong and what was not looked at, in the words of the checks, and the number of the other checks."""
    yield from _part("Problems", events, Problem, most=_MOST_PROBLEMS)
    yield from _part("Not looked at", events, NotLookedAt, most=_MOST_UNSEEN)
    tallies = tally(events)
    holds = [each for each in tallies if each.confirmed and not each.problems and not each.not_looked_at]
    if holds and len(tallies) == 1:
        yield blocks.Paragraph(f"Every check of subject {holds[0].subject} passed.")
    else:
        yield from blocks.titled_list(
            "Confirmed", (f"{each.subject}: {looked_at(each.ids, each.rows)}" for each in holds)
        )


def _part(title: str, events: Sequence[Event], kind: type[Event], *, most: int | None = None) -> Iterator[blocks.Block]:
    """The events of a kind, subject by subject, because its name is long. Beyond `most` they are only counted."""
    by_subject = blocks.grouped((event for event in events if isinstance(event, kind)), lambda event: event.subject)
    if by_subject:
        yield blocks.Heading(title, level=2)
    for subject, subject_events in by_subject.items():
        lines = [event.what for event in subject_events]
        yield blocks.Paragraph(f"Subject {subject}")
        shown = len(lines) if most is None else max(1, most // len(by_subject))
        if len(lines) > shown + 1:
            lines = [*lines[:shown], f"and {len(lines) - shown} more: --details"]
        yield blocks.ItemList(tuple(lines))


def _by_id(events: Sequence[Event]) -> Iterator[blocks.Block]:
    """The result for each id, subject by subject; problems stand first."""
    tables: list[blocks.Table] = []
    for subject in (each.subject for each in tally(events)):
        of_subject = [each for each in events if each.subject == subject and not isinstance(each, NotLookedAt)]
        of_subject.sort(key=lambda event: (isinstance(event, Confirmed), event.schema_id is None, event.schema_id or 0))
        tables.append(
            blocks.table_of(
                of_subject,
                {
                    "schema id": lambda event: event.schema_id,
                    "outcome": lambda event: "passed" if isinstance(event, Confirmed) else "failed",
                    "rows read": lambda event: f"{event.rows:,}" if event.rows else None,
                    "what": lambda event: event.what,
                },
                title=f"Subject {subject}",
            )
        )
    is_short = sum(len(table.rows) for table in tables) <= _FEW_OUTCOMES
    yield blocks.Folded("The result for each id", tuple(tables), is_open=is_short)


class VerifiedId(Part):
    """The result for a schema id."""

    subject: str
    ok: bool
    what: str
    schema_id: Id | None
    rows: Count


class NotVerified(Part):
    """A check that srfix skipped."""

    subject: str
    what: str


class VerificationDocument(PlanOutcome, tag="srfix.verification/1"):
    """The result of `srfix verify`."""

    verified: bool
    """True if every check passed and srfix looked at everything."""
    subjects: list[VerifiedSubject]
    checks: list[VerifiedId]
    skipped: list[NotVerified]
    applications: list[Advice]


def verification_document(
    plan: Plan, events: Sequence[Event], advice: Sequence[ApplicationAdvice], *, verified: bool
) -> dict[str, Json]:
    return VerificationDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        verified=verified,
        subjects=tally(events),
        checks=[
            VerifiedId.of(each, ok=isinstance(each, Confirmed)) for each in events if not isinstance(each, NotLookedAt)
        ],
        skipped=[NotVerified.of(event) for event in events if isinstance(event, NotLookedAt)],
        applications=[Advice.of(each) for each in advice],
    ).to_json()


_TAKEN: Final = ("path", "expect_digest", "config", "details", "quiet", "output", *CONNECTION_PARAMETERS)
"""The options that such a plan uses, and those of the connection."""
_WORDS: Final = {
    TopicOutcome.HOLDS: "passed",
    TopicOutcome.FAILS: "failed",
    TopicOutcome.NOT_KNOWN: "not known",
}


class CheckedPartition(Part):
    """The result for a partition, or for the topic."""

    partition: int | None
    """Null for the topic as a whole."""
    outcome: TopicOutcome
    what: str
    """In words."""
    planned: Count
    """Keys that the plan writes there."""
    stands: Count
    """The number of planned keys that are as the plan left them."""
    since: Count = field(name="written_since")
    """The number of planned keys that somebody has written since."""


class TopicVerificationDocument(PlanOutcome, tag="srfix.topic-verification/1"):
    """The result of `srfix verify` for a plan that writes to a topic."""

    topic: str
    verified: bool
    """True if every check passed."""
    checks: list[CheckedPartition]


def verify_topic(
    path: Path, *, expect_digest: str | None, connection: Connection, quiet: bool, output: blocks.OutputFormat
) -> ExitCode:
    _refuse_others()
    plan, state, records_path = _load(path)
    require_digest(plan.digest, expect_digest, where=path)
    connection = cluster_of_plan(connection, plan.bootstrap_servers)
    with open_cluster(connection, quiet=quiet) as (cluster, _engine):
        checks = list(verify_topic_plan(plan, cluster, state=state, kept_path=records_path))
    holds = bool(checks) and all(check.outcome is TopicOutcome.HOLDS for check in checks)
    code = ExitCode.OK if holds else ExitCode.REFUSED
    if any(check.outcome is TopicOutcome.FAILS for check in checks):
        code = ExitCode.FINDINGS
    document = TopicVerificationDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        topic=plan.work.topic,
        verified=code is ExitCode.OK,
        checks=[CheckedPartition.of(check) for check in checks],
    )
    report = blocks.Report(document=document.to_json(), blocks=tuple(_blocks(plan, checks)))
    counts = {outcome: sum(check.outcome is outcome for check in checks) for outcome in TopicOutcome}
    outcome_counts = (f"{count:,} {_WORDS[outcome]}" for outcome, count in counts.items() if count)
    total = f"{counted(len(checks), 'check')}: {', '.join(outcome_counts) or 'nothing was planned'}."
    return conclude(report, output, quiet=quiet, code=code, lines=[total])


def _load(path: Path) -> tuple[TopicPlan, TopicState | None, Path | None]:
    """The plan, the state of its journal if there is one, and the file with the records."""
    if TOPIC_JOURNALS.is_at(path):
        state = TOPIC_JOURNALS.read(path)
        return state.plan, state, state.kept
    plan = TOPIC_PLANS.load(path)
    journal = default_journal_path(path)
    beside = TOPIC_JOURNALS.read(journal) if TOPIC_PLANS.is_at(path) and TOPIC_JOURNALS.is_at(journal) else None
    state_of_this = beside if beside is not None and beside.plan.digest == plan.digest else None
    return plan, state_of_this, kept_records_path(path)


def _blocks(plan: TopicPlan, checks: Sequence[TopicCheck]) -> Iterator[blocks.Block]:
    topic = plan.work.topic
    if any(check.outcome is TopicOutcome.FAILS for check in checks):
        yield blocks.Heading(f"{topic} does not hold the planned records", tone=blocks.Tone.BAD)
    elif not checks or any(check.outcome is TopicOutcome.NOT_KNOWN for check in checks):
        yield blocks.Heading(f"Not verified, though srfix saw nothing wrong in {topic}", tone=blocks.Tone.UNSURE)
    else:
        yield blocks.Heading(f"Verified: {topic} holds the planned records", tone=blocks.Tone.GOOD)
    whole = tuple(f"{check.what} ({_WORDS[check.outcome]})" for check in checks if check.partition is None)
    if whole:
        yield blocks.ItemList(whole)
    of_partitions = [check for check in checks if check.partition is not None]
    if of_partitions:
        yield blocks.table_of(
            of_partitions,
            {
                "partition": lambda check: check.partition,
                "outcome": lambda check: _WORDS[check.outcome],
                "what": lambda check: check.what,
            },
        )


def _refuse_others() -> None:
    ctx = click.get_current_context()
    typed = [
        max(param.opts, key=len)
        for param in ctx.command.params
        if param.name is not None
        and param.name not in _TAKEN
        and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise UsageError(
            f"{', '.join(typed)}: these options are only for plans of srfix plan. For a plan that writes to a "
            "topic, srfix reads the whole topic and uses nothing else."
        )
