"""What is said of jobs while they run. Of streams: test_stream.py."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from srfix.serde.spark import JobProgress, watch_jobs


def test_a_job_is_told_of_while_it_runs_and_not_afterwards(spark: SparkSession) -> None:
    said: list[JobProgress] = []
    end = time.monotonic() + 60
    with watch_jobs(spark, said.append, every_s=0.1):
        while not said and time.monotonic() < end:  # one that was over between two looks is not told of
            spark.range(0, 100_000_000, 1, 8).selectExpr("max(hash(id))").collect()
    told = len(said)
    assert told
    assert all(progress.jobs == 1 and 0 <= progress.done <= progress.tasks for progress in said)
    assert said[0].tasks >= 8
    spark.range(0, 100_000_000, 1, 8).selectExpr("max(hash(id))").collect()
    assert len(said) == told
