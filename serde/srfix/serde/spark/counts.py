"""The counts of `observe`: how many rows were read, and the reasons of the bad rows.

>>> counted = counts_of({"rows": 5, "tombstones": 1, "bad": 2, "TRUNCATED": 2, "unknown_ids": []})
>>> counted.bad, counted.by_reason
(2, {<Reason.TRUNCATED: 'TRUNCATED'>: 2})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from srfix.serde.errors import Reason, UsageError

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
    Before Spark 4.1, only the smallest and the greatest if there are a thousand or more."""


def counts_of(metrics: object) -> ReadCounts:
    """The counts from Spark's metrics: `Observation.get`, or a row of `observedMetrics` in a stream's progress.

    :raises UsageError: if the metrics are not srfix's.
    """
    values = _mapping(metrics)
    if not values.keys() >= {"rows", "tombstones", "bad"}:
        raise UsageError(
            f"These metrics do not come from a srfix reader: {', '.join(sorted(values)) or 'there are none'}. Pass the "
            "metrics that Spark has under the name in from_registry(…, observe=…)."
        )
    by_reason = {reason: _number(values.get(reason.value)) for reason in Reason if reason.is_error}
    return ReadCounts(
        rows=_number(values["rows"]),
        tombstones=_number(values["tombstones"]),
        bad=_number(values["bad"]),
        by_reason={reason: count for reason, count in by_reason.items() if count},
        unknown_ids=tuple(sorted(_ids(values.get("unknown_ids")))),
    )


def _mapping(metrics: object) -> Mapping[str, object]:
    as_dict = getattr(metrics, "asDict", None)  # a Row's
    values = as_dict() if as_dict is not None else metrics
    return values if isinstance(values, Mapping) else {}


def _ids(value: object) -> list[int]:
    """Before Spark 4.1 the ids are a text (`_pyspark.frames`)."""
    if isinstance(value, str):
        return [int(part) for part in value.split(",") if part]
    return cast("list[int]", value or [])


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
