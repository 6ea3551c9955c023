"""Committed offsets of many groups: the answers are those of one question after the other, the questions are few."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from srfix.recovery.cluster.answers import Commit
from srfix.recovery.cluster.group_offsets import GroupOffsets
from srfix.serde import AccessDeniedError, ClusterError, Topic
from srfix.serde.properties.kafka_client import ReadOnlyClient

EVERY = [("orders", number) for number in range(3)] + [("users", 0)]


class Broker:
    """Answers in the place of an AdminClient: at once, or when it is asked for the answer."""

    def __init__(
        self, groups: Mapping[str, Mapping[tuple[str, int], int]], *, answers_unnamed: bool = True, denied: str = ""
    ) -> None:
        self.groups = groups
        self.answers_unnamed = answers_unnamed
        self.denied = denied
        self.unnamed: list[str] = []
        self.named: list[str] = []
        self.under_way = self.most_under_way = 0

    def list_consumer_group_offsets(
        self, questions: list[ConsumerGroupTopicPartitions], *, request_timeout: float
    ) -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        (question,) = questions
        group, wanted = str(question.group_id), question.topic_partitions
        (self.unnamed if wanted is None else self.named).append(group)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        committed = self.groups.get(group, {})
        if wanted is None:
            entries = [TopicPartition(t, p, offset) for (t, p), offset in committed.items() if self.answers_unnamed]
        else:
            entries = [TopicPartition(e.topic, e.partition, committed.get((e.topic, e.partition), -1)) for e in wanted]
        answer = _Answer(self)
        answer.set_result(ConsumerGroupTopicPartitions(group, entries))
        if group == self.denied:
            answer = _Answer(self)
            answer.set_exception(KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)))
        return {group: answer}

    def poll(self, _timeout: float) -> None: ...


class _Answer(Future[ConsumerGroupTopicPartitions]):
    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self._broker = broker

    def result(self, timeout: float | None = None) -> ConsumerGroupTopicPartitions:
        self._broker.under_way -= 1
        return super().result(timeout)


def ask(
    broker: Broker, groups: Iterable[str], partitions: Iterable[tuple[str, int]] = EVERY
) -> Mapping[str, Mapping[tuple[Topic, int], Commit] | ClusterError]:
    offsets = GroupOffsets(ReadOnlyClient({"bootstrap.servers": "127.0.0.1:9"}), 1.0)
    return offsets.of(cast(AdminClient, broker), groups, partitions)


def at(offset: int) -> Commit:
    return Commit(offset=offset, metadata="")


class TestABrokerThatAnswersWithoutNames:
    @pytest.mark.core
    def test_no_partition_is_named_and_a_group_is_asked_once(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7}})
        answers = ask(broker, ["gone", "shop", "gone-too", "shop"])
        assert answers == {"gone": {}, "shop": {("orders", 1): at(7)}, "gone-too": {}}
        assert broker.named == []
        assert sorted(broker.unnamed) == ["gone", "gone-too", "shop"]

    def test_what_was_not_asked_for_is_left_out_and_shows_how_it_answers(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7, ("deleted-since", 0): 3}, "other": {("deleted-since", 0): 3}})
        assert ask(broker, ["other", "shop", "gone"]) == {"other": {}, "shop": {("orders", 1): at(7)}, "gone": {}}
        assert broker.named == []

    def test_a_few_are_under_way_at_a_time(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7}})
        ask(broker, ["shop", *(f"gone-{number}" for number in range(1_000))])
        assert 1 < broker.most_under_way <= 64

    def test_a_group_that_may_not_be_asked_is_an_error_in_its_place(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7}}, denied="secret")
        answers = ask(broker, ["secret", "shop"])
        assert answers["shop"] == {("orders", 1): at(7)}
        refused = answers["secret"]
        assert isinstance(refused, AccessDeniedError)
        assert refused.acl == "Describe on group 'secret'"
        assert "127.0.0.1:9 while reading the committed offsets" in refused.message


class Beyond:
    """An entry whose metadata the client library reads beyond its end, as it does when the memory there is not empty."""

    topic, partition, offset, error = "orders", 1, 7, None

    @property
    def metadata(self) -> str:
        return b"AQAAAXKk5uYA\xd5p".decode()


def test_metadata_without_its_end_is_read_with_what_follows_it_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, answer = Broker({}), Future[ConsumerGroupTopicPartitions]()
    answer.set_result(cast(ConsumerGroupTopicPartitions, SimpleNamespace(topic_partitions=[Beyond()])))
    monkeypatch.setattr(broker, "list_consumer_group_offsets", lambda *_, **__: {"shop": answer})
    assert ask(broker, ["shop"]) == {"shop": {("orders", 1): Commit(offset=7, metadata="AQAAAXKk5uYA\ufffdp")}}


class TestABrokerThatDoesNot:
    def test_every_partition_is_named(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7}}, answers_unnamed=False, denied="secret")
        answers = ask(broker, ["gone", "shop", "secret"])
        assert (answers["gone"], answers["shop"]) == ({}, {("orders", 1): at(7)})
        assert broker.named == ["gone", "shop"]

    def test_no_partitions_no_question(self) -> None:
        broker = Broker({"shop": {("orders", 1): 7}})
        assert ask(broker, ["shop"], []) == {"shop": {}}
        assert broker.unnamed == []
