"""Follows the planned keys of a partition: whose is the newest record of each, and was somebody else's overtaken.

Read in the order of offsets, a key's records are the planned one, our tombstones, and those of others. `apply` puts a
tombstone behind the planned record, `rollback` the planned record behind the tombstone. In the moment between the look and
the write somebody else may write: their record then stands between the two, overtaken, and is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.interface import Look
from srfix.recovery.topic_plan.rows import fingerprint_of
from srfix.recovery.topic_plan.work import OUR_HEADER
from srfix.serde.properties.kafka_client import Isolation


class Whose(Enum):
    """Whose the newest record of a key is."""

    NOBODYS = "nobody's"
    """The topic holds none."""
    PLANNED = "the planned one"
    """With the planned value, timestamp and headers: as it was, or as a rollback wrote it again."""
    OURS = "our tombstone"
    OTHERS = "somebody else's"


@dataclass(slots=True)
class _Key:
    offset: int
    fingerprint: bytes
    newest: Whose = Whose.NOBODYS
    others: RawRecord | None = None


class KeyWatch:
    """The planned keys of one partition.

    :param kept: the records that the plan puts an end to, in this partition.
    :param mark: the value of our header.
    :param writes: what this run writes: our tombstones, or the planned records.
    """

    def __init__(self, kept: Iterable[RawRecord], mark: bytes, *, writes: Whose) -> None:
        self._keys = {each.key: _Key(each.offset, fingerprint_of(each)) for each in kept if each.key is not None}
        self._mark = mark
        self._writes = writes

    def take(self, records: Iterable[RawRecord]) -> None:
        """The next records of the partition."""
        for record in records:
            known = None if record.key is None else self._keys.get(record.key)
            if known is None:
                continue
            whose = self._whose(known, record)
            if whose is Whose.OTHERS:
                # What stood there before the planned record was overtaken by that, rightly.
                known.others = record if record.offset > known.offset else None
            elif whose is not self._writes:
                known.others = None
            known.newest = whose

    def newest(self, key: bytes) -> Whose:
        """Whose the newest record of a planned key is."""
        return self._keys[key].newest

    def those(self, whose: Whose) -> list[bytes]:
        """The planned keys whose newest record is so."""
        return [key for key, known in self._keys.items() if known.newest is whose]

    def overtaken(self) -> Iterator[RawRecord]:
        """Others' newest records that one of this run's stands behind."""
        for known in self._keys.values():
            if known.others is not None and known.newest is self._writes:
                yield known.others

    def _whose(self, known: _Key, record: RawRecord) -> Whose:
        if record.value is None and (OUR_HEADER, self._mark) in record.headers:
            return Whose.OURS
        return Whose.PLANNED if fingerprint_of(record) == known.fingerprint else Whose.OTHERS


class LogFollower:
    """Reads a partition on, to wherever it ends at the time."""

    def __init__(self, look: Look, topic: str, partition: int, isolation: Isolation) -> None:
        self._look, self._topic, self._partition, self._isolation = look, topic, partition, isolation
        self.position: int | None = None
        """Up to where it was read (exclusive); None while nothing was."""

    def read_on(self, take: Callable[[Iterable[RawRecord]], None]) -> int:
        """Hands over what has come, and returns where the log ended."""
        start, end = self._look.watermarks(self._topic, [self._partition])[self._partition]
        position = start if self.position is None else self.position
        if end < position:
            raise PlanError(
                f"{self._topic}[{self._partition}] ends at {end} and was read up to {position}: it was recreated."
            )
        if end > position:
            take(self._look.read(self._topic, self._partition, position, end, isolation=self._isolation))
        self.position = end
        return end
