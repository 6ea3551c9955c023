"""Topics as frames of Spark's Kafka source, read as every consumer of srfix reads: no group, no commit, nothing
created.

It also counts a census, by one Spark SQL statement over a frame of `spark-sql-kafka` with headers. Its jobs can be
interrupted: at a deadline, on Ctrl-C, or because another job failed.

It repeats the rules of `srfix.serde.wire` and `wire_peek` in SQL, because a Python worker costs ten times as much. A
test holds both to the same answers.

One read, one shuffle: grouping sets count the records by (partition, ids) and find the latest record per (partition,
side, key) in the same pass. The latest id is `max_by(<a BIGINT>, offset)`: with a binary in its buffer Spark would sort
instead of hashing. Partitions and offsets are never packed into one number.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from srfix.recovery.census.interface import Tally
from srfix.serde.errors import AccessDeniedError, SrfixError
from srfix.serde.properties.kafka_client import UNUSED_GROUP, Isolation, ReadOnlyClient
from srfix.serde.properties.kafka_java import to_java
from srfix.serde.spark.errors import is_sparks, srfix_error_of
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import (
    MAX_SCHEMA_ID,
    MIN_SCHEMA_ID,
    PREFIX_GUID_SIZE,
    PREFIX_ID_SIZE,
    prefix_id_bytes,
    schema_id_header,
)
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_WORDS: Final = ("at ", "... ", "An error occurred while calling", "JVM stacktrace", "Driver stacktrace")
_DENIED: Final = "TopicAuthorizationException"
_MOST_LETTERS: Final = 600
_SECRETS: Final = ("password", "jaas.config", "keystore.key")
"""The endings of the names of properties that hold a secret."""
Key = TypeVar("Key")
Result = TypeVar("Result")

_CONNECT: Final = ".connect."
"""A part of the module name of Spark Connect's sessions."""
_TICK_S: Final = 0.25
_PATIENCE_S: Final = 30.0
"""How long interrupted jobs may take to end."""


class SparkTopics:
    """Reads one cluster with a Spark session. Options of Spark's Kafka source win over librdkafka's configuration."""

    def __init__(self, spark: SparkSession, config: Mapping[str, str], options: Mapping[str, str]) -> None:
        self._spark = spark
        self._client = ReadOnlyClient(config)
        self._options = {f"kafka.{name}": value for name, value in to_java(config).items()} | dict(options)
        self._secrets = tuple(value for name, value in self._options.items() if name.endswith(_SECRETS) and value)

    def __repr__(self) -> str:
        return f"SparkTopics({self._client.bootstrap_servers})"

    def frame(self, topic: Topic, ranges: Mapping[int, tuple[int, int]], isolation: Isolation) -> DataFrame:
        """The records from the first offset (inclusive) to the second (exclusive), with headers; the start may move."""
        starts = {str(partition): start for partition, (start, _) in ranges.items()}
        ends = {str(partition): end for partition, (_, end) in ranges.items()}
        return (
            self._spark.read.format("kafka")
            .options(**self._options)
            .option("assign", json.dumps({topic: sorted(ranges)}))
            .option("startingOffsets", json.dumps({topic: starts}))
            .option("endingOffsets", json.dumps({topic: ends}))
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .option("groupIdPrefix", UNUSED_GROUP)
            .option("kafka.isolation.level", isolation.value)
            .option("kafka.allow.auto.create.topics", "false")
            .load()
        )

    @contextmanager
    def failures(self, topic: Topic, doing: str) -> Iterator[None]:
        """Turns Spark's exception into an error of srfix, without secrets."""
        try:
            yield
        except SrfixError:
            raise
        except Exception as error:
            if not is_sparks(error):
                raise
            raise srfix_error_of(error, of_kafka=False) or self._as_error(topic, doing, error) from None

    def _as_error(self, topic: Topic, doing: str, error: Exception) -> SrfixError:
        text = str(error)
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        failure = failure_in_short(text)
        if _DENIED in text:
            acl = f"Read on topic {topic!r}"
            return AccessDeniedError(
                f"Not allowed at the Kafka cluster at {self._client.bootstrap_servers} while {doing} on Spark: {failure}. The "
                f"ACL to ask for is {acl}.",
                acl=acl,
            )
        return self._client.failed(f"{doing} on Spark", failure)


def failure_in_short(text: str) -> str:
    """The failure in a Java trace: the message, and the message of the root cause."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    sentences = [line for line in lines if not line.startswith(_NO_WORDS)]
    causes = [line.removeprefix("Caused by: ") for line in sentences if line.startswith("Caused by: ")]
    return ": ".join(dict.fromkeys([*sentences[:1], *causes[-1:]]))[:_MOST_LETTERS]


def finished(
    spark: SparkSession,
    jobs: Mapping[Key, Callable[[], Result]],
    *,
    give_up_at: float | None = None,
    on_tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Key, Result]]:
    """Runs the jobs side by side, and yields each answer at once; those not done at `give_up_at` are interrupted."""
    from srfix.serde.spark._pyspark.sessions import this_threads_jars

    mark, interrupt = _interruption(spark)
    see_jars = this_threads_jars(spark)

    def marked(job: Callable[[], Result]) -> Result:
        see_jars()
        mark()
        return job()

    pool = ThreadPoolExecutor(max_workers=max(1, len(jobs)), thread_name_prefix="srfix-spark")
    try:
        keys = {pool.submit(marked, job): key for key, job in jobs.items()}
        running: set[Future[Result]] = set(keys)
        try:
            while running:
                left_s = _TICK_S if give_up_at is None else min(_TICK_S, give_up_at - time.monotonic())
                if left_s <= 0:
                    return
                done, running = wait(running, timeout=left_s, return_when=FIRST_COMPLETED)
                for future in done:
                    yield keys[future], future.result()
                on_tick()
        finally:
            _interrupt(interrupt, running)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _interruption(spark: SparkSession) -> tuple[Callable[[], object], Callable[[], object]]:
    """Two functions: one marks the jobs of the calling thread; the other interrupts the marked jobs from any thread."""
    name = f"srfix-{uuid4()}"
    if _CONNECT in type(spark).__module__:
        return lambda: spark.addTag(name), lambda: spark.interruptTag(name)
    # Without Spark Connect, tags are of no use: only the thread that set a tag can find its jobs.
    context = spark.sparkContext
    return lambda: context.setJobGroup(name, "srfix"), lambda: context.cancelJobGroup(name)


def _interrupt(interrupt: Callable[[], object], running: set[Future[Result]]) -> None:
    give_up_at = time.monotonic() + _PATIENCE_S
    while running and time.monotonic() < give_up_at:
        # Repeated, because Spark does not know a job yet that it is still planning.
        interrupt()
        running = wait(running, timeout=_TICK_S).not_done


_COUNTING: Final = """
WITH records AS (
  SELECT partition, offset, key, {key_id} AS key_id, {value_id} AS value_id, {is_live} AS is_live FROM {{records}}
), grouped AS (
  SELECT partition, is_live, key, key_id, value_id, grouping(key) AS are_records,
         count(1) AS n, min(offset) AS first, max(offset) AS last,
         max_by(key_id, offset) AS latest_key_id, max_by(value_id, offset) AS latest_value_id
  FROM records
  GROUP BY GROUPING SETS ((partition, is_live, key), (partition, key_id, value_id))
), told AS (
  SELECT partition, are_records = 1 AS are_records, is_live, n, first, last,
         if(are_records = 1, key_id, latest_key_id) AS key_id,
         if(are_records = 1, value_id, latest_value_id) AS value_id
  FROM grouped
  WHERE are_records = 1 OR key IS NOT NULL AND latest_value_id <> {no_payload}
)
SELECT CAST(partition AS BIGINT) AS partition, are_records, coalesce(is_live, FALSE) AS is_live, key_id, value_id,
       sum(if(are_records, n, 1)) AS count, min(first) AS first_offset, max(last) AS last_offset
FROM told
GROUP BY partition, are_records, is_live, key_id, value_id
"""

_LATEST: Final = """
WITH latest AS (
  SELECT partition, max(offset) AS offset, max_by(value IS NULL, offset) AS is_removed,
         max_by(named_struct('payload', {payload}, 'headers', filter(headers, h -> h.key = '{header}')), offset) AS record
  FROM {{records}}
  WHERE key IS NOT NULL
  GROUP BY partition, key
)
SELECT partition, offset, record.payload, record.headers FROM latest WHERE NOT is_removed
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    partition: int
    are_records: bool
    """True if the group counts records; False if it counts keys by their latest record, without tombstones."""
    is_live: bool
    """For keys: True if their latest record is before the restore limit."""
    key_id: PeekedId
    value_id: PeekedId
    count: int
    first_offset: int
    """For records: the first offset."""
    last_offset: int


def peek_sql(payload: str, role: Role, *, headers: str | None = "headers") -> str:
    """The schema id or mark of a payload of type BINARY, as `wire_peek` gives it: an expression of type BIGINT."""
    magic_id, magic_guid = f"substring({payload}, 1, 1) = X'00'", "substring({}, 1, 1) = X'01'"
    # Bytes compare as unsigned ones, from the first on.
    lowest, highest = prefix_id_bytes(MIN_SCHEMA_ID).hex(), prefix_id_bytes(MAX_SCHEMA_ID).hex()
    is_id = f"substring({payload}, 1, {PREFIX_ID_SIZE}) BETWEEN X'{lowest}' AND X'{highest}'"
    schema_id = f"CAST(conv(hex(substring({payload}, 2, {PREFIX_ID_SIZE - 1})), 16, 10) AS BIGINT)"
    header = f"try_element_at(filter({headers}, h -> h.key = '{schema_id_header(role)}'), -1)"
    by_header = f"""
        WHEN {header} IS NOT NULL THEN CASE
          WHEN length({header}.value) >= {PREFIX_GUID_SIZE} AND {magic_guid.format(f"{header}.value")} THEN {BY_GUID}
          ELSE {UNFRAMED} END"""
    return f"""CAST(CASE
        WHEN {payload} IS NULL THEN {NO_PAYLOAD}{"" if headers is None else by_header}
        WHEN length({payload}) >= {PREFIX_ID_SIZE} AND {magic_id} THEN
          if({is_id}, {schema_id}, {UNFRAMED})
        WHEN length({payload}) >= {PREFIX_GUID_SIZE} AND {magic_guid.format(payload)} THEN {BY_GUID}
        ELSE {UNFRAMED} END AS BIGINT)"""


def live_sql(restore_limits: Sequence[int | None]) -> str:
    """Whether a record is before its partition's restore limit, if there is one: an expression of type BOOLEAN, never null."""
    limits = ", ".join("NULL" if limit is None else str(limit) for limit in restore_limits)
    return f"coalesce(offset < try_element_at(CAST(array({limits}) AS ARRAY<BIGINT>), partition + 1), FALSE)"


def counting_sql(restore_limits: Sequence[int | None]) -> str:
    """The statement over a frame named `{records}`; its rows are `Group`s. See `live_sql`."""
    return _COUNTING.format(
        key_id=peek_sql("key", Role.KEY),
        value_id=peek_sql("value", Role.VALUE),
        is_live=live_sql(restore_limits),
        no_payload=NO_PAYLOAD,
    )


def latest_sql(role: Role) -> str:
    """The latest record of each key and partition, but for removed keys: partition, offset, payload, headers."""
    return _LATEST.format(payload=role.value, header=schema_id_header(role))


def tallies(groups: Iterable[Group], role: Role) -> Mapping[PeekedId, Tally]:
    of_ids: defaultdict[PeekedId, Tally] = defaultdict(Tally)
    for group in groups:
        tally = of_ids[group.key_id if role is Role.KEY else group.value_id]
        if group.are_records:
            tally.first_offset = min(tally.first_offset, group.first_offset) if tally.records else group.first_offset
            tally.last_offset = max(tally.last_offset, group.last_offset)
            tally.records += group.count
        elif group.is_live:
            tally.live_keys += group.count
            tally.live_offset = max(tally.live_offset or 0, group.last_offset)
        else:
            tally.pending_keys += group.count
    return of_ids
