"""`srfix verify` of a plan that writes to a topic: reads the topic again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource
from msgspec import field

from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection
from srfix.cli.output.interface import Block, Heading, ItemList, OutputFormat, Report, Tone, table_of
from srfix.cli.output.speaking import conclude
from srfix.cli.reports.plan_running import cluster_of_plan
from srfix.cli.session import open_cluster
from srfix.recovery.documents import Count, Part, Sha256, VersionedDocument
from srfix.recovery.ids_in_words import counted
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.plans.sign_off import require_digest
from srfix.recovery.topic_plan.expiring import kept_records_path
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS, TopicState
from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, TopicPlan
from srfix.recovery.topic_plan.verifying import Applied, TopicCheck, TopicOutcome, verify_topic_plan
from srfix.serde.errors import UsageError

_TAKEN: Final = frozenset(
    {
        *("path", "expect_digest", "config", "details", "quiet", "output"),
        *("bootstrap_servers", "kafka_properties", "kafka_config", "registry", "registry_properties"),
    }
)
"""The options that such a plan uses, and those of the connection."""
_WORDS: Final = {
    TopicOutcome.HOLDS: "holds",
    TopicOutcome.FAILS: "does not hold",
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
    """The number of these keys that are as the plan left them."""
    since: Count = field(name="written_since")
    """The number of these keys that somebody has written since."""


class TopicVerificationDocument(VersionedDocument, tag="srfix.topic-verification/1"):
    """The result of `srfix verify` for a plan that writes to a topic."""

    digest: Sha256
    """The plan's."""
    topic: str
    verified: bool
    """True if every check holds."""
    checks: list[CheckedPartition]


def verify_topic(
    path: Path, *, expect_digest: str | None, connection: Connection, quiet: bool, output: OutputFormat
) -> ExitCode:
    _refuse_others()
    plan, state, records_path = _load(path)
    require_digest(plan.digest, expect_digest, where=path)
    connection = cluster_of_plan(connection, plan.bootstrap_servers)
    with open_cluster(connection, quiet=quiet) as (cluster, _engine):
        checks = list(verify_topic_plan(plan, cluster, applied=_applied(plan, state), kept_path=records_path))
    code = _code(checks)
    document = TopicVerificationDocument(
        srfix=version("srfix"),
        digest=plan.digest,
        topic=plan.work.topic,
        verified=code is ExitCode.OK,
        checks=[CheckedPartition.of(check) for check in checks],
    )
    report = Report(document=document.to_json(), blocks=tuple(_blocks(plan, checks)))
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


def _applied(plan: TopicPlan, state: TopicState | None) -> Applied | None:
    if state is None:
        return None
    partitions = {step.step: step.partition for step in plan.actions}
    ends = {partition: end for step, end in state.after.items() if (partition := partitions.get(step)) is not None}
    return Applied(ends=ends, rolled_back=state.rolled_back)


def _code(checks: Sequence[TopicCheck]) -> ExitCode:
    if any(check.outcome is TopicOutcome.FAILS for check in checks):
        return ExitCode.FINDINGS
    holds = bool(checks) and all(check.outcome is TopicOutcome.HOLDS for check in checks)
    return ExitCode.OK if holds else ExitCode.REFUSED


def _blocks(plan: TopicPlan, checks: Sequence[TopicCheck]) -> Iterator[Block]:
    topic = plan.work.topic
    if any(check.outcome is TopicOutcome.FAILS for check in checks):
        yield Heading(f"{topic} does not hold the planned records", tone=Tone.BAD)
    elif not checks or any(check.outcome is TopicOutcome.NOT_KNOWN for check in checks):
        yield Heading(f"Not verified, though srfix saw nothing wrong in {topic}", tone=Tone.UNSURE)
    else:
        yield Heading(f"Verified: {topic} holds the planned records", tone=Tone.GOOD)
    whole = tuple(f"{check.what} ({_WORDS[check.outcome]})" for check in checks if check.partition is None)
    if whole:
        yield ItemList(whole)
    of_partitions = [check for check in checks if check.partition is not None]
    if of_partitions:
        yield table_of(
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
