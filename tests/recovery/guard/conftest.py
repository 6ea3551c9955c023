"""What each test stages for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recovery.world import World, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """The topic `users`, of one partition, and nothing else."""
    with world_of({"users": 1}) as world:
        yield world
