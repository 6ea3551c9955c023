"""Calls a function with the progress of streams and long jobs.

    with watch_streams(spark, to_stderr):
        query.awaitTermination()

`to_stderr` writes a line for each report; a command line may pass a function that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from srfix.serde.spark.progress import JobProgress, StreamProgress, stream_progress_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEAST_EVERY_S: Final = 0.1


@contextmanager
def watch_streams(spark: SparkSession, say: Callable[[StreamProgress], None]) -> Iterator[None]:
    """Calls `say` for every micro-batch of the session's queries, classic or Connect, from a thread of Spark."""
    from srfix.serde.spark._pyspark.sessions import ProgressListener

    listener = ProgressListener(lambda text: say(stream_progress_of(text)))
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.streams.removeListener(listener)


@contextmanager
def watch_jobs(spark: SparkSession, say: Callable[[JobProgress], None], *, every_s: float = 1.0) -> Iterator[None]:
    """Calls `say` while jobs run, from its own thread, whenever their tasks have advanced. On Spark Connect tasks are
    not visible, so it calls nothing.

    :param every_s: seconds between two checks, at least 0.1.
    """
    from srfix.serde.spark._pyspark.sessions import job_progress

    stop = Event()

    def look() -> None:
        last: JobProgress | None = None
        while not stop.wait(max(every_s, _LEAST_EVERY_S)):
            progress = job_progress(spark)
            if progress is not None and progress.jobs and progress != last:
                say(progress)
            last = progress

    thread: Thread | None = None
    if job_progress(spark) is not None:
        thread = Thread(target=look, name="srfix-progress", daemon=True)
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if thread is not None:
            thread.join()
