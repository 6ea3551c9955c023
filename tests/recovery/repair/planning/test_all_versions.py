"""A plan without a census: every version of the source's subject."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import Plan
from srfix.recovery.actions.actions import Register
from srfix.recovery.census import NoCensus
from srfix.recovery.checks.interface import Width
from srfix.serde import Role, Topic
from srfix.serde.subjects.names import subject_for
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import World, value, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """W1 (id 1) and W2 (id 2) under the source, R (id 3) under the phantom; only W1 is in the records."""
    with world_of({"users": 3, "orders": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(SOURCE_SUBJECT, W2)
        made.registry.seed(PHANTOM, R)
        made.put("users", ("a", value(1)))
        made.commit("shop", users=1)
        yield made


def quick(world: World, *, application: str | None = None, store: str | None = None) -> Plan:
    return world.plan(width=Width.ALL_VERSIONS, engine=NoCensus(), application=application, store=store)


def registered(plan: Plan) -> list[int]:
    return [int(action.schema_id) for action in plan.actions if isinstance(action, Register)]


class TestAllVersions:
    def test_it_is_carried_out_verified_and_undone_without_reading_a_record(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(*_args: object, **_kwargs: object) -> None:
            raise AssertionError("the topic was read")

        before = world.registry.dump()
        with monkeypatch.context() as patch:
            patch.setattr("srfix.recovery.census.local.LocalCensus.count", read)
            plan = quick(world)
        assert registered(plan) == [1, 2]
        assert any(line.startswith("No census was made of users") for line in plan.price)
        world.apply(plan, tmp_path / "journal")
        assert all(type(event).__name__ == "Confirmed" for event in world.verify(plan))
        assert not world.examine().diagnosis.has_findings
        assert world.examine(engine=NoCensus()).diagnosis.is_inconclusive
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before

    def test_soft_deleted_versions_are_taken_too_and_what_is_registered_already_is_not(self, world: World) -> None:
        world.client().delete_version(SOURCE_SUBJECT, 1)
        assert registered(quick(world)) == [1, 2]
        world.registry.seed(PHANTOM, W1)
        assert registered(quick(world)) == [2]

    def test_keys_are_repaired_where_a_key_schema_was_registered(self, world: World) -> None:
        world.registry.seed(subject_for(Topic("users"), Role.KEY), '"long"')
        assert {finding.role for finding in quick(world).findings} == {Role.VALUE}
        world.registry.seed("shop-users-store-changelog-key", '"string"')
        assert {finding.role for finding in quick(world).findings} == {Role.KEY, Role.VALUE}
