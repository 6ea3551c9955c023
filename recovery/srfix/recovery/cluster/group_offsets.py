"""Committed offsets, asked of many groups side by side, because a question names one group (librdkafka). Some brokers
answer nothing if no partition is named (librdkafka's mock cluster). A question names only some partitions, because
librdkafka looks each partition of an answer up in the question's list, from its start.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.cluster.answers import Commit
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
    from confluent_kafka.admin import AdminClient

Where: TypeAlias = tuple[Topic, int]
_AT_ONCE: Final = 64
_PIECE: Final = 250
_FIRST_TRY_S: Final = 1.0
_AGAIN_S: Final = 0.2

_Question: TypeAlias = "tuple[str, Sequence[TopicPartition] | None]"
_Pending: TypeAlias = "tuple[str, Future[ConsumerGroupTopicPartitions]]"


class GroupOffsets:
    def __init__(self, client: ReadOnlyClient, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._answers_unnamed = False

    def of(
        self, admin: AdminClient, groups: Iterable[str], partitions: Iterable[tuple[str, int]]
    ) -> dict[str, dict[Where, Commit] | ClusterError]:
        """The offsets that each group has committed for these partitions; an error for a group that cannot be asked."""
        names = tuple(dict.fromkeys(groups))
        wanted = {(Topic(topic), partition): None for topic, partition in partitions}
        if not wanted:
            return {group: {} for group in names}
        commits: dict[str, dict[Where, Commit] | ClusterError] = {}
        silent: list[str] = []
        for group, answer in self._ask(admin, ((group, None) for group in names)):
            if isinstance(answer, dict):
                self._answers_unnamed = self._answers_unnamed or bool(answer)
                commits[group] = {where: commit for where, commit in answer.items() if where in wanted}
                if not answer:
                    silent.append(group)
            else:
                commits[group] = answer
                if not isinstance(answer, AccessDeniedError):
                    silent.append(group)  # a broker before 0.10.2 may not accept a question without names
        if not self._answers_unnamed:
            commits |= self.of_named(admin, silent, wanted)
        return commits

    def of_named(
        self, admin: AdminClient, groups: Iterable[str], partitions: Iterable[tuple[str, int]]
    ) -> dict[str, dict[Where, Commit] | ClusterError]:
        pieces = _pieces(partitions)
        commits: dict[str, dict[Where, Commit] | ClusterError] = {}
        for group, answer in self._ask(admin, ((group, piece) for group in dict.fromkeys(groups) for piece in pieces)):
            group_commits = commits.setdefault(group, {})
            if isinstance(answer, ClusterError):
                commits[group] = answer
            elif isinstance(group_commits, dict):
                group_commits.update(answer)
        return commits

    def of_reader(
        self, reader: Consumer, group: str, partitions: Iterable[tuple[str, int]]
    ) -> Iterator[tuple[Where, Commit]]:
        """The same of one group, asked by a consumer that has its name and is no member. It waits for a coordinator that
        moves or comes back; librdkafka's admin client then crashes (its issue 4605), or never finds it (5511).
        """
        from confluent_kafka import KafkaException

        doing, deadline = self._doing(group), time.monotonic() + self._timeout_s
        patience_s = _FIRST_TRY_S  # librdkafka reports a refusal only between the tries
        for piece in _pieces(partitions):
            while True:
                left_s = deadline - time.monotonic()
                try:
                    commits = self._commits(group, reader.committed(piece, timeout=max(0.1, min(patience_s, left_s))))
                    break
                except KafkaException as error:
                    event = reader.poll(0)
                    reason = error if event is None else event.error() or error
                    failed = self._client.failed(doing, reason, acl=f"Describe on group {group!r}")
                    refused = isinstance(failed, AccessDeniedError) or self._client.authentication_failed
                    if refused or left_s <= patience_s:
                        raise failed from None
                    patience_s *= 2
                    time.sleep(_AGAIN_S)
            if isinstance(commits, ClusterError):
                raise commits
            yield from commits.items()

    def _ask(
        self, admin: AdminClient, questions: Iterable[_Question]
    ) -> Iterator[tuple[str, dict[Where, Commit] | ClusterError]]:
        from confluent_kafka import ConsumerGroupTopicPartitions

        pending: deque[_Pending] = deque()
        for group, named in questions:
            if len(pending) >= _AT_ONCE:
                yield self._answer(admin, pending.popleft())
            question = ConsumerGroupTopicPartitions(group, None if named is None else list(named))
            futures = admin.list_consumer_group_offsets([question], request_timeout=self._timeout_s)
            pending.append((group, futures[group]))
        while pending:
            yield self._answer(admin, pending.popleft())

    def _answer(self, admin: AdminClient, pending: _Pending) -> tuple[str, dict[Where, Commit] | ClusterError]:
        from confluent_kafka import KafkaException

        group, future = pending
        try:
            # librdkafka keeps the time-out; the extra second lets its own answer arrive.
            entries = future.result(self._timeout_s + 1).topic_partitions or []
        except (KafkaException, TimeoutError) as error:
            admin.poll(0)
            return group, self._client.failed(self._doing(group), error, acl=f"Describe on group {group!r}")
        return group, self._commits(group, entries)

    def _doing(self, group: str) -> str:
        return f"reading the committed offsets of the group {group!r}"

    def _commits(self, group: str, entries: Iterable[TopicPartition]) -> dict[Where, Commit] | ClusterError:
        from confluent_kafka import KafkaError

        commits: dict[Where, Commit] = {}
        for entry in entries:
            if entry.error is None:
                if entry.offset >= 0:
                    commits[Topic(entry.topic), entry.partition] = Commit(
                        offset=entry.offset, metadata=_metadata(entry)
                    )
            elif entry.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                where = f"{self._doing(group)} for {entry.topic}[{entry.partition}]"
                return self._client.failed(where, entry.error, acl=f"Describe on topic {entry.topic!r}")
        return commits


def _pieces(partitions: Iterable[tuple[str, int]]) -> list[list[TopicPartition]]:
    from confluent_kafka import TopicPartition

    named = [TopicPartition(topic, partition) for topic, partition in dict.fromkeys(partitions)]
    return [named[start : start + _PIECE] for start in range(0, len(named), _PIECE)]


def _metadata(entry: TopicPartition) -> str:
    """The metadata beside an offset, with bytes that follow it in memory. librdkafka copies it without the final zero
    that confluent-kafka looks for (since its pull request 4876).
    """
    try:
        return entry.metadata or ""
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", errors="replace")
