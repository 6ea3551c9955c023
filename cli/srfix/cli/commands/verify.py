"""`srfix verify`: asks the registry again, as the failing reader would."""

from __future__ import annotations

from pathlib import Path

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import options
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.given import given_options
from srfix.cli.output.interface import TONES, ItemList, OutputFormat, Report, Verdict
from srfix.cli.output.speaking import say_aside, write_report


@command()
@click.argument("path", metavar="PLAN|JOURNAL", type=click.Path(path_type=Path))
@options.only_option
@options.isolation_option
@options.expect_digest_option
@connection_options
@evidence_options
@options.hurry_options
@engine_options
@options.details_option
@options.quiet_option
@options.output_option
def verify(
    path: Path,
    only: tuple[str, ...],
    isolation: str,
    expect_digest: str | None,
    connection: Connection,
    evidence: EvidenceOptions,
    hurry: options.Hurry,
    engine: CensusEngineChoice,
    details: bool,
    quiet: bool,
    output: OutputFormat,
) -> ExitCode:
    """Verify a repair: look up the ids again by content, and read rows as the failing reader reads them.

    Reads only. Exit code 0 means that every id of the plan is registered, that srfix read rows with these ids, and that the
    plan left nothing out. Exit code 1: something is not repaired. Exit code 2: srfix could not look at something.

    By default srfix uses the cluster and the registry of the plan. A state directory, a topology or ksqlDB shows which tables
    are global (a restore loads all their records). With --ksqldb, the report also has the present state of the query. With
    --engine spark, srfix reads every live row, not only one for each schema id and partition. Spark's workers need srfix,
    too.

    If the plan writes to a topic (srfix state seed-changelog, plan-expiry), srfix reads that topic again. It checks whether
    each planned row or deletion is there, or was overwritten since.
    """
    from srfix.cli.reports import verification
    from srfix.cli.reports.diagnosis_words import advice_blocks
    from srfix.cli.reports.plan_running import connection_of_plan
    from srfix.cli.reports.verification import verify_topic
    from srfix.cli.session import open_cluster, show_progress
    from srfix.recovery.advice.playbook import upon_verification, upon_verification_in_short
    from srfix.recovery.census.local import LocalCensus
    from srfix.recovery.census.processes import ProcessCensus
    from srfix.recovery.findings import ApplicationAdvice
    from srfix.recovery.plans.sign_off import require_digest
    from srfix.recovery.repair.apply import part_of
    from srfix.recovery.repair.journal import read_plan_or_journal
    from srfix.recovery.repair.verify.events import NotLookedAt, tally
    from srfix.recovery.repair.verify.verify import circumstances_now, outcome_of
    from srfix.recovery.repair.verify.verify import verify as verify_plan
    from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
    from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS

    command_line = given_options()
    if TOPIC_PLANS.is_at(path) or TOPIC_JOURNALS.is_at(path):
        return verify_topic(path, expect_digest=expect_digest, connection=connection, quiet=quiet, output=output)
    plan = read_plan_or_journal(path)
    require_digest(plan.digest, expect_digest, where=path)
    plan = part_of(plan, only)
    connection = connection_of_plan(connection, plan)
    applications = sorted({f.application for f in plan.findings if f.application is not None})
    supplied = evidence.read(application=applications[0] if len(applications) == 1 else None)
    problems = [f"ksqlDB ({answers.origin}): {problem}" for answers in supplied.ksqldb for problem in answers.problems]
    if not quiet:
        say_aside(*problems)
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
                isolation=options.isolation_of(isolation),
                on_progress=None if quiet else show_progress(),
                every_row=None if isinstance(counting, LocalCensus | ProcessCensus) else counting,
            )
        )
        outcomes = [
            (circumstances, outcome_of(circumstances.application, plan, events))
            for circumstances in circumstances_now(plan, cluster, supplied)
        ]
    advice = [
        ApplicationAdvice(
            application=circumstances.application,
            advice=tuple(upon_verification(circumstances, outcome, command_line)),
        )
        for circumstances, outcome in outcomes
    ]
    code = verification.verification_code(events)
    blocks = [*verification.verification_blocks(events, details=details, folds=output.folds)]
    in_short = tuple(upon_verification_in_short(outcomes, command_line))
    blocks += advice_blocks(advice) if details else [ItemList(in_short)] if in_short else []
    document = verification.verification_document(plan, events, advice, verified=code is ExitCode.OK)
    is_quiet = quiet and code is ExitCode.OK
    if not is_quiet or output is OutputFormat.JSON:
        verdict = Verdict(text=verification.verification_verdict(events), tone=TONES[code]) if events else None
        where = (("cluster", connection.cluster_shown), ("registry", plan.registry))
        write_report(Report(document=document, blocks=tuple(blocks), verdict=verdict, where=where), output)
    if is_quiet:
        return code
    if quiet:
        say_aside(*problems)
    counts = tally(events)
    if output is OutputFormat.JSON:
        for count in counts:
            whose = f"{count.subject}: " if len(counts) > 1 else ""
            say_aside(f"{whose}{verification.looked_at(count.ids, count.rows)}.")
        for event in events:
            if isinstance(event, NotLookedAt):
                say_aside(f"Not looked at: {event.what} (subject {event.subject}).")
    say_aside(f"{verification.verification_totals(events)}.")
    return code
