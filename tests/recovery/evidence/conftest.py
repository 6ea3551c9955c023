"""One world for each test of a kind of evidence."""

from __future__ import annotations

from tests.recovery.world import world_fixture

world = world_fixture({"users": 2, "orders": 1, "shop-by-name-repartition": 1})
"""Topics `users`, `orders` (one partition each) and a repartition topic of application `shop`; nothing else."""
