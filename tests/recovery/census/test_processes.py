"""The census in several processes, on the embedded broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import CensusRequest, LocalCensus
from srfix.recovery.census.interface import CensusProgress
from srfix.recovery.census.processes import ProcessCensus, shares
from srfix.serde import ClusterError, Topic, UsageError
from srfix.serde.wire import frame_id

TOPIC = Topic("orders")
PARTITIONS = 5
EACH = 300
SLOWLY = {"fetch.message.max.bytes": "2000", "queued.min.messages": "1", "fetch.queue.backoff.ms": "1000"}
"""Little at a time."""
PROGRAM = f"""
import sys
from srfix.recovery.census.interface import CensusRequest; from srfix.recovery.census.processes import ProcessCensus

said = []

def report(progress):
    if progress.records_done and not said:
        said.append(print("reading", flush=True))

if __name__ == "__main__":
    config = {{"bootstrap.servers": sys.argv[1], **{SLOWLY}}}
    request = CensusRequest(topic="orders", partitions=(0, 1), committed=None)
    ProcessCensus(config, processes=2).count(request, on_progress=report)
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={TOPIC: PARTITIONS, "one": 1}) as broker:
        broker.produce(
            ProducedRecord(
                topic=TOPIC,
                partition=partition,
                key=f"k{n % 40}".encode(),
                value=None if n % 7 == 0 else frame_id(1 + n % 3, b"row"),
            )
            for partition in range(PARTITIONS - 1)  # the last one is empty
            for n in range(EACH * (partition + 1))
        )
        yield broker


def config(broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


def request(**options: float | None) -> CensusRequest:
    committed = {0: 100, 1: 600, 2: None}
    return CensusRequest(topic=TOPIC, partitions=tuple(range(PARTITIONS)), committed=committed, **options)  # type: ignore[arg-type]


class TestShares:
    @given(st.dictionaries(st.integers(0, 99), st.integers(0, 1_000), min_size=1), st.integers(1, 12))
    def test_every_partition_is_in_one_share_and_none_is_much_larger(self, sizes: dict[int, int], most: int) -> None:
        parts = shares(sizes, most)
        assert sorted(partition for part in parts for partition in part) == sorted(sizes)
        assert len(parts) <= most
        loads = [sum(sizes[partition] for partition in part) for part in parts]
        assert max(loads) - min(loads) <= max(sizes.values())
        assert len(parts) == 1 or all(loads)


class TestProcessCensus:
    def test_it_counts_what_one_process_counts(self, broker: EmbeddedBroker) -> None:
        told: list[CensusProgress] = []
        census = ProcessCensus(config(broker), processes=3).count(request(), on_progress=told.append)
        assert census == LocalCensus(config(broker)).count(request())
        assert told[-1].records_done == sum(EACH * (n + 1) for n in range(PARTITIONS - 1)) == told[-1].records_total
        assert all(before.records_done <= after.records_done for before, after in pairwise(told))

    def test_a_limit_of_records_holds_for_all_together(self, broker: EmbeddedBroker) -> None:
        census = ProcessCensus(config(broker), processes=3).count(request(max_records=700))
        assert sum(partition.records for partition in census.partitions) == 700
        assert census.is_partial

    @pytest.mark.slow
    def test_a_deadline_is_told_as_it_was_given(self, broker: EmbeddedBroker) -> None:
        census = ProcessCensus(config(broker), processes=2).count(request(deadline_s=0.001))
        said = [partition.stopped_early for partition in census.partitions[:-1]]
        assert all("the deadline of 0.001 s" in (text or "") for text in said), said

    @pytest.mark.slow
    def test_an_error_of_one_of_them_is_told_at_once(self) -> None:
        with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            broker.produce(rows(2, 20_000))
            census = ProcessCensus({**config(broker), **SLOWLY}, processes=2, stall_timeout_s=1.5)

            def die(progress: CensusProgress) -> None:
                if progress.records_done:
                    broker.close()

            with pytest.raises(ClusterError, match=r"orders\[[01]\]: .*no record for|listing the topics"):
                census.count(CensusRequest(topic=TOPIC, partitions=(0, 1), committed=None), on_progress=die)

    def test_no_process_is_no_census(self) -> None:
        with pytest.raises(UsageError, match="one process or more, not 0"):
            ProcessCensus({"bootstrap.servers": "localhost:1"}, processes=0)

    def test_one_that_is_killed_is_told(self, broker: EmbeddedBroker) -> None:
        def kill() -> None:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                for pid in children(os.getpid()):
                    os.kill(pid, signal.SIGKILL)
                    return
                time.sleep(0.01)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ClusterError, match=r"ended before it was done: .*\(--processes\)\."):
            ProcessCensus(config(broker), processes=2).count(request())
        killer.join()

    def test_one_that_starts_when_another_is_killed_is_ended_too(
        self, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = SpawnProcess.start
        started: list[SpawnProcess] = []

        def start_while_the_first_dies(process: SpawnProcess) -> None:
            start(process)
            started.append(process)
            if len(started) == 2:
                started[0].kill()
                time.sleep(0.5)  # the pool looks whom to end and to wait for, and does not know this one yet

        monkeypatch.setattr(SpawnProcess, "start", start_while_the_first_dies)
        with pytest.raises(ClusterError, match="ended before it was done"):
            ProcessCensus(config(broker), processes=2).count(request())
        started[1].join(10)
        assert not started[1].is_alive()

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_nobody_reads_on_for_a_program_that_is_gone(self, how: signal.Signals, tmp_path: Path) -> None:
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            broker.produce(rows(2, 20_000))
            command = [sys.executable, str(program), broker.bootstrap_servers]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
                assert running.stdout is not None
                assert running.stdout.readline() == "reading\n"
                readers = children(running.pid)
                assert len(readers) == 2
                running.send_signal(how)
                running.communicate(timeout=20)
            until = time.monotonic() + 20
            while alive := [pid for pid in readers if os.path.exists(f"/proc/{pid}")]:
                assert time.monotonic() < until, alive
                time.sleep(0.05)


def rows(partitions: int, each: int) -> Iterator[ProducedRecord]:
    for partition in range(partitions):
        for n in range(each):
            yield ProducedRecord(topic=TOPIC, partition=partition, key=b"k%d" % n, value=frame_id(1, b"x" * 50))


def children(parent: int) -> list[int]:
    """The spawned processes of one that have begun."""
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]
