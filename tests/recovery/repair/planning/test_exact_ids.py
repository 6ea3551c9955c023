"""Where a registration by text would give another id: foreseen, said, and sent along through IMPORT if wished."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import AppliedInPartError, Keep, PlanError, plan_document
from srfix.recovery.actions.actions import SetMode
from srfix.recovery.repair.plan_file import REPAIR_PLANS
from srfix.serde import Schema, Topic
from srfix.serde.schemas.errors import OperationNotPermittedError
from srfix.serde.schemas.models import Json
from tests.recovery.repair.scene import (
    carried_out,
    dies,
    kinds,
    mostly_slow,
    registered,
    run_as_shell,
    seed_users,
    undone,
)
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STORE, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of

METADATA: dict[str, Json] = {"properties": {"owner": "shop"}}
KINDS = ["set-mode", "register", "register", "restore-mode", "soft-delete", "soft-delete"]


@pytest.fixture
def world() -> Iterator[World]:
    """W1 (id 1), W2 (id 2); the phantom subject's only version carries metadata, which plain text inherits."""
    with world_of({"users": 1}) as made:
        seed_users(made)
        made.client().register(PHANTOM, Schema(text=R), metadata=METADATA)
        yield made


class TestInheritedMetadata:
    def test_no_plan_is_made_and_exact_ids_are_offered(self, world: World) -> None:
        with pytest.raises(PlanError, match=rf"id 1 under {PHANTOM}: .* latest version, 1, .* metadata.* --exact-ids"):
            world.plan()
        client = world.client()
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        assert client.register(PHANTOM, Schema(text=W1)) not in (1, 2)

    @pytest.mark.parametrize(
        "keep", [Keep.AUTO, *(pytest.param(keep, marks=pytest.mark.slow) for keep in (Keep.LIVE, Keep.SOFT_DELETED))]
    )
    def test_with_exact_ids_it_is_carried_out_and_undone(self, world: World, tmp_path: Path, keep: Keep) -> None:
        before = world.registry.dump()
        plan = world.plan(exact_ids=True, keep=keep)
        assert kinds(plan) == (KINDS[:4] if keep is Keep.LIVE else KINDS)
        assert any("mode IMPORT" in line and "42205" in line for line in plan.price)
        assert REPAIR_PLANS.plan_from(plan_document(plan), where="the plan") == plan
        carried_out(world, plan, tmp_path / "journal")
        assert world.client().mode(PHANTOM) is None
        undone(world, tmp_path / "journal", before)

    def test_a_mode_of_its_own_is_put_back(self, world: World, tmp_path: Path) -> None:
        world.client().set_mode(PHANTOM, "READWRITE")
        before = world.registry.dump()
        world.apply(world.plan(exact_ids=True), tmp_path / "journal")
        assert world.client().mode(PHANTOM) == "READWRITE"
        undone(world, tmp_path / "journal", before)

    @pytest.mark.slow
    def test_as_shell_it_leaves_the_registry_as_apply_leaves_it(self, world: World, tmp_path: Path) -> None:
        plan = world.plan(exact_ids=True)
        before = world.registry.dump()
        run_as_shell(plan, tmp_path)
        by_shell = world.registry.dump()
        assert by_shell != before
        for version in (3, 2):
            world.client().delete_version(PHANTOM, version, permanent=True)
        assert world.registry.dump() == before
        world.apply(plan, tmp_path / "journal")
        assert world.registry.dump() == by_shell

    @pytest.mark.parametrize("inherits", [True, False])
    def test_metadata_from_the_configuration_counts_too_and_without_need_nothing_goes_through_import(
        self, inherits: bool
    ) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.registry.seed(PHANTOM, R)
            world.put("users", ("a", value(1)))
            world.commit("shop", users=1)
            if inherits:
                world.client().set_config(PHANTOM, {"defaultMetadata": METADATA})
                with pytest.raises(PlanError, match="own configuration gives every new version metadata"):
                    world.plan()
            else:
                assert not any(isinstance(action, SetMode) for action in world.plan(exact_ids=True).actions)


class TestWhereItWouldLoseSomething:
    def test_soft_deleted_versions_forbid_it(self, world: World) -> None:
        client = world.client()
        client.register(PHANTOM, Schema(text=R.replace("USERID", "BADGE")), metadata=METADATA)
        client.delete_version(PHANTOM, 1)
        before = world.registry.dump()
        world.sources = {STORE: Topic("users")}
        with pytest.raises(PlanError, match=r"has soft-deleted versions \(1\)"):
            world.plan(exact_ids=True)
        assert world.registry.dump() == before

    def test_an_id_that_carries_metadata_itself_is_left_out_and_the_rest_planned(self, tmp_path: Path) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.client().register(SOURCE_SUBJECT, Schema(text=W2), metadata=METADATA)
            world.registry.seed(PHANTOM, R)
            world.put("users", ("a", value(1)), ("b", value(2, ONE_LONG_AND_NULL)))
            world.commit("shop", users=2)
            plan = world.plan()
            assert registered(plan) == [1]
            (left_out,) = plan.left_out
            assert "schema id 2 has metadata" in left_out
            world.apply(plan, tmp_path / "journal")


class TestKilled:
    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [
                *((moment, n) for moment in ("before line", "within line", "after line") for n in range(1, 15)),
                *((moment, n) for moment in ("before write", "after write") for n in range(1, 7)),
            ],
            quick=[("within line", 3), ("after write", 1), ("after write", 3)],
        ),
    )
    def test_it_is_taken_up_again_wherever_it_died(
        self, world: World, tmp_path: Path, moment: str, number: int
    ) -> None:
        before = world.registry.dump()
        plan = world.plan(exact_ids=True)
        dies(moment, number, lambda: world.apply(plan, tmp_path / "journal"))
        world.apply(plan, tmp_path / "journal")
        assert not world.examine().diagnosis.has_findings
        assert world.client().mode(PHANTOM) is None
        undone(world, tmp_path / "journal", before)

    @pytest.mark.parametrize(
        ("moment", "number"), mostly_slow([("after write", n) for n in range(1, 7)], quick=[("after write", 2)])
    )
    def test_it_is_undone_wherever_it_died(self, world: World, tmp_path: Path, moment: str, number: int) -> None:
        before, plan = world.registry.dump(), world.plan(exact_ids=True)
        dies(moment, number, lambda: world.apply(plan, tmp_path / "journal"))
        undone(world, tmp_path / "journal", before)

    def test_a_registry_whose_modes_cannot_be_changed_is_left_as_it_was(self, world: World, tmp_path: Path) -> None:
        plan = world.plan(exact_ids=True)
        before = world.registry.dump()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("srfix.serde.registry.client.RegistryClient.set_mode", _immutable)
            with pytest.raises(OperationNotPermittedError):
                world.apply(plan, tmp_path / "journal")
        assert world.registry.dump() == before

    @pytest.mark.slow
    def test_others_that_change_the_mode_meanwhile_are_noticed(self, world: World, tmp_path: Path) -> None:
        plan = world.plan(exact_ids=True)
        dies("after write", 1, lambda: world.apply(plan, tmp_path / "journal"))
        world.client().set_mode(PHANTOM, "READONLY")
        with pytest.raises((PlanError, AppliedInPartError), match="READONLY"):
            world.apply(plan, tmp_path / "journal")
        assert world.client().mode(PHANTOM) == "READONLY"


def _immutable(*_args: object, **_kwargs: object) -> None:
    raise OperationNotPermittedError(
        status=422, error_code=42205, registry_message="Mode changes are not allowed", url="http://registry"
    )
