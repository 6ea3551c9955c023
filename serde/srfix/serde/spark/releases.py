"""The abilities of srfix on each release line of Spark. The site shows the table `ABILITIES`; a test compares the two.

| since | new |
|---|---|
| 4.0 | `pyspark.sql.datasource`, which `format("srfix")` uses |
| 4.1 | `pyspark.sql.functions.arrow_udf`, which the arrow engine uses |
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
    arrow: bool
    """Alone or beside the jvm engine: later schemas, JSON, JSON_SR, KAFKA, rows in quarantine on writing."""
    source: bool
    """`format("srfix")`, for reading and writing."""
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
        return f"not tried with srfix; {', '.join(ABILITIES)} were"
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
