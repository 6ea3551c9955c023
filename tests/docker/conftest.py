"""Kafka and a schema registry in containers, through pytest-docker; the Streams application runs on this host.

`make docker-test` sees to an engine and to images. Where there is no engine the tests fail: they are asked for by name,
and a skip would say that all is well.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from pytest_docker.plugin import Services

from parts.docker.compose import PROJECT, compose_executable, left_over
from parts.docker.engine import engine_answers
from srfix.serde import RegistryClient, RegistryError
from tests.docker.scene import Scene

BOOTSTRAP_SERVERS: Final = f"127.0.0.1:{os.environ.get('KAFKA_PORT', '19092')}"
REGISTRY: Final = f"http://127.0.0.1:{os.environ.get('REGISTRY_PORT', '18081')}"
READY_TIMEOUT_S: Final = 120.0


@pytest.fixture(scope="session")
def docker_compose_command() -> str:
    assert engine_answers(os.environ), "No Docker engine answers. Run make docker-test, which starts one where it may."
    return shlex.quote(str(compose_executable()))


@pytest.fixture(scope="session")
def docker_compose_file() -> str:
    return str(Path(__file__).with_name("docker-compose.yml"))


@pytest.fixture(scope="session")
def docker_compose_project_name() -> str:
    return PROJECT


@pytest.fixture(scope="session")
def docker_setup() -> list[str]:
    # What a run that was killed has left goes first; pytest-docker removes nothing if `up` fails.
    return ["down -v --remove-orphans", "up --wait"]


@pytest.fixture(scope="session")
def docker_cleanup() -> list[str]:
    return ["down -v --remove-orphans"]


@pytest.fixture(scope="session")
def torn_down() -> Iterator[None]:
    """Looks, after the teardown of everything that comes after it, whether anything is left."""
    yield
    assert left_over(os.environ) == ()


@pytest.fixture(scope="session")
def containers(torn_down: None, docker_services: Services) -> None:
    """Kafka and the registry, both answering."""
    docker_services.wait_until_responsive(_kafka_answers, timeout=READY_TIMEOUT_S, pause=0.2)
    docker_services.wait_until_responsive(_registry_answers, timeout=READY_TIMEOUT_S, pause=0.2)


def _kafka_answers() -> bool:
    # A client made for one look: librdkafka waits longer and longer before it tries an address again.
    try:
        listing = AdminClient({"bootstrap.servers": BOOTSTRAP_SERVERS, "log_level": 0}).list_topics(timeout=2)
    except KafkaException:
        return False
    return bool(listing.brokers)


def _registry_answers() -> bool:
    try:
        with RegistryClient(REGISTRY) as client:
            client.subjects()
    except RegistryError:
        return False
    return True


@pytest.fixture
def scene(containers: None, tmp_path: Path) -> Iterator[Scene]:
    """An application that has met nothing yet, with topics of its own."""
    with RegistryClient(REGISTRY) as client:
        yield Scene(
            name=uuid4().hex[:8],
            bootstrap_servers=BOOTSTRAP_SERVERS,
            registry=client,
            state_directory=tmp_path / "state",
        )
