"""`srfix apply` and `srfix rollback` of a plan that writes to a topic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.given import given_options
from srfix.cli.output.interface import Block, Commands, Heading, ItemList, OutputFormat, Paragraph, Report
from srfix.cli.output.speaking import Declined, confirm, say, say_on_the_way, write_report
from srfix.cli.reports.plan_target import complain
from srfix.cli.session import open_cluster, patience_s
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.commands import Given, positional
from srfix.recovery.errors import AppliedInPartError, RolledBackInPartError
from srfix.recovery.ids_in_words import counted
from srfix.recovery.plans.sign_off import require_digest
from srfix.recovery.topic_plan.apply import TopicAlreadyApplied, TopicJournalSetAside, TopicStepDone, apply_topic_plan
from srfix.recovery.topic_plan.hand import KafkaHand
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
from srfix.recovery.topic_plan.kept_records import kept_records_path
from srfix.recovery.topic_plan.plan_file import TopicPlan, TopicStep, describe
from srfix.recovery.topic_plan.reports import StepReport
from srfix.recovery.topic_plan.rollback import (
    TopicAlreadyRolledBack,
    TopicStepLeft,
    TopicStepUndone,
    roll_back_topic_plan,
)
from srfix.serde.errors import UsageError
from srfix.serde.schemas.models import Json

_WRITE_S = 60.0


def apply_to_topic(
    plan: TopicPlan,
    path: Path,
    journal_path: Path,
    *,
    expect_digest: str | None,
    yes: bool,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Carries a topic plan out, and reports it."""
    given = given_options()
    require_digest(plan.digest, expect_digest, where=path)
    if not yes:
        try:
            _ask(plan, f"Carry out {counted(len(plan.actions), 'step')} on {plan.bootstrap_servers}?", "srfix apply")
        except Declined:
            say("Nothing was written.", err=True)
            return ExitCode.INTERRUPTED
    done: list[tuple[TopicStep, StepReport]] = []
    is_news, code = True, ExitCode.OK
    try:
        with _clients(connection, plan) as (cluster, hand):
            kept = kept_records_path(path)
            for event in apply_topic_plan(plan, cluster, hand, journal_path, kept_path=kept):
                match event:
                    case TopicStepDone(step=step, report=report):
                        done.append((step, report))
                        say_on_the_way(
                            f"Step {step.step} of {len(plan.actions)}: {describe(plan, step)}{_told(report)}."
                        )
                    case TopicAlreadyApplied():
                        is_news = False
                    case TopicJournalSetAside(path=aside):
                        say_on_the_way(f"The journal of an earlier run that stood there is kept as {aside}.")
    except AppliedInPartError as error:
        complain(error)
        code = ExitCode.PARTIAL
    except KeyboardInterrupt:
        undo = given.quoted("rollback", *positional(str(journal_path)))
        say(
            f"Interrupted. The journal {journal_path} says what is begun: run the same srfix apply again, or undo it "
            f"with {undo}.",
            err=True,
        )
        raise
    document: dict[str, Json] = {
        "schema": "srfix.topic-applied/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "topic": plan.work.topic,
        "journal": str(journal_path),
        "steps": [_step_document(step, report) for step, report in done],
        "is_finished": code is ExitCode.OK,
    }
    blocks = tuple(_applied(plan, path, journal_path, done, given, code, is_news=is_news))
    write_report(Report(document=document, blocks=blocks), output)
    return code


def roll_back_topic(
    path: Path,
    journal_path: Path,
    *,
    expect_digest: str | None,
    yes: bool,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Undoes a topic plan, and reports it.

    :param path: what was named: the journal, or the plan beside it.
    """
    state = TOPIC_JOURNALS.read(journal_path)
    plan = state.plan
    require_digest(plan.digest, expect_digest, where=journal_path)
    if not yes and not state.rolled_back:
        try:
            _ask(plan, f"Undo it on {plan.bootstrap_servers}?", "srfix rollback")
        except Declined:
            say("Nothing was written.", err=True)
            return ExitCode.INTERRUPTED
    lines: list[str] = []
    left: list[str] = []
    steps: list[Json] = []
    heading, code = "Rolled back", ExitCode.OK
    beside = kept_records_path(path if path != journal_path else Path(str(path).removesuffix(".journal.jsonl")))
    try:
        with _clients(connection, plan) as (cluster, hand):
            kept = beside if beside.is_file() else None
            for event in roll_back_topic_plan(journal_path, cluster, hand, kept_path=kept):
                match event:
                    case TopicStepUndone(step=step, report=report):
                        lines.append(f"step {step.step} ({describe(plan, step)}) undone{_told(report)}")
                        steps.append({**_step_document(step, report), "left_because": None})
                        say_on_the_way(f"Step {step.step} undone: {describe(plan, step)}.")
                    case TopicStepLeft(step=step, why=why):
                        left.append(f"step {step.step} ({describe(plan, step)}): {why}")
                        steps.append({**_step_document(step, StepReport()), "left_because": why})
                    case TopicAlreadyRolledBack():
                        heading = "Rolled back before; nothing was written now"
    except RolledBackInPartError as error:
        complain(error)
        heading, code = "Rolled back in part", ExitCode.PARTIAL
    blocks: list[Block] = [Heading(heading)]
    if lines:
        blocks.append(ItemList(tuple(lines)))
    if left:
        blocks += [Paragraph("Left as it is:"), ItemList(tuple(left))]
    document: dict[str, Json] = {
        "schema": "srfix.topic-rollback/1",
        "srfix": version("srfix"),
        "digest": plan.digest,
        "topic": plan.work.topic,
        "journal": str(journal_path),
        "steps": steps,
        "is_finished": code is ExitCode.OK,
    }
    write_report(Report(document=document, blocks=tuple(blocks)), output)
    return code


@contextmanager
def _clients(connection: Connection, plan: TopicPlan) -> Iterator[tuple[Cluster, KafkaHand]]:
    """Those of the plan's cluster, unless the person named one."""
    if not connection.kafka.get("bootstrap.servers") and plan.bootstrap_servers:
        connection = replace(connection, kafka={**connection.kafka, "bootstrap.servers": plan.bootstrap_servers})
    kafka = connection.kafka_config()
    with (
        open_cluster(connection) as (cluster, _engine),
        KafkaHand(kafka, timeout_s=min(_WRITE_S, 4 * patience_s(kafka))) as hand,
    ):
        yield cluster, hand


def _ask(plan: TopicPlan, question: str, command: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            f"{command} asks before it writes, and nobody can answer here. Read the plan, then pass --yes."
        )
    lines = (*(describe(plan, step) for step in plan.actions), *plan.price, f"undo: {plan.undo}")
    write_report(Report(document={}, blocks=(ItemList(lines),)), OutputFormat.TABLE, sys.stderr)
    confirm(question)


def _applied(
    plan: TopicPlan,
    path: Path,
    journal_path: Path,
    done: list[tuple[TopicStep, StepReport]],
    given: Given,
    code: ExitCode,
    *,
    is_news: bool,
) -> Iterator[Block]:
    if not is_news:
        yield Heading("Applied before; nothing was written now")
    elif code is ExitCode.OK:
        yield Heading(f"Applied: {counted(len(plan.actions), 'step')} carried out")
    else:
        yield Heading("Applied in part")
    left = sum(report.left for _step, report in done)
    if left:
        yield Paragraph(f"{counted(left, 'key')} written since the plan was made, or gone, and left as they are.")
    if code is ExitCode.OK:
        yield ItemList(plan.playbook, is_numbered=True)
        yield Paragraph("To undo it:")
    else:
        yield Paragraph("Mend the cause, then go on:")
        yield Commands((given.command("apply", *positional(str(path))),))
        yield Paragraph("Or undo what was done:")
    yield Commands((given.command("rollback", *positional(str(journal_path))),))


def _told(report: StepReport) -> str:
    """What is worth telling beside what was planned."""
    parts = [
        f"{report.stood:,} stood already" if report.stood else "",
        f"{report.left:,} left, as others have written them" if report.left else "",
        f"{report.put_back:,} of others' overtaken, and written again" if report.put_back else "",
    ]
    told = "; ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def _step_document(step: TopicStep, report: StepReport) -> dict[str, Json]:
    return {
        "step": step.step,
        "kind": step.kind,
        "partition": step.partition,
        "written": report.written,
        "stood": report.stood,
        "left": report.left,
        "put_back": report.put_back,
    }
