"""Undoing a repair: in reverse, only what is still ours, and never the last holder of an id."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry.emulation import Release
from srfix.fixtures.registry.http.intercept import Answer, CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import AppliedInPartError, PlanError, RolledBackInPartError
from srfix.recovery.plans.runs import AlreadyRolledBack, Left
from srfix.recovery.repair.rollback import Undone, roll_back
from srfix.serde import RegistryClient, Schema
from tests.recovery.repair.scene import Scene, mostly_slow, staged_scene
from tests.recovery.staging import PHANTOM, STEPS, W1, W2, R, clock

ROLLBACK_LINES = 1 + STEPS + 2 + 1
"""rollback-begun, undone for each step, undoing for each registration, rolled-back."""
ROLLBACK_WRITES = 2
"""A hard delete for each registration: both versions are soft-deleted already."""


@pytest.fixture
def repaired(scene: Scene) -> Scene:
    """With the repair carried out."""
    scene.apply()
    assert scene.registry.dump() != scene.before
    return scene


class TestRollBack:
    @pytest.mark.core
    def test_the_registry_is_as_it_was_before_the_repair(self, repaired: Scene) -> None:
        assert [type(event) for event in repaired.roll_back()] == [Undone, Undone]
        assert repaired.registry.dump() == repaired.before
        repaired.registry.forget_requests()
        assert repaired.roll_back() == [AlreadyRolledBack()]
        assert repaired.registry.writes == 0

    @pytest.mark.core
    def test_the_last_holder_of_an_id_is_left(self, repaired: Scene) -> None:
        repaired.lose(1)
        (left,) = repaired.left()
        assert f"{PHANTOM} version 2 is the last version with schema id 1" in left.why
        assert repaired.client.schema_by_id(1).schema.text == W1

    def test_a_holder_that_the_plan_did_not_know_counts(self, repaired: Scene) -> None:
        repaired.registry.seed("somebody-elses-value", W1)
        repaired.lose(1)
        assert not repaired.left()

    @pytest.mark.core
    def test_a_version_that_somebody_registered_again_is_theirs(self, repaired: Scene) -> None:
        assert repaired.register(W1) == 4
        assert [left.action.step for left in repaired.left()] == [2]
        assert repaired.client.lookup(PHANTOM, Schema(text=W1)).version == 4

    def test_a_configuration_that_somebody_changed_since_is_left(self, scene: Scene) -> None:
        scene.killed("before line", 4)
        scene.client.set_config(PHANTOM, {"compatibility": "FULL"})
        assert [type(event) for event in scene.roll_back()] == [Left]
        config = scene.client.config(PHANTOM)
        assert config is not None
        assert config.compatibility == "FULL"

    def test_what_others_registered_under_the_subject_since_stays(self, repaired: Scene) -> None:
        theirs = R.replace('"default":null}', '"default":null},{"name":"N","type":["null","int"],"default":null}')
        repaired.client.register(PHANTOM, Schema(text=theirs))
        repaired.roll_back()
        assert repaired.client.lookup(PHANTOM, Schema(text=theirs)).version == 4
        assert repaired.client.versions(PHANTOM, deleted=True) == (1, 4)

    def test_what_others_registered_after_the_registry_refused_our_step_stays(self, scene: Scene) -> None:
        refused = Answer(status=403, body=json.dumps({"error_code": 40301, "message": "No."}))
        fault = Fault(method="POST", path="/versions$", calls=(2,), action=refused)
        with scene.registry.intercept(fault), pytest.raises(AppliedInPartError):
            scene.apply()
        number = scene.register(W2)
        scene.roll_back()
        assert scene.client.versions(PHANTOM) == (1, number)

    @pytest.mark.parametrize(("others_undid", "counted"), [((), "1 step was"), ((3,), "no step was")])
    def test_one_that_stops_counts_what_it_has_undone_itself(
        self, repaired: Scene, others_undid: tuple[int, ...], counted: str
    ) -> None:
        repaired.purge(*others_undid)
        said = f"stopped at step 2; {counted} undone"
        fault = Fault(method="DELETE", path="/versions/2", action=CutBefore(), times=1)
        with repaired.registry.intercept(fault), pytest.raises(RolledBackInPartError, match=said):
            repaired.roll_back()

    def test_there_is_nothing_to_undo_without_a_journal(self, scene: Scene) -> None:
        with pytest.raises(PlanError, match=r"There is no journal .*nothing to undo"):
            scene.roll_back()


def left_live(scene: Scene) -> Scene:
    """With a repair carried out that leaves its versions live."""
    actions = tuple(action for action in scene.plan.actions if action.kind != "soft-delete")
    scene.apply(replace(scene.plan, actions=actions))
    return scene


class TestTheSameNumberAndIdAgain:
    """Ours was deleted for good, and somebody registered the same schema: the registry gives out the number again."""

    def test_a_live_one_where_ours_was_soft_deleted_is_theirs(self, repaired: Scene) -> None:
        repaired.purge(3)
        assert repaired.register(W2) == 3
        (left,) = repaired.left()
        assert left.action.step == 4
        assert "it is live now: somebody has registered it again" in left.why
        assert repaired.client.versions(PHANTOM, deleted=True) == (1, 3)

    @pytest.mark.parametrize(
        ("keeps_live", "is_deleted"),
        [(True, False), (False, True), *(pytest.param(both, both, marks=pytest.mark.slow) for both in (False, True))],
    )
    def test_where_the_registry_keeps_a_time_it_tells(
        self, tmp_path: Path, *, keeps_live: bool, is_deleted: bool
    ) -> None:
        with staged_scene(tmp_path, emulate="8.2") as scene:
            if keeps_live:
                left_live(scene).client.delete_version(PHANTOM, 3)
            else:
                scene.apply()
            scene.purge(3)
            scene.register(W2)
            if is_deleted:
                scene.client.delete_version(PHANTOM, 3)
            assert [left.action.step for left in scene.left()] == [4]
            assert scene.client.versions(PHANTOM, deleted=True) == (1, 3)

    def test_without_a_time_a_number_that_may_have_been_given_out_again_is_left(self, scene: Scene) -> None:
        left_live(scene)
        for number in (2, 3):
            scene.client.delete_version(PHANTOM, number)
        scene.purge(3, 2)
        assert scene.register(W1) == 2
        (left,) = scene.left()
        assert left.action.step == 2
        assert f"version 2 of {PHANTOM} may be somebody else's: the higher version 3" in left.why
        assert scene.client.lookup(PHANTOM, Schema(text=W1)).version == 2

    def test_without_a_time_and_any_sign_it_is_ours_and_what_cannot_be_told_is_said(self, scene: Scene) -> None:
        said = [event.what for event in left_live(scene).roll_back() if isinstance(event, Undone)]
        assert ["his registry stores no time" in what for what in said] == [True, True]
        assert scene.registry.dump() == scene.before


class TestDeathWhileRollingBack:
    @pytest.mark.parametrize("like", ["7.9", "8.2"])
    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [(f"{when} write", number) for when in ("before", "after") for number in range(1, 5)],
            quick=[("after write", 1)],
        ),
    )
    def test_live_versions_that_a_killed_rollback_soft_deleted_are_still_ours(
        self, tmp_path: Path, moment: str, number: int, like: Release
    ) -> None:
        with staged_scene(tmp_path, emulate=like) as scene:
            left_live(scene).killed_rollback(moment, number)
            assert not scene.left()
            assert scene.registry.dump() == scene.before

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [
                *((f"{when} line", n) for when in ("before", "after") for n in range(1, ROLLBACK_LINES + 1)),
                *((f"{when} write", n) for when in ("before", "after") for n in range(1, ROLLBACK_WRITES + 1)),
            ],
            quick=[("before line", ROLLBACK_LINES), ("after write", 1)],
        ),
    )
    def test_the_second_rollback_ends_where_one_undisturbed_rollback_ends(
        self, repaired: Scene, moment: str, number: int
    ) -> None:
        repaired.killed_rollback(moment, number)
        repaired.roll_back()
        assert repaired.registry.dump() == repaired.before

    @pytest.mark.parametrize("cut", [CutBefore(), CutAfter()], ids=["before", "after"])
    def test_a_connection_cut_while_undoing_is_taken_up_again(self, repaired: Scene, cut: CutBefore | CutAfter) -> None:
        said = "stopped at step 4; no step .* run the same srfix rollback"
        fault = Fault(method="DELETE", action=cut, times=1)
        with repaired.registry.intercept(fault), pytest.raises(RolledBackInPartError, match=said):
            repaired.roll_back()
        repaired.roll_back()
        assert repaired.registry.dump() == repaired.before


class TestAnotherRegistry:
    """Seen by a user: with the URL of another registry, or of another context, everything "was gone already"."""

    def test_it_is_refused_before_anything_is_written(self, repaired: Scene) -> None:
        journal = repaired.lines()
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere:
            other.seed(PHANTOM, R)
            before = other.dump()
            with pytest.raises(PlanError, match=r"This repair registered versions. None of them is in the registry"):
                list(roll_back(repaired.journal, elsewhere, clock=clock))
            assert other.dump() == before
        assert repaired.lines() == journal
        assert not repaired.left()

    def test_by_another_url_of_the_same_one_a_rollback_that_died_goes_on(self, scene: Scene) -> None:
        scene.apply(replace(scene.plan, registry="http://another-name:8081"))
        scene.killed_rollback("after write", 2)
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere, pytest.raises(PlanError):
            list(roll_back(scene.journal, elsewhere, clock=clock))
        scene.roll_back()
        assert scene.registry.dump() == scene.before
