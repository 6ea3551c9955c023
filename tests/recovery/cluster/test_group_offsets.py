"""Committed offsets of many groups: each is asked by a consumer of its name, a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from srfix.recovery.cluster.answers import Commit
from srfix.recovery.cluster.group_offsets import GroupOffsets
from srfix.serde import AccessDeniedError, ClusterError, Topic
from srfix.serde.properties.kafka_client import ReadOnlyClient

EVERY = [("orders", number) for number in range(3)] + [("users", 0)]


class Broker(ReadOnlyClient):
    """Makes consumers that answer at once."""

    def __init__(
        self, groups: Mapping[str, Mapping[tuple[str, int], int]], *, denied: str = "", silent: str = ""
    ) -> None:
        super().__init__({"bootstrap.servers": "127.0.0.1:9"})
        self.groups = groups
        self.denied = denied
        self.silent = silent
        self.asked: list[str] = []
        self.patience_s: dict[str, float] = {}
        self.open = self.most_open = 0
        self.lock = Lock()

    def consumer(self, **settings: str) -> Consumer:
        assert settings["isolation_level"] == "read_uncommitted"
        with self.lock:
            self.asked.append(settings["group_id"])
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        return cast(Consumer, _Reader(self, settings["group_id"]))


class _Reader:
    def __init__(self, broker: Broker, group: str) -> None:
        self._broker = broker
        self._group = group

    def committed(self, wanted: Sequence[TopicPartition], *, timeout: float) -> list[TopicPartition]:
        self._broker.patience_s[self._group] = timeout
        if self._group == self._broker.denied:
            raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
        if self._group.startswith(self._broker.silent or " "):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        committed = self._broker.groups.get(self._group, {})
        return [TopicPartition(e.topic, e.partition, committed.get((e.topic, e.partition), -1001)) for e in wanted]

    def poll(self, _timeout: float) -> None: ...

    def close(self) -> None:
        with self._broker.lock:
            self._broker.open -= 1


def ask(
    broker: Broker, groups: Iterable[str], partitions: Iterable[tuple[str, int]] = EVERY
) -> Mapping[str, Mapping[tuple[Topic, int], Commit] | ClusterError]:
    return GroupOffsets(broker, 1.0).of(groups, partitions)


def at(offset: int) -> Commit:
    return Commit(offset=offset, metadata="")


@pytest.mark.core
def test_a_group_is_asked_once_and_only_its_commits_are_answered() -> None:
    broker = Broker({"shop": {("orders", 1): 7, ("deleted-since", 0): 3}})
    answers = ask(broker, ["gone", "shop", "gone-too", "shop"])
    assert answers == {"gone": {}, "shop": {("orders", 1): at(7)}, "gone-too": {}}
    assert sorted(broker.asked) == ["gone", "gone-too", "shop"]


def test_a_few_consumers_are_open_at_a_time_and_none_stays() -> None:
    broker = Broker({"shop": {("orders", 1): 7}})
    ask(broker, ["shop", *(f"gone-{number}" for number in range(200))])
    assert broker.most_open <= 8
    assert broker.open == 0


def test_a_group_that_may_not_be_asked_is_an_error_in_its_place() -> None:
    broker = Broker({"shop": {("orders", 1): 7}}, denied="secret")
    answers = ask(broker, ["secret", "shop"])
    assert answers["shop"] == {("orders", 1): at(7)}
    refused = answers["secret"]
    assert isinstance(refused, AccessDeniedError)
    assert refused.acl == "Describe on group 'secret'"
    assert "127.0.0.1:9 while reading the committed offsets" in refused.message


def test_groups_behind_one_that_got_no_answer_are_given_up_sooner() -> None:
    broker = Broker({"shop": {("orders", 1): 7}}, silent="away")
    offsets = GroupOffsets(broker, 0.5)
    answers = offsets.of([*(f"away-{number}" for number in range(9)), "shop"], EVERY)
    assert [group for group, answer in answers.items() if isinstance(answer, ClusterError)] == [
        f"away-{number}" for number in range(9)
    ]
    assert answers["shop"] == {("orders", 1): at(7)}


class Beyond:
    """An entry whose metadata the client library reads beyond its end, as it does when the memory there is not empty."""

    topic, partition, offset, error = "orders", 1, 7, None

    @property
    def metadata(self) -> str:
        return b"AQAAAXKk5uYA\xd5p".decode()


def test_metadata_without_its_end_is_read_with_what_follows_it_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Reader, "committed", lambda *_, **__: [Beyond()])
    assert ask(Broker({}), ["shop"]) == {"shop": {("orders", 1): Commit(offset=7, metadata="AQAAAXKk5uYA\ufffdp")}}


def test_no_partitions_no_question() -> None:
    broker = Broker({"shop": {("orders", 1): 7}})
    assert ask(broker, ["shop"], []) == {"shop": {}}
    assert broker.asked == []
