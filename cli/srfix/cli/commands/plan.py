"""`srfix plan`: plans what a repair would write, in which order, and what that costs. Writes only the plan file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import options
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.given import given_options
from srfix.cli.options.topic import TopicChoice, topic_options
from srfix.cli.options.values import Choice, choice_of, flag, typed_options
from srfix.cli.output.interface import OutputFormat
from srfix.cli.output.speaking import say_aside, show, write_report
from srfix.recovery.checks.interface import Width
from srfix.recovery.commands import positional
from srfix.recovery.findings import Finding
from srfix.recovery.repair.planning.wanted import ON_REQUEST, ONLY_ON_REQUEST, Keep
from srfix.recovery.severity import Severity
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation

if TYPE_CHECKING:
    from srfix.recovery.diagnosis.examination import Examination
    from srfix.recovery.repair.plan_file import Plan
    from srfix.recovery.topic_check.examine import TopicCheck


@command()
@connection_options
@options.plan_selection_options
@click.option(
    "--topic",
    metavar="TOPIC",
    help=(
        "Plan the repair of the findings of `srfix check TOPIC`, for the topic's reader, instead of a repair of stores."
    ),
)
@topic_options
@evidence_options
@options.hurry_options
@engine_options
@options.details_option
@options.output_option
@options.plan_file_option(
    help="Write the plan to this file. With -, write the plan to standard output, instead of the report."
)
@click.option(
    "--keep",
    **choice_of(Keep, Keep.AUTO),
    help=(
        "Whether a registered version stays live or is soft-deleted at once. The failing reader finds it in both cases."
    ),
)
@flag("--only-live", help="Register only the ids that cause a failure now.")
@flag(
    "--all-versions",
    help=(
        "Do not count the ids in the topic. Register every version of the source's subject, also soft-deleted ones. For an "
        "emergency."
    ),
)
@click.option(
    "--also",
    type=Choice(tuple(ON_REQUEST)),
    multiple=True,
    metavar="CODE",
    help="Also repair this finding, though that is not necessary; repeatable. "
    + " ".join(f"{code}: {what}." for code, what in reversed(ON_REQUEST.items())),
)
@flag(
    "--exact-ids",
    help=(
        "If the registry would give a schema another id (because of inherited metadata), send the id with the "
        "schema, in mode IMPORT. srfix does this only if nothing is lost by it."
    ),
)
@flag(
    "--as-shell",
    help="Print the plan as sh and curl commands, which somebody who has the right to write can run.",
)
@click.option(
    "--version-limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=(
        "The registry's limit of versions, which includes soft-deleted versions. srfix counts the versions in the "
        "registry, and refuses a plan that would exceed the limit."
    ),
)
@flag("--detailed-exitcode", help="Exit with 1 if there is something to do.")
def plan(
    connection: Connection,
    selection: options.Selection,
    topic: str | None,
    asked: TopicChoice,
    evidence: EvidenceOptions,
    hurry: options.Hurry,
    engine: CensusEngineChoice,
    details: bool,
    output: OutputFormat,
    path: Path | None,
    keep: Keep,
    only_live: bool,
    all_versions: bool,
    also: tuple[str, ...],
    exact_ids: bool,
    as_shell: bool,
    version_limit: int | None,
    detailed_exitcode: bool,
) -> ExitCode:
    """Plan the repair of the findings of `srfix diagnose`, or with --topic of `srfix check`. Reads only.

    `srfix apply FILE` carries out the plan.
    """
    if path == Path("-"):  # with JSON, standard output is exactly the plan
        path, output = None, OutputFormat.JSON
    from srfix.cli.reports.diagnosis_words import ignored_line
    from srfix.cli.reports.plan import plan_report
    from srfix.cli.session import open_session, show_progress
    from srfix.recovery.census.interface import NoCensus
    from srfix.recovery.repair.plan_file import save_plan
    from srfix.recovery.repair.planning.plan import make_plan
    from srfix.recovery.repair.planning.topics import make_topic_plan
    from srfix.recovery.repair.shell_script import shell_script
    from srfix.recovery.topic_check.examine import check_topic

    if only_live and all_versions:
        raise UsageError(
            "--only-live needs a count of the ids, but --all-versions counts no ids. Give only one of the two options."
        )
    width = Width.ALL_VERSIONS if all_versions else Width.ONLY_LIVE if only_live else Width.WIDE
    _refuse_mixture(topic, selection, asked)
    if path is not None:
        _refuse_to_replace(path)
    with open_session(connection, selection, evidence, hurry, choice=engine) as session:
        bootstrap_servers = connection.kafka.get("bootstrap.servers")
        if topic is not None:
            topic_check = check_topic(
                asked.question(topic, selection.reader, selection.isolation or Isolation.READ_UNCOMMITTED),
                session.survey,
                session.engine,
                command_line=given_options(),
                deadline_s=hurry.deadline_s,
                max_records=hurry.max_records,
                on_progress=show_progress(),
            )
            made = make_topic_plan(
                topic_check,
                session.survey,
                keep=keep,
                width=width,
                exact_ids=exact_ids,
                also=also,
                command_line=given_options(),
                bootstrap_servers=bootstrap_servers,
                version_limit=version_limit,
            )
            beyond, ignored = _beyond_topic(topic_check, made), None
        else:
            examination = session.examine(engine=NoCensus() if all_versions else None)
            made = make_plan(
                examination,
                session.survey,
                keep=keep,
                width=width,
                exact_ids=exact_ids,
                also=also,
                context=session.check_context,
                bootstrap_servers=bootstrap_servers,
                version_limit=version_limit,
                engine=None if all_versions else session.engine,
            )
            beyond = _beyond(examination, made, also)
            ignored = ignored_line(examination.diagnosis) if examination.diagnosis.ignored else None
    if path is not None and made.actions:
        _refuse_to_replace(path)
        save_plan(made, path)
    if as_shell:
        show(shell_script(made), end="")
    else:
        report = plan_report(made, path=path, command_line=given_options(), details=details, folds=output.folds)
        write_report(report, output)
    if ignored is not None:
        say_aside(ignored)
    left_out = [f"Not in the plan: {reason}" for reason in made.left_out]
    is_shown = not as_shell and output is not OutputFormat.JSON
    say_aside(*(beyond if is_shown else left_out + beyond))
    if made.actions:
        if path is not None:
            rest = "" if details or as_shell else " --details shows every step, and what to do before and after"
            say_aside(f"Plan written to {path}.{rest}")
        return ExitCode.FINDINGS if detailed_exitcode else ExitCode.OK
    if path is not None:
        say_aside(f"{path} was not written: there is nothing to carry out.")
    return ExitCode.REFUSED if left_out or beyond else ExitCode.OK


def _refuse_to_replace(path: Path) -> None:
    """:raises UsageError: if it is a journal, or the plan there was carried out only in part: only that plan can be finished.
    :raises PlanError: if no plan can be written there.
    """
    from srfix.recovery.plans.documents import refuse_unfit
    from srfix.recovery.plans.journal_file import default_journal_path, is_journal
    from srfix.recovery.repair.journal import REPAIR_JOURNALS

    refuse_unfit(path)
    if is_journal(path):
        raise UsageError(
            f"{path} is the journal of a repair. Without the journal, that repair cannot be undone. Write "
            "the plan to another file."
        )
    journal_path = default_journal_path(path)
    if not REPAIR_JOURNALS.is_at(journal_path):
        return
    state = REPAIR_JOURNALS.read(journal_path)
    if not (state.rolled_back or (state.finished and not state.rolling_back)):
        commands = (given_options().quoted(name, *positional(str(path))) for name in ("apply", "rollback"))
        raise UsageError(
            f"{path} was not replaced: the journal {journal_path} says that its repair is not complete. Finish or undo "
            f"that repair first: {' or '.join(commands)}. Or write the plan to another file."
        )


def _beyond(examination: Examination, plan: Plan, also: Collection[str]) -> list[str]:
    """Lines about findings that this plan does not repair, and about things that were not looked at."""
    from srfix.recovery.census.interface import NOT_READ

    diagnosis = examination.diagnosis
    lines = [
        f"Not in the plan: {finding.code} {finding.application}/{finding.store}. {_next(finding)}"
        for finding in diagnosis.findings
        if finding.severity is not Severity.NOTE
        and (not finding.repairable or finding.code in ONLY_ON_REQUEST - set(also))
    ]
    if diagnosis.is_inconclusive or plan.actions:
        wished = NOT_READ if plan.actions else None  # the plan's costs already say so
        lines += [
            f"Not looked at: {s.what}: {s.reason}" for s in diagnosis.skipped if s.could_hide and s.reason != wished
        ]
    return lines


def _next(finding: Finding) -> str:
    """What to do about a finding that is not in the plan: the commands that decide its source, if srfix could not."""
    from srfix.cli.reports.diagnosis import MOST_SOURCES

    if finding.source is not None:
        return finding.next
    named = [f"{each.application}/{each.store}={each.topic}" for each in finding.considered if each.topic is not None]
    plans = [given_options().quoted("plan", "--source", source) for source in named[:MOST_SOURCES]]
    return f"Choose the source: {' or '.join(plans)}." if plans else finding.next


def _refuse_mixture(topic: str | None, selection: options.Selection, choice: TopicChoice) -> None:
    if topic is None:
        if choice.typed:
            raise UsageError(
                f"These options are only for the repair of a topic: {', '.join(choice.typed)}. Name the topic with "
                "--topic."
            )
        if selection.reader not in options.READERS:
            raise UsageError(
                f"--reader {selection.reader} is only for the repair of a topic: name the topic with --topic."
            )
        return
    of_stores = typed_options(
        *("--application", "--store", "--source", "--streams-version", "--no-auto-register", "--gone", "--ignore")
    )
    if of_stores:
        raise UsageError(
            f"These options choose stores: {', '.join(of_stores)}. --topic chooses a topic. Give only one of the two."
        )


def _beyond_topic(topic_check: TopicCheck, plan: Plan) -> list[str]:
    lines = [
        f"Not in the plan: {finding.code} {finding.topic}. {finding.explanation} {finding.next}"
        for finding in topic_check.findings
        if finding.severity is not Severity.NOTE and not finding.repairable
    ]
    if not topic_check.has_findings or not plan.actions:
        lines += [f"Not looked at: {s.what}: {s.reason}" for s in topic_check.skipped if s.could_hide]
    return lines
