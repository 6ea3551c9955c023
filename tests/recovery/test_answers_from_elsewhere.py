"""Look-ups that an alias or another context answers, and schemas that the registry does not take any more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery.actions.actions import Register
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.survey import ask_membership
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.wire import SchemaId
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """W1 (id 1) under the source, R (id 2) under the phantom; the group has read the one record."""
    with world_of({"users": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(PHANTOM, R)
        made.live(("a", value(1)))
        yield made


class TestAnAlias:
    def test_satisfies_the_reader_and_is_named(self, world: World) -> None:
        """In words: checks/test_srf003.py."""
        world.client().set_config(PHANTOM, {"alias": SOURCE_SUBJECT})
        found = ask_membership(world.client(), PHANTOM, SchemaId(1))
        assert (found.is_missing, found.answered_subject) == (False, SOURCE_SUBJECT)

    def test_to_a_subject_that_lacks_the_schema_takes_no_repair(self, world: World) -> None:
        """Registered "under" the phantom subject it would land under the other one."""
        world.registry.seed("other-value", R)
        world.client().set_config(PHANTOM, {"alias": "other-value"})
        before = world.registry.dump()
        with pytest.raises(
            PlanError, match=r"is an alias, so its schemas would go to other-value; first remove the alias"
        ):
            world.plan()
        assert world.registry.dump() == before


class TestAnotherContext:
    def test_satisfies_the_reader_and_is_named(self, world: World) -> None:
        world.registry.seed(f":.backup:{PHANTOM}", W1)
        found = ask_membership(world.client(), PHANTOM, SchemaId(1))
        assert (found.is_missing, found.answered_subject) == (False, f":.backup:{PHANTOM}")

    def test_the_source_answering_from_another_context_is_no_holder(self, world: World) -> None:
        """A rollback could take the id from everybody in this context."""
        world.registry.seed(f":.backup:{SOURCE_SUBJECT}", W1)
        world.registry.seed("third-value", W1)
        world.purge(SOURCE_SUBJECT)
        plan = world.plan()
        assert [action.holders for action in plan.actions if isinstance(action, Register)] == [()]


class TestASchemaThatTheRegistryDoesNotTake:
    """W2 with a reference (id 4), refused as if the reference were gone, or the registry had become stricter."""

    @pytest.fixture
    def broken(self, world: World) -> World:
        world.registry.seed("part-value", '{"type":"record","name":"Part","fields":[]}')
        whole = Schema(
            text=W2.replace('["null","string"]', '["null","Part"]'),
            references=(SchemaReference(name="Part", subject="part-value", version=1),),
        )
        schema_id = world.client().register("whole-value", whole)
        world.put("users", ("a", None), ("b", value(schema_id, ONE_LONG_AND_NULL)))
        world.commit("shop", users=3)
        refusal = json.dumps({"error_code": 42201, "message": "no such reference"})
        world.registry.intercept(
            Fault(action=Answer(status=422, body=refusal), method="POST", path=f"^/subjects/{PHANTOM}(/versions)?[?]")
        )
        return world

    def test_no_plan_mends_it_and_the_registrys_words_are_said(self, broken: World) -> None:
        with pytest.raises(PlanError, match=r"schema ids 1, 4: it is invalid there \(42201: no such reference\)"):
            broken.plan()

    def test_a_reference_that_is_gone_is_named(self, broken: World) -> None:
        gone = json.dumps({"error_code": 40401, "message": "Subject 'part-value' not found."})
        broken.registry.intercept(Fault(action=Answer(status=404, body=gone), path="^/subjects/part-value/"))
        with pytest.raises(
            PlanError, match=r"schema id 4: it refers to .* \(Subject 'part-value' not found\); register"
        ):
            broken.plan()


class TestASchemaThatRefersToAnother:
    def test_is_diagnosed_repaired_verified_and_undone(self, world: World, tmp_path: Path) -> None:
        """The registry resolves the references by subject and version, which the phantom subject shares."""
        world.registry.seed("part-value", '{"type":"record","name":"Part","fields":[{"name":"n","type":"long"}]}')
        whole = Schema(
            text=W2.replace('["null","string"]', '["null","Part"]'),
            references=(SchemaReference(name="Part", subject="part-value", version=1),),
        )
        schema_id = world.client().register(SOURCE_SUBJECT, whole)
        world.put("users", ("b", value(schema_id, ONE_LONG_AND_NULL)))
        world.commit("shop", users=2)
        before = world.registry.dump()
        plan = world.plan()
        assert [int(a.schema_id) for a in plan.actions if isinstance(a, Register)] == [1, schema_id]
        world.apply(plan, tmp_path / "journal")
        assert [event for event in world.verify(plan) if type(event).__name__ != "Confirmed"] == []
        assert not world.examine().diagnosis.has_findings
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before
