"""What Spark's progress says. In pure Python: real ones are in tests/spark/test_stream.py."""

from __future__ import annotations

import json

import pytest

from srfix.serde.errors import Reason
from srfix.serde.spark.progress import JobProgress, ReadCounts, StreamProgress, stream_progress_of, to_stderr


def said(**more: object) -> str:
    source = {"endOffset": {"users": {"0": 10, "1": 7}}, "latestOffset": {"users": {"0": 15, "1": 7, "2": 4}}}
    return json.dumps(
        {
            "id": "f00d",
            "name": "users",
            "batchId": 3,
            "numInputRows": 1200,
            "processedRowsPerSecond": 599.6,
            "sources": [source],
            "observedMetrics": {
                "values": {"rows": 1200, "tombstones": 1, "bad": 2, "TRUNCATED": 2, "unknown_ids": []},
                "theirs": {"max": 5},
            },
        }
        | more
    )


class TestStreamProgressOf:
    def test_rows_rate_lag_and_what_the_readers_counted(self) -> None:
        counts = ReadCounts(rows=1200, tombstones=1, bad=2, by_reason={Reason.TRUNCATED: 2}, unknown_ids=())
        assert stream_progress_of(said()) == StreamProgress(
            query="users", batch_id=3, rows=1200, rows_per_s=599.6, lag_records=9, counts={"values": counts}
        )

    def test_what_a_stream_counts_unasked_has_no_reasons(self) -> None:
        name = "srfix values of users"
        progress = stream_progress_of(said(observedMetrics={name: {"rows": 3, "tombstones": 1, "bad": 2}}))
        assert progress.counts[name] == ReadCounts(rows=3, tombstones=1, bad=2, by_reason={}, unknown_ids=())
        assert str(progress).endswith("2 bad in srfix values of users")

    @pytest.mark.parametrize(
        "sources",
        [[], [{"endOffset": 5, "latestOffset": 9}], [{"endOffset": None, "latestOffset": {"users": {"0": 1}}}]],
        ids=["none", "a number", "not started"],
    )
    def test_a_source_of_another_kind_does_not_say_how_far_behind_it_is(self, sources: object) -> None:
        assert stream_progress_of(said(sources=sources)).lag_records is None

    def test_the_lag_of_format_srfix(self) -> None:
        offsets = {"topic": "users", "topic_id": "x", "offsets": {"0": 10, "1": 7}}
        source = {"endOffset": offsets, "latestOffset": offsets | {"offsets": {"0": 15, "1": 7, "2": 4}}}
        assert stream_progress_of(said(sources=[source])).lag_records == 9

    def test_an_idle_query_has_no_rate(self) -> None:
        progress = stream_progress_of(said(name=None, numInputRows=0, processedRowsPerSecond=None, observedMetrics={}))
        assert progress.query == "f00d", "one without a name is called by its id"
        assert (progress.rows, progress.rows_per_s, progress.counts) == (0, 0.0, {})


class TestToStderr:
    def test_a_stream_is_a_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        to_stderr(stream_progress_of(said()))
        line = "users: batch 3, 1,200 rows, 600 rows/s, 9 records behind, 2 bad in values (TRUNCATED 2)\n"
        assert capsys.readouterr() == ("", line)

    @pytest.mark.parametrize(("jobs", "words"), [(1, "1 job"), (2, "2 jobs")])
    def test_jobs_are_a_line(self, capsys: pytest.CaptureFixture[str], jobs: int, words: str) -> None:
        to_stderr(JobProgress(jobs=jobs, tasks=2000, done=7))
        assert capsys.readouterr().err == f"{words}, 7 of 2,000 tasks\n"
