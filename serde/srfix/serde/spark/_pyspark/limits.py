"""The system properties of the JVMs that run a session's tasks."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

__all__ = ["asked"]

_PROBES: Final = 4
_MOST_SAID: Final = 200
_found: Final[WeakKeyDictionary[SparkSession, frozenset[str]]] = WeakKeyDictionary()
"""What was found. A JVM's properties were read once, when Avro began: they do not change for a reader."""


def asked(spark: SparkSession, names: tuple[str, ...]) -> frozenset[str] | str:
    """Those of the properties that are set to a number in every JVM that a small job reaches; or why none can be asked.

    Asked where tasks run, not on the driver: a session's configuration says what somebody wrote, also after the JVM began.
    `java_method` is not computed beforehand, for Spark holds that it answers anew each time.
    """
    known = _found.get(spark)
    if known is not None:
        return known
    properties = [F.expr(f"java_method('java.lang.System', 'getProperty', '{name}')") for name in names]
    try:
        rows = spark.range(0, _PROBES, 1, _PROBES).select(*properties).collect()
    except PySparkException as error:
        return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_MOST_SAID]
    found = frozenset(
        name for index, name in enumerate(names) if all((row[index] or "").strip().isdigit() for row in rows)
    )
    _found[spark] = found
    return found
