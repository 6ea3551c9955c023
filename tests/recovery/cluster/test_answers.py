"""Topic configurations, group states and what is written beside committed offsets."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import Cluster
from srfix.recovery.cluster.answers import Commit, GroupState, TopicConfigs, refusal
from srfix.serde.subjects import Topic


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"users": 2}) as running:
        yield running


@pytest.fixture
def cluster(broker: EmbeddedBroker) -> Iterator[Cluster]:
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as opened:
        yield opened


class TestTopicConfigs:
    def test_a_broker_that_does_not_answer_is_a_problem_in_bounded_time(self, cluster: Cluster) -> None:
        began = time.monotonic()
        answers = cluster.topic_configs(["users"], timeout_s=0.3)
        assert time.monotonic() - began < 3
        assert answers[Topic("users")].values is None
        assert (answers[Topic("users")].problem or "").startswith("no answer in time")
        assert answers[Topic("users")].is_compacted is None

    def test_a_cluster_known_to_have_no_controller_is_not_waited_for(self, cluster: Cluster) -> None:
        cluster.topics()
        began = time.monotonic()
        answers = cluster.topic_configs(["users"])
        assert time.monotonic() - began < 1
        assert "the cluster has no controller" in (answers[Topic("users")].problem or "")

    def test_no_topics_no_question(self, cluster: Cluster) -> None:
        assert cluster.topic_configs([]) == {}

    @pytest.mark.parametrize(
        ("policy", "compacted"),
        [("compact", True), ("compact,delete", True), ("delete", False), ("delete,compact", True)],
    )
    def test_compact_may_be_one_of_two_policies(self, policy: str, compacted: bool) -> None:
        answer = TopicConfigs(topic=Topic("users"), values={"cleanup.policy": policy}, problem=None)
        assert answer.is_compacted is compacted


def test_a_broker_that_describes_no_groups_is_a_problem_in_words(cluster: Cluster) -> None:
    state = cluster.group_state("app")
    assert state == GroupState(group="app", state=None, members=None, problem=state.problem)
    assert "Required feature not supported by broker" in (state.problem or "")


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_a_missing_permission_is_named(code: int) -> None:
    assert "DescribeConfigs on topic 'users'" in refusal(KafkaError(code), acl="DescribeConfigs on topic 'users'")


class TestCommittedBy:
    def test_what_stands_beside_the_offset_comes_with_it(self, broker: EmbeddedBroker, cluster: Cluster) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        commit = ConsumerGroupTopicPartitions("app", [TopicPartition("users", 0, 5, "AQAAAXKZ")])
        admin.alter_consumer_group_offsets([commit])["app"].result(5)
        answer = cluster.committed_by(["app", "nobody"], [("users", 0), ("users", 1)])
        assert answer == {"app": {("users", 0): Commit(offset=5, metadata="AQAAAXKZ")}, "nobody": {}}
        assert cluster.committed("app", [("users", 0), ("users", 1)]) == {("users", 0): 5, ("users", 1): None}
