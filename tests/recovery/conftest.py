"""A registry with the incident in it, and a plan that repairs it with every kind of action."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, RetryPolicy
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    """W1 and W2 under the source's subject, and only R under the phantom one."""
    with FixtureRegistry() as running:
        running.seed(SOURCE_SUBJECT, W1)
        running.seed(SOURCE_SUBJECT, W2)
        running.seed(PHANTOM, R)
        running.forget_requests()
        yield running


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as opened:
        yield opened
