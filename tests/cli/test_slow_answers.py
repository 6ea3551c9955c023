"""Who waits is told for whom, after a while, and told again after a longer one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from srfix.cli.options.options import quiet_option
from srfix.cli.slow_answers import SlowAnswers
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.errors import KsqldbError
from srfix.recovery.ksqldb.client import KsqldbClient
from srfix.serde.errors import ClusterError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.waiting import waiting


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_registry_a_broker_and_a_ksqldb_that_do_not_answer_are_named(silent: str) -> None:
    lines: list[str] = []
    with SlowAnswers(lines.append, first_s=0.2, again_s=60):
        retry = RetryPolicy(max_attempts=2, initial_wait_s=0)
        with (
            RegistryClient(f"http://me:hunter2@{silent}", read_timeout_s=0.6, retry=retry) as client,
            pytest.raises(RegistryUnreachableError),
        ):
            client.subjects()
        with Cluster({"bootstrap.servers": silent}, timeout_s=0.8) as cluster, pytest.raises(ClusterError):
            cluster.topics()
        with KsqldbClient(f"http://me:hunter2@{silent}", read_timeout_s=0.6) as ksqldb, pytest.raises(KsqldbError):
            ksqldb.cluster_status()
    registry, broker, ksql = lines
    assert registry.startswith(f"Waiting for the schema registry at http://{silent} (GET /subjects")
    assert broker.startswith(f"Waiting for the Kafka cluster at {silent} (listing the topics): no answer for ")
    assert ksql.startswith(f"Waiting for ksqlDB at http://{silent} (GET /")
    assert "hunter2" not in registry + ksql


def test_it_is_told_again_and_not_behind_the_answer() -> None:
    lines: list[str] = []
    with SlowAnswers(lines.append, first_s=0.05, again_s=0.3):
        with waiting("a short one"):
            pass
        with waiting("a long one"):
            time.sleep(0.7)
        told = len(lines)
        time.sleep(0.4)
    assert 2 <= told <= 3
    assert len(lines) == told
    assert all(line.startswith("Waiting for a long one: no answer for ") for line in lines)
    with waiting("nobody listens"):
        time.sleep(0.1)
    assert len(lines) == told


@pytest.mark.parametrize(
    ("arguments", "environment", "is_told"),
    [([], None, True), (["-q"], None, False), ([], "1", False), ([], "0", True)],
)
def test_a_quiet_command_tells_of_no_wait(arguments: list[str], environment: str | None, is_told: bool) -> None:
    @click.command()
    @quiet_option
    def ask(quiet: bool) -> None:
        with waiting("an answer"):
            time.sleep(0.3)

    lines: list[str] = []
    with SlowAnswers(lines.append, first_s=0.05):
        CliRunner().invoke(ask, arguments, env={"SRFIX_QUIET": environment}, catch_exceptions=False)
    assert bool(lines) is is_told
