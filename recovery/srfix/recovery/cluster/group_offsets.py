"""Committed offsets, asked by consumers that have a group's name and are no members. Some brokers answer nothing if no
partition is named (librdkafka's mock cluster). A question names only some partitions, because librdkafka looks each
partition of an answer up in the question's list, from its start.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.cluster.answers import Commit
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

Where: TypeAlias = tuple[Topic, int]
_AT_ONCE: Final = 8
"""A consumer has two files open for each broker of the cluster."""
_PIECE: Final = 250
_FIRST_TRY_S: Final = 1.0
_AGAIN_S: Final = 0.2


class GroupOffsets:
    def __init__(self, client: ReadOnlyClient, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s

    def reader(self, group: str) -> Consumer:
        # Otherwise the coordinator answers only once a transaction with offsets of the group has ended.
        return self._client.consumer(group_id=group, isolation_level="read_uncommitted")

    def of(
        self, groups: Iterable[str], partitions: Iterable[tuple[str, int]]
    ) -> dict[str, dict[Where, Commit] | ClusterError]:
        """The offsets that each group has committed for these partitions; an error for a group that cannot be asked. If
        a group gets no answer in time, those after it are given up sooner: perhaps their coordinator is away, too.
        """
        names, wanted = tuple(dict.fromkeys(groups)), tuple(dict.fromkeys(partitions))
        if not wanted:
            return {group: {} for group in names}
        timeout_s = self._timeout_s

        def ask(group: str) -> dict[Where, Commit] | ClusterError:
            nonlocal timeout_s
            reader = self.reader(group)
            try:
                return dict(self.of_reader(reader, group, wanted, timeout_s=timeout_s))
            except AccessDeniedError as error:
                return error
            except ClusterError as error:
                timeout_s = min(timeout_s, _FIRST_TRY_S)
                return error
            finally:
                reader.close()

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(names, pool.map(ask, names), strict=True))

    def of_reader(
        self, reader: Consumer, group: str, partitions: Iterable[tuple[str, int]], *, timeout_s: float
    ) -> Iterator[tuple[Where, Commit]]:
        """The same of one group, asked by a consumer that has its name and is no member. It waits for a coordinator that
        moves or comes back; librdkafka's admin client then crashes (its issue 4605), or never finds it (5511).
        """
        from confluent_kafka import KafkaException

        doing, deadline = self._doing(group), time.monotonic() + timeout_s
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
