"""What each test stages for itself."""

from __future__ import annotations

from tests.recovery.world import world_fixture

world = world_fixture({"users": 1})
"""The topic `users`, of one partition, and nothing else."""
