"""A short session, whose JVM archives the classes that it loaded: those that start later map them.

Run as a script. What is said in SPARK_SUBMIT_OPTS is said to Spark's JVMs alone, not to the broker's, which has an archive of
its own.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyspark

from parts.jars import spark_jars
from srfix.fixtures.fetching import fetch, java_executable
from srfix.fixtures.shared_classes import SharedClasses

_TIMEOUT_S: Final = 300.0
_ROOT: Final = Path(__file__).parents[2]


def options_of_shared_classes() -> tuple[str, ...]:
    """What a JVM of this PySpark is started with to map the archive; makes it where there is none.

    Nothing, if none could be made: a JVM does without.
    """
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    classes = SharedClasses.of(java_executable(os.environ), jars)
    if not classes.archive.is_file():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            environment = {**os.environ, "SPARK_SUBMIT_OPTS": " ".join(classes.options(folder))}
            command = [sys.executable, "-m", "tests.spark.first_session"]
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command, env=environment, timeout=_TIMEOUT_S, check=False, capture_output=True, cwd=_ROOT
                )
            classes.keep(folder)
        if not classes.archive.is_file():
            return ()
    return classes.options(Path())


def _main() -> None:
    from pyspark.sql import SparkSession

    release = ".".join(pyspark.__version__.split(".")[:2])
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, fetch(spark_jars(release)))))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    frame = session.createDataFrame([(1, "a"), (2, "b")], "id long, name string")
    frame.mapInArrow(lambda batches: batches, frame.schema).orderBy("id").groupBy("name").count().collect()
    session.stop()


if __name__ == "__main__":
    _main()
