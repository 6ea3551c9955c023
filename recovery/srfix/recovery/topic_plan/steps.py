"""Carries out the steps of both kinds of topic plans, and undoes them. The state is read from the topic itself: a record
that equals the planned one in key, value, timestamp and headers is the plan's work, any other is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.expiring import ISOLATION, WHY_STOPPED_FOR_EXPIRY, check_kept_records, kept_records
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
from srfix.recovery.topic_plan.plan_file import OUR_HEADER, ExpireKeys, PartitionRows, SeedChangelog
from srfix.recovery.topic_plan.seeding import WHY_STOPPED_FOR_SEED, restorable
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation

_LOG = Isolation.READ_UNCOMMITTED


def check_seed(work: SeedChangelog, look: Look, *, may_exist: bool, must_exist: bool, filled: Iterable[int]) -> None:
    """The changelog may exist if its creation was begun, and must if it was done; `filled` were begun, too."""
    require_no_members(look, work.application, why=WHY_STOPPED_FOR_SEED)
    topics = look.topics()
    count = len(work.partitions)
    if topics.get(work.source) != count:
        now = counted(topics.get(work.source, 0), "partition")
        raise changed(f"the topic {work.source} has {now} now; when the plan was made it had {count}")
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
            raise changed(
                f"the topic {work.changelog} has {counted(topics[work.changelog], 'partition')} and not {count}"
            )
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
                    f"{work.changelog}[{part.partition}] holds {counted(len(stands), 'row')} that this run did not write"
                )


def planned_rows(work: SeedChangelog, look: Look, planned: PartitionRows) -> dict[bytes, NewestRecord]:
    """The rows of the source for a partition, after the check that they are the planned ones."""
    log = (planned.start_offset, planned.end_offset)
    rows = live(newest_of(look, work.source, planned.partition, log, work.isolation)) if planned.rows else {}
    if digest_of(rows) != planned.digest:
        raise changed(
            f"a restore from {work.source}[{planned.partition}] now loads other rows than planned "
            f"({counted(len(rows), 'row')}, and the plan has {planned.rows:,}). Perhaps compaction "
            "removed a record that a later one replaces"
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
    written = hand.append(work.changelog, map(_copy, source))
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
    """Why a partition holds more than this plan's work. Others' tombstones leave the same state, so they pass."""
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
            f"srfix cannot tell its own records in {work.changelog}[{partition}] from other records, because the "
            "source has changed"
        )
    for record in look.read(work.changelog, partition, max(start, below), now, isolation=_LOG):
        expected = None if record.key is None else rows.get(record.key)
        if expected is None or (record.value is not None and expected.fingerprint != fingerprint_of(record)):
            return f"somebody else has written to {work.changelog}[{partition}] since, at offset {record.offset}"
    return None


def _copy(record: RawRecord) -> NewRecord:
    return NewRecord(
        partition=record.partition,
        key=record.key or b"",
        value=record.value,
        headers=record.headers,
        timestamp_ms=record.timestamp,
    )


class Whose(Enum):
    NOBODYS = "nobody's"
    PLANNED = "the planned one"
    """The planned record, with its value, timestamp and headers: the original, or written again by a rollback."""
    OURS = "our tombstone"
    OTHERS = "somebody else's"


@dataclass(slots=True)
class _Key:
    offset: int
    fingerprint: bytes
    newest: Whose = Whose.NOBODYS
    others: RawRecord | None = None


class KeyWatch:
    """The planned keys of one partition, each with the owner of its newest record, and with another's record that was
    overtaken: somebody may write after srfix has looked at the key and before srfix writes; then srfix writes theirs
    again. `mark` is the value of srfix's header, `writes` what this run writes."""

    def __init__(
        self, work: ExpireKeys, look: Look, kept_path: Path, partition: int, mark: bytes, *, writes: Whose
    ) -> None:
        self._keys = {
            record.key: _Key(record.offset, fingerprint_of(record))
            for record in _kept_of(kept_path, partition)
            if record.key is not None
        }
        self._topic, self._look, self._partition = work.topic, look, partition
        self._mark = mark
        self._writes = writes
        self._position: int | None = None
        """The offset up to which the log was read (exclusive); None before the first read."""
        self.read_on()

    def read_on(self) -> int:
        """Reads the log on to its end, and returns the end."""
        start, end = self._look.watermarks(self._topic, [self._partition])[self._partition]
        position = start if self._position is None else self._position
        if end < position:
            raise PlanError(
                f"{self._topic}[{self._partition}] ends at {end}, but srfix had read up to {position}; so the topic was "
                "recreated."
            )
        if end > position:
            self._take(self._look.read(self._topic, self._partition, position, end, isolation=ISOLATION))
        self._position = end
        return end

    def _take(self, records: Iterable[RawRecord]) -> None:
        for record in records:
            watched_key = None if record.key is None else self._keys.get(record.key)
            if watched_key is None:
                continue
            whose = self._whose(watched_key, record)
            if whose is Whose.OTHERS:
                # If the record is older than the planned one, the planned one has rightly replaced it.
                watched_key.others = record if record.offset > watched_key.offset else None
            elif whose is not self._writes:
                watched_key.others = None
            watched_key.newest = whose

    def newest(self, key: bytes) -> Whose:
        return self._keys[key].newest

    def keys_of(self, whose: Whose) -> list[bytes]:
        return [key for key, watched_key in self._keys.items() if watched_key.newest is whose]

    def overtaken(self) -> Iterator[RawRecord]:
        for watched_key in self._keys.values():
            if watched_key.others is not None and watched_key.newest is self._writes:
                yield watched_key.others

    def _whose(self, watched_key: _Key, record: RawRecord) -> Whose:
        if record.value is None and (OUR_HEADER, self._mark) in record.headers:
            return Whose.OURS
        return Whose.PLANNED if fingerprint_of(record) == watched_key.fingerprint else Whose.OTHERS


BATCH: Final = 5_000
"""How many tombstones are written at a time; their keys are checked right before."""


def check_expiry(work: ExpireKeys, look: Look, kept_path: Path) -> None:
    """Raises if the topic is not the planned one. New records do not matter: their keys are left alone."""
    check_kept_records(kept_path, work.kept)
    if work.store is not None:
        require_no_members(look, work.application, why=WHY_STOPPED_FOR_EXPIRY)
    count, partitions = len(work.partitions), look.topics().get(work.topic)
    if partitions != count:
        raise changed(
            f"the topic {work.topic} has {counted(partitions or 0, 'partition')} now; when the plan was made it had {count}"
        )
    configs = known_configs(look, work.topic)
    for name, value in work.configs.items():
        if configs.get(name) != value:
            raise changed(f"{work.topic} has {name}={configs.get(name)} now; when the plan was made it had {value}")
    for partition, (_start, end) in look.watermarks(work.topic, range(count)).items():
        if end < work.partitions[partition].end_offset:
            raise changed(
                f"{work.topic}[{partition}] ends at offset {end} now; when the plan was made it ended at "
                f"{work.partitions[partition].end_offset}; so the topic was recreated"
            )


def expire(
    work: ExpireKeys, look: Look, hand: Hand, kept_path: Path, partition: int, *, mark: bytes
) -> tuple[StepReport, int]:
    watch = KeyWatch(work, look, kept_path, partition, mark, writes=Whose.OURS)
    stood = len(watch.keys_of(Whose.OURS))
    put_back = _put_back(work, hand, watch)
    todo = iter(watch.keys_of(Whose.PLANNED))
    tombstone = partial(
        NewRecord, partition=partition, value=None, headers=((OUR_HEADER, mark),), timestamp_ms=work.tombstone_ms
    )
    written = 0
    while batch := list(islice(todo, BATCH)):
        watch.read_on()  # right before
        ready = [key for key in batch if watch.newest(key) is Whose.PLANNED]
        written += hand.append(work.topic, (tombstone(key=key) for key in ready))
        watch.read_on()
        put_back += _put_back(work, hand, watch)
    end = watch.read_on()
    left = len(watch.keys_of(Whose.OTHERS)) + len(watch.keys_of(Whose.NOBODYS))
    return StepReport(written=written, stood=stood, left=left, put_back=put_back), end


def bring_back(work: ExpireKeys, look: Look, hand: Hand, kept_path: Path, partition: int, *, mark: bytes) -> StepReport:
    """Writes the records of those keys again that nobody has written since."""
    # If srfix's tombstone overtook somebody's record, and a killed run did not write it again, that record is the newer
    # one.
    watch = KeyWatch(work, look, kept_path, partition, mark, writes=Whose.OURS)
    put_back = _put_back(work, hand, watch)
    watch = KeyWatch(work, look, kept_path, partition, mark, writes=Whose.PLANNED)
    put_back += _put_back(work, hand, watch)
    stood = len(watch.keys_of(Whose.PLANNED))
    records = _kept_of(kept_path, partition)
    written = 0
    while batch := list(islice(records, BATCH)):
        watch.read_on()  # right before
        ready = [record for record in batch if watch.newest(record.key or b"") in (Whose.OURS, Whose.NOBODYS)]
        written += hand.append(work.topic, map(_copy, ready))
        watch.read_on()
        put_back += _put_back(work, hand, watch)
    watch.read_on()
    return StepReport(written=written, stood=stood, left=len(watch.keys_of(Whose.OTHERS)), put_back=put_back)


def _put_back(work: ExpireKeys, hand: Hand, watch: KeyWatch) -> int:
    """Writes others' overtaken records again, until there are none; returns how many."""
    count = 0
    while overtaken := list(watch.overtaken()):
        count += hand.append(work.topic, map(_copy, overtaken))
        watch.read_on()
    return count


def _kept_of(path: Path, partition: int) -> Iterator[RawRecord]:
    return (record for record in kept_records(path) if record.partition == partition)
