"""Which id a registration gets where one content has two, or `normalize=true` writes it anew: foreseen, accepted or refused.

| where | planned |
|---|---|
| the registry gives the records' own id, or the other one that it has for the content | that id |
| it gives a new one, or one that nobody can know | any id of this content, looked up as the reader does |
| the reader would not find what is registered | nothing, before the first write |
| so, as a named context takes the records' own id alone | with exactly that id, if asked for; else nothing |
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import Keep, Plan, PlanError, plan_document, shell_script
from srfix.recovery.actions.actions import Register, SetCompatibility, SoftDelete
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.plan_file import REPAIR_PLANS
from srfix.serde import Schema
from tests.recovery.repair.scene import carried_out, carried_out_and_undone, dies, mostly_slow, run_as_shell
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R
from tests.recovery.world import World, put, value, world_of

UNSORTED = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"}],"zeta":1,"alpha":2}'
SORTED = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"}],"alpha":2,"zeta":1}'
JSON_UNSORTED = '{"type":"object","properties":{"a":{"type":"string"}}}'
JSON_OWN = '{"properties":{"A":{"type":"string"}},"type":"object"}'


def planned(plan: Plan) -> list[tuple[int, bool, bool]]:
    """Per registration the id, whether any will do, and whether it is sent along."""
    return [(int(a.schema_id), a.any_id, a.exact) for a in plan.actions if isinstance(a, Register)]


RELEASES = ["7.9", pytest.param("8.2", marks=pytest.mark.slow)]


@pytest.fixture(params=RELEASES)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """W1 is id 1 under the source's subject, and id 900 by IMPORT under another; the records carry 1."""
    with world_of({"users": 1}, emulate=request.param) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed("again-value", W1)
        made.registry.seed(PHANTOM, R)
        given(made, "elsewhere-value", 900)
        one_row(made)
        yield made


def one_row(world: World) -> None:
    world.put("users", ("a", value(1)))
    world.commit("shop", users=1)


def given(world: World, subject: str, schema_id: int) -> None:
    client = world.client()
    client.set_mode(subject, "IMPORT")
    client.register_with_id(subject, Schema(text=W1), schema_id)
    client.delete_mode(subject)


class TestOneContentWithTwoIds:
    def test_the_last_registration_decides(self, world: World, tmp_path: Path) -> None:
        plan = world.plan()
        assert planned(plan) == [(900, False, False)]
        assert any("Records carry schema id 1" in line and "registers id 900" in line for line in plan.price)
        carried_out_and_undone(world, plan, tmp_path / "journal")

    def test_so_does_a_soft_delete(self, world: World, tmp_path: Path) -> None:
        world.client().delete_subject("again-value")
        plan = world.plan()
        assert planned(plan) == [(1, False, False)]
        carried_out(world, plan, tmp_path / "journal")

    @pytest.mark.slow
    def test_both_ids_in_the_records_are_one_registration(self, world: World, tmp_path: Path) -> None:
        world.put("users", ("b", value(900)))
        world.commit("shop", users=2)
        plan = world.plan()
        assert planned(plan) == [(900, False, False)]
        carried_out(world, plan, tmp_path / "journal")


class TestANewId:
    @pytest.fixture(autouse=True)
    def its_holder_is_gone(self, world: World) -> None:
        world.purge("elsewhere-value")

    @pytest.mark.parametrize("keep", [Keep.LIVE, Keep.SOFT_DELETED])
    def test_any_id_is_accepted_and_looked_up(self, world: World, tmp_path: Path, keep: Keep) -> None:
        plan = world.plan(keep=keep)
        assert planned(plan) == [(1, True, False)]
        assert REPAIR_PLANS.plan_from(plan_document(plan), where="the plan") == plan
        (registration,) = [action for action in plan.actions if isinstance(action, Register)]
        deletions = [action.registered_by for action in plan.actions if isinstance(action, SoftDelete)]
        assert deletions == ([] if keep is Keep.LIVE else [registration.step])
        assert any("The last version with that id was permanently deleted" in line for line in plan.price)
        carried_out(world, plan, tmp_path / "journal")
        answer = world.client().lookup(PHANTOM, Schema(text=W1), deleted=True)
        assert answer.schema_id == 901
        assert (2 in world.client().versions(PHANTOM)) is (keep is Keep.LIVE)

    def test_a_rollback_leaves_the_last_holder_of_the_new_id(self, world: World, tmp_path: Path) -> None:
        world.apply(world.plan(), tmp_path / "journal")
        (left,) = [event for event in world.roll_back(tmp_path / "journal") if isinstance(event, Left)]
        assert "is the last version with schema id 901" in left.why

    def test_as_shell_it_leaves_the_subject_as_apply_leaves_it(self, world: World, tmp_path: Path) -> None:
        run_as_shell(world.plan(keep=Keep.SOFT_DELETED), tmp_path)
        assert world.client().versions(PHANTOM) == (1,)
        assert world.client().lookup(PHANTOM, Schema(text=W1), deleted=True).schema_id == 901

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [(f"{when} {what}", n) for what in ("write", "line") for when in ("before", "after") for n in range(2, 5)],
            quick=[("after write", 2), ("before line", 4)],
        ),
    )
    def test_it_is_taken_up_again_wherever_it_died(
        self, world: World, tmp_path: Path, moment: str, number: int
    ) -> None:
        plan = world.plan(keep=Keep.SOFT_DELETED)
        dies(moment, number, lambda: world.apply(plan, tmp_path / "journal"))
        carried_out(world, plan, tmp_path / "journal")
        assert world.client().config(PHANTOM) is None

    def test_it_is_undone_where_it_died(self, world: World, tmp_path: Path) -> None:
        plan = world.plan(keep=Keep.SOFT_DELETED)
        dies("after write", 2, lambda: world.apply(plan, tmp_path / "journal"))
        assert world.client().register("new-value", Schema(text=W1)) == 901
        assert not [event for event in world.roll_back(tmp_path / "journal") if isinstance(event, Left)]
        assert (world.client().versions(PHANTOM, deleted=True), world.client().config(PHANTOM)) == ((1,), None)


@pytest.mark.parametrize("path", ["", pytest.param("/contexts/.eu", marks=pytest.mark.slow)])
class TestInANamedContext:
    """There the reader needs the id itself: the registry answers it to no subject that does not hold it."""

    @pytest.fixture
    def in_context(self, path: str) -> Iterator[World]:
        with world_of({"users": 1}) as made:
            made.path = path
            made.registry.seed(f":.eu:{SOURCE_SUBJECT}", W1)
            made.registry.seed(f":.eu:{PHANTOM}", R)
            given(made, "elsewhere-value" if path else ":.eu:elsewhere-value", 900)
            one_row(made)
            yield made

    def test_the_same_content_will_not_do(self, in_context: World) -> None:
        with pytest.raises(PlanError, match=r"In context \.eu .*--exact-ids"):
            in_context.plan()

    def test_exactly_the_id_is_registered_and_undone(self, in_context: World, tmp_path: Path) -> None:
        plan = in_context.plan(exact_ids=True)
        assert planned(plan) == [(1, False, True)]
        assert any("under another subject gets id 1 instead" in line for line in plan.price)
        carried_out_and_undone(in_context, plan, tmp_path / "journal")

    @pytest.mark.slow
    def test_a_subject_that_has_the_content_under_the_other_id_gets_this_one_too(
        self, in_context: World, tmp_path: Path
    ) -> None:
        subject = PHANTOM if in_context.path else f":.eu:{PHANTOM}"
        in_context.client().set_config(subject, {"compatibility": "NONE"})
        in_context.client().register(subject, Schema(text=W1))
        assert "SRF001" in in_context.findings()
        plan = in_context.plan(exact_ids=True, keep=Keep.LIVE)
        assert planned(plan) == [(1, False, True)]
        carried_out(in_context, plan, tmp_path / "journal")

    @pytest.mark.slow
    def test_a_new_id_will_not_do_either(self, in_context: World, tmp_path: Path) -> None:
        in_context.purge("elsewhere-value" if in_context.path else ":.eu:elsewhere-value")
        with pytest.raises(PlanError, match="--exact-ids"):
            in_context.plan()
        carried_out(in_context, in_context.plan(exact_ids=True), tmp_path / "journal")


class TestNormalize:
    @pytest.fixture(params=RELEASES)
    def empty(self, request: pytest.FixtureRequest) -> Iterator[World]:
        with world_of({"users": 1}, emulate=request.param) as made:
            one_row(made)
            yield made

    def stage(self, world: World, text: str, *, scope: str = "") -> None:
        world.registry.seed(SOURCE_SUBJECT, text)
        world.registry.seed(PHANTOM, R)
        put_config(world, {"normalize": True}, scope)

    def test_what_is_in_force_is_kept_while_the_level_is_relaxed(self, empty: World, tmp_path: Path) -> None:
        self.stage(empty, SORTED)
        plan = empty.plan()
        (relaxed,) = [action for action in plan.actions if isinstance(action, SetCompatibility)]
        assert relaxed.inherited == {"normalize": True}
        assert """\n{"normalize": true, "compatibility": "NONE"}\n""" in shell_script(plan)
        assert REPAIR_PLANS.plan_from(plan_document(plan), where="the plan") == plan
        assert planned(plan) == [(1, False, False)]
        carried_out_and_undone(empty, plan, tmp_path / "journal")

    @pytest.mark.parametrize("scope", ["", PHANTOM])
    def test_a_text_that_is_written_anew_gets_any_id(self, empty: World, tmp_path: Path, scope: str) -> None:
        self.stage(empty, UNSORTED, scope=scope)
        plan = empty.plan()
        assert planned(plan) == [(1, True, False)]
        carried_out(empty, plan, tmp_path / "journal")
        answer = empty.client().lookup(PHANTOM, Schema(text=UNSORTED), deleted=True)
        assert (answer.schema.text, answer.schema_id) == (SORTED, 3)
        config = empty.client().config(PHANTOM)
        assert (None if config is None else config.fields.get("normalize")) is (True if scope else None)

    @pytest.mark.slow
    def test_texts_that_become_one_are_registered_once(self, empty: World, tmp_path: Path) -> None:
        empty.registry.seed(SOURCE_SUBJECT, UNSORTED)
        empty.registry.seed("another-value", UNSORTED.replace('"zeta":1,"alpha":2', '"zeta":1,"beta":3,"alpha":2'))
        self.stage(empty, UNSORTED)
        empty.registry.seed("more-value", UNSORTED.replace("alpha", "aaa"))
        assert planned(empty.plan()) == [(1, True, False)]
        carried_out(empty, empty.plan(), tmp_path / "journal")

    def test_json_that_the_reader_would_not_find_is_refused_before_the_first_write(self, empty: World) -> None:
        self.stage_json(empty)
        before, requests = empty.registry.dump(), len(empty.registry.requests)
        with pytest.raises(PlanError, match=rf"normalize=true .* id 1.* Give {PHANTOM} a"):
            empty.plan()
        assert empty.registry.dump() == before
        assert {one.method for one in empty.registry.requests[requests:]} <= {"GET", "POST"}

    def test_json_is_registered_where_the_subject_has_normalize_set_to_false(
        self, empty: World, tmp_path: Path
    ) -> None:
        self.stage_json(empty)
        empty.client().set_config(PHANTOM, {"normalize": False})
        before = empty.registry.dump()
        plan = empty.plan()
        assert planned(plan) == [(1, False, False)]
        empty.apply(plan, tmp_path / "journal")
        unsorted = Schema(text=JSON_UNSORTED, schema_type="JSON")
        assert empty.client().lookup(PHANTOM, unsorted, deleted=True).schema_id == 1
        empty.roll_back(tmp_path / "journal")
        assert empty.registry.dump() == before

    def stage_json(self, world: World) -> None:
        client = world.client()
        client.register(SOURCE_SUBJECT, Schema(text=JSON_UNSORTED, schema_type="JSON"))
        client.register(PHANTOM, Schema(text=JSON_OWN, schema_type="JSON"))
        put_config(world, {"normalize": True}, "")

    def test_default_metadata_in_force_is_said_unless_the_subjects_own_configuration_hides_it(
        self, empty: World
    ) -> None:
        empty.registry.seed(SOURCE_SUBJECT, SORTED)
        empty.registry.seed(PHANTOM, R)
        put_config(empty, {"defaultMetadata": {"properties": {"owner": "shop"}}}, "")
        with pytest.raises(PlanError, match="configuration gives every new version metadata"):
            empty.plan()
        put_config(empty, {"compatibility": "BACKWARD"}, PHANTOM)
        assert planned(empty.plan()) == [(1, False, False)]


def put_config(world: World, fields: dict[str, object], subject: str) -> None:
    """Of a subject, or for all."""
    put(world.registry.url, f"config/{subject}" if subject else "config", fields)
