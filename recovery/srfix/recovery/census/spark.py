"""A census on Spark: for topics that do not fit one machine. The same numbers as `LocalCensus`.

Each Spark job reads and counts about a million offsets. The jobs run side by side, and only sums come back. It needs
Spark's Kafka jars (`srfix.serde.spark.packages`), and no srfix on the executors. On one machine the local engine is
faster for topics of less than some ten million records: the session alone takes seconds to start.

In a notebook, with its session:

    from srfix.recovery.census.interface import CensusRequest
    from srfix.recovery.census.spark import SparkCensus

    engine = SparkCensus(spark, {"bootstrap.servers": "kafka:9092"})
    census = engine.count(CensusRequest(topic="users", partitions=(0, 1, 2), committed=None))
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest, PartitionCensus, role_census
from srfix.recovery.census.spark_topic import Group, SparkTopics, counting_sql, finished, tallies
from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_JOBS: Final = 16
_ASK_AGAIN_S: Final = 0.2


@dataclass(slots=True, kw_only=True)
class _Partition:
    start: int
    end: int
    until: int
    stopped_early: str | None = None
    """Why the read stops before the end."""
    start_moved_to: int | None = None


class SparkCensus:
    """Counts topics on a session of Spark, classic or Connect. It joins no group, and commits nothing.

    :param spark: the session. srfix uses it and does not configure it: its owner sets `spark.sql.shuffle.partitions`
        and the like.
    :param config: librdkafka's configuration names, as for `Cluster`: this process asks for the ends of the log, and
        the executors' Java clients get the equivalent properties.
    :param kafka_options: options of Spark's Kafka source, which win over the options made from `config`:
        `minPartitions`, or `kafka.sasl.jaas.config` for a mechanism of your own.
    :param timeout_s: how long a question about the topic may take.
    :param stall_timeout_s: how long to wait for an open transaction.
    :param offsets_per_job: the least average number of offsets that a job reads. A job reads whole partitions. At a
        deadline, only the records of finished jobs are counted.
    :raises UsageError: if a property has no counterpart in Java's clients.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: Mapping[str, str],
        *,
        kafka_options: Mapping[str, str] | None = None,
        timeout_s: float = 15.0,
        stall_timeout_s: float = 30.0,
        offsets_per_job: int = 1_000_000,
    ) -> None:
        self._spark = spark
        self._config = dict(config)
        self._topics = SparkTopics(spark, config, kafka_options or {})
        self._timeout_s = timeout_s
        self._stall_timeout_s = stall_timeout_s
        self._offsets_per_job = offsets_per_job

    def __repr__(self) -> str:
        return f"SparkCensus({self._topics!r})"

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """Reads every partition from its start to the end it had when the read began. See `CensusEngine.count`.

        If an open transaction hides the rest of a log from READ_COMMITTED for `stall_timeout_s`, srfix stops reading that
        partition early. A partition that is not read to its end when the deadline is reached counts as wholly unread:
        none of its records is counted. A limit of records cuts all partitions evenly, by offsets: fewer records are
        read if offsets have gaps.

        :param on_progress: called a few times a second, and at the end; records are counted when their job is done.
        :raises AccessDeniedError: if this user may not read the topic.
        :raises ClusterError: if the cluster does not answer, the topic or a partition does not exist, Spark fails, or a
            log goes back while it is read (recreated, truncated).
        :raises JarMissingError: if Spark has no Kafka source.
        """
        counting = _Counting(request, on_progress)
        with Cluster(self._config, timeout_s=self._timeout_s) as cluster:
            for partition, (start, end) in cluster.watermarks(request.topic, request.partitions).items():
                counting.partitions[partition] = _Partition(start=start, end=end, until=end)
            self._await_transactions(cluster, counting)
            counting.cut()
            self._count(counting)
            counting.compare(cluster.watermarks(request.topic, request.partitions))
        return counting.result()

    def _await_transactions(self, cluster: Cluster, counting: _Counting) -> None:
        if counting.request.isolation is not Isolation.READ_COMMITTED:
            return
        give_up_at = time.monotonic() + self._stall_timeout_s
        if counting.give_up_at is not None:
            give_up_at = min(give_up_at, counting.give_up_at)
        open_ones = {number for number, partition in counting.partitions.items() if partition.start < partition.end}
        while open_ones:
            stable = cluster.stable_ends(counting.request.topic, open_ones)
            open_ones = {number for number in open_ones if stable[number] < counting.partitions[number].end}
            if time.monotonic() >= give_up_at:
                break
            if open_ones:
                time.sleep(_ASK_AGAIN_S)
        for number in open_ones:
            partition = counting.partitions[number]
            partition.until = max(partition.start, stable[number])
            partition.stopped_early = (
                f"an open transaction hides the records from offset {stable[number]} on; the log ended at "
                f"{partition.end} when the read began"
            )

    def _count(self, counting: _Counting) -> None:
        ranges = {
            number: (partition.start, partition.until)
            for number, partition in counting.partitions.items()
            if partition.start < partition.until
        }
        counted: set[int] = set()
        if ranges:
            statement = counting_sql(counting.restore_limits())
            jobs = {
                tuple(part): self._job(counting.request, part, statement)
                for part in _parts(ranges, self._offsets_per_job)
            }
            with self._topics.failures(counting.request.topic, f"reading {counting.request.topic}"):
                for part, groups in finished(self._spark, jobs, give_up_at=counting.give_up_at, on_tick=counting.tell):
                    counted.update(part)
                    counting.take(groups)
        counting.give_up(ranges.keys() - counted)
        counting.tell()

    def _job(
        self, request: CensusRequest, ranges: Mapping[int, tuple[int, int]], statement: str
    ) -> Callable[[], list[Group]]:
        def job() -> list[Group]:
            records = self._topics.frame(request.topic, ranges, request.isolation)
            return [Group(**row.asDict()) for row in self._spark.sql(statement, records=records).collect()]

        return job


class _Counting:
    def __init__(self, request: CensusRequest, on_progress: Callable[[CensusProgress], None] | None) -> None:
        self.request = request
        self.partitions: dict[int, _Partition] = {}
        self._on_progress = on_progress
        self._began = time.monotonic()
        self.give_up_at = None if request.deadline_s is None else self._began + request.deadline_s
        self._groups: defaultdict[int, list[Group]] = defaultdict(list)

    def restore_limits(self) -> list[int | None]:
        limits: list[int | None] = [None] * (1 + max(self.partitions, default=-1))
        for number, partition in self.partitions.items():
            limits[number] = self.request.restore_limit(number, partition.end)
        return limits

    def cut(self) -> None:
        """Shares out evenly the records that may be read; the part that one partition does not need goes to the others."""
        limit = self.request.max_records
        if limit is None:
            return
        most = limit
        smallest_first = sorted(self.partitions.items(), key=lambda item: item[1].until - item[1].start)
        for place, (_number, partition) in enumerate(smallest_first):
            share = min(partition.until - partition.start, most // (len(smallest_first) - place))
            most -= share
            if partition.start + share < partition.until:
                partition.until = partition.start + share
                self._stop(partition, f"the limit of {counted(limit, 'record')} (--max-records) was reached")

    def give_up(self, numbers: set[int]) -> None:
        """Marks these partitions as not read, because the deadline came first."""
        for number in numbers:
            partition = self.partitions[number]
            partition.until = partition.start
            self._stop(partition, f"the deadline of {self.request.deadline_s:g} s (--deadline) was reached")

    def _stop(self, partition: _Partition, why: str) -> None:
        partition.stopped_early = f"offsets {partition.until} to {partition.end - 1} were not read: {why}"

    def take(self, groups: list[Group]) -> None:
        for group in groups:
            self._groups[group.partition].append(group)

    def compare(self, watermarks: Mapping[int, tuple[int, int]]) -> None:
        """Looks at the log once more after the read."""
        for number, (start, end) in watermarks.items():
            partition = self.partitions[number]
            if end < partition.end:
                raise ClusterError(
                    f"The log of {self.request.topic}[{number}] went back from offset {partition.end} to {end} while srfix "
                    "read it: the topic was recreated, or the log truncated. Find out which, then run again."
                )
            if start > partition.start:
                partition.start_moved_to = start

    def tell(self) -> None:
        if self._on_progress is not None:
            offsets = sum(partition.end - partition.start for partition in self.partitions.values())
            records = sum(map(_records, self._groups.values()))
            self._on_progress(self.request.progress(records, offsets, time.monotonic() - self._began))

    def result(self) -> Census:
        return Census(
            topic=self.request.topic,
            isolation=self.request.isolation,
            partitions=tuple(self._partition(number) for number in sorted(self.partitions)),
        )

    def _partition(self, number: int) -> PartitionCensus:
        partition, groups = self.partitions[number], self._groups[number]
        limit = self.request.restore_limit(number, partition.end)
        return PartitionCensus(
            partition=number,
            start_offset=partition.start,
            end_offset=partition.end,
            committed_offset=(self.request.committed or {}).get(number),
            restore_limit=limit,
            records=_records(groups),
            keys=role_census(tallies(groups, Role.KEY), is_restored=limit is not None),
            values=role_census(tallies(groups, Role.VALUE), is_restored=limit is not None),
            stopped_early=partition.stopped_early,
            start_moved_to=partition.start_moved_to,
        )


def _records(groups: list[Group]) -> int:
    return sum(group.count for group in groups if group.are_records)


def _parts(ranges: Mapping[int, tuple[int, int]], offsets_per_job: int) -> list[Mapping[int, tuple[int, int]]]:
    """The partitions of each job, the largest ones first and spread."""
    offsets = sum(end - start for start, end in ranges.values())
    jobs = min(len(ranges), _MOST_JOBS, max(1, offsets // offsets_per_job))
    largest_first = sorted(ranges, key=lambda number: ranges[number][0] - ranges[number][1])
    return [{number: ranges[number] for number in largest_first[job::jobs]} for job in range(jobs)]
