"""The progress of a stream or a long job, and the counts of `observe`, as values to show.

>>> counted = counts_of({"rows": 5, "tombstones": 1, "bad": 2, "TRUNCATED": 2, "unknown_ids": []})
>>> counted.bad, counted.by_reason
(2, {<Reason.TRUNCATED: 'TRUNCATED'>: 2})
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from srfix.serde.errors import Reason, UsageError
from srfix.serde.printable import message

MAX_UNKNOWN_IDS: Final = 100
"""The most refused ids that are named, because garbage holds millions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCounts:
    """The counts of one read of a frame, or of one micro-batch of a stream."""

    rows: int
    """All rows."""
    tombstones: int
    """Null payloads."""
    bad: int
    """Rows that could not be read."""
    by_reason: Mapping[Reason, int]
    """The bad rows by reason; only reasons that occurred. Empty for a stream without `observe`, which counts only rows,
    tombstones and bad rows."""
    unknown_ids: tuple[int, ...]
    """Refused ids of rows (UNKNOWN_ID, NOT_UNDER_SUBJECT), ascending: the most frequent ones, up to `MAX_UNKNOWN_IDS`.
    Before Spark 4.1, if there are a thousand or more: only the smallest and the greatest."""


def counts_of(metrics: object) -> ReadCounts:
    """The counts from Spark's metrics: `Observation.get`, or a row of `observedMetrics` in a stream's progress.

    :raises UsageError: if the metrics are not srfix's.
    """
    as_dict = getattr(metrics, "asDict", None)  # a Row's
    given = metrics if as_dict is None else as_dict()
    values: Mapping[str, object] = given if isinstance(given, Mapping) else {}
    if not values.keys() >= {"rows", "tombstones", "bad"}:
        raise UsageError(
            f"These metrics do not come from a srfix reader: {', '.join(sorted(values)) or 'there are none'}. Pass "
            "Spark's metrics with the name that you gave to from_registry as observe=."
        )
    rows, tombstones, bad = (cast("int", values[name]) for name in ("rows", "tombstones", "bad"))
    by_reason = {reason: values.get(reason.value) for reason in Reason if reason.is_error}
    ids = values.get("unknown_ids") or []
    if isinstance(ids, str):  # before Spark 4.1 (`_pyspark.frames`)
        ids = [int(part) for part in ids.split(",") if part]
    return ReadCounts(
        rows=rows,
        tombstones=tombstones,
        bad=bad,
        by_reason={reason: count for reason, count in by_reason.items() if isinstance(count, int) and count},
        unknown_ids=tuple(sorted(cast("list[int]", ids))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress:
    """One micro-batch of a streaming query."""

    query: str
    """The query's name; its id if it has none."""
    batch_id: int
    """The micro-batch's number; it stays the same while no records arrive."""
    rows: int
    """Rows that it read."""
    rows_per_s: float
    """Rows that it read per second."""
    lag_records: int | None
    """Records in the topics that were not read yet; None if the sources do not report them."""
    counts: Mapping[str, ReadCounts] = field(default_factory=dict)
    """The counts of readers, by the name in `observe`."""

    def __str__(self) -> str:
        parts = [f"{self.query}: batch {self.batch_id}, {self.rows:,} rows, {self.rows_per_s:,.0f} rows/s"]
        if self.lag_records is not None:
            parts.append(f"{self.lag_records:,} records behind")
        for name, counted in self.counts.items():
            if counted.bad:
                reasons = ", ".join(f"{reason.value} {count:,}" for reason, count in counted.by_reason.items())
                parts.append(f"{counted.bad:,} bad in {name}{f' ({reasons})' if reasons else ''}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """The running jobs of a session."""

    jobs: int
    tasks: int
    """The tasks of those stages of the jobs that run or have run."""
    done: int
    """The tasks that have ended."""

    def __str__(self) -> str:
        return f"{self.jobs} {'job' if self.jobs == 1 else 'jobs'}, {self.done:,} of {self.tasks:,} tasks"


def to_stderr(progress: StreamProgress | JobProgress) -> None:
    """Writes the progress as a line."""
    sys.stderr.write(f"{message(str(progress))}\n")
    sys.stderr.flush()


def stream_progress_of(text: str) -> StreamProgress:
    """From the JSON of Spark's `StreamingQueryProgress` (its `.json`)."""
    document = json.loads(text)
    lags = [_lag(source.get("endOffset"), source.get("latestOffset")) for source in document.get("sources", ())]
    known_lags = [lag for lag in lags if lag is not None]
    return StreamProgress(
        query=document.get("name") or document["id"],
        batch_id=document["batchId"],
        rows=document.get("numInputRows", 0),
        rows_per_s=float(document.get("processedRowsPerSecond") or 0.0),
        lag_records=sum(known_lags) if known_lags else None,
        counts=dict(_counts(document.get("observedMetrics") or {})),
    )


def _counts(observed: Mapping[str, object]) -> Iterator[tuple[str, ReadCounts]]:
    for name, metrics in observed.items():
        try:
            yield name, counts_of(metrics)
        except UsageError:  # metrics of another observation
            continue


def _lag(end: object, latest: object) -> int | None:
    """The lag, from offsets by topic and partition, in the form of Kafka's source and of srfix's."""
    if not isinstance(end, Mapping) or not isinstance(latest, Mapping):
        return None
    if isinstance(latest.get("offsets"), Mapping):  # of format("srfix"), which reads one topic
        end, latest = ({"offsets": offsets.get("offsets")} for offsets in (end, latest))
    behind = 0
    for topic, partitions in latest.items():
        read = end.get(topic)
        if not isinstance(partitions, Mapping) or not isinstance(read, Mapping):
            return None
        for partition, offset in partitions.items():
            behind += max(int(offset) - int(read.get(partition, 0)), 0)
    return behind
