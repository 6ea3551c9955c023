"""A registry over HTTP and a client of it, for the tests that need no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, RetryPolicy


@pytest.fixture
def registry(request: pytest.FixtureRequest) -> Iterator[FixtureRegistry]:
    """Of the release that the test's module names in `EMULATE`."""
    with FixtureRegistry(emulate=getattr(request.module, "EMULATE", "7.9")) as registry:
        yield registry


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
        yield client
