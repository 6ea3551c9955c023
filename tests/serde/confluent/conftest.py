"""A registry of Confluent 8.2's kind over HTTP, and the two clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient


@pytest.fixture
def server() -> Iterator[FixtureRegistry]:
    with FixtureRegistry(emulate="8.2", compatibility="NONE") as running:
        yield running


@pytest.fixture
def theirs(server: FixtureRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": server.url, "max.retries": 0}) as client:
        yield client


@pytest.fixture
def ours(server: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(server.url) as client:
        yield client


@pytest.fixture(params=["our client", "confluent's client"])
def client(
    request: pytest.FixtureRequest, ours: RegistryClient, theirs: SchemaRegistryClient
) -> RegistryClient | SchemaRegistryClient:
    return ours if request.param == "our client" else theirs
