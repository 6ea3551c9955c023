"""One Spark for the whole session, with Avro and Kafka, and one real broker; for each test a registry of its own.

`local[2]` takes ten seconds to start: never start another for a test that can use this one. Topics have random names.
What needs another kind of session (Connect, no jars, no srfix on the workers) runs in a process of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Final

import pyspark
import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.jars import fetch, spark_jars
from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.spark.session import with_avro_limits

RELEASE: Final = ".".join(pyspark.__version__.split(".")[:2])
"""PySpark's release line, as in `srfix.serde.spark.packages.RELEASES`."""

# Workers run `python3` of the PATH otherwise, which need not be this environment's.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def pytest_configure(config: pytest.Config) -> None:
    """PySpark 4.1 leaves the sockets open over which results came."""
    if RELEASE == "4.1":
        left = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", left)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores with spark-avro and spark-sql-kafka."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("srfix tests")
        .config("spark.jars", ",".join(map(str, fetch(spark_jars(RELEASE)))))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config(map={**with_avro_limits({})})
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[KraftBroker]:
    """The broker of the session."""
    with KraftBroker() as broker:
        yield broker


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    """A registry of the test's own."""
    with FixtureRegistry() as registry:
        yield registry
