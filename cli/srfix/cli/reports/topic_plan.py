"""A plan that writes to a topic, as a report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from srfix.cli.output.interface import Block, Commands, FieldList, Heading, ItemList, Paragraph, Report, Table
from srfix.recovery.commands import CommandLine, positional

if TYPE_CHECKING:
    from srfix.recovery.topic_plan.plan_file import TopicPlan


def topic_plan_report(plan: TopicPlan, path: Path, command_line: CommandLine) -> Report:
    """What the plan writes, what to know before, and what to do before and after.

    :param path: the plan's file.
    """
    from srfix.recovery.topic_plan.plan_file import topic_plan_document

    return Report(document=topic_plan_document(plan), blocks=tuple(_blocks(plan, path, command_line)))


def _blocks(plan: TopicPlan, path: Path, command_line: CommandLine) -> Iterator[Block]:
    from srfix.recovery.topic_plan.plan_file import ExpireKeys, SeedChangelog, describe

    work = plan.work
    if not plan.actions:
        yield Heading("Nothing to write")
        yield ItemList(plan.price)
        return
    match work:
        case SeedChangelog():
            yield Heading(f"Plan: fill {work.changelog} from {work.source}")
        case ExpireKeys():
            yield Heading(f"Plan: delete {plan.rows:,} keys of {work.topic}")
            yield FieldList(tuple((f"sample {number}", text) for number, text in enumerate(work.samples, start=1)))
    columns = ("partition", "records", "bytes", "oldest", "newest", "read from", "up to")
    rows = tuple(
        (
            str(partition_rows.partition),
            f"{partition_rows.rows:,}",
            f"{partition_rows.bytes_:,}",
            _time(partition_rows.oldest_ms),
            _time(partition_rows.newest_ms),
            str(partition_rows.start_offset),
            str(partition_rows.end_offset),
        )
        for partition_rows in work.partitions
    )
    yield Table(columns, rows, title="What is written, by partition")
    yield Heading("Steps", level=2)
    yield ItemList(tuple(describe(plan, step) for step in plan.actions), is_numbered=True)
    yield Heading("Before you apply the plan", level=2)
    yield ItemList(plan.price)
    yield Heading("In order", level=2)
    yield ItemList(plan.playbook, is_numbered=True)
    yield Paragraph("Nothing is written yet. To apply the plan:")
    yield Commands((command_line.command("apply", *positional(str(path))),))
    yield Paragraph(plan.undo)


def _time(timestamp_ms: int | None) -> str:
    if timestamp_ms is None:
        return ""
    return (
        datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    )
