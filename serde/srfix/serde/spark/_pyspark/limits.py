"""The system properties of the JVMs that run a session's tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from srfix.serde.spark.errors.driver_errors import is_sparks

_PROBES: Final = 4
_MOST_SAID: Final = 200
_NUMBER: Final = re.compile("[0-9]{1,18}")
_KNOWS_ITEMS: Final = "org.apache.avro.SystemLimitException"
"""The class that came with the bound on items, in Avro 1.11.3."""
_ENDS_SKIPPING: Final = "org.apache.avro.SchemaFormatter"
"""A class that came with Avro 1.12, which skips no array backwards."""
_found: Final[WeakKeyDictionary[SparkSession, Mapping[str, int]]] = WeakKeyDictionary()
"""What was found. A JVM's properties were read once, when Avro began: they do not change for a reader."""


def asked(spark: SparkSession, names: tuple[str, ...]) -> Mapping[str, int] | str:
    """The properties that are numbers in every JVM that a small job reaches, each with the greatest; or why none can be asked.

    Asked where tasks run, not on the driver: a session's configuration can be changed after its JVM has started.
    `java_method` is not computed beforehand, for Spark holds that it answers anew each time.
    """
    known = _found.get(spark)
    if known is not None:
        return known
    properties = [F.expr(f"java_method('java.lang.System', 'getProperty', '{name}')") for name in names]
    try:
        rows = spark.range(0, _PROBES, 1, _PROBES).select(*properties).collect()
    except Exception as error:
        if not is_sparks(error):
            raise
        return next(iter(str(error).strip().splitlines()), type(error).__name__)[:_MOST_SAID]
    values = {name: [(row[index] or "").strip() for row in rows] for index, name in enumerate(names)}
    found = {name: max(map(int, each)) for name, each in values.items() if all(map(_NUMBER.fullmatch, each))}
    _found[spark] = found
    return found


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
