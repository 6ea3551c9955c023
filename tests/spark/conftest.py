"""One Spark for the whole session, with Avro and Kafka, and one real broker; for each test a registry of its own.

`local[2]` takes ten seconds to start: never start another for a test that can use this one. Topics have random names.
What needs another kind of session (Connect, no jars, no srfix on the workers) runs in a process of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pyspark
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from parts.jars import spark_jars
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import EngineRefusedError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.spark.avro_limits import with_avro_limits
from srfix.serde.spark.errors import srfix_error_of
from srfix.serde.spark.releases import ABILITIES
from tests.spark.first_session import options_of_shared_classes
from tests.spark.reading_world import World, open_world

RELEASE: Final = ".".join(pyspark.__version__.split(".")[:2])
"""PySpark's release line, as in `srfix.serde.spark.releases.RELEASES`."""

HAS_ADMISSION_CONTROL: Final = RELEASE not in ("3.5", "4.0", "4.1")
"""Whether a Python source may be read in parts, by `maxOffsetsPerTrigger`."""

RAISED: Final = (PySparkException, Py4JJavaError)
"""What a job fails with: the latter on Spark 3.5, where `raise_error` raises a bare RuntimeException."""

# Sessions are short: to compile what runs in them as for days takes Java as long as the work itself.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData")

# Workers run `python3` of the PATH otherwise, which need not be this environment's.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def pytest_configure(config: pytest.Config) -> None:
    """PySpark up to 4.1 leaves the sockets open over which results came. And how Spark's JVMs start, in xdist's workers too."""
    if "SPARK_SUBMIT_OPTS" not in os.environ:
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join(options_of_shared_classes())
    if RELEASE == "3.5":  # it compares versions by distutils, which it takes from setuptools
        config.addinivalue_line("filterwarnings", "ignore:distutils Version classes are deprecated:DeprecationWarning")
    if RELEASE in ("3.5", "4.0", "4.1"):
        left = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
        config.addinivalue_line("filterwarnings", left)


# What `format("srfix")` does without a session, by the classes of Python data sources, which Spark 3.5 has not.
collect_ignore: Final = [] if ABILITIES[RELEASE].source else ["test_source_tasks.py"]

CANNOT: Final = (
    "The arrow engine needs Spark 4.1 or newer",
    'format("srfix") needs Spark 4.0 or newer',
)
"""What is said on an older Spark of what it cannot do."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On a Spark that cannot do what a test is about, the test is to end in the sentence that says so."""
    report = yield
    error = None if call.excinfo is None else srfix_error_of(call.excinfo.value)
    if isinstance(error, EngineRefusedError) and not ABILITIES[RELEASE].arrow:
        cannot = next((each for each in CANNOT if each in error.message), None)
        if cannot is not None:
            report.outcome, report.wasxfail = "skipped", cannot
    return report


SLOWEST: Final = (
    "test_connect",
    "test_shipping",
    "test_stream",
    "test_notebook",
    "test_cli_on_spark",
    "test_packages",
    "test_as_a_user_starts_it",
    "test_state_on_spark",
)
"""The modules that start processes of their own: begun first, so that no worker waits for the other at the end."""
TOGETHER: Final = ("test_census", "test_connect", "test_logical_types", "test_parity", "test_shipping", "test_traps")
"""The modules whose tests share what is costly: all on one worker."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `--no-loadscope-reorder`."""
    items.sort(key=lambda item: SLOWEST.index(item.path.stem) if item.path.stem in SLOWEST else len(SLOWEST))


class _Together(LoadScopeScheduling):  # type: ignore[misc]
    """As `--dist loadgroup`, whose marks xdist 3.8 writes where pytest 9.2 does not look: it groups nothing there."""

    def _split_scope(self, nodeid: str) -> str:
        module = Path(nodeid.partition("::")[0]).stem
        return module if module in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Together:
    return _Together(config, log)


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
    with KraftBroker() as broker:
        yield broker


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    """A registry of the test's own."""
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url) as client:
        yield client


@pytest.fixture
def world(registry: FixtureRegistry) -> Iterator[World]:
    with open_world(registry) as world:
        yield world
