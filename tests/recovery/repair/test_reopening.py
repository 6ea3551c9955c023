"""A plan that was carried out, and versions of it that somebody has deleted for good since."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from srfix.recovery import PlanError
from srfix.recovery.plans.runs import AlreadyApplied
from srfix.recovery.repair.apply import Reopened, StepDone, StepFound
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.serde import Schema
from tests.recovery.repair.scene import Scene, mostly_slow
from tests.recovery.staging import PHANTOM, STEPS, W1, W2

AGAIN_LINES = 1 + 1 + 2 * 4 + 1
"""resumed is written once more; reopened, before and after each of NONE, register, soft-delete and put back, finished."""
AGAIN_WRITES = 4
WRITES = [(f"{when} write", n) for when in ("before", "after") for n in range(1, AGAIN_WRITES + 1)]


@pytest.fixture
def applied(scene: Scene) -> Scene:
    """With the repair carried out."""
    scene.apply()
    return scene


def is_repaired(scene: Scene) -> bool:
    found = [scene.client.lookup(PHANTOM, Schema(text=text), deleted=True).schema_id for text in (W1, W2)]
    return found == [1, 2] and scene.client.config(PHANTOM) is None


class TestApplyAgain:
    @pytest.mark.parametrize(
        "numbers", [(2, 3), *(pytest.param((number,), marks=pytest.mark.slow) for number in (2, 3))], ids=str
    )
    def test_what_was_deleted_for_good_is_said_and_registered_again(
        self, applied: Scene, numbers: tuple[int, ...]
    ) -> None:
        applied.purge(*numbers)
        first, *rest = applied.apply()
        assert isinstance(first, Reopened)
        assert [action.schema_id for action in first.missing] == [number - 1 for number in numbers]
        assert [type(event) for event in rest] == [StepDone] * (2 + 2 * len(numbers))
        assert is_repaired(applied)
        assert REPAIR_JOURNALS.read(applied.journal).finished
        assert applied.apply() == [AlreadyApplied()]
        assert not applied.left()
        assert applied.registry.dump() == applied.before

    @pytest.mark.slow
    def test_it_can_be_done_again_and_again(self, applied: Scene) -> None:
        for _ in range(3):
            applied.purge(applied.client.versions(PHANTOM, deleted=True)[-1])
            assert isinstance(applied.apply()[0], Reopened)
            assert is_repaired(applied)
        applied.roll_back()
        assert applied.registry.dump() == applied.before

    def test_what_somebody_registered_under_our_number_meanwhile_is_not_taken_back(self, applied: Scene) -> None:
        applied.purge(3, 2)
        assert applied.register(W1) == 2
        applied.apply()
        assert is_repaired(applied)
        assert [left.action.step for left in applied.left()] == [2]
        assert applied.client.versions(PHANTOM, deleted=True) == (1, 2)

    @pytest.mark.slow
    def test_what_others_did_to_the_subject_besides_stops_nothing(self, applied: Scene) -> None:
        applied.purge(3)
        theirs = W1.replace("User", "KsqlDataSourceSchema").replace("userId", "USERID")
        applied.register(theirs)
        applied.apply()
        assert is_repaired(applied)
        assert applied.client.lookup(PHANTOM, Schema(text=theirs)).version == 3

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [*((f"{when} line", n) for when in ("before", "after") for n in range(1, AGAIN_LINES + 1)), *WRITES],
            quick=[("before line", 4), ("after write", 2)],
        ),
    )
    def test_killed_at_any_instant_it_goes_on_and_can_be_taken_back(
        self, applied: Scene, moment: str, number: int
    ) -> None:
        applied.purge(3)
        applied.killed(moment, number)
        assert {type(event) for event in applied.apply()} <= {Reopened, StepDone, StepFound, AlreadyApplied}
        assert is_repaired(applied)
        applied.roll_back()
        assert applied.registry.dump() == applied.before

    @pytest.mark.parametrize(("moment", "number"), mostly_slow(WRITES, quick=[("after write", 1)]))
    def test_killed_at_any_instant_it_can_be_taken_back_at_once(self, applied: Scene, moment: str, number: int) -> None:
        applied.purge(3)
        applied.killed(moment, number)
        applied.roll_back()
        assert applied.registry.dump() == applied.before


class TestWhyNot:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda scene: scene.lose(2), "Schema id 2 has disappeared from the registry"),
            (lambda scene: scene.client.set_mode(PHANTOM, "READONLY"), "mode is READONLY"),
            (lambda scene: scene.client.set_config(PHANTOM, {"compatibility": "FULL"}), "settings have .* Plan again"),
        ],
    )
    def test_what_has_changed_since_is_said(self, applied: Scene, change: Callable[[Scene], object], said: str) -> None:
        applied.purge(3)
        change(applied)
        applied.registry.forget_requests()
        before = applied.lines()
        with pytest.raises(PlanError, match=rf"permanently deleted schema id 2 under {PHANTOM}\. .*{said}"):
            applied.apply()
        assert applied.registry.writes == 0
        assert REPAIR_JOURNALS.read(applied.journal).finished
        assert applied.lines() == before

    def test_nothing_is_missing(self, applied: Scene) -> None:
        applied.client.set_config(PHANTOM, {"compatibility": "FULL"})
        applied.registry.forget_requests()
        assert applied.apply() == [AlreadyApplied()]
        assert applied.registry.writes == 0
        assert len(applied.plan.actions) == STEPS
