"""One world for each test of a kind of evidence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recovery.world import World, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """Topics `users`, `orders` (one partition each) and a repartition topic of application `shop`; nothing else."""
    with world_of({"users": 2, "orders": 1, "shop-by-name-repartition": 1}) as made:
        yield made
