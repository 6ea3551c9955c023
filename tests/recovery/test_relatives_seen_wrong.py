"""What the generated worlds found wrong of the relatives of the incident, each as a world written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.recovery.worlds.cases import USER, USER_ROW, incident, subject, topic
from tests.recovery.worlds.judging import judge
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import DiskRow, Key, StoreDisk, World


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def registry(running: FixtureRegistry) -> FixtureRegistry:
    running.clear()
    return running


def codes(world: World, registry: FixtureRegistry) -> set[str]:
    staged = StagedWorld(world, registry)
    with staged.client() as client:
        return {finding.code for finding in staged.examine(staged.survey(client)).diagnosis.findings}


class TestPollution:
    def test_is_not_the_producers_only_version_where_the_records_ids_are_lost(self, registry: FixtureRegistry) -> None:
        world = incident(users=topic("Lost2"), phantom=subject(USER))
        assert "SRF010" not in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []


class TestLostRows:
    @pytest.mark.parametrize("policy", ["compact", "delete"])
    def test_a_wipe_is_advised_only_where_the_topic_keeps_every_row(
        self, registry: FixtureRegistry, policy: str
    ) -> None:
        rows = (DiskRow(Key(0), "LostRow", 0), DiskRow(Key(5), USER_ROW, 5))
        world = incident(users=replace(topic(USER), policy=policy))
        world = replace(
            world, state_of=("my-app",), disk={"my-app/users-store": StoreDisk({0: rows[: 1 + (policy == "delete")]})}
        )
        assert "SRF014" in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []
