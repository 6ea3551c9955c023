"""Carries out the steps of a plan that seeds a changelog, and undoes them.

The state is read from the changelog itself: a record that equals the planned one in key, value, timestamp and headers
is this plan's work. Any other record is somebody else's, and then srfix writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.ids_in_words import counted
from srfix.recovery.topic_plan.logs import (
    CLEANUP_POLICY,
    TIMESTAMP_TYPE,
    Hand,
    Look,
    NewestRecord,
    NewRecord,
    StepReport,
    changed,
    chosen,
    digest_of,
    fingerprint_of,
    known_configs,
    live,
    newest_of,
    require_no_members,
)
from srfix.recovery.topic_plan.plan_file import PartitionRows, SeedChangelog
from srfix.recovery.topic_plan.seeding import WHY_STOPPED, restorable
from srfix.serde.properties.kafka_client import Isolation

_LOG = Isolation.READ_UNCOMMITTED


def check_seed(work: SeedChangelog, look: Look, *, may_exist: bool, must_exist: bool, filled: Iterable[int]) -> None:
    """The changelog may exist if the plan has begun to create it, must exist if the plan has created it, and may hold
    rows of this plan in the partitions that it has begun to fill. Else a PlanError.
    """
    require_no_members(look, work.application, why=WHY_STOPPED)
    topics = look.topics()
    count = len(work.partitions)
    if topics.get(work.source) != count:
        raise changed(
            f"the topic {work.source} has {topics.get(work.source, 0)} partitions now; when the plan was made it had {count}"
        )
    logs = restorable(look, work.application, work.source, count)
    for part in work.partitions:
        committed = logs[part.partition][1]
        if committed != part.end_offset:
            raise changed(
                f"a restore of {work.source}[{part.partition}] now ends at offset {committed}; when the plan was made it ended "
                f"at {part.end_offset}"
            )
    exists = work.changelog in topics
    if exists and work.creates and not may_exist:
        raise changed(f"the topic {work.changelog} exists now; when the plan was made it did not")
    if not exists and (must_exist or not work.creates):
        raise changed(f"there is no topic {work.changelog} any more")
    if exists:
        if topics[work.changelog] != count:
            raise changed(f"the topic {work.changelog} has {topics[work.changelog]} partitions and not {count}")
        configs = known_configs(look, work.changelog)
        for name in (CLEANUP_POLICY, TIMESTAMP_TYPE):
            if configs[name] != work.configs[name]:
                raise changed(f"{work.changelog} has {name}={configs[name]} and not {work.configs[name]}")
    begun = set(filled)
    for part in work.partitions:
        rows = planned_rows(work, look, part)
        if exists:
            stands = standing(work, look, part, rows)
            if stands and part.partition not in begun:
                raise changed(
                    f"{work.changelog}[{part.partition}] holds {len(stands):,} rows that this run did not write"
                )


def planned_rows(work: SeedChangelog, look: Look, planned: PartitionRows) -> dict[bytes, NewestRecord]:
    """The rows of the source for a partition, after the check that they are the planned ones."""
    log = (planned.start_offset, planned.end_offset)
    rows = live(newest_of(look, work.source, planned.partition, log, work.isolation)) if planned.rows else {}
    if digest_of(rows) != planned.digest:
        raise changed(
            f"a restore from {work.source}[{planned.partition}] now loads other rows than planned: {len(rows):,}, and "
            f"{planned.rows:,} were planned. Perhaps compaction removed a record that a later one replaces"
        )
    return rows


def standing(
    work: SeedChangelog, look: Look, planned: PartitionRows, rows: Mapping[bytes, NewestRecord]
) -> frozenset[bytes]:
    """The keys of this plan that the changelog's partition holds as planned."""
    partition, below = planned.partition, work.changelog_ends[planned.partition]
    start, end = look.watermarks(work.changelog, [partition])[partition]
    if end < below:
        raise changed(
            f"{work.changelog}[{partition}] ends at offset {end} now; when the plan was made it ended at {below}; so the topic "
            "was recreated"
        )
    keys: set[bytes] = set()
    for record in look.read(work.changelog, partition, max(start, below), end, isolation=_LOG):
        expected = None if record.key is None else rows.get(record.key)
        if record.key is None or expected is None or expected.fingerprint != fingerprint_of(record):
            raise PlanError(
                f"The record at {work.changelog}[{partition}] offset {record.offset} is not from this plan: the application "
                "or somebody else wrote it. srfix then wrote nothing more. If the application has started, leave the topic "
                "alone. If it has not, undo this plan with srfix rollback, or delete the topic; then plan again."
            )
        keys.add(record.key)
    return frozenset(keys)


def fill(work: SeedChangelog, look: Look, hand: Hand, partition: int) -> tuple[StepReport, int]:
    """Writes the missing rows of a partition, and reads them back; returns the end of the partition, too."""
    planned = work.partitions[partition]
    rows = planned_rows(work, look, planned)
    stood = standing(work, look, planned, rows)
    missing = {key: row for key, row in rows.items() if key not in stood}
    log = (planned.start_offset, planned.end_offset)
    source = chosen(look.read(work.source, partition, *log, isolation=work.isolation), missing)
    written = hand.append(work.changelog, (_copy(record) for record in source))
    standing_keys = standing(work, look, planned, rows)
    if len(standing_keys) != len(rows):
        raise PlanError(
            f"srfix wrote {counted(written, 'row')}, but {work.changelog}[{partition}] holds only {len(standing_keys):,} of "
            f"{len(rows):,}. Either the source {work.source} was compacted meanwhile, or the cluster lost records that it had "
            "acknowledged."
        )
    end = look.watermarks(work.changelog, [partition])[partition][1]
    return StepReport(written=written, stood=len(stood)), end


def unfill(work: SeedChangelog, look: Look, hand: Hand, partition: int, end: int | None) -> StepReport | str:
    """Writes a tombstone for each row, or says why the partition is left; its end after the filling may be unknown."""
    planned, below = work.partitions[partition], work.changelog_ends[partition]
    why = others_have_written(work, look, partition, end)
    if why is not None:
        return why
    start, now = look.watermarks(work.changelog, [partition])[partition]
    rows = live(newest_of(look, work.changelog, partition, (max(start, below), now), _LOG))
    tombstones = (NewRecord(partition=partition, key=key, value=None, timestamp_ms=None) for key in rows)
    return StepReport(written=hand.append(work.changelog, tombstones), stood=planned.rows - len(rows))


def others_have_written(work: SeedChangelog, look: Look, partition: int, end: int | None) -> str | None:
    """Why a partition of the changelog no longer holds only this plan's work, in words; None if it does. Tombstones
    after the plan's rows count as an earlier run of the rollback, because others' tombstones would leave the store in
    the same state.
    """
    planned, below = work.partitions[partition], work.changelog_ends[partition]
    start, now = look.watermarks(work.changelog, [partition])[partition]
    if end is not None and now == end:
        return None
    if end is not None and all(
        record.value is None for record in look.read(work.changelog, partition, max(start, end), now, isolation=_LOG)
    ):
        return None
    try:
        rows = planned_rows(work, look, planned)
    except PlanError:
        return (
            f"srfix cannot tell its own records in {work.changelog}[{partition}] from those of others, because the source has "
            "changed"
        )
    for record in look.read(work.changelog, partition, max(start, below), now, isolation=_LOG):
        expected = None if record.key is None else rows.get(record.key)
        if expected is None or (record.value is not None and expected.fingerprint != fingerprint_of(record)):
            return f"others have written to {work.changelog}[{partition}] since, at offset {record.offset}"
    return None


def _copy(record: RawRecord) -> NewRecord:
    return NewRecord(
        partition=record.partition,
        key=record.key or b"",
        value=record.value,
        headers=record.headers,
        timestamp_ms=record.timestamp,
    )


def copies(records: Iterable[RawRecord]) -> Iterator[NewRecord]:
    return map(_copy, records)
