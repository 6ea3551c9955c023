"""A census in several processes, each with a share of the partitions, because one process can use only one core."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Event
from typing import Final, TypeAlias

from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.errors import ClusterError, UsageError

_PROGRESS_EVERY_S: Final = 0.25
_Done: TypeAlias = "SynchronizedArray[int]"


class ProcessCensus:
    """Counts topics as `LocalCensus` does, in up to `processes` processes, spawned, because librdkafka's threads do not
    survive a fork: a program that uses this starts under `if __name__ == "__main__":`."""

    def __init__(
        self, config: Mapping[str, str], *, processes: int, timeout_s: float = 15.0, stall_timeout_s: float = 30.0
    ) -> None:
        if processes < 1:
            raise UsageError(f"A census takes one process or more, not {processes}.")
        self._config = dict(config)
        self._processes = processes
        self._timeout_s = timeout_s
        self._alone = LocalCensus(config, timeout_s=timeout_s, stall_timeout_s=stall_timeout_s)

    def __repr__(self) -> str:
        return f"ProcessCensus({self._alone!r}, processes={self._processes})"

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        if self._processes == 1 or len(request.partitions) < 2 or request.max_records is not None:
            return self._alone.count(request, on_progress=on_progress)
        began = time.monotonic()
        with Cluster(self._config, timeout_s=self._timeout_s) as cluster:
            watermarks = cluster.watermarks(request.topic, request.partitions)
        sizes = {partition: end - start for partition, (start, end) in watermarks.items()}
        parts = shares(sizes, self._processes)
        if len(parts) == 1:
            return self._alone.count(request, on_progress=on_progress)
        return self._together(request, parts, sum(sizes.values()), began, on_progress)

    def _together(
        self,
        request: CensusRequest,
        parts: list[tuple[int, ...]],
        total: int,
        began: float,
        on_progress: Callable[[CensusProgress], None] | None,
    ) -> Census:
        def report() -> None:
            if on_progress is not None:
                counted = sum(done[:])
                on_progress(request.progress(counted, max(total, counted), time.monotonic() - began))

        spawn = multiprocessing.get_context("spawn")
        children = multiprocessing.active_children()
        stop, done = spawn.Event(), spawn.Array("q", len(parts))
        with ProcessPoolExecutor(len(parts), mp_context=spawn, initializer=_start, initargs=(stop, done)) as pool:
            try:
                running = [
                    pool.submit(_count, self._alone, replace(request, partitions=part), number, began)
                    for number, part in enumerate(parts)
                ]
                while wait(running, _PROGRESS_EVERY_S, FIRST_EXCEPTION).not_done and not any(map(_failed, running)):
                    report()
                # a process that was stopped because of the failed one may come first in the list
                failed = list(filter(_failed, running))
                counted = [future.result() for future in failed or running]
            # OSError: if a pipe was closed while a process was being started
            except (BrokenProcessPool, OSError) as error:
                # The pool ends the processes that it knows. One that was being started is waited for, here or at the
                # end.
                for process in multiprocessing.active_children():
                    if process not in children:
                        process.kill()
                raise ClusterError(
                    f"A process that read partitions of {request.topic} ended before it was done: somebody killed it, or the "
                    f"memory ran out. Nothing was counted. Run again with fewer processes than {len(parts)} (--processes)."
                ) from error
            finally:
                stop.set()  # whatever happened: nobody reads on
        report()
        partitions = sorted((part for census in counted for part in census.partitions), key=lambda part: part.partition)
        return Census(topic=request.topic, isolation=request.isolation, partitions=tuple(partitions))


def shares(sizes: Mapping[int, int], most: int) -> list[tuple[int, ...]]:
    """The partitions in up to `most` shares of about one size, the largest first; empty ones make no share."""
    count = max(1, min(most, sum(size > 0 for size in sizes.values())))
    parts: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for partition in sorted(sizes, key=lambda partition: (-sizes[partition], partition)):
        least = loads.index(min(loads))
        parts[least].append(partition)
        loads[least] += sizes[partition]
    return [tuple(sorted(part)) for part in parts]


def _failed(future: Future[Census]) -> bool:
    return future.done() and future.exception() is not None


class _StoppedError(Exception):
    """The process that asked for the census no longer needs it."""


_shared: tuple[Event, _Done] | None = None


def _start(stop: Event, done: _Done) -> None:
    global _shared
    _shared = stop, done
    with suppress(ValueError):  # Ctrl-C goes to the whole terminal; the first process says what becomes of the others
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    # An idle worker of the pool would wait for ever, because it holds both ends of the pipe that it waits for.
    parent.join()
    os._exit(1)


def _count(census: LocalCensus, request: CensusRequest, number: int, began: float) -> Census:
    """Counts one share in its own process; `began` is by `time.monotonic`, which a machine's processes share."""
    assert _shared is not None
    stop, done = _shared

    def report(progress: CensusProgress) -> None:
        done[number] = progress.records_done
        if stop.is_set():
            raise _StoppedError

    return census.count(request, on_progress=report, spent_s=max(0.0, time.monotonic() - began))
