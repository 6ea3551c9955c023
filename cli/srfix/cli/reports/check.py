"""The report of `srfix check` for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from srfix.cli.output.interface import Block, FieldList, Heading, Paragraph, Table, Tone, table_of, titled_list
from srfix.cli.reports.diagnosis_words import skipped_lines, tone_of
from srfix.recovery.census.interface import PartitionCensus
from srfix.recovery.facts.topics import AskedId, RoleAnswer, Standing, Strategy, TopicAnswers, TopicReader, Trouble
from srfix.recovery.ids_in_words import listed
from srfix.recovery.topic_check.examine import TopicCheck
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role

_STANDING: Final = {
    Standing.LIVE: "live",
    Standing.PENDING: "not read yet",
    Standing.READ: "already read",
    Standing.SUPERSEDED: "replaced by newer records",
}
_MOST_IDS: Final = 20
"""Without --details, a table shows this number of ids."""


def check_blocks(topic_check: TopicCheck, *, details: bool) -> Iterator[Block]:
    worst = min(
        (finding.severity for finding in topic_check.findings), key=lambda severity: severity.rank, default=None
    )
    is_fine = not topic_check.has_findings
    calm_tone = Tone.UNSURE if topic_check.is_inconclusive else Tone.GOOD
    yield Heading(_verdict(topic_check), tone=calm_tone if is_fine or worst is None else tone_of(worst))
    yield FieldList(tuple(_fields(topic_check.answers)))
    for finding in topic_check.findings:
        role = " (keys)" if finding.role is Role.KEY else ""
        yield Heading(
            f"{finding.code}, {finding.severity.value}: {finding.subject}{role}", tone=tone_of(finding.severity)
        )
        yield Paragraph(finding.explanation)
        yield Paragraph(f"Next: {finding.next}")
    for answer in topic_check.answers.roles:
        yield from _ids(topic_check.answers, answer, details=details)
    if details:
        yield _log(topic_check.answers)
    yield from titled_list("Not looked at", skipped_lines(topic_check.skipped))


def _verdict(topic_check: TopicCheck) -> str:
    topic = topic_check.answers.question.topic
    if topic_check.has_findings:
        is_known = topic_check.answers.question.read.reader is not TopicReader.UNKNOWN
        return f"{topic}: the topic's reader {'cannot' if is_known else 'may not be able to'} read all records"
    if topic_check.is_inconclusive:
        return f"{topic}: no problem found, but some checks could not run"
    group = topic_check.answers.question.read.group
    return (
        f"{topic}: {'all records that the group has not read yet' if group is not None else 'all records'} can be read"
    )


def _fields(answers: TopicAnswers) -> Iterator[tuple[str, str]]:
    question, read = answers.question, answers.question.read
    metadata = ", ".join(f"{name}={value}" for name, value in sorted(read.with_metadata.items()))
    yield "reader", f"{read.reader.value}{f' (use.latest.with.metadata: {metadata})' if metadata else ''}"
    if read.strategy is Strategy.TOPIC:
        roles = [answer.role for answer in answers.roles if answer.is_looked_at]
        yield "asks", ", ".join(question.subject_of(role) for role in reversed(roles)) or "no subject"
    else:
        yield "asks", f"a subject for each record's name (--strategy {read.strategy.value})"
    records = sum(partition.records for partition in answers.census.partitions)
    policy = "cleanup.policy unknown" if answers.cleanup_policy is None else f"cleanup.policy={answers.cleanup_policy}"
    yield (
        "counted",
        f"{answers.lives.value} ({policy}); {counted(records, 'record')} read with {read.isolation.value}",
    )
    if answers.positions is not None:
        left = sum(answers.positions.left(partition) for partition in answers.census.partitions)
        yield "group", f"{answers.positions.group}: {counted(left, 'offset')} not read yet"


def _ids(answers: TopicAnswers, answer: RoleAnswer, *, details: bool) -> Iterator[Block]:
    title = f"{answer.role.value.capitalize()}s: {', '.join(_counts(answer))}"
    if not answer.ids:
        yield Paragraph(f"{title}.")
        return
    # Ids that fail stand first.
    ranked = sorted(
        answer.ids, key=lambda asked_id: (asked_id.reads is not False, not asked_id.standing.is_met, asked_id.schema_id)
    )
    shown = ranked if details or len(ranked) <= _MOST_IDS else ranked[:_MOST_IDS]
    yield table_of(
        shown,
        {
            "schema id": lambda asked_id: f"{asked_id.schema_id}{' (by GUID)' if asked_id.guids else ''}",
            "records": lambda asked_id: f"{asked_id.fault.records:,}",
            "which": lambda asked_id: _STANDING[asked_id.standing],
            "subject": lambda asked_id: asked_id.subject or "-",
            "the reader": lambda asked_id: _outcome(asked_id, answers.question.read.reader),
        },
        title=title,
    )
    if len(shown) < len(ranked):
        yield Paragraph(f"{counted(len(ranked) - len(shown), 'more schema id')}; --details shows all")


def _outcome(asked_id: AskedId, reader: TopicReader) -> str:
    if asked_id.trouble is Trouble.MISSING and reader is TopicReader.UNKNOWN:
        return f"fails if it asks under the subject: {asked_id.trouble.value}"
    if asked_id.trouble is not None:
        return f"fails: {asked_id.trouble.value}"
    if asked_id.untold is not None:
        return "not known"
    return "reads it" if asked_id.membership.error_code is None else "reads it; does not need the subject"


def _counts(answer: RoleAnswer) -> Iterator[str]:
    yield counted(len(answer.ids), "schema id")
    if not answer.is_looked_at and answer.records:
        yield "not written by a schema registry serializer"
    elif answer.records > answer.framed:
        yield f"{answer.records - answer.framed:,} unframed"
    if answer.nulls:
        yield counted(answer.nulls, "null" if answer.role is Role.KEY else "tombstone")
    if answer.unknown_guids:
        yield f"unknown GUID {listed(answer.unknown_guids)}"


def _log(answers: TopicAnswers) -> Table:
    positions = answers.positions
    columns: dict[str, Callable[[PartitionCensus], object]] = {
        "partition": lambda partition: partition.partition,
        "start": lambda partition: partition.start_offset,
        "end": lambda partition: partition.end_offset,
        "records": lambda partition: f"{partition.records:,}",
    }
    if positions is not None:
        columns["committed"] = lambda partition: positions.committed.get(partition.partition)
        columns["not read yet"] = lambda partition: f"{positions.left(partition):,}"
    return table_of(answers.census.partitions, columns, title="The log")
