"""The decisions of `format("srfix")` on the driver, without pyspark. The checkpoint of a stream of several topics is
`{"topics": {"users": …, "orders": …}}`; one of a single topic is also accepted, so a query can get more topics.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from srfix.serde.columns.text import print_columns
from srfix.serde.errors import ClusterError, DataLossError, UsageError
from srfix.serde.spark.read.topics import is_topic_of
from srfix.serde.spark.source.frame import SourceFrame, plan_of, with_columns
from srfix.serde.spark.source.log import RecordReader, TopicLog, topic_names
from srfix.serde.spark.source.names import Tombstones
from srfix.serde.spark.source.offsets import (
    ENDS,
    Log,
    StreamCheckpoint,
    check_not_recreated,
    is_recreated,
    json_or_none,
    limited,
    ranges_of,
    split_ranges,
    stated_offsets,
)
from srfix.serde.spark.source.options import SourceOptions
from srfix.serde.spark.source.task import Part, ReadTask, captured_topic, needed_names


def _task(options: SourceOptions, frame: SourceFrame, of_files: Collection[str] | None = None) -> bytes:
    """`of_files` are the columns of a captured topic's files; None to read the topic itself."""
    plan = plan_of(options, frame)
    pickled = None if plan is None else pickle.dumps(plan)
    # These give a bad row's place, and schemas in headers.
    useful = ("partition", "offset", "headers") if frame.columns else ()
    needed = needed_names(frame, options.role)
    records = RecordReader(
        topic=options.topic or "",
        kafka=dict(options.kafka),
        isolation=options.isolation,
        fail_on_data_loss=options.fail_on_data_loss,
        poll_timeout_s=options.poll_timeout_s,
    )
    return pickle.dumps(
        ReadTask(
            frame=frame,
            plan=pickled,
            role=options.role,
            names=(
                *needed,
                *(name for name in useful if name not in needed and (of_files is None or name in of_files)),
            ),
            topic=options.topic,
            records=records if of_files is None else None,
            on_error=options.on_error,
            drops_tombstones=options.tombstones is Tombstones.DROP,
            at_a_time=options.max_records_per_batch,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRead:
    task: bytes
    parts: tuple[Part, ...]
    """Never empty, because Spark would otherwise make an empty task."""

    @classmethod
    def planned(cls, options: SourceOptions, frame: SourceFrame) -> BatchRead:
        if options.path is None:
            return cls(parts=_parts(options) or (None,), task=_task(options, frame))
        captured = captured_topic(options.path, needed_names(frame, options.role))
        return cls(task=_task(options, frame, captured.names), parts=captured.parts or (None,))


def _parts(options: SourceOptions) -> tuple[Part, ...]:
    log = _topic_log(options).now()
    starts = stated_offsets("startingOffsets", options.starting_offsets or "earliest", log)
    ends = stated_offsets("endingOffsets", options.ending_offsets or "latest", log)
    if options.starting_offsets == "latest" or options.ending_offsets == "earliest":
        raise UsageError("A batch read cannot start at latest or end at earliest, because it would be empty.")
    return _split(options, log, starts, ends)


def _split(options: SourceOptions, log: Log, starts: Mapping[int, int], ends: Mapping[int, int]) -> tuple[Part, ...]:
    ranges = ranges_of(log, starts, ends, fail_on_data_loss=options.fail_on_data_loss)
    split = split_ranges(ranges, at_least=options.min_partitions, longest=options.max_records_per_partition)
    return tuple((range_.partition, range_.start, range_.end) for range_ in split)


def _topic_log(options: SourceOptions) -> TopicLog:
    return TopicLog(options.kafka, options.required_topic(), options.isolation, only=options.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSpan:
    log: Log
    begun: Mapping[int, int]
    starts: Mapping[int, int]
    """Partition → the first offset to read, for every partition of `ends`."""
    ends: Mapping[int, int]
    """Partition → the end of its records (exclusive)."""

    def until(self, ends: Mapping[int, int]) -> dict[str, object]:
        return StreamCheckpoint.of(self.log, {**self.begun, **ends}).to_json()


class StreamRead:
    """A stream's offsets, on the driver. They are the JSON of a `StreamCheckpoint`; nothing is committed elsewhere."""

    def __init__(self, options: SourceOptions, frame: SourceFrame) -> None:
        self._options = options
        self._log = _topic_log(options)
        self._until: Mapping[int, int] | None = None
        self._last_log: Log | None = None
        self.task = _task(options, frame)

    def initial(self) -> dict[str, object]:
        log = self._log.now()
        starts = stated_offsets("startingOffsets", self._options.starting_offsets or "earliest", log)
        return StreamCheckpoint.of(log, starts).to_json()

    def latest(self, start: Mapping[str, object] | None = None, limit: int | None = None) -> dict[str, object]:
        """At most `limit` offsets after `start`."""
        if start is None:
            self._last_log = self._log.now()
            return self.behind()
        span = self.offset_span(start)
        ends = span.ends if limit is None else limited(span.starts, span.ends, limit)
        return span.until(ends)

    def offset_span(self, start: Mapping[str, object]) -> OffsetSpan:
        self._last_log = log = self._log.now()
        begun = self._begun(start, log, log.ends)
        # Partitions that appear after `until_now` are left for the next run.
        ends = {
            partition: end if self._until is None else min(end, self._until[partition])
            for partition, end in log.ends.items()
            if self._until is None or partition in self._until
        }
        # A new partition begins at its first record.
        starts = {partition: begun.get(partition, log.starts[partition]) for partition in ends}
        ends = {partition: max(end, starts[partition]) for partition, end in ends.items()}
        return OffsetSpan(log=log, begun=begun, starts=starts, ends=ends)

    def beginning(self) -> dict[str, object]:
        log = self._log.now()
        return StreamCheckpoint.of(log, log.starts).to_json()

    def until_now(self) -> None:
        self._until = self._log.now().ends

    def behind(self) -> dict[str, object]:
        """The end of the topic at the last look, whatever was read."""
        log = self._last_log or self._log.now()
        return StreamCheckpoint.of(log, log.ends).to_json()

    def parts(self, start: Mapping[str, object], end: Mapping[str, object]) -> Sequence[Part]:
        log = self._log.now()
        ends = StreamCheckpoint.from_json(end, log.topic).offsets
        return _split(self._options, log, self._begun(start, log, ends), ends)

    def _begun(self, start: Mapping[str, object], log: Log, ends: Mapping[int, int]) -> Mapping[int, int]:
        """A partition whose log is shorter than before starts again, if that is not an error."""
        begun = StreamCheckpoint.from_json(start, log.topic)
        if self._options.fail_on_data_loss:
            check_not_recreated(begun, log)
            return begun.offsets
        if is_recreated(begun, log):
            return {}
        return {partition: offset for partition, offset in begun.offsets.items() if offset <= ends.get(partition, -1)}


_TOPICS: Final = "topics"


def each_topic(options: SourceOptions) -> dict[str, SourceOptions]:
    places = dict(options.topics)
    if options.pattern is not None:
        places = dict.fromkeys(_matching(options))
        if not places:
            raise UsageError(
                f"No topic matches subscribePattern={options.pattern!r}, or this user is not allowed to see it. The "
                "whole name counts, and its letter case."
            )
    starts = _shared("startingOffsets", options.starting_offsets, places)
    ends = _shared("endingOffsets", options.ending_offsets, places)
    return {
        topic: replace(
            options,
            topic=topic,
            partitions=places[topic],
            topics={},
            pattern=None,
            starting_offsets=starts[topic],
            ending_offsets=ends[topic],
            min_partitions=-(-options.min_partitions // len(places)),
        )
        for topic in sorted(places)
    }


def columns_of_topics(options: SourceOptions) -> SourceOptions:
    """Like `with_columns`; the newest schemas of several topics must have the same columns."""
    if not options.is_several or options.columns is not None:
        return with_columns(options)
    by_topic = {topic: with_columns(one) for topic, one in each_topic(options).items()}
    first, *other_topics = by_topic
    for topic in other_topics:
        if by_topic[topic].columns != by_topic[first].columns:
            raise UsageError(
                f"The newest schemas of the topics {first!r} and {topic!r} have different columns: "
                f"{_printed(by_topic[first])}, and {_printed(by_topic[topic])}. Name the columns to read with the option "
                "columns (and set missing.columns=null if a topic lacks one of them), or read the topics one by "
                "one."
            )
    newest = {topic: place for one in by_topic.values() for topic, place in one.newest.items()}
    return replace(options, columns=by_topic[first].columns, newest=newest)


def _printed(options: SourceOptions) -> str:
    return print_columns(options.columns or ())


def batch_read(options: SourceOptions, frame: SourceFrame) -> BatchRead:
    if not options.is_several:
        return BatchRead.planned(options, frame)
    reads = [BatchRead.planned(one, frame) for one in each_topic(options).values()]
    parts: tuple[Part, ...] = tuple(
        (number, part) for number, read in enumerate(reads) for part in read.parts if part is not None
    )
    return BatchRead(task=pickle.dumps([read.task for read in reads]), parts=parts or (None,))


def stream_read(options: SourceOptions, frame: SourceFrame) -> StreamRead | StreamReads:
    return StreamReads(options, frame) if options.is_several else StreamRead(options, frame)


class StreamReads:
    def __init__(self, options: SourceOptions, frame: SourceFrame) -> None:
        self._options = options
        self._reads = {topic: StreamRead(one, frame) for topic, one in each_topic(options).items()}
        self._is_until_now = False
        self.task = pickle.dumps([read.task for read in self._reads.values()])

    def initial(self) -> dict[str, object]:
        return {_TOPICS: {topic: read.initial() for topic, read in self._reads.items()}}

    def latest(self, start: Mapping[str, object] | None = None, limit: int | None = None) -> dict[str, object]:
        pattern = None if self._is_until_now else self._options.pattern
        born = [] if pattern is None else [topic for topic in _matching(self._options) if topic not in self._reads]
        if born:
            raise ClusterError(
                f"The topic {born[0]!r} matches subscribePattern={pattern!r}, but was created after the query started, "
                "so there is no plan for it. Restart the query with its checkpoint; it then plans the topic and reads it "
                "from the beginning."
            )
        if start is None:
            return {_TOPICS: {topic: read.latest() for topic, read in self._reads.items()}}
        begun = self._begun(start)
        spans: dict[str, OffsetSpan] = {topic: read.offset_span(begun[topic]) for topic, read in self._reads.items()}
        ends = {(topic, one): end for topic, span in spans.items() for one, end in span.ends.items()}
        if limit is not None:
            starts = {(topic, one): at for topic, span in spans.items() for one, at in span.starts.items()}
            ends = limited(starts, ends, limit)
        return {
            _TOPICS: {topic: span.until({one: ends[topic, one] for one in span.ends}) for topic, span in spans.items()}
        }

    def until_now(self) -> None:
        """Later topics are left for the next run."""
        self._is_until_now = True
        for read in self._reads.values():
            read.until_now()

    def behind(self) -> dict[str, object]:
        return {_TOPICS: {topic: read.behind() for topic, read in self._reads.items()}}

    def parts(self, start: Mapping[str, object], end: Mapping[str, object]) -> Sequence[Part]:
        begun, ends = self._begun(start), _by_topic(end)
        return [
            (number, part)
            for number, (topic, read) in enumerate(self._reads.items())
            if topic in ends
            for part in read.parts(begun[topic], ends[topic])
        ]

    def _begun(self, start: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
        by_topic = dict(_by_topic(start))
        gone = sorted(by_topic.keys() - self._reads.keys())
        if gone and self._options.fail_on_data_loss:
            raise DataLossError(
                f"The checkpoint contains the topic {gone[0]!r}, but the query no longer reads it: it is not named, "
                "or no longer exists. Name it, start with a new checkpoint location, or set failOnDataLoss=false to "
                "continue without it.",
                topic=gone[0],
                partition=None,
            )
        return by_topic | {topic: read.beginning() for topic, read in self._reads.items() if topic not in by_topic}


def _matching(options: SourceOptions) -> list[str]:
    assert options.pattern is not None
    return sorted(topic for topic in topic_names(options.kafka) if is_topic_of(options.pattern, topic))


def _by_topic(document: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    topics = document.get(_TOPICS)
    if isinstance(topics, Mapping):
        return topics
    if isinstance(document.get("topic"), str) and "offsets" in document:  # a checkpoint of a stream of one topic
        return {cast("str", document["topic"]): document}
    raise UsageError("The checkpoint was not written by this source. Give the query its own checkpoint location.")


def _shared(option: str, text: str | None, topics: Mapping[str, object]) -> dict[str, str | None]:
    if text is None or text in ENDS:
        return dict.fromkeys(topics, text)
    document = json_or_none(text)
    if not isinstance(document, dict) or document.keys() != topics.keys():
        raise UsageError(
            f"The option {option} must be earliest, latest, or JSON with the offsets of every topic: "
            f"{', '.join(sorted(topics))}."
        )
    return {topic: json.dumps({topic: document[topic]}) for topic in topics}
