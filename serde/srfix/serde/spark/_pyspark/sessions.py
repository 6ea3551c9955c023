"""What a running session is asked: the jars that its threads see, the system properties of the JVMs that run its tasks, and
what its Kafka source finds of a topic.

Spark gives an added jar to a class loader of the session, and makes that the context class loader of the calling thread alone
(`SessionResourceLoader.addJar`); a local executor has another. A format that is asked for by name (`format("kafka")`,
`from_avro`) is looked up with the context class loader of the thread that asks: in others, there is no such format. And a
second session loads classes anew, of which those of Kafka's configuration may be loaded once (`ConfigEntry.registerEntry`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from srfix.serde.bounds import BROKER_SECONDS
from srfix.serde.casing import is_among
from srfix.serde.spark.errors import is_sparks

_own_jars: Final[list[str]] = []
"""Where the jars lie that were put on the JVM's class path, as URLs."""


@contextmanager
def on_the_class_path(spark: SparkSession) -> Iterator[None]:
    """Jars that are added within stand on the class path of the driver's JVM as well, before anything is loaded from them: all
    threads find them there, and all sessions that come later. On Connect, and in a JVM that spark-submit did not start, they
    are where Spark puts them.
    """
    jvm = getattr(spark, "_jvm", None)
    base = None if jvm is None else _base(_loader(jvm))
    if base is None:
        yield
        return
    before = {str(url) for url in _loader(jvm).getURLs()}
    yield
    for url in _loader(jvm).getURLs():
        if str(url) not in before:
            base.addURL(url)
            _own_jars.append(str(url))


def add_own_jars(spark: SparkSession) -> None:
    """Gives a session the jars that an earlier one of this JVM put on the class path: executors in other JVMs ask theirs."""
    if _own_jars and hasattr(spark, "_jvm"):
        listed = {Path(row[0]).name for row in spark.sql("LIST JARS").collect()}
        for url in _own_jars:
            if Path(url).name not in listed:
                spark.sql(f"ADD JAR '{url}'")


def this_threads_jars(spark: SparkSession) -> Callable[[], None]:
    """What makes the thread that calls it see the jars that this one sees: those that a user has added, say."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        return lambda: None
    loader = _loader(jvm)
    return lambda: jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)


def _loader(jvm: Any) -> Any:
    """The context class loader of the JVM's thread that answers this one."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _base(loader: Any) -> Any:
    """The class loader that spark-submit made, which the ones of all sessions and executors of the JVM ask first."""
    base = None
    while loader is not None:
        if loader.getClass().getName() == "org.apache.spark.util.MutableURLClassLoader":
            base = loader
        loader = loader.getParent()
    return base


@contextmanager
def without_ivys_words(spark: SparkSession) -> Iterator[None]:
    """What is added within is added in silence: Ivy says a hundred lines of each jar. On Connect its server says them."""
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        yield
        return
    loader = jvm.java.lang.ClassLoader.getSystemClassLoader()
    # Scala's object, whose stream Spark hands to Ivy (`CommandLineLoggingUtils.printStream`).
    submit = loader.loadClass("org.apache.spark.deploy.SparkSubmit$").getField("MODULE$").get(None)
    before = submit.printStream()
    say_to = getattr(submit, "printStream_$eq")
    say_to(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    try:
        yield
    finally:
        say_to(before)


_PROBES: Final = 4
_MOST_SAID: Final = 200
_NUMBER: Final = re.compile("[0-9]{1,18}")
_KNOWS_ITEMS: Final = "org.apache.avro.SystemLimitException"
"""The class that came with the bound on items, in Avro 1.11.3."""
_ENDS_SKIPPING: Final = "org.apache.avro.SchemaFormatter"
"""A class that came with Avro 1.12, which skips no array backwards."""
_properties_by_session: Final[WeakKeyDictionary[SparkSession, Mapping[str, int]]] = WeakKeyDictionary()
"""What was found. A JVM's properties were read once, when Avro began: they do not change for a reader."""


def read_jvm_properties(spark: SparkSession, names: tuple[str, ...]) -> Mapping[str, int] | str:
    """The properties that are numbers in every JVM that a small job reaches, each with the greatest; or why none can be asked.

    Asked where tasks run, not on the driver: a session's configuration can be changed after its JVM has started.
    `java_method` is not computed beforehand, for Spark holds that it answers anew each time.
    """
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


def bounds_items(spark: SparkSession) -> bool:
    """Whether the session's Avro knows a bound on the items of arrays and maps."""
    return _has(spark, _KNOWS_ITEMS, "'checkMaxStringLength', 1L")


def ends_its_skipping(spark: SparkSession) -> bool:
    """Whether the session's Avro comes to an end when it skips an array or map, whatever size it claims."""
    return _has(spark, _ENDS_SKIPPING, "'getInstance', 'json'")


def _has(spark: SparkSession, name: str, call: str) -> bool:
    """Whether Spark finds a class. It looks for it when it is asked for a schema, and runs no job."""
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
"""Kafka's and Spark's own are three times a minute."""
_STREAMS: Final = (
    "startingOffsets",
    "endingOffsets",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
"""What means nothing, or another thing, to a read that is no stream."""


def look(spark: SparkSession, options: Mapping[str, str], *, is_stream: bool) -> None:
    """Has Spark plan the read, which asks the brokers, and throws the plan away. Raises what Spark raises."""
    spark_options = {name: value for name, value in options.items() if not (is_stream and is_among(name, _STREAMS))}
    if "assign" in spark_options and spark_options.get("startingOffsets", "earliest") in ("earliest", "latest"):
        # A partition that its topic lacks is left out without a word, unless offsets are given.
        starts = {
            topic: dict.fromkeys(map(str, which), -2) for topic, which in json.loads(spark_options["assign"]).items()
        }
        spark_options["startingOffsets"] = json.dumps(starts)
    # Spark takes an option's name in any letters.
    spark_options |= {name: value for name, value in _IMPATIENT.items() if not is_among(name, options)}
    df = spark.read.format("kafka").options(**spark_options).load()
    if hasattr(df, "_jdf"):
        df._jdf.queryExecution().executedPlan()
    else:  # Spark Connect
        df._explain_string()  # type: ignore[operator]
