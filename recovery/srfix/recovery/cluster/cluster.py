"""A read-only look at a Kafka cluster: topics, groups, committed offsets, watermarks, single records.

It joins no group, commits nothing and creates no topic: srfix looks topics up in the full listing, because a question
about a topic by its name can create the topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeAlias, TypeVar

from srfix.recovery.cluster.answers import Commit, GroupListing, GroupState, TopicConfigs, group_states, topic_configs
from srfix.recovery.cluster.group_offsets import GroupOffsets
from srfix.recovery.cluster.log_reader import read_places, read_range
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.streams_members import StreamsMembers, streams_members
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation, ReadOnlyClient, answered_offset, free_aside
from srfix.serde.subjects.names import Topic
from srfix.serde.waiting import waiting

if TYPE_CHECKING:
    from confluent_kafka import Consumer, IsolationLevel
    from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

    _Offsets: TypeAlias = Mapping[int, Future[ListOffsetsResultInfo]]

_Answer = TypeVar("_Answer")
_FIRST_TRY_S: Final = 1.0
_ASK_LEADERS_S: Final = 0.2
"""The time between two questions for the leaders of partitions."""
_NO_ID: Final = "A" * 22
"""The id 0, in base64: a broker gives it to all topics if it knows no ids."""


class Cluster:
    """Reads what a cluster says about itself.

    :param config: librdkafka's properties; those that would join a group, commit offsets, create topics or print are
        left out.
    :param timeout_s: how long any one question may take.
    :raises UsageError: if librdkafka does not take the configuration, or the configuration names no bootstrap servers.
    """

    def __init__(self, config: Mapping[str, str], *, timeout_s: float = 15.0) -> None:
        self._client = ReadOnlyClient(config)
        self._timeout_s = timeout_s
        self._offsets = GroupOffsets(self._client, timeout_s)
        self._readers: dict[str, Consumer] = {}
        """Of committed offsets: that of the group that was asked last. A consumer has threads, and files for each broker."""
        self._reader: Consumer | None = None
        self._reader_knows: set[str] = set()
        self._lacks_controller = False
        self._listed: Mapping[Topic, int] = {}
        self._admin: AdminClient | None = self._client.admin()

    cluster_id = ""
    """Which cluster this is, whatever its addresses; "" before `topics` was asked."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({self._client.bootstrap_servers})"

    def topics(self) -> Mapping[Topic, int]:
        """Every topic that this user may see, with its number of partitions; by name.

        :raises ClusterError: if no broker answers in time, or authentication fails.
        """
        with waiting(self._words("listing the topics")):
            return self._topics()

    def _topics(self) -> Mapping[Topic, int]:
        from confluent_kafka import KafkaException

        admin = self._open_admin()
        deadline = time.monotonic() + self._timeout_s
        # Short first, then longer: librdkafka reports a failed log-in only between the tries.
        patience = _FIRST_TRY_S
        while True:
            left = deadline - time.monotonic()
            try:
                listing = admin.list_topics(timeout=max(0.1, min(patience, left)))
            except KafkaException as error:
                admin.poll(0)
                if left <= patience or self._client.authentication_failed:
                    raise self._client.failed("listing the topics", error) from None
                patience *= 2
            else:
                # If no listed broker is the controller, nobody would answer a question to the controller.
                self._lacks_controller = listing.controller_id not in listing.brokers
                self.cluster_id = listing.cluster_id or ""
                self._listed = {Topic(name): len(listing.topics[name].partitions) for name in sorted(listing.topics)}
                return self._listed

    def require_answers(self, after: ClusterError) -> None:
        """Checks that an error concerns one topic only: the cluster refused the question, or it still lists its topics.

        :raises ClusterError: if no broker answers in time.
        """
        if not isinstance(after, AccessDeniedError):
            self.topics()

    def topic_id(self, topic: str) -> str | None:
        """The id that a topic has until it is deleted (KIP-516); None if the cluster gives it none.

        :raises AccessDeniedError: if this user may not ask about the topic.
        :raises ClusterError: if the topic does not exist, or no broker answers in time.
        """
        from confluent_kafka import TopicCollection

        if self._lacks_controller:
            return None
        futures = self._open_admin().describe_topics(TopicCollection([topic]), request_timeout=self._timeout_s)
        described = self._answer(f"asking for the id of {topic!r}", futures[topic], acl=f"Describe on topic {topic!r}")
        identity = str(described.topic_id)
        return None if identity == _NO_ID else identity

    def hidden_topics(self, topics: Iterable[str]) -> frozenset[Topic]:
        """The given names that this user may not ask about. The listing lacks these topics, whether they exist or not.
        Empty if the cluster has no controller to ask; embedded clusters have none, and no access rights either.

        :raises ClusterError: if no broker answers in time.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        wanted = list(dict.fromkeys(topics))
        if not wanted or self._lacks_controller:
            return frozenset()
        futures = self._open_admin().describe_topics(TopicCollection(wanted), request_timeout=self._timeout_s)
        hidden: set[Topic] = set()
        for name, future in futures.items():
            try:
                future.result(self._timeout_s + 1)
            except (KafkaException, TimeoutError) as error:
                code = error.args[0].code() if isinstance(error, KafkaException) else KafkaError._TIMED_OUT
                if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    hidden.add(Topic(name))
                elif code == KafkaError._TIMED_OUT:
                    raise self._client.failed(f"asking whether there is a topic {name!r}", error) from None
        return frozenset(hidden)

    def groups(self) -> GroupListing:
        """The consumer groups, as far as the cluster lists them.

        :raises ClusterError: if no broker answers in time.
        """
        self.topics()  # a cluster out of reach is an error, not a list with a problem
        answer = self._answer(
            "listing the consumer groups", self._open_admin().list_consumer_groups(request_timeout=self._timeout_s)
        )
        problems = dict.fromkeys(str(getattr(error, "str", error.__str__)()) for error in answer.errors)
        problem = f"the cluster does not list its groups ({'; '.join(problems)})" if problems else None
        return GroupListing(groups=tuple(sorted(group.group_id for group in answer.valid)), problem=problem)

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        """The offset that a group has committed for each of these partitions, or None. An unknown group has no offsets.
        The question names all partitions, because some brokers answer only for named partitions.

        :raises AccessDeniedError: if this user may not read the group.
        :raises ClusterError: if no broker answers in time.
        """
        wanted = {(Topic(topic), partition): None for topic, partition in topic_partitions}
        if not wanted:
            return {}
        if (reader := self._readers.get(group)) is None:
            reader = self._offsets.reader(group)
            self._readers = {group: reader}
        try:
            commits = self._offsets.of_reader(reader, group, wanted, timeout_s=self._timeout_s)
            return wanted | {where: commit.offset for where, commit in commits}
        except AccessDeniedError:
            self._readers.pop(group, None)  # it says so only once
            raise

    def committed_by(
        self, groups: Iterable[str], topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[str, Mapping[tuple[Topic, int], Commit] | ClusterError]:
        """The offsets that each of many groups has committed for these partitions, asked side by side. Partitions
        without a commit are left out. If a group cannot be read, its value is the error: an `AccessDeniedError` for a
        group whose offsets this user may not read.
        """
        return self._offsets.of(groups, topic_partitions)

    def group_state(self, group: str, *, timeout_s: float = 5.0) -> GroupState:
        """Whether a group has members. If the cluster refuses, the answer has a `problem`; no error is raised."""
        return self.group_states([group], timeout_s=timeout_s)[group]

    def group_states(self, groups: Iterable[str], *, timeout_s: float = 5.0) -> Mapping[str, GroupState]:
        """The same for each of many groups, asked side by side."""
        states = group_states(self._open_admin(), list(dict.fromkeys(groups)), timeout_s=timeout_s)
        if any(state.problem for state in states.values()):
            # librdkafka aborts if a coordinator comes back after the time-out (its issue 4605).
            silent, self._admin = [self._open_admin()], None
            free_aside(silent)
            self._admin = self._client.admin()
        return states

    def streams_members(self, group: str, *, timeout_s: float = 5.0) -> StreamsMembers:
        """The instances of a Kafka Streams application, with their tasks. If the cluster refuses, the answer has a
        `problem`; no error is raised.
        """
        return streams_members(self._open_admin(), group, timeout_s=timeout_s)

    def topic_configs(self, topic: str, *, timeout_s: float = 5.0) -> TopicConfigs:
        """The configuration of an existing topic. If the cluster refuses, the answer has a `problem`; no error is raised."""
        if self._lacks_controller:
            problem = "only a controller could answer, and the cluster has none"
            return TopicConfigs(topic=Topic(topic), values=None, problem=problem)
        return topic_configs(self._open_admin(), topic, timeout_s=timeout_s)

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        """For each partition the start (inclusive) and the end (exclusive, the high watermark) of its log.

        :raises AccessDeniedError: if this user may not ask about the topic.
        :raises ClusterError: if the topic or a partition does not exist, or no broker answers in time.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec

        wanted = list(dict.fromkeys(partitions))
        self._require(topic, wanted)
        questions = [
            partial(self._ask_offsets, topic, spec=spec, isolation=IsolationLevel.READ_UNCOMMITTED)
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        ]
        both_ends = [ask(wanted) for ask in questions]  # srfix sends both before it waits for an answer
        starts, ends = map(partial(self._offsets_of, topic), both_ends, questions)
        return {partition: (starts[partition], ends[partition]) for partition in wanted}

    def stable_ends(self, topic: str, partitions: Iterable[int]) -> Mapping[int, int]:
        """For each partition the end (exclusive) of its log for readers of committed records: the last stable offset.
        An open transaction keeps it below the high watermark.

        :raises AccessDeniedError: if this user may not ask about the topic.
        :raises ClusterError: if the topic or a partition does not exist, or no broker answers in time.
        """
        from confluent_kafka import IsolationLevel
        from confluent_kafka.admin import OffsetSpec

        wanted = list(dict.fromkeys(partitions))
        self._require(topic, wanted)
        ask = partial(self._ask_offsets, topic, spec=OffsetSpec.latest(), isolation=IsolationLevel.READ_COMMITTED)
        return self._offsets_of(topic, ask(wanted), ask)

    def record_at(self, topic: str, partition: int, offset: int) -> RawRecord | None:
        """The record at one offset; None if the broker has none there (any more).

        :raises ClusterError: if the topic or partition does not exist, or no broker answers in time.
        """
        ((_place, record),) = self.records_at(topic, [(partition, offset)])
        return record

    def records_at(
        self, topic: str, places: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], RawRecord | None]]:
        """Each (partition, offset) with its record, in any order; None if the broker has no record there (any more).

        :raises ClusterError: if the topic or a partition does not exist, or no broker answers in time.
        """
        wanted = list(places)
        self._require(topic, sorted({partition for partition, _offset in wanted}))
        yield from read_places(self._client, self._reader_of(topic), topic, wanted, timeout_s=self._timeout_s)

    def read(
        self,
        topic: str,
        partition: int,
        begin: int,
        end: int,
        *,
        give_up_at: float | None = None,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> Iterator[RawRecord]:
        """The records of a partition that exists, from `begin` (inclusive) to `end` (exclusive).

        :param isolation: whether to include records of aborted and open transactions.
        :param give_up_at: the time, by `time.monotonic`, at which the read stops in any case; None for never.
        :raises ClusterError: if no broker answers in time.
        :raises GaveUp: at `give_up_at`.
        """
        return read_range(
            self._client,
            topic,
            partition,
            begin,
            end,
            timeout_s=self._timeout_s,
            give_up_at=give_up_at,
            isolation=isolation,
        )

    def close(self) -> None:
        """Closes the connections. Calling it again does nothing."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
            self._reader_knows.clear()
        while self._readers:
            self._readers.popitem()[1].close()
        self._admin = None

    def _require(self, topic: str, partitions: Sequence[int]) -> None:
        """Asks for a new listing only if the last one lacks the topic: a listing of thousands of topics is slow."""
        count = self._listed.get(Topic(topic))
        if count is None or not all(0 <= partition < count for partition in partitions):
            count = self.topics().get(Topic(topic))
        where = f"the Kafka cluster at {self._client.bootstrap_servers}"
        if count is None:
            raise ClusterError(
                f"There is no topic {topic!r} on {where}, or this user may not see it. Check its spelling, "
                "letter case, the cluster and the right to describe it."
            )
        missing = sorted(partition for partition in partitions if not 0 <= partition < count)
        if missing:
            raise ClusterError(
                f"The topic {topic!r} on {where} has {counted(count, 'partition')}, 0 to {count - 1}, and no "
                f"partition {' or '.join(map(str, missing))}. Check whether the topic was recreated."
            )

    def _ask_offsets(
        self, topic: str, partitions: list[int], *, spec: OffsetSpec, isolation: IsolationLevel
    ) -> _Offsets:
        from confluent_kafka import TopicPartition

        if not partitions:
            return {}
        futures = self._open_admin().list_offsets(
            {TopicPartition(topic, partition): spec for partition in partitions},
            isolation_level=isolation,
            request_timeout=self._timeout_s,
        )
        return {entry.partition: future for entry, future in futures.items()}

    def _offsets_of(self, topic: str, futures: _Offsets, ask: Callable[[list[int]], _Offsets]) -> Mapping[int, int]:
        """The answers. While partitions change their leaders, as in a rolling restart, srfix asks for them again."""
        from confluent_kafka import KafkaException

        doing, acl = f"reading the watermarks of the topic {topic!r}", f"Describe on topic {topic!r}"
        deadline = time.monotonic() + self._timeout_s
        with waiting(self._words(doing)):
            while leaderless := [partition for partition, future in futures.items() if self._lacks_leader(future)]:
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"Failed at the Kafka cluster at {self._client.bootstrap_servers} while {doing}: partition "
                        f"{leaderless[0]} of the topic {topic!r} has no leader, so nobody can read it. Start a broker that has "
                        "a replica of it."
                    )
                time.sleep(_ASK_LEADERS_S)
                self._topics()  # librdkafka learns the leaders
                self._require(topic, leaderless)  # raises if the topic was deleted
                futures = {**futures, **ask(leaderless)}
        try:
            answers = {partition: self._answer(doing, future, acl=acl) for partition, future in futures.items()}
            return {partition: answered_offset(answer) for partition, answer in answers.items()}
        except AccessDeniedError:
            raise
        except (ClusterError, KafkaException) as error:
            self._listed = {}
            self._require(topic, list(futures))  # raises if the topic was deleted since the last listing
            raise error if isinstance(error, ClusterError) else self._client.failed(doing, error) from None

    def _lacks_leader(self, future: Future[ListOffsetsResultInfo]) -> bool:
        from confluent_kafka import KafkaError, KafkaException

        try:
            error = future.exception(self._timeout_s + 1)
        except TimeoutError:
            return False
        return isinstance(error, KafkaException) and error.args[0].code() in (
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError._NOENT,  # if none of the partitions that were asked for has one
        )

    def _words(self, doing: str) -> str:
        return f"the Kafka cluster at {self._client.bootstrap_servers} ({doing})"

    def _open_admin(self) -> AdminClient:
        if self._admin is None:
            raise ClusterError(f"{self!r} is closed; open a new one to ask the cluster.")
        return self._admin

    def _reader_of(self, topic: str) -> Consumer:
        from confluent_kafka import KafkaException

        reader = self._reader = self._reader or self._new_reader()
        if topic not in self._reader_knows:
            # Without this question, librdkafka asks only once a second who leads the partitions of topics that are new
            # to it.
            try:
                topics = reader.list_topics(topic, timeout=self._timeout_s).topics
            except KafkaException as error:
                raise self._client.failed(f"asking who leads the partitions of {topic!r}", error) from None
            if topic not in topics or topics[topic].error is not None:
                self._listed = {}
                self._require(topic, ())  # it may have been deleted since the last listing
            self._reader_knows.add(topic)
        return reader

    def _new_reader(self) -> Consumer:
        return self._client.consumer(
            auto_offset_reset="error",
            enable_partition_eof="true",
            isolation_level="read_uncommitted",
            # one record is wanted at once: fetch little, and do not wait until more records have gathered
            queued_min_messages="1",
            fetch_message_max_bytes="65536",
            fetch_wait_max_ms="10",
            fetch_queue_backoff_ms="10",
        )

    def _answer(self, doing: str, future: Future[_Answer], *, acl: str | None = None) -> _Answer:
        from confluent_kafka import KafkaException

        try:
            # librdkafka keeps the time-out; the extra second lets its own answer arrive.
            with waiting(self._words(doing)):
                return future.result(self._timeout_s + 1)
        except (KafkaException, TimeoutError) as error:
            self._open_admin().poll(0)
            raise self._client.failed(doing, error, acl=acl) from None
