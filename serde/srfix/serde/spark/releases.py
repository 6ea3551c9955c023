"""What works with each release line of Spark: the abilities of srfix, and the jars that PySpark lacks for Avro and Kafka.

The site shows the table `ABILITIES`; a test compares the two. The jars are published separately, and not always with
the version of their Spark, so `RELEASES` has the combinations that were seen to work.

| since | new |
|---|---|
| 4.0 | `pyspark.sql.datasource`, which `format("srfix")` uses |
| 4.1 | `pyspark.sql.functions.arrow_udf`, which the arrow engine uses |
| 4.1 | `DataSourceStreamArrowWriter`, with which `format("srfix")` writes streams |
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from srfix.serde.errors import EngineRefusedError, JarMissingError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    arrow: bool
    """Alone or beside the jvm engine: later schemas, formats other than Avro, rows in quarantine on writing."""
    source: bool
    source_stream_writer: bool
    """`format("srfix")` also writes streams; without this, `foreachBatch` writes each micro-batch."""


ABILITIES: Final[Mapping[str, Abilities]] = {
    "3.5": Abilities(arrow=False, source=False, source_stream_writer=False),
    "4.0": Abilities(arrow=False, source=True, source_stream_writer=False),
    "4.1": Abilities(arrow=True, source=True, source_stream_writer=True),
    "4.2": Abilities(arrow=True, source=True, source_stream_writer=True),
    "4.3": Abilities(arrow=True, source=True, source_stream_writer=True),
}
"""Release line of Spark, ascending → the abilities that were seen to work there. All of them have the jvm engine."""


def abilities_in_words(spark_version: str) -> str:
    """Such as `jvm engine, arrow engine, format("srfix")`."""
    line = ".".join(spark_version.split(".")[:2])
    if line not in ABILITIES:
        return f"not tried with srfix (tried: {', '.join(ABILITIES)})"
    abilities = ABILITIES[line]
    arrow = ["arrow engine"] if abilities.arrow else []
    source = ['format("srfix")'] if abilities.source else []
    if abilities.source and not abilities.source_stream_writer:
        source = ['format("srfix") (streams are written by foreachBatch)']
    return ", ".join(("jvm engine", *arrow, *source))


def lacks_arrow() -> str | None:
    """Why the installed PySpark cannot run the arrow engine; None if it can."""
    import pyspark
    from pyspark.sql import functions as F

    if hasattr(F, "arrow_udf"):
        return None
    return f"The arrow engine needs Spark 4.1 or newer (arrow_udf), but this is PySpark {pyspark.__version__}"


def takes_jars_later() -> bool:
    """Before 4.0, `from_avro` is found only in jars with which the JVM was started. True if there is no PySpark."""
    try:
        import pyspark
    except ModuleNotFoundError:
        return True
    return not pyspark.__version__.startswith("3.")


def require_arrow() -> None:
    if (lacking := lacks_arrow()) is not None:
        raise EngineRefusedError(f'{lacking}. Use engine="jvm".', reasons=(f"{lacking}.",))


def arrow_or(instead: str, *, advice: str) -> str:
    """It also works without PySpark, and does not load it."""
    functions = sys.modules.get("pyspark.sql.functions")
    return advice if functions is None or hasattr(functions, "arrow_udf") else instead


def lacks_source() -> str | None:
    """Why the installed PySpark cannot have `format("srfix")`; None if it can."""
    import pyspark

    try:
        import pyspark.sql.datasource
    except ImportError:
        return f'format("srfix") needs Spark 4.0 or newer (pyspark.sql.datasource), but this is PySpark {pyspark.__version__}'
    return None


def lacks_source_stream_writer() -> str | None:
    """Why `format("srfix")` cannot write streams with the installed PySpark; None if it can."""
    import pyspark

    if (lacking := lacks_source()) is not None:
        return lacking
    from pyspark.sql import datasource

    if hasattr(datasource, "DataSourceStreamArrowWriter"):
        return None
    return (
        'format("srfix") writes streams since Spark 4.1 (DataSourceStreamArrowWriter), but this is PySpark '
        f"{pyspark.__version__}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JarVersions:
    avro: str = "4.2.0"
    kafka: str = "4.2.0"
    """A version that is older than Spark breaks streams (`HDFSMetadataLog`)."""
    token_provider: str = "4.2.0"  # noqa: S105 - a version
    kafka_clients: str = "3.9.2"
    commons_pool2: str = "2.13.1"
    scala: str = "2.13"


RELEASES: Final[Mapping[str, JarVersions]] = {
    "3.5": JarVersions(
        avro="3.5.9",
        kafka="3.5.1",
        token_provider="3.5.1",  # noqa: S106 - a version
        kafka_clients="3.4.1",
        commons_pool2="2.11.1",
        scala="2.12",
    ),
    "4.0": JarVersions(avro="4.0.2", kafka="4.0.2", token_provider="4.0.0"),  # noqa: S106 - a version
    "4.1": JarVersions(avro="4.1.1", kafka="4.1.1", token_provider="4.1.1"),  # noqa: S106 - a version
    "4.2": JarVersions(),
    "4.3": JarVersions(),
}
"""Release line of Spark, ascending → the newest jars that were seen to work with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Coordinates. As a text, they have the form for `spark.jars.packages`."""

    coordinates: tuple[str, ...]
    """`group:artifact:version`, all that are needed, so no dependencies have to be resolved."""
    note: str | None = None
    """A remark if the given Spark is not in `RELEASES`; otherwise None."""

    def __str__(self) -> str:
        return ",".join(self.coordinates)


def packages(
    spark_version: str | None = None,
    *,
    scala: str | None = None,
    avro: str | None = None,
    kafka: str | None = None,
    token_provider: str | None = None,
    kafka_clients: str | None = None,
    commons_pool2: str | None = None,
) -> Packages:
    """The coordinates for a version of Spark; None for the version of the installed PySpark.

    Each jar's version can be given instead of the table's. For a Spark that is not in the table, the nearest lower line
    is used (or the lowest line), and `note` says so.

    :raises UsageError: if the text is not a version, or it is None and no PySpark is installed.

    >>> print(packages("4.1.1", kafka_clients="3.9.1").coordinates[3])
    org.apache.kafka:kafka-clients:3.9.1
    """
    spark_version = _installed() if spark_version is None else spark_version
    wanted = _numbers(spark_version)
    lines = sorted(RELEASES, key=_numbers)
    line = max((line for line in lines if _numbers(line) <= wanted), key=_numbers, default=lines[0])
    unknown = (
        f"srfix does not know which jars work with Spark {spark_version}. These are the ones for Spark {line}. If Spark "
        "reports a missing class or method, name other versions (packages(…, avro=…, kafka=…, token_provider=…))."
    )
    versions = {
        "avro": avro,
        "kafka": kafka,
        "token_provider": token_provider,
        "kafka_clients": kafka_clients,
        "commons_pool2": commons_pool2,
        "scala": scala,
    }
    jars = replace(RELEASES[line], **{name: one for name, one in versions.items() if one is not None})
    return Packages(
        coordinates=(
            f"org.apache.spark:spark-avro_{jars.scala}:{jars.avro}",
            f"org.apache.spark:spark-sql-kafka-0-10_{jars.scala}:{jars.kafka}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_{jars.scala}:{jars.token_provider}",
            f"org.apache.kafka:kafka-clients:{jars.kafka_clients}",
            f"org.apache.commons:commons-pool2:{jars.commons_pool2}",
        ),
        note=None if _numbers(line) == wanted else unknown,
    )


def _numbers(spark_version: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)(?!\d)", spark_version)
    if match is None:
        raise UsageError(f"{spark_version!r} is not a version of Spark. Give one such as 4.3.0.")
    return int(match[1]), int(match[2])


def _installed() -> str:
    for distribution in ("pyspark", "pyspark-client", "pyspark-connect"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    raise UsageError("No PySpark is installed here. Name the version of Spark: packages('4.3.0').")


_WITHOUT_JARS: Final = (
    'Without jars, format("srfix") reads and writes topics (with read, readStream, write and writeStream). The table of its '
    "options is in srfix.serde.spark.source."
)
_AVRO: Final = "spark-avro"
_KAFKA: Final = "spark-sql-kafka-0-10"
_SAID: Final = (
    (re.compile(r"KAFKA_DATA_SOURCE_NOT_ENABLED|Failed to find (?:the )?data source: kafka"), _KAFKA),
    (re.compile(r"AVRO_NOT_LOADED|AVRO_DATA_SOURCE_NOT_ENABLED|Failed to find (?:the )?data source: avro"), _AVRO),
    (re.compile(r"NoClassDefFoundError: org/apache/spark/sql/avro/"), _AVRO),
    # PySpark 3.5 gives this error, because its from_avro calls the class. No other call here can give it.
    (re.compile(r"^'JavaPackage' object is not callable$"), _AVRO),
    (re.compile(r"NoClassDefFoundError: org/apache/spark/kafka010/"), "spark-token-provider-kafka-0-10"),
    (re.compile(r"NoClassDefFoundError: org/apache/kafka/"), "kafka-clients"),
    (re.compile(r"NoClassDefFoundError: org/apache/commons/pool2/"), "commons-pool2"),
)


def without_jars() -> str:
    """For a user without jars, for example without a network; empty on a Spark without this way."""
    try:
        lacking = lacks_source()
    except ModuleNotFoundError:
        lacking = None  # there is no PySpark here, so there is none that lacks it
    return "" if lacking is not None else f" {_WITHOUT_JARS}"


def missing_jar(text: str, spark_version: str | None = None) -> JarMissingError | None:
    """None if Spark's message is not about a jar of `packages`."""
    jar = next((jar for pattern, jar in _SAID if pattern.search(text)), None)
    if jar is None:
        return None
    wanted = packages(spark_version)
    note = "" if wanted.note is None else f" {wanted.note}"
    return JarMissingError(
        f"Spark lacks the jar {jar}. Start it with srfix.serde.spark.start_session, which adds the jars, or with "
        f"spark-submit --packages {wanted} (in a builder: spark.jars.packages), or put the jars on "
        f"spark.jars.{note}{without_jars()}",
        packages=wanted.coordinates,
    )
