"""Facts about a running session: the jars that its threads see, the system properties of the JVMs that run its tasks,
what its Kafka source finds for a topic, and its progress.

Spark gives an added jar to a class loader of the session, and makes this the context class loader of only the calling
thread (`SessionResourceLoader.addJar`); a local executor has another one. Spark looks up a format by name
(`format("kafka")`, `from_avro`) with the context class loader of the calling thread, so other threads do not find the
format. Also, a second session loads classes again, but those of Kafka's configuration may be loaded only once
(`ConfigEntry.registerEntry`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from srfix.serde.bounds import BROKER_SECONDS
from srfix.serde.casing import is_among
from srfix.serde.spark.errors import is_sparks
from srfix.serde.spark.progress import JobProgress

_own_jars: Final[list[str]] = []


@contextmanager
def on_the_class_path(spark: SparkSession) -> Iterator[None]:
    """Jars that are added within the block are also on the class path of the driver's JVM, so that all threads and
    later sessions find them; not on Connect, nor in a JVM that spark-submit did not start."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        yield
        return
    base = _base(_loader(jvm))
    known = set() if base is None else {str(url) for url in _loader(jvm).getURLs()}
    # Scala's object, whose stream Spark hands to Ivy (`CommandLineLoggingUtils.printStream`).
    scala = jvm.java.lang.ClassLoader.getSystemClassLoader().loadClass("org.apache.spark.deploy.SparkSubmit$")
    submit = scala.getField("MODULE$").get(None)
    before, say_to = submit.printStream(), getattr(submit, "printStream_$eq")
    say_to(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    try:
        yield
    finally:
        say_to(before)
    for url in () if base is None else _loader(jvm).getURLs():
        if str(url) not in known:
            base.addURL(url)
            _own_jars.append(str(url))


def add_own_jars(spark: SparkSession) -> None:
    """The jars of this JVM's earlier sessions: executors in other JVMs get only the jars of their session."""
    if _own_jars and hasattr(spark, "_jvm"):
        listed = {Path(row[0]).name for row in spark.sql("LIST JARS").collect()}
        for url in _own_jars:
            if Path(url).name not in listed:
                spark.sql(f"ADD JAR '{url}'")


def this_threads_jars(spark: SparkSession) -> Callable[[], None]:
    """What lets its calling thread see the jars that this thread sees, for example those that a user has added."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return lambda: None
    loader = _loader(jvm)
    return lambda: jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)


def _loader(jvm: Any) -> Any:
    """Of the JVM's thread that answers this one."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _base(loader: Any) -> Any:
    """The class loader of spark-submit, which the class loaders of all sessions and executors of the JVM ask first."""
    base = None
    while loader is not None:
        if loader.getClass().getName() == "org.apache.spark.util.MutableURLClassLoader":
            base = loader
        loader = loader.getParent()
    return base


_PROBES: Final = 4
_MOST_SAID: Final = 200
_NUMBER: Final = re.compile("[0-9]{1,18}")
_properties_by_session: Final[WeakKeyDictionary[SparkSession, Mapping[str, int]]] = WeakKeyDictionary()
"""The results so far. Avro reads a JVM's properties once, at its start, so they do not change for a reader."""


def read_jvm_properties(spark: SparkSession, names: tuple[str, ...]) -> Mapping[str, int] | str:
    """The greatest value of each among the JVMs that run tasks (not the session's, which can change); or why not."""
    entry = _properties_by_session.get(spark)
    if entry is not None:
        return entry
    properties = [F.expr(f"java_method('java.lang.System', 'getProperty', '{name}')") for name in names]
    try:
        rows = spark.range(0, _PROBES, 1, _PROBES).select(*properties).collect()
    except Exception as error:
        if not is_sparks(error):
            raise
        return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_MOST_SAID]
    values = {name: [(row[index] or "").strip() for row in rows] for index, name in enumerate(names)}
    numbers = {name: max(map(int, texts)) for name, texts in values.items() if all(map(_NUMBER.fullmatch, texts))}
    _properties_by_session[spark] = numbers
    return numbers


def has_class(spark: SparkSession, name: str, call: str) -> bool:
    """Whether Spark finds a class with a static method. It searches to compute a schema, and runs no job."""
    try:
        return bool(spark.range(1).select(F.expr(f"java_method('{name}', {call})")).schema)
    except Exception as error:
        if not is_sparks(error) or name not in str(error):
            raise
        return False


_MS: Final = str(int(BROKER_SECONDS * 1000))
_IMPATIENT: Final = {
    "kafka.default.api.timeout.ms": _MS,
    "kafka.request.timeout.ms": _MS,
    "fetchOffset.numRetries": "1",
}
"""The default time limits of Kafka and Spark are three times a minute."""
_STREAMS: Final = (
    "startingOffsets",
    "endingOffsets",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
"""Options that have no meaning, or another one, in a batch read."""


def look(spark: SparkSession, options: Mapping[str, str], *, is_stream: bool) -> None:
    """Lets Spark plan the read, which asks the brokers, and discards the plan. Raises Spark's errors."""
    spark_options = {name: value for name, value in options.items() if not (is_stream and is_among(name, _STREAMS))}
    if "assign" in spark_options and spark_options.get("startingOffsets", "earliest") in ("earliest", "latest"):
        # Without offsets, Spark silently leaves out a partition that its topic lacks.
        starts = {
            topic: dict.fromkeys(map(str, which), -2) for topic, which in json.loads(spark_options["assign"]).items()
        }
        spark_options["startingOffsets"] = json.dumps(starts)
    # Spark ignores the letter case of an option's name.
    spark_options |= {name: value for name, value in _IMPATIENT.items() if not is_among(name, options)}
    df = spark.read.format("kafka").options(**spark_options).load()
    if hasattr(df, "_jdf"):
        df._jdf.queryExecution().executedPlan()
    else:  # Spark Connect
        df._explain_string()  # type: ignore[operator]


class ProgressListener(StreamingQueryListener):
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._say(event.progress.json)

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...
    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


def job_progress(spark: SparkSession) -> JobProgress | None:
    """None on Spark Connect, which does not report them."""
    try:
        tracker = spark.sparkContext.statusTracker()  # there is no public way that also works with Connect
    except (AttributeError, PySparkException):
        return None
    jobs = tracker.getActiveJobsIds()
    infos = (tracker.getJobInfo(job) for job in jobs)
    stages = {stage for info in infos if info is not None for stage in info.stageIds}
    stage_infos = [info for stage in stages if (info := tracker.getStageInfo(stage)) is not None]
    return JobProgress(
        jobs=len(jobs),
        tasks=sum(info.numTasks for info in stage_infos),
        done=sum(info.numCompletedTasks for info in stage_infos),
    )
