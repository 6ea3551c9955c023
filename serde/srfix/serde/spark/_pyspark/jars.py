"""Which threads see the jars that are added to a running session.

Spark gives an added jar to a class loader of its own, and makes that the context class loader of the calling thread alone
(`SessionResourceLoader.addJar`). A format that is asked for by name (`format("kafka")`, `from_avro`) is looked up with the
context class loader of the thread that asks: in others, there is no such format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def seen_by_every_thread(spark: SparkSession) -> Iterator[None]:
    """What is added within is seen by all threads that have seen, so far, what this one did, and by those that they start.
    On Connect the server makes them seen.
    """
    threads = _threads(spark)
    if threads is None:
        yield
        return
    before = threads.currentThread().getContextClassLoader()
    yield
    after = threads.currentThread().getContextClassLoader()
    for thread in threads.getAllStackTraces().keySet():
        if before.equals(thread.getContextClassLoader()):
            thread.setContextClassLoader(after)


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


def this_threads_jars(spark: SparkSession) -> Callable[[], None]:
    """What makes the thread that calls it see what this one sees."""
    threads = _threads(spark)
    if threads is None:
        return lambda: None
    loader = threads.currentThread().getContextClassLoader()

    def see() -> None:
        threads.currentThread().setContextClassLoader(loader)

    return see


def _threads(spark: SparkSession) -> Any:
    """Java's `Thread`, whose static methods speak of the thread of the JVM that answers this one; None on Connect."""
    jvm = getattr(spark, "_jvm", None)
    return None if jvm is None else jvm.java.lang.Thread
