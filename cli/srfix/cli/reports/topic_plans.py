"""A plan that writes to a topic, as a report, and what `srfix apply` and `srfix rollback` do with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import confirm, say_on_the_way, write_report
from srfix.cli.reports.plan_running import PlanOutcome, cluster_of_plan, running, way_on
from srfix.cli.session import open_cluster, patience_s
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.commands import CommandLine, positional
from srfix.recovery.documents import Part
from srfix.recovery.plans.runs import AlreadyApplied, AlreadyRolledBack, JournalSetAside, Left
from srfix.recovery.plans.sign_off import require_digest
from srfix.recovery.topic_plan import plan_file
from srfix.recovery.topic_plan.apply import TopicStepDone, TopicStepUndone, apply_topic_plan, roll_back_topic_plan
from srfix.recovery.topic_plan.expiring import kept_records_path
from srfix.recovery.topic_plan.hand import KafkaHand
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
from srfix.recovery.topic_plan.logs import StepReport
from srfix.serde.printable import counted

_WRITE_S = 60.0


class TopicAppliedStep(Part):
    """What a run did for a step."""

    step: int
    kind: str
    partition: int | None
    written: int
    """Records written now."""
    stood: int
    """Records that an earlier run wrote."""
    left: int
    """Keys that srfix did not change, because somebody else has written them since."""
    put_back: int
    """Records that somebody else wrote just before srfix's own writes. srfix wrote these records again."""


class TopicUndoneStep(TopicAppliedStep):
    """What a rollback did for a step."""

    left_because: str | None
    """Why the step was not undone."""


class TopicAppliedDocument(PlanOutcome, tag="srfix.topic-applied/1"):
    """What `srfix apply` did with a plan that writes to a topic."""

    topic: str
    journal: str
    steps: list[TopicAppliedStep]
    is_finished: bool
    """False if the run stopped before its end."""


class TopicRollbackDocument(PlanOutcome, tag="srfix.topic-rollback/1"):
    """What `srfix rollback` undid of a plan that writes to a topic."""

    topic: str
    journal: str
    steps: list[TopicUndoneStep]
    is_finished: bool
    """False if the run stopped before its end."""


def apply_to_topic(
    plan: plan_file.TopicPlan,
    path: Path,
    journal_path: Path,
    *,
    expect_digest: str | None,
    yes: bool,
    connection: Connection,
    output: blocks.OutputFormat,
) -> ExitCode:
    require_digest(plan.digest, expect_digest, where=path)
    question = f"Carry out {counted(len(plan.actions), 'step')} on {plan.bootstrap_servers}?"
    if not (yes or _is_wanted(plan, question, "srfix apply")):
        return ExitCode.INTERRUPTED
    done: list[tuple[plan_file.TopicStep, StepReport]] = []
    is_news = True
    with running(journal_path, says="which steps have begun") as run, _clients(connection, plan) as (cluster, hand):
        records_path = kept_records_path(path)
        for event in apply_topic_plan(plan, cluster, hand, journal_path, kept_path=records_path):
            match event:
                case TopicStepDone(step=step, report=report):
                    done.append((step, report))
                    say_on_the_way(
                        f"Step {step.step} of {len(plan.actions)}: {plan_file.describe(plan, step)}{_remarks(report)}."
                    )
                case AlreadyApplied():
                    is_news = False
                case JournalSetAside(path=aside):
                    say_on_the_way(f"The journal of an earlier run is kept as {aside}.")
    document = TopicAppliedDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        topic=plan.work.topic,
        journal=str(journal_path),
        steps=[TopicAppliedStep.of(step, report) for step, report in done],
        is_finished=run.code is ExitCode.OK,
    )
    heading = blocks.Heading("Applied in part", tone=blocks.Tone.BAD)
    if not is_news:
        heading = blocks.Heading("This plan was already applied; this run wrote nothing")
    elif run.code is ExitCode.OK:
        heading = blocks.Heading(f"Applied: {counted(len(plan.actions), 'step')} carried out", tone=blocks.Tone.GOOD)
    shown: list[blocks.Block] = [heading]
    if left := sum(report.left for _step, report in done):
        what = "it was written again, or it" if left == 1 else "they were written again, or they"
        text = f"srfix did not change {counted(left, 'key')}: since the plan was made, {what} disappeared."
        shown.append(blocks.Paragraph(text))
    if run.code is ExitCode.OK:
        shown.append(blocks.Paragraph("All that is to do, in order. “Carry out the plan” is done:"))
        shown.append(blocks.ItemList(plan.playbook, is_numbered=True))
    shown += way_on(path, journal_path, run.code)
    write_report(blocks.Report(document=document.to_json(), blocks=tuple(shown)), output)
    return run.code


def roll_back_topic(
    path: Path,
    journal_path: Path,
    *,
    expect_digest: str | None,
    yes: bool,
    connection: Connection,
    output: blocks.OutputFormat,
) -> ExitCode:
    """Undoes a topic plan, and reports it. `path` is what the user named: the journal, or the plan beside it."""
    state = TOPIC_JOURNALS.read(journal_path)
    plan = state.plan
    require_digest(plan.digest, expect_digest, where=journal_path)
    question = f"Undo the plan on {plan.bootstrap_servers}?"
    if not (yes or state.rolled_back or _is_wanted(plan, question, "srfix rollback")):
        return ExitCode.INTERRUPTED
    lines: list[str] = []
    left: list[str] = []
    steps: list[TopicUndoneStep] = []
    heading = "Rolled back"
    beside = kept_records_path(path if path != journal_path else Path(str(path).removesuffix(".journal.jsonl")))
    with running(journal_path) as run, _clients(connection, plan) as (cluster, hand):
        records_path = beside if beside.is_file() else None
        for event in roll_back_topic_plan(journal_path, cluster, hand, kept_path=records_path):
            match event:
                case TopicStepUndone(step=step, report=report):
                    lines.append(f"step {step.step} ({plan_file.describe(plan, step)}) undone{_remarks(report)}")
                    steps.append(TopicUndoneStep.of(step, report, left_because=None))
                    say_on_the_way(f"Step {step.step} undone: {plan_file.describe(plan, step)}.")
                case Left(action=step, why=why):
                    left.append(f"step {step.step} ({plan_file.describe(plan, step)}): {why}")
                    steps.append(TopicUndoneStep.of(step, StepReport(), left_because=why))
                case AlreadyRolledBack():
                    heading = "This plan was already rolled back; this run wrote nothing"
    if run.code is not ExitCode.OK:
        heading = "Rolled back in part"
    shown: list[blocks.Block] = [blocks.Heading(heading, tone=blocks.TONES[run.code])]
    if lines:
        shown.append(blocks.ItemList(tuple(lines)))
    if left:
        shown += [blocks.Paragraph("Left as it is:"), blocks.ItemList(tuple(left))]
    document = TopicRollbackDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        topic=plan.work.topic,
        journal=str(journal_path),
        steps=steps,
        is_finished=run.code is ExitCode.OK,
    )
    write_report(blocks.Report(document=document.to_json(), blocks=tuple(shown)), output)
    return run.code


@contextmanager
def _clients(connection: Connection, plan: plan_file.TopicPlan) -> Iterator[tuple[Cluster, KafkaHand]]:
    """The clients for the plan's cluster, unless the user named a cluster."""
    connection = cluster_of_plan(connection, plan.bootstrap_servers)
    kafka = connection.kafka_config()
    with (
        open_cluster(connection) as (cluster, _engine),
        KafkaHand(kafka, timeout_s=min(_WRITE_S, 4 * patience_s(kafka))) as hand,
    ):
        yield cluster, hand


def _is_wanted(plan: plan_file.TopicPlan, question: str, command: str) -> bool:
    lines = (*(plan_file.describe(plan, step) for step in plan.actions), *plan.price, f"undo: {plan.undo}")
    return confirm(command, (blocks.ItemList(lines),), question)


def _remarks(report: StepReport) -> str:
    parts = [
        f"{counted(report.stood, 'record')} already there" if report.stood else "",
        f"{counted(report.left, 'key')} not changed, because somebody else has written there" if report.left else "",
        f"somebody else wrote {counted(report.put_back, 'record')} just before srfix did, so srfix wrote "
        f"{'it' if report.put_back == 1 else 'them'} again afterwards"
        if report.put_back
        else "",
    ]
    text = "; ".join(part for part in parts if part)
    return f" ({text})" if text else ""


def topic_plan_report(plan: plan_file.TopicPlan, path: Path, command_line: CommandLine) -> blocks.Report:
    return blocks.Report(document=plan_file.topic_plan_document(plan), blocks=tuple(_blocks(plan, path, command_line)))


def _blocks(plan: plan_file.TopicPlan, path: Path, command_line: CommandLine) -> Iterator[blocks.Block]:
    work = plan.work
    if not plan.actions:
        yield blocks.Heading("Nothing to write")
        yield blocks.ItemList(plan.price)
        return
    match work:
        case plan_file.SeedChangelog():
            yield blocks.Heading(f"Plan: fill {work.changelog} from {work.source}")
        case plan_file.ExpireKeys():
            yield blocks.Heading(f"Plan: delete {counted(plan.rows, 'key')} of {work.topic}")
            yield blocks.FieldList(
                tuple((f"sample {number}", text) for number, text in enumerate(work.samples, start=1))
            )
    yield blocks.table_of(
        work.partitions,
        {
            "partition": lambda partition_rows: partition_rows.partition,
            "records": lambda partition_rows: f"{partition_rows.rows:,}",
            "bytes": lambda partition_rows: f"{partition_rows.bytes_:,}",
            "oldest": lambda partition_rows: _time(partition_rows.oldest_ms),
            "newest": lambda partition_rows: _time(partition_rows.newest_ms),
            "read from": lambda partition_rows: partition_rows.start_offset,
            "up to": lambda partition_rows: partition_rows.end_offset,
        },
        title="What is written, by partition",
    )
    yield from blocks.titled_list("Steps", (plan_file.describe(plan, step) for step in plan.actions), is_numbered=True)
    yield from blocks.titled_list("Before you apply the plan", plan.price)
    yield from blocks.titled_list("In order", plan.playbook, is_numbered=True)
    yield blocks.Paragraph("Nothing is written yet. To apply the plan:")
    yield blocks.Commands((command_line.command("apply", *positional(str(path))),))
    yield blocks.Paragraph(plan.undo)


def _time(timestamp_ms: int | None) -> str:
    if timestamp_ms is None:
        return ""
    moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    return moment.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
