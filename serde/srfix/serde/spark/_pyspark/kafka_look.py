"""A look at a topic before anything is read: Spark's Kafka source asks for partitions and offsets when it plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from srfix.serde.bounds import BROKER_SECONDS
from srfix.serde.casing import is_among

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
    """Has Spark plan the read, which asks the brokers, and throws the plan away. Raises what Spark raises. Options that say
    how long it waits count."""
    told = {name: value for name, value in options.items() if not (is_stream and is_among(name, _STREAMS))}
    if "assign" in told and told.get("startingOffsets", "earliest") in ("earliest", "latest"):
        # A partition that its topic lacks is left out without a word, unless offsets are given.
        starts = {topic: dict.fromkeys(map(str, which), -2) for topic, which in json.loads(told["assign"]).items()}
        told["startingOffsets"] = json.dumps(starts)
    # Spark takes an option's name in any letters.
    told |= {name: value for name, value in _IMPATIENT.items() if not is_among(name, options)}
    df = spark.read.format("kafka").options(**told).load()
    if hasattr(df, "_jdf"):
        df._jdf.queryExecution().executedPlan()
    else:  # Spark Connect
        df._explain_string()  # type: ignore[operator]
