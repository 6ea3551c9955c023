"""One world for each test of a check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import World, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """`users` (one partition, empty); W1 is id 1 and W2 id 2 under its subject; R is id 3 under the phantom one."""
    with world_of({"users": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(SOURCE_SUBJECT, W2)
        made.registry.seed(PHANTOM, R)
        made.sources = {"users-store": "users"}  # type: ignore[dict-item]
        yield made
