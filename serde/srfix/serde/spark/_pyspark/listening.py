"""Spark's reports about its progress."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from srfix.serde.spark.progress import JobProgress


class ProgressListener(StreamingQueryListener):
    """Calls `say` with each micro-batch's progress, as JSON."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._say(event.progress.json)

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...
    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...
    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


def job_progress(spark: SparkSession) -> JobProgress | None:
    """The running jobs; None on Spark Connect, which does not report them."""
    try:
        tracker = spark.sparkContext.statusTracker()  # there is no public way that also works with Connect
    except (AttributeError, PySparkException):
        return None
    jobs = tracker.getActiveJobsIds()
    infos = (tracker.getJobInfo(job) for job in jobs)
    stages = {stage for info in infos if info is not None for stage in info.stageIds}
    stage_infos = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
    return JobProgress(
        jobs=len(jobs),
        tasks=sum(info.numTasks for info in stage_infos),
        done=sum(info.numCompletedTasks for info in stage_infos),
    )
