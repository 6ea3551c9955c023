"""`srfix check`: are the live ids of a topic readable by its reader?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import options
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.gate import Gate, gate_options
from srfix.cli.options.given import given_options
from srfix.cli.options.topic import TopicChoice, topic_options, topic_reader_option
from srfix.cli.output.interface import OutputFormat, Report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.severity import Severity
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation

if TYPE_CHECKING:
    from srfix.recovery.topic_check.examine import TopicCheck


@command()
@click.argument("topic")
@topic_reader_option
@topic_options
@options.topic_isolation_option("The reader's isolation.level.")
@connection_options
@options.hurry_options
@engine_options
@options.details_option
@gate_options
@options.findings_output_option
def check(
    topic: str,
    reader: str,
    asked: TopicChoice,
    isolation: str,
    connection: Connection,
    hurry: options.Hurry,
    engine: CensusEngineChoice,
    details: bool,
    gate: Gate,
    output: OutputFormat,
) -> ExitCode:
    """Check whether TOPIC's reader can resolve the schema ids, under the subject that the reader asks. Reads only.

    For Connect sinks, ksqlDB sources, mirrored topics and readers with use.latest.version; the reader need not use Kafka
    Streams. To plan the repair, run srfix plan --topic TOPIC with the same options.
    """
    from srfix.cli.reports.check import check_blocks
    from srfix.cli.reports.judging import judge, of_topic
    from srfix.cli.session import open_cluster, show_progress
    from srfix.recovery.facts.survey import Survey
    from srfix.recovery.topic_check.document import check_document
    from srfix.recovery.topic_check.examine import check_topic

    question = asked.question(topic, reader, Isolation(isolation))
    with (
        open_cluster(connection, engine, quiet=gate.quiet) as (cluster, counting),
        connection.registry_client() as registry,
    ):
        topic_check = check_topic(
            question,
            Survey(cluster=cluster, registry=registry),
            counting,
            command_line=given_options(),
            deadline_s=hurry.deadline_s,
            max_records=hurry.max_records,
            on_progress=None if gate.quiet else show_progress(),
        )
        url = registry.url
    document = check_document(topic_check, srfix_version=version("srfix"), generated_at=now(), registry=url)
    judged = judge(
        map(of_topic, topic_check.findings),
        gate,
        is_asked=lambda finding_key: finding_key.topic == topic,
        is_partial=any(skipped.could_hide for skipped in topic_check.skipped),
    )
    report = Report(document=document, blocks=tuple(check_blocks(topic_check, details=details)))
    return judged.conclude(report, output, lines=_summary_lines(topic_check, output))


def _summary_lines(topic_check: TopicCheck, output: OutputFormat) -> Iterator[str]:
    if output.is_for_programs:
        for skipped in topic_check.skipped:
            yield f"Not looked at: {skipped.what}: {skipped.reason}"
    notes = sum(finding.severity is Severity.NOTE for finding in topic_check.findings)
    parts = [counted(len(topic_check.findings) - notes, "finding")]
    parts += [counted(notes, "note")] if notes else []
    parts.append(f"{counted(sum(len(answer.ids) for answer in topic_check.answers.roles), 'schema id')} looked up")
    parts += [f"{counted(len(topic_check.skipped), 'thing')} not looked at"] if topic_check.skipped else []
    yield f"{', '.join(parts)}."
