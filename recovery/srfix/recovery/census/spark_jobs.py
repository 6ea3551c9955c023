"""Spark jobs that can be given up: at a deadline, on Ctrl-C, or because another one failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Key = TypeVar("Key")
Result = TypeVar("Result")

_CONNECT: Final = ".connect."
"""In the name of the module of Connect's sessions."""
_TICK_S: Final = 0.25
_PATIENCE_S: Final = 30.0
"""How long jobs that were interrupted may take to end."""


def finished(
    spark: SparkSession,
    jobs: Mapping[Key, Callable[[], Result]],
    *,
    give_up_at: float | None = None,
    on_tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Key, Result]]:
    """Runs the jobs side by side, and gives what each answers as soon as it does: Spark fills its cores with the first
    ones first. Those that are not done in time are interrupted, and missing.

    :param give_up_at: by `time.monotonic`.
    :param on_tick: called a few times a second, from this thread.
    """
    from srfix.serde.spark._pyspark.sessions import this_threads_jars

    mark, interrupt = _interruption(spark)
    see_jars = this_threads_jars(spark)

    def marked(job: Callable[[], Result]) -> Result:
        see_jars()
        mark()
        return job()

    pool = ThreadPoolExecutor(max_workers=max(1, len(jobs)), thread_name_prefix="srfix-spark")
    try:
        keys = {pool.submit(marked, job): key for key, job in jobs.items()}
        running: set[Future[Result]] = set(keys)
        try:
            while running:
                left_s = _TICK_S if give_up_at is None else min(_TICK_S, give_up_at - time.monotonic())
                if left_s <= 0:
                    return
                done, running = wait(running, timeout=left_s, return_when=FIRST_COMPLETED)
                for future in done:
                    yield keys[future], future.result()
                on_tick()
        finally:
            _interrupt(interrupt, running)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _interruption(spark: SparkSession) -> tuple[Callable[[], object], Callable[[], object]]:
    """What marks the jobs of the thread that calls it, and what interrupts the marked ones from any thread."""
    name = f"srfix-{uuid4()}"
    if _CONNECT in type(spark).__module__:
        return lambda: spark.addTag(name), lambda: spark.interruptTag(name)
    # Tags do not do without Connect: there, those of a thread are found by that thread only.
    context = spark.sparkContext
    return lambda: context.setJobGroup(name, "srfix"), lambda: context.cancelJobGroup(name)


def _interrupt(interrupt: Callable[[], object], running: set[Future[Result]]) -> None:
    give_up_at = time.monotonic() + _PATIENCE_S
    while running and time.monotonic() < give_up_at:
        # Again and again: a job that is still being planned is not known to Spark yet.
        interrupt()
        running = wait(running, timeout=_TICK_S).not_done
