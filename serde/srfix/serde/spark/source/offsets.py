"""The records of a read: ranges of offsets, computed without asking the cluster.

An offset is a record's position in its partition; a range includes its start and excludes its end. A stream's
checkpoint is JSON: `{"topic": "users", "topic_id": "…", "offsets": {"0": 17, "1": 4}}`, with the next offset of each
partition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeVar

from srfix.serde.errors import DataLossError, UsageError

_Place = TypeVar("_Place", int, tuple[str, int])
"""A partition, or the partitions of a topic."""
_EARLIEST: Final = -2
ENDS: Final = {"earliest": _EARLIEST, "latest": -1}
"""With their numbers, as in Spark's Kafka source (`KafkaOffsetRangeLimit`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    topic: str
    topic_id: str | None
    """Its id, which shows whether the topic was recreated (KIP-516); None if the broker gives none."""
    starts: Mapping[int, int]
    """Partition → the first offset that still exists."""
    ends: Mapping[int, int]
    """Partition → the offset after the last record; the last stable offset if open transactions are not read."""

    def at(self, end: int) -> Mapping[int, int]:
        return self.starts if end == _EARLIEST else self.ends


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OffsetRange:
    """From `start` (inclusive) to `end` (exclusive)."""

    partition: int
    start: int
    end: int

    @property
    def length(self) -> int:
        """At least the number of records."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCheckpoint:
    topic: str
    topic_id: str | None
    offsets: Mapping[int, int]

    @classmethod
    def of(cls, log: Log, offsets: Mapping[int, int]) -> StreamCheckpoint:
        return cls(topic=log.topic, topic_id=log.topic_id, offsets=offsets)

    @classmethod
    def from_json(cls, document: Mapping[str, object], topic: str) -> StreamCheckpoint:
        offsets = document.get("offsets")
        if not isinstance(offsets, Mapping):
            raise UsageError(
                "The checkpoint was not written by this source. Give the query its own checkpoint location."
            )
        if document.get("topic") != topic:
            raise UsageError(
                f"The checkpoint belongs to the topic {document.get('topic')!r}, but the query reads {topic!r}. Give "
                "the query its own checkpoint location."
            )
        topic_id = document.get("topic_id")
        return cls(
            topic=topic,
            topic_id=topic_id if isinstance(topic_id, str) else None,
            offsets=dict(sorted((int(partition), int(offset)) for partition, offset in offsets.items())),
        )

    def to_json(self) -> dict[str, object]:
        """The JSON for Spark, always in the same order, because Spark compares the text."""
        document: dict[str, object] = {"topic": self.topic}
        if self.topic_id is not None:
            document["topic_id"] = self.topic_id
        document["offsets"] = {str(partition): self.offsets[partition] for partition in sorted(self.offsets)}
        return document


def json_or_none(text: str) -> object:
    """None if the text is not JSON."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document


def stated_offsets(option: str, text: str, log: Log) -> Mapping[int, int]:
    """The text is as in Spark's Kafka source; in JSON, `{"users": {"0": 23, "1": -2}}`, -2 is earliest and -1 latest."""
    if text in ENDS:
        return dict(log.at(ENDS[text]))
    stated = _parsed(option, text, log.topic)
    if stated.keys() != log.ends.keys():
        lacking, unknown = sorted(log.ends.keys() - stated.keys()), sorted(stated.keys() - log.ends.keys())
        lacks = f"lacks {_partitions(lacking)} of the topic {log.topic!r}"
        what = lacks if lacking else f"names {_partitions(unknown)}, which the topic {log.topic!r} does not have"
        raise UsageError(
            f"The option {option} {what}. It must name each partition exactly once: {_partitions(sorted(log.ends))}."
        )
    offsets = {}
    for partition, offset in stated.items():
        offsets[partition] = offset if offset >= 0 else log.at(offset)[partition]
        if offsets[partition] > log.ends[partition]:
            raise UsageError(
                f"The option {option} gives {offset} for partition {partition} of the topic {log.topic!r}, whose log "
                f"ends at {log.ends[partition]}."
            )
    return offsets


def _parsed(option: str, text: str, topic: str) -> dict[int, int]:
    document = json_or_none(text)
    offsets = document.get(topic) if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(offsets, dict) or not all(
        partition.isascii() and partition.isdigit() and type(offset) is int and offset >= _EARLIEST
        for partition, offset in offsets.items()
    ):
        example = json.dumps({topic: {"0": 23, "1": -2}})
        raise UsageError(
            f"The option {option} must be earliest, latest, or JSON such as {example}: an offset for each partition, "
            "-2 for the earliest, -1 for the latest."
        )
    return {int(partition): offset for partition, offset in offsets.items()}


def _partitions(numbers: Sequence[int]) -> str:
    return f"partition{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def ranges_of(
    log: Log, starts: Mapping[int, int], ends: Mapping[int, int], *, fail_on_data_loss: bool
) -> tuple[OffsetRange, ...]:
    """The ranges to read of the partitions with an end. A partition without a start is read from its first offset."""
    ranges = []
    for partition, end in sorted(ends.items()):
        start = starts.get(partition, log.starts.get(partition, 0))
        lost = _loss(log, partition, start, end)
        if lost is not None:
            if fail_on_data_loss:
                raise _data_loss(f"{lost} in {log.topic}[{partition}]", log.topic, partition)
            start = max(start, log.starts.get(partition, end))
            end = min(end, log.ends.get(partition, start))
        if start < end:
            ranges.append(OffsetRange(partition=partition, start=start, end=end))
    return tuple(ranges)


def _loss(log: Log, partition: int, start: int, end: int) -> str | None:
    if start >= end:
        return None if start == end else f"the end of the log went back from offset {start} to {end}"
    first, last = log.starts.get(partition), log.ends.get(partition)
    if first is None or last is None:
        return f"the partition is gone, with the offsets {start} to {end - 1}"
    if start < first:
        return f"the offsets {start} to {min(first, end) - 1} are gone: the log starts at {first} now"
    if end > last:
        return f"the offsets {max(last, start)} to {end - 1} are gone: the log ends at {last} now"
    return None


def is_recreated(checkpoint: StreamCheckpoint, log: Log) -> bool:
    return None not in (checkpoint.topic_id, log.topic_id) and checkpoint.topic_id != log.topic_id


def check_not_recreated(checkpoint: StreamCheckpoint, log: Log) -> None:
    """Also refuses a topic whose log is shorter than before."""
    if is_recreated(checkpoint, log):
        raise _data_loss(f"the topic {log.topic!r} was deleted and created again (it has another id)", log.topic, None)
    for partition, offset in checkpoint.offsets.items():
        end = log.ends.get(partition)
        if end is None or end < offset:
            where = "is gone" if end is None else f"ends at {end} now"
            raise _data_loss(
                f"the stream has read {log.topic}[{partition}] up to offset {offset}, but the partition {where}: the "
                "topic was recreated or truncated",
                log.topic,
                partition,
            )


def _data_loss(what: str, topic: str, partition: int | None) -> DataLossError:
    return DataLossError(
        f"Records were lost before they were read: {what}. Start again with a new checkpoint location, or set "
        "failOnDataLoss=false to continue with the records that are left.",
        topic=topic,
        partition=partition,
    )


def limited(starts: Mapping[_Place, int], ends: Mapping[_Place, int], limit: int) -> dict[_Place, int]:
    """At most `limit` offsets, in proportion, at least one for each place (`KafkaMicroBatchStream.rateLimit`)."""
    waiting = {partition: max(0, end - starts[partition]) for partition, end in ends.items()}
    total = sum(waiting.values())
    if total <= limit:
        return dict(ends)
    new_ends: dict[_Place, int] = {}
    left, waiting_left = limit, total
    # The smallest come first, so that rounding leaves the rest for the others, and nothing is given twice.
    for partition, count in sorted(waiting.items(), key=lambda item: (item[1], item[0])):
        share = -(-left * count // waiting_left) if waiting_left else 0
        share = min(share, left, count)
        new_ends[partition] = starts[partition] + share
        left -= share
        waiting_left -= count
    return dict(sorted(new_ends.items()))


def split_ranges(ranges: Iterable[OffsetRange], *, at_least: int, longest: int | None) -> tuple[OffsetRange, ...]:
    """Each has at most `longest` offsets, and there are `at_least` ranges if there are as many offsets."""
    some = list(ranges)
    total = sum(range_.length for range_ in some)
    if longest is not None:
        some = [part for range_ in some for part in _cut(range_, -(-range_.length // longest))]
    if len(some) >= at_least or not total:
        return tuple(some)
    return tuple(
        part for range_ in some for part in _cut(range_, min(range_.length, -(-at_least * range_.length // total)))
    )


def _cut(range_: OffsetRange, parts: int) -> list[OffsetRange]:
    edges = [range_.start + range_.length * part // parts for part in range(parts + 1)]
    return [replace(range_, start=start, end=end) for start, end in pairwise(edges)]
