"""From findings to actions: which ids, live or soft-deleted, and what is put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srfix.recovery import Keep, Plan, Reader, plan_document
from srfix.recovery.actions.actions import Register, SoftDelete
from srfix.recovery.census.interface import NoCensus
from srfix.recovery.checks.interface import Width
from srfix.recovery.repair.planning.plan import make_plan
from srfix.serde import ChangelogSubject, Role, Schema, Subject, Topic
from srfix.serde.schemas.errors import IncompatibleSchemaError
from tests.recovery.repair.scene import carried_out_and_undone, kinds, registered, seed_users, undone
from tests.recovery.staging import APPLICATION, PHANTOM, SOURCE_SUBJECT, STORE, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, V1, V2, World, clock, value, world_of

PHANTOM_KEY = ChangelogSubject(application=APPLICATION, store=STORE)("", Role.KEY)
W3 = W2.replace("tier", "badge")
NEXT = Schema(
    text='{"type":"record","name":"KsqlDataSourceSchema","fields":[{"name":"USERID","type":["null","long"],"default":null},'
    '{"name":"N","type":["null","int"],"default":null}]}'
)


@pytest.fixture
def world() -> Iterator[World]:
    """W1 (id 1), W2 (id 2), R (id 3); `users` holds W1 live and W2 live; the group has read all."""
    with world_of({"users": 1, "orders": 1}) as made:
        seed_users(made)
        made.registry.seed(PHANTOM, R)
        yield made


class TestWhatIsRegistered:
    def test_a_superseded_id_that_is_still_in_the_log_is(self, world: World) -> None:
        world.put("users", ("a", V2))
        world.commit("shop", users=3)
        assert [fault.schema_id for fault in world.findings()["SRF001"].schema_ids] == [2]
        plan = world.plan()
        assert registered(plan) == [1, 2]
        assert {action.holders for action in plan.actions if isinstance(action, Register)} == {(SOURCE_SUBJECT,)}
        assert [(finding.schema_ids, finding.planned_ids) for finding in plan.findings] == [((2,), (1, 2))]
        assert registered(world.plan(width=Width.ONLY_LIVE)) == [2]

    def test_a_version_of_the_source_that_no_record_uses_is(self, world: World, tmp_path: Path) -> None:
        newest = world.registry.seed(SOURCE_SUBJECT, W3)
        assert registered(world.plan()) == [1, 2, newest]
        assert registered(world.plan(width=Width.ONLY_LIVE)) == [1, 2]
        carried_out_and_undone(world, world.plan(), tmp_path / "journal")

    @pytest.mark.slow
    def test_a_soft_deleted_version_is_where_records_use_it(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(SOURCE_SUBJECT, W3)
        for number in (1, 3):
            world.client().delete_version(SOURCE_SUBJECT, number)
        assert registered(world.plan()) == [1, 2]
        carried_out_and_undone(world, world.plan(), tmp_path / "journal")

    @pytest.mark.slow
    def test_what_is_there_soft_deleted_already_is_not(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(PHANTOM, W1)
        world.client().delete_version(PHANTOM, 2)
        plan = world.plan()
        assert registered(plan) == [2]
        carried_out_and_undone(world, plan, tmp_path / "journal")

    def test_nothing_to_repair_is_an_empty_plan(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM, W2)
        plan = world.plan()
        assert (plan.actions, plan.findings, plan.price, plan.playbook) == ((), (), (), ())

    def test_a_store_whose_phantom_subject_does_not_exist_gets_one(self, world: World, tmp_path: Path) -> None:
        world.commit("tills", users=2)
        before = world.registry.dump()
        world.sources = {"users-store": Topic("users")}
        plan = world.plan(application="tills", store="users-store")
        assert kinds(plan) == ["register", "soft-delete", "register", "soft-delete"]
        world.apply(plan, tmp_path / "journal")
        assert all(type(event).__name__ == "Confirmed" for event in world.verify(plan))
        again = world.examine(application="tills", store="users-store").diagnosis
        assert [finding.code for finding in again.findings] == ["SRF003"]
        undone(world, tmp_path / "journal", before)


class TestWhatNeedNotBe:
    """A plan holds what must be repaired: `diagnose` and `plan --detailed-exitcode` agree."""

    @pytest.mark.parametrize(
        ("how", "width"),
        [
            ({"reader": Reader.PLAIN}, Width.WIDE),
            pytest.param({"reader": Reader.DUAL}, Width.ONLY_LIVE, marks=pytest.mark.slow),
            pytest.param({"reader": Reader.DUAL}, Width.ALL_VERSIONS, marks=pytest.mark.slow),
            ({"streams_version": "2.7"}, Width.WIDE),
        ],
        ids=str,
    )
    def test_a_note_is_not_planned_and_the_plan_says_what_plans_it(
        self, world: World, how: dict[str, Any], width: Width
    ) -> None:
        plan = world.plan(width=width, **how)
        assert (plan.actions, plan.findings, plan.expects) == ((), (), {})
        (of_note,) = [line for line in plan.passed_over if "(SRF001)" in line]
        assert f"`srfix plan --application shop --store {STORE} --also SRF001 -o plan.json`" in of_note
        assert registered(world.plan(width=width, also=("SRF001",), **how)) == [1, 2]

    @pytest.mark.slow
    def test_what_is_masked_is_planned_when_asked_for_if_ids_are_missing(self, world: World, tmp_path: Path) -> None:
        for text in (W1, W2):
            world.registry.seed(PHANTOM, text)
        plan = world.plan(also=("SRF001",))
        assert (plan.actions, plan.passed_over) == ((), ())
        newest = world.registry.seed(SOURCE_SUBJECT, W3)
        assert not world.examine().diagnosis.has_findings
        assert world.plan().actions == ()
        plan = world.plan(also=("SRF001",))
        assert registered(plan) == [newest]
        carried_out_and_undone(world, plan, tmp_path / "journal")

    @pytest.mark.parametrize(
        "width",
        [Width.WIDE, *(pytest.param(each, marks=pytest.mark.slow) for each in (Width.ONLY_LIVE, Width.ALL_VERSIONS))],
    )
    def test_the_producers_own_subject_is_written_to_only_when_asked_for(self, world: World, width: Width) -> None:
        plan = world.plan(streams_version="2.7", width=width)
        assert plan.actions == ()
        command = f"`srfix plan --application shop --store {STORE} --also SRF004 -o plan.json`"
        assert any(command in line for line in plan.passed_over)
        asked = world.plan(streams_version="2.7", width=width, also=("SRF004",))
        assert {action.subject for action in asked.actions} == {SOURCE_SUBJECT}
        both = world.plan(streams_version="2.7", width=width, also=("SRF001", "SRF004"))
        assert {action.subject for action in both.actions} == {PHANTOM, SOURCE_SUBJECT}


def test_values_whose_subject_takes_no_registration_are_told_beside_the_keys_that_are_planned(world: World) -> None:
    key = world.registry.seed("users-key", '"long"')
    world.registry.seed(PHANTOM_KEY, '"string"')
    world.put("users", (value(key), V2))
    world.commit("shop", users=3)
    world.client().set_mode(PHANTOM, "READONLY")
    plan = world.plan()
    assert [(f.subject, f.planned_ids) for f in plan.findings] == [(PHANTOM_KEY, (key,))]
    (omission,) = plan.omissions
    assert (omission.subject, omission.schema_ids) == (PHANTOM, (1, 2))
    assert f"accepts no registration under {PHANTOM}" in omission.reason
    assert plan.left_out == (f"T{omission.reason[1:]}.",)


def user(*fields: str) -> str:
    return f'{{"type":"record","name":"User","fields":[{",".join(fields)}]}}'


def nullable(name: str, of: str) -> str:
    return f'{{"name":"{name}","type":["null","{of}"],"default":null}}'


class TestWithoutACensus:
    """Every version of the source's subject."""

    def test_it_is_carried_out_verified_and_undone_without_reading_a_record(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(*_args: object, **_kwargs: object) -> None:
            raise AssertionError("the topic was read")

        unused = world.registry.seed(SOURCE_SUBJECT, W3)
        for number in (1, 3):
            world.client().delete_version(SOURCE_SUBJECT, number)
        world.registry.seed(PHANTOM, W1)
        with monkeypatch.context() as patch:
            patch.setattr("srfix.recovery.census.local.LocalCensus.count", read)
            plan = world.plan(width=Width.ALL_VERSIONS, engine=NoCensus())
        assert registered(plan) == [2, unused]
        assert any(line.startswith("srfix did not count the ids in users") for line in plan.price)
        assert [circumstances.application for circumstances in plan.applications] == [APPLICATION]
        assert plan.playbook
        carried_out_and_undone(world, plan, tmp_path / "journal")
        world.registry.seed(PHANTOM, W2)
        assert world.examine(engine=NoCensus()).diagnosis.is_inconclusive

    @pytest.mark.slow
    def test_keys_are_repaired_where_a_key_schema_was_registered(self, world: World) -> None:
        world.registry.seed("users-key", '"long"')
        for roles in ({Role.VALUE}, {Role.KEY, Role.VALUE}):
            plan = world.plan(width=Width.ALL_VERSIONS, engine=NoCensus())
            assert {finding.role for finding in plan.findings} == roles
            world.registry.seed(PHANTOM_KEY, '"string"')


QUICK = {(Keep.AUTO, "BACKWARD"), (Keep.LIVE, "BACKWARD")}


class TestKeep:
    def test_auto_leaves_live_what_the_subjects_own_schema_follows(self, world: World, tmp_path: Path) -> None:
        """It reads the first of the writer's; the second has a field more, which its own next schema may add otherwise."""
        world.purge(PHANTOM, 1)
        world.registry.seed(PHANTOM, W1.replace('"userId","type":"long"', '"userId","type":"double"'))
        plan = world.plan(keep=Keep.AUTO)
        assert [action.schema_id for action in plan.actions if isinstance(action, SoftDelete)] == [2]
        carried_out_and_undone(world, plan, tmp_path / "journal")

    @pytest.mark.slow
    def test_auto_judges_by_the_applications_own_schema_not_by_what_a_repair_has_left_live(
        self, tmp_path: Path
    ) -> None:
        """The second repair must not take the first one's version, the latest, for the application's own."""
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, user('{"name":"id","type":"long","default":0}'))
            world.registry.seed(PHANTOM, user('{"name":"id","type":"double"}'))
            world.put("users", ("a", V1))
            world.commit("shop", users=1)
            first = world.plan()
            assert [kind for kind in kinds(first) if "compat" not in kind] == ["register"]
            world.apply(first, tmp_path / "first")
            newest = world.registry.seed(SOURCE_SUBJECT, user('{"name":"x","type":"long"}'))
            world.put("users", ("b", value(newest)))
            world.commit("shop", users=2)
            second = world.plan()
            assert [kind for kind in kinds(second) if "compat" not in kind] == ["register", "soft-delete"]
            world.apply(second, tmp_path / "second")
            follower = user('{"name":"id","type":"double"}', nullable("n", "int"))
            assert world.client().register(PHANTOM, Schema(text=follower)) > 0

    def test_auto_at_none_leaves_all_live(self, world: World) -> None:
        world.client().set_config(PHANTOM, {"compatibility": "NONE"})
        assert kinds(world.plan(keep=Keep.AUTO)) == ["register", "register"]

    @pytest.mark.parametrize(
        ("keep", "level"),
        [
            pytest.param(keep, level, marks=() if (keep, level) in QUICK else pytest.mark.slow)
            for keep in Keep
            for level in ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FULL", "FULL_TRANSITIVE", "NONE")
        ],
    )
    def test_any_choice_at_any_level_is_undone_and_the_next_internal_schema_meets_what_the_price_says(
        self, world: World, tmp_path: Path, keep: Keep, level: str
    ) -> None:
        world.client().set_config(PHANTOM, {"compatibility": level})
        plan = world.plan(keep=keep)
        carried_out_and_undone(world, plan, tmp_path / "journal")
        world.apply(plan, tmp_path / "journal")
        refused = any("will be refused (409)" in line for line in plan.price)
        assert any("is accepted as before" in line for line in plan.price) is not refused
        if refused:
            with pytest.raises(IncompatibleSchemaError):
                world.client().register(PHANTOM, NEXT)
        else:
            assert world.client().register(PHANTOM, NEXT) > 0

    @pytest.mark.slow
    def test_registrations_that_refuse_each_other_relax_the_level_even_under_a_new_subject(
        self, world: World, tmp_path: Path
    ) -> None:
        world.purge(PHANTOM, 1)
        third = world.registry.seed(SOURCE_SUBJECT, W1.replace("userId", "id"))
        world.sources = {STORE: Topic("users")}
        plan = world.plan(keep=Keep.LIVE, application="shop", store=STORE)
        assert registered(plan) == [1, 2, third]
        assert plan.actions[0].kind == "set-compatibility"
        before = world.registry.dump()
        world.apply(plan, tmp_path / "journal")
        undone(world, tmp_path / "journal", before)

    def test_what_stays_live_may_refuse_what_the_subjects_latest_would_not(self, tmp_path: Path) -> None:
        """Not the subject's own latest alone counts, but what the plan itself has left live before."""
        y = '{"name":"y","type":"long"}'
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, user(y, nullable("x", "long")))
            world.registry.seed(SOURCE_SUBJECT, user(nullable("x", "string")))
            world.registry.seed(PHANTOM, user(y))
            world.put("users", ("a", value(1, b"\x02\x00")), ("b", value(2, b"\x00")))
            world.commit("shop", users=2)
            assert "SRF012" not in world.findings()
            plan = world.plan(keep=Keep.LIVE)
            assert kinds(plan) == ["set-compatibility", "register", "register", "restore-compatibility"]
            carried_out_and_undone(world, plan, tmp_path / "journal")


class TestThePriceOfSeveralSubjects:
    def test_what_is_true_of_all_is_said_once_and_what_is_true_of_some_names_them(self, world: World) -> None:
        world.registry.seed("tills-users-store-changelog-value", R)
        world.commit("tills", users=2)
        plan = world.plan()
        assert len(plan.expects) == 2
        assert len(set(plan.price)) == len(plan.price)
        assert not any(subject in line for line in plan.price for subject in plan.expects)
        world.client().set_config(PHANTOM, {"compatibility": "NONE"})
        price = world.plan().price
        relaxed = [line for line in price if "While the repair runs" in line]
        assert [line.split(": ")[0] for line in relaxed] == ["tills-users-store-changelog-value"]
        assert any("gives out no new id" in line for line in price)


class TestThePriceOfTheNextSchema:
    """What becomes of the application's next internal schema, said before anything is written."""

    def refusal(self, plan: Plan) -> str:
        (line,) = [line for line in plan.price if "(409)" in line]
        assert "schema id 3) is incompatible with" in line
        return line

    def test_left_live_it_is_refused_and_said_to_be(self, world: World) -> None:
        refusal = self.refusal(world.plan(keep=Keep.LIVE))
        assert "schema id 2, which this repair leaves live" in refusal
        assert "--keep auto" in refusal

    @pytest.mark.slow
    def test_a_transitive_level_asks_every_live_version(self, world: World) -> None:
        world.client().set_config(PHANTOM, {"compatibility": "BACKWARD_TRANSITIVE"})
        assert "schema ids 1 and 2, which this repair leaves live" in self.refusal(world.plan(keep=Keep.LIVE))

    def test_what_an_earlier_repair_left_live_refuses_it_already(self, world: World, tmp_path: Path) -> None:
        world.apply(world.plan(keep=Keep.LIVE), tmp_path / "journal")
        newest = world.registry.seed(SOURCE_SUBJECT, W3)
        world.put("users", ("c", value(newest, ONE_LONG_AND_NULL)))
        world.commit("shop", users=3)
        assert "schema id 2, which is live there already" in self.refusal(world.plan())

    def test_without_a_schema_of_its_own_nothing_is_promised(self, world: World) -> None:
        world.commit("tills", users=2)
        world.sources = {"users-store": Topic("users")}
        price = world.plan(application="tills", store="users-store", keep=Keep.LIVE).price
        (line,) = [line for line in price if "next internal schema" in line]
        assert "at BACKWARD: schema id 2 is live" in line
        assert "--keep soft-deleted" in line


class TestTheDocument:
    def test_the_same_world_gives_the_same_digest_and_new_records_do_not_make_it_stale(
        self, world: World, tmp_path: Path
    ) -> None:
        plan = world.plan()
        assert world.plan() == plan
        assert world.plan().digest == plan.digest
        world.put("users", ("z", V1))
        world.apply(plan, tmp_path / "journal")
        assert not world.examine().diagnosis.has_findings

    def test_it_names_what_the_contract_names(self, world: World) -> None:
        document = plan_document(world.plan())
        assert json.loads(json.dumps(document)) == document
        assert {"schema", "digest", "registry", "findings", "actions", "expects", "price"} <= document.keys()
        assert document["schema"] == "srfix.plan/1"
        actions = document["actions"]
        assert isinstance(actions, list)
        for action in actions:
            assert isinstance(action, dict)
            assert {"step", "kind", "subject", "expects", "leaves", "undo"} <= action.keys()


class TestMirrorsInOtherContexts:
    def test_the_plan_writes_to_one_and_names_the_others(self, world: World) -> None:
        mirror = Subject(f":.ctx:{PHANTOM}")
        survey = world.survey()
        found = world.examine(survey=survey)
        findings = tuple(replace(finding, mirrors=(mirror,)) for finding in found.diagnosis.findings)
        mirrored = replace(found, diagnosis=replace(found.diagnosis, findings=findings))
        plan = make_plan(mirrored, survey, clock=clock)
        assert {action.subject for action in plan.actions} == {PHANTOM}
        (line,) = [line for line in plan.price if mirror in line]
        assert f"writes only to {PHANTOM}" in line
