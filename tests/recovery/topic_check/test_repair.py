"""The plan of a topic's repair, carried out, verified and taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.recovery import Keep, Plan, PlanError, plan_document
from srfix.recovery.checks.interface import Width
from srfix.recovery.facts.topics import Strategy, TopicReader
from srfix.recovery.plans.documents import plan_digest
from srfix.recovery.repair.plan_file import REPAIR_PLANS
from srfix.recovery.repair.planning.topics import make_topic_plan
from srfix.recovery.repair.verify.events import Confirmed, NotLookedAt, Problem
from srfix.serde import Schema, UsageError
from tests.recovery.staging import plan_of
from tests.recovery.topic_check.looking import HOLDER, SUBJECT, TOPIC, USER, USER_2, look
from tests.recovery.world import ONE_LONG_AND_NULL, World, clock, value, world_of

REFUSED_BY_BOTH = '{"type":"record","name":"Other","fields":[{"name":"x","type":"string"}]}'


@pytest.fixture
def world() -> Iterator[World]:
    """A copied topic with one of the original's two schemas in it."""
    with world_of({TOPIC: 1}) as world:
        world.registry.seed(HOLDER, USER)
        world.registry.seed(HOLDER, USER_2)
        world.put(TOPIC, ("a", value(1)), (None, value(1)))
        yield world


def plan(
    world: World, *, keep: Keep = Keep.AUTO, width: Width = Width.WIDE, also: tuple[str, ...] = (), **how: Any
) -> Plan:
    survey = world.survey()
    made = make_topic_plan(look(world, survey=survey, **how), survey, keep=keep, width=width, also=also, clock=clock)
    document = json.loads(json.dumps(plan_document(made)))
    assert REPAIR_PLANS.plan_from(document, where="it") == made
    return made


def registered(made: Plan) -> list[int]:
    return [action.schema_id for action in made.actions if action.kind == "register"]  # type: ignore[union-attr]


class TestThePlan:
    def test_it_registers_what_the_original_holds_besides_or_only_what_is_at_fault(self, world: World) -> None:
        made = plan(world)
        (finding,) = made.findings
        assert (finding.application, finding.store) == (None, None)
        assert (finding.schema_ids, finding.planned_ids) == ((1,), (1, 2))
        assert registered(made) == [1, 2]
        assert registered(plan(world, width=Width.ONLY_LIVE)) == [1]

    def test_what_it_registers_is_soft_deleted_unless_it_is_to_stay(self, world: World) -> None:
        assert [action.kind for action in plan(world).actions] == ["register", "soft-delete"] * 2
        assert {action.kind for action in plan(world, keep=Keep.LIVE).actions} == {"register"}

    def test_a_subject_with_other_schemas_is_relaxed_meanwhile(self, world: World) -> None:
        world.registry.seed(SUBJECT, REFUSED_BY_BOTH)
        kinds = [action.kind for action in plan(world).actions]
        assert (kinds[0], kinds[-1]) == ("set-compatibility", "restore-compatibility")

    def test_a_read_only_registry_gives_no_plan(self, world: World) -> None:
        world.client().set_mode(SUBJECT, "READONLY")
        with pytest.raises(
            PlanError, match=r"^No plan was made: The registry accepts no registration under source\.users-value"
        ):
            plan(world)

    def test_all_versions_is_of_stores(self, world: World) -> None:
        with pytest.raises(UsageError, match=r"^--all-versions counts no ids"):
            plan(world, width=Width.ALL_VERSIONS)

    def test_a_note_is_passed_over_unless_it_is_asked_for(self, world: World) -> None:
        made = plan(world, reader=TopicReader.DUAL)
        assert (made.actions, len(made.passed_over)) == ((), 1)
        assert registered(plan(world, reader=TopicReader.DUAL, also=("SRF020",))) == [1, 2]

    def test_what_no_registration_mends_is_an_omission(self, world: World) -> None:
        world.put(TOPIC, ("b", value(77)))
        (omission,) = plan(world).omissions
        assert omission.reason.startswith(
            "values of topic source.users cannot be read (SRF011), and no plan repairs that"
        )

    def test_a_plan_of_stores_has_the_keys_that_it_had(self, world: World) -> None:
        document: Any = plan_document(plan_of(world.client()))
        assert "read" not in document["findings"][0]

    def test_a_finding_of_no_store_must_say_how_the_topic_is_read(self, world: World) -> None:
        document: Any = plan_document(plan(world))
        document["findings"][0].pop("read")
        document["digest"] = plan_digest(document)
        with pytest.raises(PlanError, match=r"a finding has neither a store nor the options for reading its topic"):
            REPAIR_PLANS.plan_from(document, where="it")


class TestTheRepair:
    @pytest.mark.parametrize("how", [{}, {"strategy": Strategy.RECORD}, {"subject": "sink-value"}, {"group": "sink"}])
    def test_it_reads_then_and_nothing_is_left_of_it_after_a_rollback(
        self, world: World, how: dict[str, Any], tmp_path: Path
    ) -> None:
        world.broker.commit("sink", {(TOPIC, 0): 1}, metadata="")
        before = world.registry.dump()
        made = plan(world, **how)
        assert any(isinstance(event, Problem) for event in world.verify(made))
        world.apply(made, tmp_path / "j")
        assert look(world, **how).findings == ()
        assert all(isinstance(event, Confirmed) for event in world.verify(made))
        world.roll_back(tmp_path / "j")
        assert world.registry.dump() == before

    def test_an_id_that_came_since_is_a_problem_of_its_verification(self, world: World, tmp_path: Path) -> None:
        made = plan(world)
        world.apply(made, tmp_path / "j")
        other = world.registry.seed("other-value", REFUSED_BY_BOTH)
        world.put(TOPIC, ("c", value(other, b"\x02a")))
        assert [event.schema_id for event in world.verify(made) if isinstance(event, Problem)] == [other, None]

    def test_a_group_that_has_read_on_does_not_hide_it(self, world: World, tmp_path: Path) -> None:
        world.broker.commit("sink", {(TOPIC, 0): 1}, metadata="")
        made = plan(world, group="sink")
        world.apply(made, tmp_path / "j")
        world.broker.commit("sink", {(TOPIC, 0): 2}, metadata="")
        assert all(isinstance(event, Confirmed) for event in world.verify(made))

    def test_a_latest_version_that_went_since_is_a_problem(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(SUBJECT, USER_2)
        world.put(TOPIC, ("b", value(2, ONE_LONG_AND_NULL)))
        made = plan(world, reader=TopicReader.LATEST)
        world.apply(made, tmp_path / "j")
        assert all(isinstance(event, Confirmed) for event in world.verify(made))
        world.client().delete_version(SUBJECT, 1)
        problems = [event.what for event in world.verify(made) if isinstance(event, Problem)]
        assert problems[0].startswith("schema id 1: no live latest version, every version of source.users-value")

    def test_a_topic_that_is_gone_is_a_problem(self, world: World, tmp_path: Path) -> None:
        made = plan(world)
        with world_of({"other": 1}) as elsewhere:
            elsewhere.registry = world.registry
            problems = [event.what for event in elsewhere.verify(made) if isinstance(event, Problem)]
            assert "does not exist in this cluster; check --bootstrap-servers" in problems[0]

    def test_a_topic_without_records_is_not_looked_at(self, world: World, tmp_path: Path) -> None:
        made = plan(world)
        world.apply(made, tmp_path / "j")
        with world_of({TOPIC: 1}) as elsewhere:
            elsewhere.registry = world.registry
            assert any(isinstance(event, NotLookedAt) for event in elsewhere.verify(made))

    def test_a_newer_schema_of_the_subjects_own_is_accepted_after_it(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(SUBJECT, REFUSED_BY_BOTH)
        world.apply(plan(world), tmp_path / "j")
        widened = REFUSED_BY_BOTH.replace('"string"', '["null","string"]')
        world.client().register(SUBJECT, Schema(text=widened))
