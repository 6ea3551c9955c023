"""What a look at a topic found, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.cli.output.interface import Block, FieldList, Heading, Paragraph, Table, Tone, titled_list
from srfix.cli.reports.diagnosis_words import skipped_lines, tone_of
from srfix.recovery.facts.lives import Standing
from srfix.recovery.facts.topics import AskedId, RoleAnswer, Strategy, TopicAnswers, TopicReader, Trouble
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.topic_check.examine import TopicCheck
from srfix.serde.subjects.names import Role

_STANDING: Final = {
    Standing.LIVE: "live",
    Standing.PENDING: "not read yet",
    Standing.READ: "already read",
    Standing.SUPERSEDED: "replaced by newer records",
}
_MOST_IDS: Final = 20
"""Ids of a table without --details."""


def check_blocks(found: TopicCheck, *, details: bool) -> Iterator[Block]:
    """The report.

    :param details: True for every id, and the log partition by partition.
    """
    worst = min((finding.severity for finding in found.findings), key=lambda each: each.rank, default=None)
    is_fine = not found.has_findings
    held = Tone.UNSURE if found.is_inconclusive else Tone.GOOD
    yield Heading(_verdict(found), tone=held if is_fine or worst is None else tone_of(worst))
    yield FieldList(tuple(_fields(found.answers)))
    for finding in found.findings:
        role = " (keys)" if finding.role is Role.KEY else ""
        yield Heading(
            f"{finding.code}, {finding.severity.value}: {finding.subject}{role}", tone=tone_of(finding.severity)
        )
        yield Paragraph(finding.explanation)
        yield Paragraph(f"Next: {finding.next}")
    for answer in found.answers.roles:
        yield from _ids(found.answers, answer, details=details)
    if details:
        yield Table(
            (
                "partition",
                "start",
                "end",
                "records",
                *(("committed", "not read yet") if found.answers.positions else ()),
            ),
            tuple(_log(found.answers)),
            title="The log",
        )
    yield from titled_list("Not looked at", skipped_lines(found.skipped))


def _verdict(found: TopicCheck) -> str:
    topic = found.answers.question.topic
    if found.has_findings:
        is_known = found.answers.question.read.reader is not TopicReader.UNKNOWN
        return f"{topic}: the topic's reader {'cannot' if is_known else 'may not be able to'} read all records"
    if found.is_inconclusive:
        return f"{topic}: no problem found, but some checks could not run"
    group = found.answers.question.read.group
    return (
        f"{topic}: {'all records that the group has not read yet' if group is not None else 'all records'} can be read"
    )


def _fields(answers: TopicAnswers) -> Iterator[tuple[str, str]]:
    question, read = answers.question, answers.question.read
    metadata = ", ".join(f"{name}={value}" for name, value in sorted(read.with_metadata.items()))
    yield "reader", f"{read.reader.value}{f' (use.latest.with.metadata: {metadata})' if metadata else ''}"
    if read.strategy is Strategy.TOPIC:
        looked = [answer.role for answer in answers.roles if answer.is_looked_at]
        yield "asks", ", ".join(question.subject_of(role) for role in reversed(looked)) or "no subject"
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
    # What fails stands first.
    ranked = sorted(
        answer.ids, key=lambda asked: (asked.reads is not False, not asked.standing.is_met, asked.schema_id)
    )
    shown = ranked if details or len(ranked) <= _MOST_IDS else ranked[:_MOST_IDS]
    yield Table(
        ("schema id", "records", "which", "subject", "the reader"),
        tuple(
            (
                f"{asked.schema_id}{' (by GUID)' if asked.guids else ''}",
                f"{asked.fault.records:,}",
                _STANDING[asked.standing],
                asked.subject or "-",
                _outcome(asked, answers.question.read.reader),
            )
            for asked in shown
        ),
        title=title,
    )
    if len(shown) < len(ranked):
        yield Paragraph(f"{len(ranked) - len(shown):,} more schema ids; --details shows all")


def _outcome(asked: AskedId, reader: TopicReader) -> str:
    if asked.trouble is Trouble.MISSING and reader is TopicReader.UNKNOWN:
        return f"fails if it asks under the subject: {asked.trouble.value}"
    if asked.trouble is not None:
        return f"fails: {asked.trouble.value}"
    if asked.untold is not None:
        return "not told"
    return "reads it" if asked.membership.error_code is None else "reads it; does not need the subject"


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


def _log(answers: TopicAnswers) -> Iterator[tuple[str, ...]]:
    for partition in answers.census.partitions:
        row = (
            str(partition.partition),
            str(partition.start_offset),
            str(partition.end_offset),
            f"{partition.records:,}",
        )
        if answers.positions is None:
            yield row
        else:
            committed = answers.positions.committed.get(partition.partition)
            yield (*row, "-" if committed is None else str(committed), f"{answers.positions.left(partition):,}")
