"""Carries out the steps of a plan that expires keys, and undoes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.topic_plan.expiring import ISOLATION, WHY_STOPPED
from srfix.recovery.topic_plan.filling import copies
from srfix.recovery.topic_plan.interface import Hand, Look, NewRecord, StepReport
from srfix.recovery.topic_plan.kept_records import check_kept_records, kept_records
from srfix.recovery.topic_plan.logs import changed, known_configs, require_no_members
from srfix.recovery.topic_plan.watching_keys import KeyWatch, LogFollower, Whose
from srfix.recovery.topic_plan.work import OUR_HEADER, ExpireKeys

BATCH: Final = 5_000
"""Tombstones that are written at a time: so many keys are looked at right before."""


def check_expiry(work: ExpireKeys, look: Look, kept_path: Path) -> None:
    """Nothing if the topic is the one that was planned for. New records do not matter: their keys are left."""
    check_kept_records(kept_path, work.kept)
    if work.store is not None:
        require_no_members(look, work.application, why=WHY_STOPPED)
    count, found = len(work.partitions), look.topics().get(work.topic)
    if found != count:
        raise changed(f"the topic {work.topic} has {found or 0} partitions and had {count}")
    configs = known_configs(look, work.topic)
    for name, value in work.configs.items():
        if configs.get(name) != value:
            raise changed(f"{work.topic} has {name}={configs.get(name)} and had {value}")
    for partition, (_start, end) in look.watermarks(work.topic, range(count)).items():
        if end < work.partitions[partition].end_offset:
            raise changed(
                f"{work.topic}[{partition}] ends at offset {end}, below {work.partitions[partition].end_offset}: it was "
                "recreated"
            )


def expire(
    work: ExpireKeys, look: Look, hand: Hand, kept_path: Path, partition: int, *, mark: bytes
) -> tuple[StepReport, int]:
    """Writes the tombstones of a partition that are not there yet; returns its end too."""
    watch = KeyWatch(_kept_of(kept_path, partition), mark, writes=Whose.OURS)
    log = LogFollower(look, work.topic, partition, ISOLATION)
    log.read_on(watch.take)
    stood = len(watch.those(Whose.OURS))
    put_back = _put_back(work, hand, watch, log)
    todo = iter(watch.those(Whose.PLANNED))
    written = 0
    while batch := list(islice(todo, BATCH)):
        log.read_on(watch.take)  # right before
        ready = [key for key in batch if watch.newest(key) is Whose.PLANNED]
        written += hand.append(work.topic, (_tombstone(work, partition, key, mark) for key in ready))
        log.read_on(watch.take)
        put_back += _put_back(work, hand, watch, log)
    end = log.read_on(watch.take)
    left = len(watch.those(Whose.OTHERS)) + len(watch.those(Whose.NOBODYS))
    return StepReport(written=written, stood=stood, left=left, put_back=put_back), end


def bring_back(work: ExpireKeys, look: Look, hand: Hand, kept_path: Path, partition: int, *, mark: bytes) -> StepReport:
    """Writes the records again of the keys that nobody has written since."""
    # Somebody's record that our tombstone overtook, and that a killed run did not write again, is newer than ours.
    watch = KeyWatch(_kept_of(kept_path, partition), mark, writes=Whose.OURS)
    log = LogFollower(look, work.topic, partition, ISOLATION)
    log.read_on(watch.take)
    put_back = _put_back(work, hand, watch, log)
    watch = KeyWatch(_kept_of(kept_path, partition), mark, writes=Whose.PLANNED)
    log = LogFollower(look, work.topic, partition, ISOLATION)
    log.read_on(watch.take)
    put_back += _put_back(work, hand, watch, log)
    stood = len(watch.those(Whose.PLANNED))
    kept = _kept_of(kept_path, partition)
    written = 0
    while batch := list(islice(kept, BATCH)):
        log.read_on(watch.take)  # right before
        ready = [each for each in batch if watch.newest(each.key or b"") in (Whose.OURS, Whose.NOBODYS)]
        written += hand.append(work.topic, copies(ready))
        log.read_on(watch.take)
        put_back += _put_back(work, hand, watch, log)
    log.read_on(watch.take)
    return StepReport(written=written, stood=stood, left=len(watch.those(Whose.OTHERS)), put_back=put_back)


def _put_back(work: ExpireKeys, hand: Hand, watch: KeyWatch, log: LogFollower) -> int:
    """Writes others' records again that ours overtook, until none is; returns how many."""
    count = 0
    while overtaken := list(watch.overtaken()):
        count += hand.append(work.topic, copies(overtaken))
        log.read_on(watch.take)
    return count


def _kept_of(path: Path, partition: int) -> Iterator[RawRecord]:
    return (each for each in kept_records(path) if each.partition == partition)


def _tombstone(work: ExpireKeys, partition: int, key: bytes, mark: bytes) -> NewRecord:
    headers = ((OUR_HEADER, mark),)
    return NewRecord(partition=partition, key=key, value=None, headers=headers, timestamp_ms=work.tombstone_ms)
