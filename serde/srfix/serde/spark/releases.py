"""What srfix does on which release line of Spark. The site shows the table `ABILITIES`; a test holds both to each other.

| from | what begins there |
|---|---|
| 4.0 | `pyspark.sql.datasource`, which `format("srfix")` is made of |
| 4.1 | `pyspark.sql.functions.arrow_udf`, which the arrow engine is made of |
| 4.1 | `DataSourceStreamArrowWriter`, with which `format("srfix")` writes streams |
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from srfix.serde.errors import EngineRefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What srfix does on one release line of Spark."""

    arrow: bool
    """The arrow engine, alone or beside the jvm engine: schemas born later, JSON, JSON_SR, KAFKA, rows in quarantine on
    writing."""
    source: bool
    """`format("srfix")`, read and written."""
    source_stream_writer: bool
    """It writes streams too; without that, `foreachBatch` writes each micro-batch."""


ABILITIES: Final[Mapping[str, Abilities]] = {
    "3.5": Abilities(arrow=False, source=False, source_stream_writer=False),
    "4.0": Abilities(arrow=False, source=True, source_stream_writer=False),
    "4.1": Abilities(arrow=True, source=True, source_stream_writer=True),
    "4.2": Abilities(arrow=True, source=True, source_stream_writer=True),
    "4.3": Abilities(arrow=True, source=True, source_stream_writer=True),
}
"""Release line of Spark, ascending → what was seen to work there. All of them have the jvm engine."""


def abilities_in_words(spark_version: str) -> str:
    """What srfix does on a Spark such as `4.3.0`: `jvm engine, arrow engine, format("srfix")`."""
    line = ".".join(spark_version.split(".")[:2])
    if line not in ABILITIES:
        return f"not tried with srfix; {', '.join(ABILITIES)} were"
    abilities = ABILITIES[line]
    arrow = ["arrow engine"] if abilities.arrow else []
    source = ['format("srfix")'] if abilities.source else []
    if abilities.source and not abilities.source_stream_writer:
        source = ['format("srfix") (streams are written by foreachBatch)']
    return ", ".join(("jvm engine", *arrow, *source))


def lacks_arrow() -> str | None:
    """Why the PySpark at hand cannot have the arrow engine; None if it can."""
    import pyspark
    from pyspark.sql import functions as F

    if hasattr(F, "arrow_udf"):
        return None
    return f"The arrow engine begins with Spark 4.1 (arrow_udf), and this is PySpark {pyspark.__version__}"


def takes_jars_later() -> bool:
    """Whether a session of the PySpark at hand takes jars once it runs. Before 4.0 `from_avro` is called by its class, which
    Python finds only in the jars that the JVM was started with. True where there is no PySpark."""
    try:
        import pyspark
    except ModuleNotFoundError:
        return True
    return not pyspark.__version__.startswith("3.")


def require_arrow() -> None:
    if (lacking := lacks_arrow()) is not None:
        raise EngineRefusedError(f'{lacking}. Use engine="jvm".', reasons=(f"{lacking}.",))


def arrow_or(instead: str, *, advice: str) -> str:
    """What a message advises: something with the arrow engine, or `instead` on a PySpark that has none.

    It may be asked where there is no PySpark, and loads none.
    """
    functions = sys.modules.get("pyspark.sql.functions")
    return advice if functions is None or hasattr(functions, "arrow_udf") else instead


def lacks_source() -> str | None:
    """Why the PySpark at hand cannot have `format("srfix")`; None if it can."""
    import pyspark

    try:
        import pyspark.sql.datasource
    except ImportError:
        return (
            f'format("srfix") begins with Spark 4.0 (pyspark.sql.datasource), and this is PySpark {pyspark.__version__}'
        )
    return None


def lacks_source_stream_writer() -> str | None:
    """Why `format("srfix")` cannot write streams with the PySpark at hand; None if it can."""
    import pyspark

    if (lacking := lacks_source()) is not None:
        return lacking
    from pyspark.sql import datasource

    if hasattr(datasource, "DataSourceStreamArrowWriter"):
        return None
    return (
        'format("srfix") writes streams from Spark 4.1 on (DataSourceStreamArrowWriter), and this is PySpark '
        f"{pyspark.__version__}"
    )
