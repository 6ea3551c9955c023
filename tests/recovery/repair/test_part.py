"""A part of a plan (`--only`): which steps it has, and that runs with parts add up to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import AppliedInPartError, Plan, PlanError
from srfix.recovery.actions.actions import Register
from srfix.recovery.plans.runs import LeftForLater
from srfix.recovery.repair.apply import Event, StepDone, StepFound, apply_plan, part_of, shared_subjects
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.serde import UsageError
from tests.recovery.repair.scene import TILLS, dies, mostly_slow, two_applications
from tests.recovery.staging import PHANTOM, W1, clock
from tests.recovery.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with two_applications() as made:
        yield made


def applied(world: World, plan: Plan, folder: Path, *only: str) -> list[Event]:
    return list(apply_plan(plan, world.client(), folder / "j", only=only, clock=clock))


def subjects(plan: Plan) -> set[str]:
    return {action.subject for action in plan.actions}


class TestPartOf:
    def test_it_holds_the_steps_and_the_expectations_of_one_application(self, world: World) -> None:
        part = part_of(world.plan(), ["tills"])
        assert subjects(part) == {TILLS} == set(part.expects)
        assert [finding.application for finding in part.findings] == ["tills"]
        assert [known.application for known in part.applications] == ["tills"]
        assert shared_subjects(world.plan(), part) == ()

    def test_a_code_in_any_letter_case_or_no_choice_is_all_of_it(self, world: World) -> None:
        plan = world.plan()
        assert part_of(plan, ["srf001"]).actions == plan.actions
        assert part_of(plan, ()) is plan

    @pytest.mark.parametrize(
        ("only", "said"),
        [
            ("SRF004", r"does not repair SRF004\. It repairs SRF001"),
            ("till", r"application 'till'\. Did you mean 'tills'\?"),
        ],
    )
    def test_what_the_plan_does_not_repair_is_refused(self, world: World, only: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            part_of(world.plan(), [only])


class TestApplyInParts:
    def test_only_the_steps_that_were_asked_for_are_carried_out(self, world: World, tmp_path: Path) -> None:
        before = world.registry.dump()
        plan = world.plan()
        events = applied(world, plan, tmp_path, "tills")
        done = [event.action.subject for event in events if isinstance(event, StepDone)]
        assert set(done) == {TILLS}
        left = tuple(action.step for action in plan.actions if action.subject == PHANTOM)
        assert events[-1] == LeftForLater(steps=left)
        assert world.client().versions(PHANTOM, deleted=True) == (1,)
        assert not REPAIR_JOURNALS.read(tmp_path / "j").finished
        writes = len(world.registry.write_log)
        assert [type(event) for event in applied(world, plan, tmp_path, "tills")] == [LeftForLater]
        assert len(world.registry.write_log) == writes
        world.roll_back(tmp_path / "j")
        assert world.registry.dump() == before

    @pytest.mark.slow
    def test_what_others_did_to_the_rest_does_not_stop_a_part(self, world: World, tmp_path: Path) -> None:
        plan = world.plan()
        world.registry.seed(PHANTOM, W1)
        assert applied(world, plan, tmp_path, "tills")
        with pytest.raises(AppliedInPartError, match="registry has changed since the plan"):
            applied(world, plan, tmp_path)

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [(f"{when} {what}", n) for what in ("write", "line") for when in ("before", "after") for n in range(1, 5)],
            quick=[("after write", 2)],
        ),
    )
    def test_a_part_that_was_killed_goes_on_and_ends_as_if_nothing_had_been(
        self, world: World, tmp_path: Path, moment: str, number: int
    ) -> None:
        before, plan = world.registry.dump(), world.plan()
        dies(moment, number, lambda: applied(world, plan, tmp_path, "tills"))
        applied(world, plan, tmp_path, "tills")
        events = applied(world, plan, tmp_path)
        assert {type(event) for event in events} <= {StepDone, StepFound}
        registered = {action.subject for action in plan.actions if isinstance(action, Register)}
        assert registered == {PHANTOM, TILLS}
        assert not world.examine().diagnosis.has_findings
        world.roll_back(tmp_path / "j")
        assert world.registry.dump() == before

    def test_another_part_is_refused_while_a_subject_is_half_done(self, world: World, tmp_path: Path) -> None:
        plan = world.plan()
        dies("after write", 1, lambda: applied(world, plan, tmp_path, "tills"))
        with pytest.raises(PlanError, match=f"part-way through {TILLS}, .* apply without --only, .* srfix rollback"):
            applied(world, plan, tmp_path, "shop")
