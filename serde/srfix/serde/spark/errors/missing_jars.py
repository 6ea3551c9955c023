"""What Spark says when a jar is missing, and what srfix says instead."""

from __future__ import annotations

import re
from typing import Final

from srfix.serde.errors import JarMissingError
from srfix.serde.spark.packages import packages
from srfix.serde.spark.releases import lacks_source

_WITHOUT_JARS: Final = (
    'Without jars, spark.read.format("srfix"), and likewise readStream, write and writeStream, read and write topics with '
    "the same options (srfix.serde.spark.source has the table of them)."
)
_AVRO: Final = "spark-avro"
_KAFKA: Final = "spark-sql-kafka-0-10"
_SAID: Final = (
    (re.compile(r"KAFKA_DATA_SOURCE_NOT_ENABLED|Failed to find (?:the )?data source: kafka"), _KAFKA),
    (re.compile(r"AVRO_NOT_LOADED|AVRO_DATA_SOURCE_NOT_ENABLED|Failed to find (?:the )?data source: avro"), _AVRO),
    (re.compile(r"NoClassDefFoundError: org/apache/spark/sql/avro/"), _AVRO),
    # So says PySpark 3.5, whose from_avro calls the class. Nothing else is called so here.
    (re.compile(r"^'JavaPackage' object is not callable$"), _AVRO),
    (re.compile(r"NoClassDefFoundError: org/apache/spark/kafka010/"), "spark-token-provider-kafka-0-10"),
    (re.compile(r"NoClassDefFoundError: org/apache/kafka/"), "kafka-clients"),
    (re.compile(r"NoClassDefFoundError: org/apache/commons/pool2/"), "commons-pool2"),
)


def without_jars() -> str:
    """The way where no jar can be had (without a network, say), as the sentence that follows another; empty on a Spark that
    lacks it."""
    try:
        lacking = lacks_source()
    except ModuleNotFoundError:
        lacking = None  # no PySpark here, so none that lacks it
    return "" if lacking is not None else f" {_WITHOUT_JARS}"


def missing_jar(text: str, spark_version: str | None = None) -> JarMissingError | None:
    """The error for what Spark said; None if it is not about a jar of `packages`. Of no version it is the PySpark that is
    installed."""
    jar = next((jar for said, jar in _SAID if said.search(text)), None)
    if jar is None:
        return None
    wanted = packages(spark_version)
    note = "" if wanted.note is None else f" {wanted.note}"
    return JarMissingError(
        f"Spark lacks the jar {jar}. Start it with srfix.serde.spark.start_session, which brings the jars, or with "
        f"spark-submit --packages {wanted} (in a builder: spark.jars.packages), or put the jars on spark.jars."
        f"{note}{without_jars()}",
        packages=wanted.coordinates,
    )
