"""A cluster in memory: logs that can be compacted, a group, and an instant between any two things that happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from srfix.recovery.cluster.answers import GroupState, TopicConfigs
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.topic_plan.logs import STREAMS_CONFIGS, NewRecord
from srfix.serde import Topic
from srfix.serde.properties.kafka_client import Isolation

SERVERS = "broker:9092"
NOW = "2026-11-26T12:00:00+00:00"
NOW_MS = 1_795_694_400_000
DAY_MS = 86_400_000

Content = tuple[bytes | None, int | None, tuple[tuple[str, bytes | None], ...]]
"""Value, timestamp and headers."""


class Killed(BaseException):
    """kill -9."""


@dataclass
class Log:
    records: list[RawRecord] = field(default_factory=list)
    start: int = 0
    end: int = 0


@dataclass
class World:
    """Both a `Look` and a `Hand`. `instant` is called between any two things that happen."""

    logs: dict[str, list[Log]] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    commits: dict[tuple[str, str, int], int] = field(default_factory=dict)
    members: int | None = 0
    instant: Callable[[], None] = lambda: None
    appended: int = 0
    """Records that a hand has written."""

    def with_topic(self, name: str, partitions: int, **configs: str) -> World:
        self.logs[name] = [Log() for _ in range(partitions)]
        self.configs[name] = dict(STREAMS_CONFIGS) | {key.replace("_", "."): value for key, value in configs.items()}
        return self

    def put(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int | None = 1000,
        *,
        partition: int = 0,
        headers: tuple[tuple[str, bytes | None], ...] = (),
    ) -> None:
        """Anybody's record."""
        log = self.logs[topic][partition]
        log.records.append(
            RawRecord(partition=partition, offset=log.end, key=key, value=value, headers=headers, timestamp=timestamp)
        )
        log.end += 1

    def compact(self, topic: str, *, with_tombstones: bool = False) -> None:
        """Only the newest record of each key stays, and tombstones if not said otherwise."""
        for log in self.logs[topic]:
            newest = {record.key: record.offset for record in log.records}
            log.records = [
                record
                for record in log.records
                if newest[record.key] == record.offset and not (with_tombstones and record.value is None)
            ]

    def commit(self, group: str, topic: str, *offsets: int | None) -> None:
        """By partition."""
        for partition, offset in enumerate(offsets):
            if offset is not None:
                self.commits[group, topic, partition] = offset

    def rows(self, topic: str) -> dict[tuple[int, bytes], Content]:
        """What a restore of the whole topic makes."""
        found: dict[tuple[int, bytes], Content] = {}
        for partition, log in enumerate(self.logs.get(topic, [])):
            for record in log.records:
                if record.key is None:
                    continue
                found.pop((partition, record.key), None)
                if record.value is not None:
                    found[partition, record.key] = (record.value, record.timestamp, record.headers)
        return found

    # --- Look

    def topics(self) -> Mapping[Topic, int]:
        return {Topic(name): len(logs) for name, logs in sorted(self.logs.items())}

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        return {(Topic(topic), part): self.commits.get((group, topic, part)) for topic, part in topic_partitions}

    def group_state(self, group: str) -> GroupState:
        problem = "an ACL is missing" if self.members is None else None
        state = None if self.members is None else "Stable" if self.members else "Empty"
        return GroupState(group=group, state=state, members=self.members, problem=problem)

    def topic_configs(self, topic: str) -> TopicConfigs:
        return TopicConfigs(topic=Topic(topic), values=dict(self.configs[topic]), problem=None)

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        found = {each: (self.logs[topic][each].start, self.logs[topic][each].end) for each in partitions}
        self.instant()
        return found

    def read(
        self, topic: str, partition: int, begin: int, end: int, *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Iterator[RawRecord]:
        for record in list(self.logs[topic][partition].records):
            if begin <= record.offset < end:
                yield record

    # --- Hand

    def create_topic(self, topic: str, partitions: int, *, replication_factor: int, configs: Mapping[str, str]) -> None:
        assert topic not in self.logs
        self.instant()
        self.logs[topic] = [Log() for _ in range(partitions)]
        self.configs[topic] = dict(configs)
        self.instant()

    def delete_topic(self, topic: str) -> None:
        self.instant()
        del self.logs[topic]
        self.instant()

    def append(self, topic: str, records: Iterable[NewRecord]) -> int:
        count = 0
        for record in records:
            self.instant()
            self.put(
                topic,
                record.key,
                record.value,
                record.timestamp_ms or NOW_MS,
                partition=record.partition,
                headers=record.headers,
            )
            self.appended += 1
            count += 1
        self.instant()
        return count

    def clock(self) -> str:
        """Called before each line of the journal."""
        self.instant()
        return NOW


@dataclass
class KillAt:
    """An `instant` that kills at the n-th, from 0 on; counts on without killing for None."""

    number: int | None
    seen: int = 0

    def __call__(self) -> None:
        self.seen += 1
        if self.seen - 1 == self.number:
            raise Killed
