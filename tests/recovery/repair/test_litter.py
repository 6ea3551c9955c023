"""Taking away what a gone application left (SRF009): what may go, what must stay, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import Plan, plan_document, shell_script
from srfix.recovery.actions.actions import DeleteVersion
from srfix.recovery.repair.plan_file import REPAIR_PLANS
from srfix.recovery.repair.planning.plan import make_plan
from srfix.serde import Schema, SchemaReference
from tests.recovery.repair.scene import dies, mostly_slow
from tests.recovery.staging import SOURCE_SUBJECT, W1, W2, R, clock
from tests.recovery.world import World, value, world_of

GONE = "tills-users-store-changelog-value"
GONE_KEYS = "tills-users-store-changelog-key"
NEXT = R.replace('"USERID"', '"NAME"')


@pytest.fixture
def world() -> Iterator[World]:
    """`tills` is gone: under its subject stand W1, which the source holds too, R and NEXT, which nobody else holds."""
    with world_of({"users": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        for text in (W1, R, NEXT):
            made.registry.seed(GONE, text)
        made.listing("other")
        yield made


def planned(world: World, *, also: tuple[str, ...] = ("SRF009",), gone: str = "tills", counted: bool = True) -> Plan:
    survey = world.survey()
    survey.gone = frozenset({gone})
    examination = world.examine(survey=survey)
    return make_plan(examination, survey, also=also, clock=clock, engine=world.engine if counted else None)


def going(plan: Plan) -> list[int]:
    return [int(action.schema_id) for action in plan.actions if isinstance(action, DeleteVersion)]


class TestWhatMayGo:
    def test_what_another_subject_holds_or_no_record_uses_newest_first(self, world: World) -> None:
        plan = planned(world)
        assert going(plan) == [3, 2, 1]
        assert plan.omissions == ()
        assert REPAIR_PLANS.plan_from(plan_document(plan), where="it") == plan

    def test_nothing_unless_it_was_asked_for(self, world: World) -> None:
        assert planned(world, also=()).actions == ()

    def test_an_id_that_records_carry_stays_unless_another_subject_holds_it(self, world: World) -> None:
        world.put("users", ("a", value(1)), ("b", value(2)))
        plan = planned(world)
        assert going(plan) == [3, 1]
        (omission,) = plan.omissions
        assert (omission.subject, omission.schema_ids) == (GONE, (2,))
        assert "records carry schema id 2" in omission.reason

    def test_without_a_census_only_what_another_subject_holds_goes(self, world: World) -> None:
        plan = planned(world, counted=False)
        assert going(plan) == [1]
        assert {omission.schema_ids for omission in plan.omissions} == {(2,), (3,)}

    def test_two_subjects_that_go_do_not_vouch_for_each_other(self, world: World) -> None:
        world.registry.seed(GONE_KEYS, R)
        world.put("users", ("b", value(2)))
        assert going(planned(world)) == [3, 1]

    def test_a_soft_deleted_holder_vouches_for_nothing(self, world: World) -> None:
        world.put("users", ("a", value(1)))
        world.registry.seed(SOURCE_SUBJECT, W2)
        world.client().delete_version(SOURCE_SUBJECT, 1)
        assert 1 not in going(planned(world))

    def test_a_schema_that_others_refer_to_stays(self, world: World) -> None:
        referring = '{"type":"record","name":"X","fields":[{"name":"u","type":"KsqlDataSourceSchema"}]}'
        reference = SchemaReference(name="KsqlDataSourceSchema", subject=GONE, version=2)
        world.client().register("x-value", Schema(text=referring, references=(reference,)))
        plan = planned(world)
        assert 2 not in going(plan)
        assert "version 2 is referenced by schema id" in plan.omissions[0].reason


class TestCarriedOut:
    def test_it_is_verified_and_rolled_back_to_the_same_ids(self, world: World, tmp_path: Path) -> None:
        plan = planned(world)
        world.apply(plan, tmp_path / "j")
        client = world.client()
        assert GONE not in client.subjects()
        assert [type(event).__name__ for event in world.verify(plan)] == ["Confirmed"] * 3
        for schema_id in (1, 2, 3):
            assert client.schema_by_id(schema_id).schema.text
        world.roll_back(tmp_path / "j")
        live = [world.client().version(GONE, number).schema_id for number in world.client().versions(GONE)]
        assert live == [1, 2, 3]

    def test_one_that_is_registered_again_is_a_problem(self, world: World, tmp_path: Path) -> None:
        plan = planned(world)
        world.apply(plan, tmp_path / "j")
        world.registry.seed(GONE, R)
        problems = [event for event in world.verify(plan) if type(event).__name__ == "Problem"]
        assert [problem.schema_id for problem in problems] == [2]

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [(f"{when} {what}", n) for what in ("write", "line") for when in ("before", "after") for n in range(1, 4)],
            quick=[("after write", 1), ("before line", 3)],
        ),
    )
    def test_killed_at_any_instant_it_goes_on(self, world: World, tmp_path: Path, moment: str, number: int) -> None:
        plan = planned(world)
        dies(moment, number, lambda: world.apply(plan, tmp_path / "j"))
        world.apply(plan, tmp_path / "j")
        assert GONE not in world.client().subjects()
        world.roll_back(tmp_path / "j")
        assert len(world.client().versions(GONE)) == 3

    def test_the_shell_script_deletes_the_same_versions(self, world: World) -> None:
        script = shell_script(planned(world))
        for version in (1, 2, 3):
            assert f"send DELETE /subjects/{GONE}/versions/{version} </dev/null" in script
