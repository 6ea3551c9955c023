"""Topics as frames of Spark's Kafka source, read as every consumer of srfix reads: no group, no commit, nothing
created. Its jobs can be interrupted: at a deadline, on Ctrl-C, or because another job failed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from srfix.serde.errors import AccessDeniedError, SrfixError
from srfix.serde.properties.kafka_client import UNUSED_GROUP, Isolation, ReadOnlyClient
from srfix.serde.properties.kafka_java import to_java
from srfix.serde.spark.errors import is_sparks, srfix_error_of
from srfix.serde.subjects.names import Topic

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
