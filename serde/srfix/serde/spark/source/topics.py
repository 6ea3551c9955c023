"""Several topics in one read of `format("srfix")`: each has its plan, its task and its offsets. No pyspark.

A stream's checkpoint is `{"topics": {"users": …, "orders": …}}`, with the checkpoint of a single-topic stream for each
topic. A checkpoint of one topic is also accepted, so that a query can get more topics later.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from srfix.serde.errors import ClusterError, DataLossError, UsageError
from srfix.serde.spark.read.topics import is_topic_of
from srfix.serde.spark.source.frame import SourceFrame
from srfix.serde.spark.source.log import topic_names
from srfix.serde.spark.source.offsets import ENDS, json_or_none, limited
from srfix.serde.spark.source.options import SourceOptions
from srfix.serde.spark.source.reads import BatchRead, OffsetSpan, StreamRead, with_columns
from srfix.serde.spark.source.task import Part, ReadTask, ReadTasks

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
                f"{by_topic[first].columns}, and {by_topic[topic].columns}. Name the columns to read with the option "
                "columns (and set missing.columns=null if a topic lacks one of them), or read the topics one by "
                "one."
            )
    newest = {topic: place for one in by_topic.values() for topic, place in one.newest.items()}
    return replace(options, columns=by_topic[first].columns, newest=newest)


def batch_read(options: SourceOptions, frame: SourceFrame) -> BatchRead:
    if not options.is_several:
        return BatchRead.planned(options, frame)
    reads = [BatchRead.planned(one, frame) for one in each_topic(options).values()]
    parts: tuple[Part, ...] = tuple(
        (number, part) for number, read in enumerate(reads) for part in read.parts if part is not None
    )
    return BatchRead(task=_together([read.task for read in reads]), parts=parts or (None,))


def stream_read(options: SourceOptions, frame: SourceFrame) -> StreamRead | StreamReads:
    return StreamReads(options, frame) if options.is_several else StreamRead(options, frame)


class StreamReads:
    def __init__(self, options: SourceOptions, frame: SourceFrame) -> None:
        self._options = options
        self._reads = {topic: StreamRead(one, frame) for topic, one in each_topic(options).items()}
        self._is_until_now = False
        self.task = _together([read.task for read in self._reads.values()])

    def initial(self) -> dict[str, object]:
        return {_TOPICS: {topic: read.initial() for topic, read in self._reads.items()}}

    def latest(self, start: Mapping[str, object] | None = None, limit: int | None = None) -> dict[str, object]:
        self._check_born()
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

    def _check_born(self) -> None:
        if self._options.pattern is None or self._is_until_now:
            return
        if born := [topic for topic in _matching(self._options) if topic not in self._reads]:
            raise ClusterError(
                f"The topic {born[0]!r} matches subscribePattern={self._options.pattern!r}, but was created after the "
                "query started, so there is no plan for it. Restart the query with its checkpoint; it then plans the "
                "topic and reads it from the beginning."
            )


def _matching(options: SourceOptions) -> list[str]:
    assert options.pattern is not None
    return sorted(topic for topic in topic_names(options.kafka) if is_topic_of(options.pattern, topic))


def _together(tasks: Sequence[bytes]) -> bytes:
    by_topic: list[ReadTask] = [pickle.loads(task) for task in tasks]  # noqa: S301 - pickled a moment ago
    return pickle.dumps(ReadTasks(by_topic=tuple(by_topic)))


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
