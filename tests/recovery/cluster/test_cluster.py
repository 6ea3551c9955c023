"""The read-only look at a cluster, on the embedded broker."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from ctypes import c_void_p
from dataclasses import replace
from pathlib import Path
from weakref import ref

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from parts.counted_broker import CountedBroker
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker, load_librdkafka
from srfix.recovery import Cluster
from srfix.recovery.cluster.answers import Commit, GroupState, TopicConfigs, refusal
from srfix.serde import ClusterError, Topic, UsageError

THREADS = Path("/proc/self/task")
OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, CREATE_TOPICS, PRODUCE = 8, 11, 14, 19, 0


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"orders": 3, "empty": 1}) as broker:
        first = ProducedRecord(topic="orders", partition=1, key=b"k", headers=(("h", b"1"), ("h", None)))
        for number in range(5):
            broker.produce([replace(first, value=b"v%d" % number, timestamp_ms=1_590_000_000_000 + number)])
        broker.produce([ProducedRecord(topic="orders", partition=2)])
        broker.commit("app", {("orders", 0): 0, ("orders", 1): 3})
        yield broker


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Iterator[Cluster]:
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
        yield cluster


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_every_topic_is_listed_with_its_partitions(cluster: Cluster) -> None:
    assert dict(cluster.topics()) == {"empty": 1, "orders": 3}


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError._NOENT])
def test_a_partition_whose_leader_changes_is_asked_for_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Seen: a diagnosis ended while brokers restarted, with the advice to check the addresses."""
    refused: Future[object] = Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    ask, asked = Cluster._ask_offsets, []

    def ask_offsets(cluster: Cluster, topic: str, partitions: list[int], **question: object) -> object:
        asked.append(partitions)
        answers = ask(cluster, topic, partitions, **question)  # type: ignore[arg-type]
        return {**answers, 1: refused} if len(asked) <= 2 else answers

    monkeypatch.setattr(Cluster, "_ask_offsets", ask_offsets)
    assert cluster.watermarks("orders", [0, 1]) == {0: (0, 0), 1: (0, 5)}
    assert asked == [[0, 1], [0, 1], [1], [1]]


def test_a_partition_without_a_leader_is_named() -> None:
    with EmbeddedBroker(topics={"orders": 3}) as broker:
        library = load_librdkafka()
        assert library is not None
        assert broker._mock is not None
        library.rd_kafka_mock_partition_set_leader(c_void_p(broker._mock._cluster), b"orders", 1, -1)
        with (
            Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=1.0) as cluster,
            pytest.raises(ClusterError, match=r"partition 1 of the topic 'orders' has no leader"),
        ):
            cluster.watermarks("orders", [0, 1, 2])


def test_a_topic_that_the_last_listing_has_is_not_listed_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: half the time of a diagnosis of 500 stores on 2,000 topics."""
    cluster.topics()
    monkeypatch.setattr(Cluster, "topics", lambda _: pytest.fail("a listing of all topics was asked for"))
    assert cluster.watermarks("orders", [0, 1, 2]) == {0: (0, 0), 1: (0, 5), 2: (0, 1)}
    assert dict(cluster.records_at("orders", [(1, 4)])).keys() == {(1, 4)}


@pytest.mark.parametrize("ask", [lambda c: c.watermarks("gone", [0]), lambda c: c.record_at("gone", 0, 0)])
def test_one_that_is_gone_since_is_said_to_be(
    broker: EmbeddedBroker, cluster: Cluster, ask: Callable[[Cluster], object]
) -> None:
    cluster._listed = {**cluster.topics(), Topic("gone"): 1}
    with pytest.raises(ClusterError, match=r"^There is no topic 'gone' on "):
        ask(cluster)
    assert "gone" not in broker.topics


def test_a_broker_that_lists_no_groups_nor_their_state_is_a_problem_in_words(cluster: Cluster) -> None:
    listing, state = cluster.groups(), cluster.group_state("app")
    assert listing.groups == ()
    assert state == GroupState(group="app", state=None, members=None, problem=state.problem)
    for problem in (listing.problem, state.problem):
        assert "Required feature not supported by broker" in (problem or "")


class TestTopicConfigs:
    def test_a_broker_that_does_not_answer_is_a_problem_in_bounded_time(self, cluster: Cluster) -> None:
        began = time.monotonic()
        answer = cluster.topic_configs("orders", timeout_s=0.3)
        assert time.monotonic() - began < 3
        assert (answer.values, answer.is_compacted) == (None, None)
        assert "no answer in time" in (answer.problem or "")

    def test_a_cluster_known_to_have_no_controller_is_not_waited_for(self, cluster: Cluster) -> None:
        cluster.topics()
        began = time.monotonic()
        answer = cluster.topic_configs("orders")
        assert time.monotonic() - began < 1
        assert "only a controller could answer, and the cluster has none" in (answer.problem or "")

    @pytest.mark.parametrize(
        ("policy", "compacted"),
        [("compact", True), ("compact,delete", True), ("delete", False), ("delete,compact", True)],
    )
    def test_compact_may_be_one_of_two_policies(self, policy: str, compacted: bool) -> None:
        answer = TopicConfigs(topic=Topic("users"), values={"cleanup.policy": policy}, problem=None)
        assert answer.is_compacted is compacted

    @pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED])
    def test_a_missing_permission_is_named(self, code: int) -> None:
        assert "DescribeConfigs on topic 'users'" in refusal(KafkaError(code), acl="DescribeConfigs on topic 'users'")


def test_a_client_that_got_no_answer_about_a_group_is_freed_at_once() -> None:
    """librdkafka would abort when the coordinator comes back."""
    with Cluster({"bootstrap.servers": "127.0.0.1:9"}) as cluster:
        silent = ref(cluster._open_admin())
        assert cluster.group_state("shop", timeout_s=0.1).problem
        assert silent() is None


class TestCommitted:
    def test_what_stands_beside_the_offset_comes_with_it(self, broker: EmbeddedBroker, cluster: Cluster) -> None:
        broker.commit("other", {("orders", 0): 5}, metadata="AQAAAXKZ")
        answer = cluster.committed_by(["other", "nobody"], [("orders", 0), ("orders", 1)])
        assert answer == {"other": {("orders", 0): Commit(offset=5, metadata="AQAAAXKZ")}, "nobody": {}}

    @pytest.mark.skipif(not THREADS.exists(), reason="Linux tells the threads of a process")
    def test_the_clients_of_many_groups_do_not_pile_up(self, cluster: Cluster) -> None:
        """Each has threads, and files for each broker."""
        cluster.committed("app", [("orders", 0)])
        before = len([*THREADS.iterdir()])
        for number in range(10):
            cluster.committed(f"app-{number}", [("orders", 0)])
        assert len([*THREADS.iterdir()]) < before + 10

    @pytest.mark.parametrize(
        ("group", "partitions", "answer"),
        [
            ("app", [("orders", 0), ("orders", 1), ("orders", 2)], [0, 3, None]),  # a zero is no missing offset
            ("nobody", [("orders", 0), ("orders", 1)], [None, None]),
            ("app", [("nosuch", 0)], [None]),
            ("app", [("orders", 1), ("orders", 1)], [3]),
            ("app", [], []),
        ],
    )
    def test_each_partition_has_its_offset_or_none(
        self, cluster: Cluster, group: str, partitions: list[tuple[str, int]], answer: list[int | None]
    ) -> None:
        assert cluster.committed(group, partitions) == dict(zip(dict.fromkeys(partitions), answer, strict=True))


class TestWatermarks:
    def test_the_start_is_inclusive_and_the_end_exclusive(self, cluster: Cluster) -> None:
        assert cluster.watermarks("orders", range(3)) == {0: (0, 0), 1: (0, 5), 2: (0, 1)}

    def test_a_topic_or_partition_that_does_not_exist_is_an_error(self, cluster: Cluster) -> None:
        with pytest.raises(ClusterError, match=r"no topic 'nosuch' .* 127.0.0.1:\d+"):
            cluster.watermarks("nosuch", [0])
        with pytest.raises(ClusterError, match=r"3 partitions, 0 to 2, and no partition 3 or 7"):
            cluster.watermarks("orders", [1, 7, 3])


class TestRecordAt:
    def test_a_record_comes_as_the_broker_holds_it(self, cluster: Cluster) -> None:
        record = cluster.record_at("orders", 1, 3)
        assert record is not None
        assert (record.partition, record.offset, record.key, record.value) == (1, 3, b"k", b"v3")
        assert record.headers == (("h", b"1"), ("h", None))
        assert record.timestamp == 1_590_000_000_003

    def test_a_tombstone_and_a_null_key_are_none(self, cluster: Cluster) -> None:
        record = cluster.record_at("orders", 2, 0)
        assert record is not None
        assert (record.key, record.value, record.headers) == (None, None, ())

    @pytest.mark.parametrize(("partition", "offset"), [(1, 5), (1, 99), (0, 0)])
    def test_an_offset_that_the_log_does_not_hold_is_none(self, cluster: Cluster, partition: int, offset: int) -> None:
        assert cluster.record_at("orders", partition, offset) is None

    def test_an_offset_that_retention_took_away_is_none(self) -> None:
        with EmbeddedBroker(topics={"long": 1}) as broker:
            broker.produce(ProducedRecord(topic="long", partition=0, value=b"x" * 60_000) for _ in range(120))
            with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
                start, end = cluster.watermarks("long", [0])[0]
                assert 0 < start < end == 120
                assert cluster.record_at("long", 0, 0) is None
                assert cluster.record_at("long", 0, start) is not None


class TestReadOnly:
    def test_looking_leaves_no_topic_no_group_and_no_offset_behind(self) -> None:
        with CountedBroker(topics={"orders": 2}) as broker:
            broker.produce([ProducedRecord(topic="orders", partition=0, value=b"v")])
            before = broker.requests()
            harmful = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "app", "test.mock.num.brokers": "1"}
            harmful |= dict.fromkeys(("enable.auto.commit", "allow.auto.create.topics"), "true")
            harmful |= {"enable.auto.offset.store": "true", "auto.commit.interval.ms": "1"}
            with Cluster(harmful) as cluster:
                cluster.groups()
                cluster.committed("app", [("orders", 0), ("app-store-changelog", 0)])
                cluster.record_at("orders", 0, 0)
                for ask in (cluster.watermarks, lambda topic, _: cluster.record_at(topic, 0, 0)):
                    with pytest.raises(ClusterError, match="no topic 'app-store-changelog'"):
                        ask("app-store-changelog", [0])
                assert dict(cluster.topics()) == {"orders": 2}
            assert broker.topics == {"orders": 2}
            asked = broker.requests() - before
            assert asked[1] > 0, "it fetched"
            assert not {OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, CREATE_TOPICS, PRODUCE} & set(asked)
            with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
                assert cluster.committed("app", [("orders", 0)]) == {(Topic("orders"), 0): None}

    def test_the_broker_would_have_noticed(self) -> None:
        with EmbeddedBroker(topics={"orders": 1}) as broker:
            Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}).list_topics("seen", timeout=10)
            assert "seen" in broker.topics


class TestFailures:
    @pytest.mark.parametrize(
        ("ask", "doing"),
        [
            (lambda cluster: cluster.topics(), "while listing the topics"),
            *(
                pytest.param(ask, "", marks=pytest.mark.slow)
                for ask in (
                    lambda cluster: cluster.groups(),
                    lambda cluster: cluster.committed("app", [("orders", 0)]),
                    lambda cluster: cluster.watermarks("orders", [0]),
                    lambda cluster: cluster.record_at("orders", 0, 0),
                )
            ),
        ],
    )
    def test_an_unreachable_broker_fails_in_time_and_names_it_and_the_reason(
        self, capfd: pytest.CaptureFixture[str], ask: Callable[[Cluster], object], doing: str
    ) -> None:
        servers = f"127.0.0.1:{closed_port()}"
        began = time.monotonic()
        with (
            Cluster({"bootstrap.servers": servers}, timeout_s=1.0) as cluster,
            pytest.raises(ClusterError, match=rf"{servers}.*{doing}.*Connection refused"),
        ):
            ask(cluster)
        assert time.monotonic() - began < 10
        assert capfd.readouterr() == ("", "")

    def test_a_broker_that_dies_while_it_is_asked_for_a_record_does_not_hang_us(self) -> None:
        with EmbeddedBroker(topics={"orders": 1}) as broker:
            cluster = Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=1.0)
            assert cluster.record_at("orders", 0, 0) is None
        with cluster, pytest.raises(ClusterError, match="Failed at the Kafka cluster"):
            cluster.record_at("orders", 0, 0)

    def test_a_refused_log_in_says_so_at_once_and_keeps_the_password(
        self, broker: EmbeddedBroker, capfd: pytest.CaptureFixture[str]
    ) -> None:
        config = {"bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT"}
        config |= {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "hunter2"}
        began = time.monotonic()
        with Cluster(config, timeout_s=30) as cluster:
            assert "hunter2" not in repr(cluster)
            with pytest.raises(ClusterError, match=r"Authentication failed .*security\.protocol") as caught:
                cluster.topics()
        assert time.monotonic() - began < 10
        assert "hunter2" not in str(caught.value)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.core
    @pytest.mark.parametrize(
        ("config", "said"),
        [
            ({}, r"names no bootstrap\.servers"),
            ({"bootstrap.servers": "x:1", "no.such.setting": "hunter2"}, r"librdkafka refuses .* unknown property"),
            (
                {"bootstrap.servers": "x:1", "security.protocol": "hunter2", "sasl.password": "hunter2"},
                "not accept this value",
            ),
        ],
    )
    def test_a_configuration_that_is_none_is_refused_without_its_secrets(
        self, config: dict[str, str], said: str
    ) -> None:
        with pytest.raises(UsageError, match=said) as caught:
            Cluster(config)
        assert "hunter2" not in str(caught.value)

    def test_a_closed_cluster_says_so(self, broker: EmbeddedBroker) -> None:
        cluster = Cluster({"bootstrap.servers": broker.bootstrap_servers})
        cluster.close()
        cluster.close()
        with pytest.raises(ClusterError, match=r"Cluster\(127\.0\.0\.1:\d+\) is closed"):
            cluster.topics()
