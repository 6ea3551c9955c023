"""What `observe` counts, read. In pure Python."""

from __future__ import annotations

import pytest

from srfix.serde import Reason, UsageError
from srfix.serde.spark import ReadCounts, counts_of

METRICS: dict[str, object] = {
    "rows": 9,
    "tombstones": 2,
    "bad": 3,
    "UNKNOWN_ID": 2,
    "TRUNCATED": 1,
    "TOO_SHORT": 0,
    "unknown_ids": [12, 7],
}


class Row:
    def asDict(self) -> dict[str, object]:
        return METRICS


class TestCountsOf:
    @pytest.mark.parametrize("metrics", [METRICS, Row()], ids=["an Observation's", "a stream's row"])
    def test_the_reasons_that_were_met_and_the_ids_in_order(self, metrics: object) -> None:
        assert counts_of(metrics) == ReadCounts(
            rows=9,
            tombstones=2,
            bad=3,
            by_reason={Reason.UNKNOWN_ID: 2, Reason.TRUNCATED: 1},
            unknown_ids=(7, 12),
        )

    @pytest.mark.parametrize(("text", "ids"), [("12,7", (7, 12)), ("", ()), (None, ())])
    def test_before_spark_4_1_the_ids_are_a_text(self, text: str | None, ids: tuple[int, ...]) -> None:
        assert counts_of(METRICS | {"unknown_ids": text}).unknown_ids == ids

    @pytest.mark.parametrize(
        ("metrics", "what"), [({"rows": 1, "max": 2}, "max, rows"), ({}, "there are none"), (None, "there are none")]
    )
    def test_other_metrics_are_refused(self, metrics: object, what: str) -> None:
        with pytest.raises(UsageError, match="These metrics do not come from a"):
            counts_of(metrics)
