"""A registry that answers another id than planned, and others who write to the subject at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.recovery import AppliedInPartError, PlanError
from srfix.recovery.actions.actions import Register
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.rollback import Undone
from srfix.serde import Schema
from tests.recovery.repair.scene import Scene, mostly_slow, staged_scene
from tests.recovery.staging import PHANTOM, STEPS, R, plan_of

OTHERS = Schema(text=R.replace('"default":null}', '"default":null},{"name":"N","type":["null","int"],"default":null}'))
"""What the running application registers under the phantom subject in the middle of a repair."""


@pytest.fixture
def inheriting(scene: Scene) -> Scene:
    """The phantom's latest version carries metadata, so that W1 gets another id there than under the source."""
    other = Schema(text=R.replace("USERID", "USER_ID"))
    scene.client.register(PHANTOM, other, metadata={"properties": {"owner": "shop"}})
    scene.registry.forget_requests()
    return replace(scene, plan=plan_of(scene.client), before=scene.registry.dump())


class TestAnotherIdThanPlanned:
    def test_it_is_taken_back_at_once_and_the_repair_stops(self, inheriting: Scene) -> None:
        dumps = []
        for _ in range(2):  # a second run stops in the same place
            with pytest.raises(AppliedInPartError, match=r"Step 2: .* another id .* stopped after 1 of 6 steps"):
                inheriting.apply()
            dumps.append(inheriting.registry.dump())
        assert dumps[0] == dumps[1]
        assert inheriting.client.versions(PHANTOM, deleted=True) == (1, 2)
        inheriting.roll_back()
        assert inheriting.registry.dump() == inheriting.before

    @pytest.mark.parametrize("goes_on", [False, True], ids=["rolled back", "applied again"])
    @pytest.mark.parametrize(
        ("moment", "number"),
        # Registered, soft-deleted, deleted.
        mostly_slow(
            [(f"{when} write", n) for when in ("before", "after") for n in (2, 3, 4)], quick=[("after write", 2)]
        ),
    )
    def test_killed_while_it_is_taken_back_the_next_run_takes_it_back(
        self, inheriting: Scene, moment: str, number: int, *, goes_on: bool
    ) -> None:
        inheriting.killed(moment, number)
        if goes_on:
            with pytest.raises(AppliedInPartError, match=r"Step 2: the registry gave the schema under .* another id"):
                inheriting.apply()
            assert inheriting.client.versions(PHANTOM, deleted=True) == (1, 2)
        inheriting.roll_back()
        assert inheriting.registry.dump() == inheriting.before


class TestOthersAtTheSameTime:
    @pytest.mark.core
    def test_what_the_application_registered_meanwhile_is_not_taken_for_ours(self, scene: Scene) -> None:
        scene.killed("before write", 2)
        theirs = scene.client.register(PHANTOM, OTHERS)
        with pytest.raises(PlanError, match=r"neither in the state before the step nor in the state after it"):
            scene.apply()
        assert scene.client.lookup(PHANTOM, OTHERS).schema_id == theirs
        scene.roll_back()
        assert scene.client.lookup(PHANTOM, OTHERS).schema_id == theirs
        assert scene.client.config(PHANTOM) is None

    @pytest.mark.core
    def test_a_rollback_undoes_ours_beside_theirs(self, scene: Scene) -> None:
        scene.killed("after write", 2)
        scene.client.register(PHANTOM, OTHERS)
        events = [event for event in scene.roll_back() if isinstance(event, Undone | Left)]
        undone = [event.action.kind for event in events if isinstance(event, Undone)]
        assert (undone, len(events)) == (["register", "set-compatibility"], 2)
        assert scene.client.lookup(PHANTOM, OTHERS).version == 3
        assert scene.client.versions(PHANTOM, deleted=True) == (1, 3)
        assert scene.client.config(PHANTOM) is None

    @pytest.mark.parametrize(
        ("moment", "write"),
        mostly_slow(
            [(f"{when} write", write) for when in ("before", "after") for write in range(1, STEPS + 1)],
            quick=[("after write", 1), ("before write", 6)],
        ),
    )
    def test_no_moment_leaves_the_compatibility_relaxed_for_good(self, scene: Scene, moment: str, write: int) -> None:
        scene.killed(moment, write)
        theirs = scene.client.register(PHANTOM, OTHERS)
        scene.roll_back()
        state = read_subject_state(scene.client, PHANTOM)
        assert state.config is None
        assert {version.schema_id for version in state.versions} == {3, theirs}
        assert not any(version.deleted for version in state.versions)


class TestASubjectWithoutVersionsOfItsOwn:
    """A hard delete of the last version takes the subject's own configuration along (observed on 7.9.9)."""

    @pytest.fixture
    def configured(self, tmp_path: Path) -> Iterator[Scene]:
        with staged_scene(tmp_path) as scene:
            scene.client.delete_version(PHANTOM, 1)
            scene.purge(1)
            scene.client.set_config(PHANTOM, {"compatibility": "FULL", "normalize": False})
            yield replace(scene, plan=plan_of(scene.client), before=scene.registry.dump())

    @pytest.mark.parametrize("number", [None, 1, 2, pytest.param(3, marks=pytest.mark.slow)])
    def test_a_rollback_puts_its_configuration_back(self, configured: Scene, number: int | None) -> None:
        assert any(isinstance(action, Register) for action in configured.plan.actions)
        configured.apply()
        assert configured.registry.dump() != configured.before
        if number is not None:
            configured.killed_rollback("after write", number)
        configured.roll_back()
        assert configured.registry.dump() == configured.before
