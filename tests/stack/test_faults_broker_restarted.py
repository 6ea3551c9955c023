"""A broker that is killed under a census, or between questions: srfix goes on, or says what it did not read."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery import CensusRequest, Cluster, LocalCensus
from srfix.recovery.census.interface import CensusProgress
from srfix.recovery.cluster.answers import Commit
from srfix.serde import ClusterError, Topic
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment

pytestmark = pytest.mark.stack

RECORDS: Final = 30_000
PARTITIONS: Final = 3
KEYS: Final = 7_000
ONE_BATCH_AT_A_TIME: Final = (
    *("-X", "fetch.message.max.bytes=100"),
    *("-X", "queued.min.messages=1"),
    *("-X", "fetch.queue.backoff.ms=2"),
)
"""A read that takes some 6 s, so that it can be interrupted."""


@pytest.fixture(scope="module")
def broker() -> Iterator[KraftBroker]:
    # The controller takes a broker back once the session of the one that was killed is over: 9 s by default.
    session = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
    with KraftBroker(topics={"users": PARTITIONS}, properties=session) as broker:
        settings = {"bootstrap.servers": broker.bootstrap_servers, "batch.num.messages": 10, "linger.ms": 100}
        producer = Producer(settings | {"log_level": 0})
        for number in range(RECORDS):
            key, value = f"k{number % KEYS}".encode(), frame_id(1 + number // 1_000, b"body")
            producer.produce("users", partition=number % PARTITIONS, key=key, value=value)
            producer.poll(0)
        assert producer.flush(30) == 0
        yield broker


@pytest.fixture(scope="module")
def undisturbed(broker: KraftBroker) -> Any:
    """What `srfix scan` finds while nothing happens."""
    with scanning(broker, slowly=False) as process:
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    topics = json.loads(out)["topics"]
    assert sum(p["records"] for p in topics[0]["roles"]["value"]["partitions"]) == RECORDS
    return topics


@contextmanager
def scanning(
    broker: KraftBroker, *more: str, topic: str = "users", slowly: bool = True
) -> Iterator[subprocess.Popen[str]]:
    slow = ONE_BATCH_AT_A_TIME if slowly else ()
    command = [SRFIX, "scan", topic, "--output", "json", "--bootstrap-servers", broker.bootstrap_servers]
    with subprocess.Popen(
        [*command, *slow, *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_it_reads(stderr: IO[str] | None, topic: str = "users") -> None:
    """Returns at the first word of progress, which comes after 2 s, with most of the topic unread."""
    assert stderr is not None
    for line in stderr:
        if line.startswith(f"Reading {topic}: "):
            assert "(100 %)" not in line
            return
    pytest.fail("the scan ended before it said how far it was")


class TestBrokerKilledDuringTheCensus:
    def test_and_started_again_it_goes_on_and_counts_every_record_once(
        self, broker: KraftBroker, undisturbed: Any
    ) -> None:
        with scanning(broker) as process:
            wait_until_it_reads(process.stderr)
            broker.kill()
            broker.start_again()
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        assert json.loads(out)["topics"] == undisturbed

    def test_and_not_started_again_it_says_at_the_deadline_what_it_did_not_read(
        self, broker: KraftBroker, undisturbed: Any
    ) -> None:
        began = time.monotonic()
        try:
            with scanning(broker, "--deadline", "4") as process:
                wait_until_it_reads(process.stderr)
                broker.kill()
                out, err = process.communicate(timeout=TIMEOUT_S)
            assert time.monotonic() - began < 20
        finally:
            broker.start_again()
        assert process.returncode == 2, err
        (topic,) = json.loads(out)["topics"]
        assert topic["partial"] is True
        for partition, whole in zip(
            topic["roles"]["value"]["partitions"], undisturbed[0]["roles"]["value"]["partitions"], strict=True
        ):
            read, end = partition["records"], whole["records"]
            told = f"offsets {read} to {end - 1} were not read: the deadline of 4 s (--deadline) was reached"
            assert partition["stopped_early"] == (told if read < end else None)

    def test_without_a_deadline_it_gives_up_when_nothing_comes_any_more(self, broker: KraftBroker) -> None:
        settings = dict(setting.split("=") for setting in ONE_BATCH_AT_A_TIME[1::2])
        census = LocalCensus({"bootstrap.servers": broker.bootstrap_servers, **settings}, stall_timeout_s=2.0)

        def kill(_progress: CensusProgress) -> None:
            broker.kill()

        request = CensusRequest(topic=Topic("users"), partitions=tuple(range(PARTITIONS)), committed=None)
        try:
            with pytest.raises(ClusterError, match=r"while reading users\[\d\]: .*no record for 2 s at offset \d+ of"):
                census.count(request, on_progress=kill)
        finally:
            broker.start_again()


class TestBrokerRestartedBetweenQuestions:
    """Seen of librdkafka's admin client, which watch and serve keep: it aborted, died of a null pointer, or got no more
    answers."""

    def test_committed_offsets_are_answered_after_a_long_absence(self, broker: KraftBroker) -> None:
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=2.0) as cluster:
            assert committed(cluster) == {("users", 0): None}
            broker.kill()
            try:
                with pytest.raises(ClusterError, match="reading the committed offsets of the group 'shop'"):
                    cluster.committed("shop", [("users", 0)])
            finally:
                broker.start_again()
            assert committed(cluster) == {("users", 0): None}

    def test_so_are_those_of_many_groups(self, broker: KraftBroker) -> None:
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            committed(cluster)
            assert cluster.committed_by(["shop", "gone"], [("users", 0)]) == {"shop": {}, "gone": {}}
            broker.kill()
            broker.start_again()
            cluster.topics()
            assert cluster.committed_by(["shop", "gone"], [("users", 0)]) == {"shop": {}, "gone": {}}

    def test_so_is_who_is_in_a_group(self, broker: KraftBroker) -> None:
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            groups = [f"shop-{number}" for number in range(20)]
            cluster.group_states(groups)
            broker.kill()
            assert all(state.problem for state in cluster.group_states(groups, timeout_s=1.0).values())
            broker.start_again()
            until = time.monotonic() + TIMEOUT_S
            while {state.state for state in cluster.group_states(groups).values()} != {"Dead"}:
                assert time.monotonic() < until

    def test_a_leader_that_does_not_answer_is_no_empty_log(self, broker: KraftBroker) -> None:
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=2.0) as cluster:
            places = range(PARTITIONS)
            assert cluster.stable_ends("users", places) == dict.fromkeys(places, RECORDS // PARTITIONS)
            broker.kill()
            try:
                for ask in (cluster.watermarks, cluster.stable_ends):
                    with pytest.raises(ClusterError, match="while"):
                        ask("users", places)
            finally:
                broker.start_again()

    def test_a_coordinator_that_is_none_any_more_is_looked_for_again(self, broker: KraftBroker) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            assert committed(cluster) == {("users", 0): None}
            for future in admin.delete_topics(["__consumer_offsets"]).values():
                future.result(TIMEOUT_S)
            until = time.monotonic() + 3
            while time.monotonic() < until:
                assert committed(cluster) == {("users", 0): None}

    def test_a_cluster_that_has_no_offsets_yet_is_asked_for_those_of_many_groups(self, broker: KraftBroker) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        groups = [f"shop-{number}" for number in range(20)]
        for _ in range(3):
            for future in admin.delete_topics(["__consumer_offsets"]).values():
                future.result(TIMEOUT_S)
            with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
                while Topic("__consumer_offsets") in cluster.topics():
                    time.sleep(0.05)
                assert cluster.committed_by(groups, [("users", 0)]) == {group: {} for group in groups}


def test_offsets_in_an_open_transaction_are_not_waited_for(broker: KraftBroker) -> None:
    client = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    consumer = Consumer(client | {"group.id": "once", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("users", 0, 5)], asynchronous=False)
    producer = Producer(client | {"transactional.id": "once"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition("users", 0, 9)], consumer.consumer_group_metadata(), TIMEOUT_S)
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=3.0) as cluster:
        assert cluster.committed("once", [("users", 0)]) == {("users", 0): 5}
        assert cluster.committed_by(["once"], [("users", 0)]) == {"once": {("users", 0): Commit(offset=5, metadata="")}}
    producer.abort_transaction(TIMEOUT_S)
    consumer.close()


def committed(cluster: Cluster) -> Mapping[tuple[Topic, int], int | None]:
    """Waits as long as the client does until it tries to connect again."""
    until = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return cluster.committed("shop", [("users", 0)])
        except ClusterError:
            assert time.monotonic() < until
