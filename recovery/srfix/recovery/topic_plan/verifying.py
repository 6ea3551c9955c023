"""Checks by the present topic whether the records of a topic plan were written, and are still there. Reads only.

| source of information | shows |
|---|---|
| the changelog's newest record of each planned key | whether it is the plan's record, or a later one, or there is none |
| the source, if it still gives the planned rows | which rows these are; else the plan's digest is compared with the changelog |
| the journal | the end of a partition right after it was filled; later records are others' |
| the file with the records | the keys that an expiry deletes |

If others have written a key since, it rightly no longer holds the plan's record. They may also have deleted a key, and
compaction may have removed the tombstone. So if others have written to the topic, srfix cannot distinguish such a
deletion from a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import assert_never

from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.expiring import ISOLATION, check_kept_records, kept_records
from srfix.recovery.topic_plan.journal import TopicState
from srfix.recovery.topic_plan.logs import Look, NewestRecord, digest_of, fingerprint_of, live, newest_of
from srfix.recovery.topic_plan.plan_file import ExpireKeys, PartitionRows, SeedChangelog, TopicPlan, Work
from srfix.recovery.topic_plan.steps import planned_rows
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation

_LOG = Isolation.READ_UNCOMMITTED


class TopicOutcome(Enum):
    """The result of a check."""

    HOLDS = "holds"
    FAILS = "does-not-hold"
    NOT_KNOWN = "not-known"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCheck:
    outcome: TopicOutcome
    what: str
    partition: int | None = None
    planned: int = 0
    stands: int = 0
    since: int = 0


def verify_topic_plan(
    plan: TopicPlan, look: Look, *, state: TopicState | None = None, kept_path: Path | None = None
) -> Iterator[TopicCheck]:
    """An observation of each partition to which the plan writes, by its journal and the file of records, if any."""
    work = plan.work
    why: str | None = None
    if state is not None and state.rolled_back:
        why = "the journal says that the plan was rolled back"
    elif (count := look.topics().get(work.topic)) is None:
        why = f"this user cannot see a topic {work.topic}: the plan was not applied yet, or the topic was deleted since"
    elif count != len(work.partitions):
        why = f"{work.topic} has {counted(count, 'partition')} and not {len(work.partitions)}: it was recreated"
    if why is not None:
        yield TopicCheck(outcome=TopicOutcome.FAILS, what=why)
        return
    yield from _configs(work, look)
    match work:
        case SeedChangelog():
            after = {} if state is None else state.after
            ends = {step.partition: after.get(step.step) for step in plan.actions}
            for part in work.partitions:
                if part.rows:
                    yield _filled(work, look, part, ends.get(part.partition))
        case ExpireKeys():
            yield from _expired(work, look, kept_path)
        case _:
            assert_never(work)


def _configs(work: Work, look: Look) -> Iterator[TopicCheck]:
    """Yields nothing if records stay as long as the plan assumes."""
    configs = look.topic_configs(work.topic)
    if configs.values is None:
        what = f"srfix does not know whether {work.topic} keeps the written records: {configs.problem}"
        yield TopicCheck(outcome=TopicOutcome.NOT_KNOWN, what=what)
        return
    for name, planned in sorted(work.configs.items()):
        now = configs.values.get(name, "")
        if now != planned:
            what = (
                f"{work.topic} has {name}={now}, and had {planned} in the plan. So the written records may "
                "disappear, or may mean something else"
            )
            yield TopicCheck(outcome=TopicOutcome.FAILS, what=what)


def _filled(work: SeedChangelog, look: Look, planned: PartitionRows, end_then: int | None) -> TopicCheck:
    """Whether a partition of a changelog holds the rows; a journal knows where it ended right after it was filled."""
    partition, below = planned.partition, work.changelog_ends[planned.partition]
    start, end = look.watermarks(work.changelog, [partition])[partition]
    if end < below or (end_then is not None and end < end_then):
        return _check(
            planned,
            TopicOutcome.FAILS,
            f"it ends at offset {end}, but earlier it ended at {end_then or below}; so the topic was recreated",
        )
    newest = newest_of(look, work.changelog, partition, (start, end), _LOG)
    try:
        rows = planned_rows(work, look, planned)
    except PlanError:
        return _by_digest(work, planned, newest, below)
    present = {key: row for key, row in newest.items() if row.offset >= below}
    stands, since = _compared(present, {key: row.fingerprint for key, row in rows.items()})
    gone = len(rows) - stands - since
    others = since or (end > end_then if end_then is not None else not newest.keys() <= rows.keys())
    sentence = f"{stands:,} of {counted(planned.rows, 'row')} as planned"
    if since:
        sentence += f"; somebody else has overwritten {since:,}"
    if gone and others:
        return _check(
            planned,
            TopicOutcome.NOT_KNOWN,
            f"{sentence}; {gone:,} missing: somebody else has written to the topic since, and may have deleted them",
            stands=stands,
            since=since,
        )
    if gone:
        what = f"{sentence}; {gone:,} missing"
        if not stands and end_then is None:
            what = f"none of {counted(planned.rows, 'row')} is there: not applied yet"
        return _check(planned, TopicOutcome.FAILS, what, stands=stands, since=since)
    if since and end_then is None:
        what = f"{sentence}. Only the journal could show whether the plan's rows were there before"
        return _check(planned, TopicOutcome.NOT_KNOWN, what, stands=stands, since=since)
    return _check(planned, TopicOutcome.HOLDS, sentence, stands=stands, since=since)


def _by_digest(
    work: SeedChangelog, planned: PartitionRows, newest: Mapping[bytes, NewestRecord], below: int
) -> TopicCheck:
    """For a source that no longer gives the planned rows: compares the changelog's own rows with the plan's digest."""
    rows = {key: row for key, row in live(newest).items() if row.offset >= below}
    if digest_of(rows) == planned.digest:
        what = (
            f"{counted(planned.rows, 'row')} as planned. {work.source} has changed since, so srfix compared the rows with the "
            "plan's digest"
        )
        return _check(planned, TopicOutcome.HOLDS, what, stands=planned.rows)
    if not rows and not newest:
        return _check(planned, TopicOutcome.FAILS, f"none of {counted(planned.rows, 'row')} is there")
    what = (
        f"{counted(len(rows), 'row')} there. srfix cannot tell which of them are the plan's {planned.rows:,}, because "
        f"{work.source} and the topic have both changed since"
    )
    return _check(planned, TopicOutcome.NOT_KNOWN, what)


def _compared(present: Mapping[bytes, NewestRecord], planned: Mapping[bytes, bytes]) -> tuple[int, int]:
    """How many of the planned keys hold the planned record, by its fingerprint, and how many another one."""
    same = sum(key in present and present[key].fingerprint == fingerprint for key, fingerprint in planned.items())
    return same, len(present.keys() & planned.keys()) - same


def _expired(work: ExpireKeys, look: Look, kept_path: Path | None) -> Iterator[TopicCheck]:
    if kept_path is None:
        what = "srfix does not know which keys the plan deletes, because the file with the plan's records was not named"
        yield TopicCheck(outcome=TopicOutcome.NOT_KNOWN, what=what)
        return
    fingerprints: dict[int, dict[bytes, bytes]] = {}
    try:
        check_kept_records(kept_path, work.kept)
        for record in kept_records(kept_path):
            fingerprints.setdefault(record.partition, {})[record.key or b""] = fingerprint_of(record)
    except PlanError as error:
        what = f"srfix does not know which keys the plan deletes. {error.message.removesuffix('.')}"
        yield TopicCheck(outcome=TopicOutcome.NOT_KNOWN, what=what)
        return
    for planned in work.partitions:
        if planned.rows:
            yield _ended(work, look, planned, fingerprints.get(planned.partition, {}))


def _ended(work: ExpireKeys, look: Look, planned: PartitionRows, fingerprints: Mapping[bytes, bytes]) -> TopicCheck:
    partition = planned.partition
    start, end = look.watermarks(work.topic, [partition])[partition]
    if end < planned.end_offset:
        what = (
            f"it ends at offset {end}, but when the plan was made it ended at {planned.end_offset}; so the topic was "
            "recreated"
        )
        return _check(planned, TopicOutcome.FAILS, what)
    rows = live(newest_of(look, work.topic, partition, (start, end), ISOLATION))
    still, since = _compared(rows, fingerprints)
    ended = len(fingerprints) - still - since
    sentence = f"{ended:,} of {counted(len(fingerprints), 'key')} deleted"
    if since:
        sentence += f"; {since:,} written again since"
    if still:
        what = f"{sentence}; {still:,} still with the row that the plan deletes"
        return _check(planned, TopicOutcome.FAILS, what, stands=ended, since=since)
    return _check(planned, TopicOutcome.HOLDS, sentence, stands=ended, since=since)


def _check(planned: PartitionRows, outcome: TopicOutcome, what: str, *, stands: int = 0, since: int = 0) -> TopicCheck:
    return TopicCheck(
        outcome=outcome, what=what, partition=planned.partition, planned=planned.rows, stands=stands, since=since
    )
