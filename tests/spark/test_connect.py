"""Everything public works on Spark Connect: a server of its own, and a client that has no JVM (`connect_client`).

A classic session and a Connect session do not live together in one process, so neither is in this one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark
import pytest

from parts.jars import spark_jars
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.spark.avro_limits import with_avro_limits
from srfix.serde.spark.releases import lacks_arrow
from tests.spark import connect_client
from tests.spark.conftest import RELEASE

pytestmark = pytest.mark.skipif(RELEASE == "3.5", reason="PySpark 3.5 does not bring a server of Spark Connect")
SPARK_HOME: Final = Path(pyspark.__file__).parent
START_S: Final = 90.0
CHECKS_S: Final = 600.0


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """A Spark Connect server on two cores, with Avro and Kafka; gives what a client is told, `sc://…`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(map(str, fetch(spark_jars(RELEASE)))),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.ui.enabled": "false",
    }
    if lacks_arrow() is not None:
        settings = with_avro_limits(
            settings
        )  # without them `auto` reads with the arrow engine, as it does on newer Sparks
    command = [
        str(SPARK_HOME / "bin" / "spark-submit"),
        "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master=local[2]",
        *(f"--conf={name}={value}" for name, value in settings.items()),
    ]
    log = directory / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as server,
    ):
        try:
            _wait_for(port, server, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)


@pytest.fixture(scope="module")
def failures(
    request: pytest.FixtureRequest, broker: KraftBroker, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str | None]:
    """What came of each check that was asked for: None, or its traceback."""
    names = {item.name for item in request.session.items if item.path == request.path}
    checks = [check for check in connect_client.CHECKS if f"test_it_works_on_connect[{check}]" in names]
    directory = tmp_path_factory.mktemp("connect")
    results = directory / "results.json"
    broker.create_topic(connect_client.TOPIC, partitions=1)
    with connect_server(directory) as remote, FixtureRegistry() as registry:
        where = [remote, broker.bootstrap_servers, registry.url, str(results), *checks]
        environment = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
        command = [sys.executable, connect_client.__file__, *where]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=CHECKS_S, check=False)
        print(done.stdout)
        assert results.is_file(), done.stderr
        found: dict[str, str | None] = json.loads(results.read_text())
        return found


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=[pytest.mark.smoke] if check in connect_client.SMOKE else [])
        for check in connect_client.CHECKS
    ],
)
def test_it_works_on_connect(failures: Mapping[str, str | None], check: str) -> None:
    failure = failures[check]
    assert failure is None, failure
