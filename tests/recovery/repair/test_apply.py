"""Carrying out a plan: what it writes, what it refuses, and death at every instant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import Answer, CutAfter, CutBefore, Fault
from srfix.recovery import AppliedInPartError, PlanError
from srfix.recovery.actions.actions import SoftDelete, restore_config, restore_mode, soft_delete
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.plans.runs import AlreadyApplied, JournalSetAside
from srfix.recovery.repair.apply import StepDone, StepFound, apply_plan
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.serde import RegistryClient, RetryPolicy, Schema, Subject
from srfix.serde.schemas.errors import OperationNotPermittedError, RegistryUnreachableError
from tests.recovery.repair.scene import Scene, mostly_slow, staged_scene
from tests.recovery.staging import PHANTOM, STEPS, W1, W2, R, clock, cut_last_line, plan_of

LINES = 1 + 2 * STEPS + 1
"""begun, before and after each step, finished."""
KILL_POINTS = mostly_slow(
    [
        *((f"{when} line", number) for when in ("before", "after") for number in range(1, LINES + 1)),
        *((f"{when} write", number) for when in ("before", "after") for number in range(1, STEPS + 1)),
    ],
    quick=[("before line", 1), ("before line", 5), ("after write", 6)],
)
WRITE_CALLS = [
    ("PUT", "/config/", 1),
    ("POST", "/versions$", 1),
    ("DELETE", "/versions/", 1),
    ("POST", "/versions$", 2),
    ("DELETE", "/versions/", 2),
    ("DELETE", "/config/", 1),
]
"""Method, path and which of its calls, per write of the plan."""


@pytest.fixture
def undisturbed(tmp_path: Path) -> object:
    """The dump of a registry after one run that nothing disturbed."""
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    with staged_scene(folder) as other:
        other.apply()
        return other.registry.dump()


class TestApplyPlan:
    @pytest.mark.core
    def test_every_step_of_the_plan_is_carried_out_and_nothing_else(self, scene: Scene) -> None:
        assert [type(event) for event in scene.apply()] == [StepDone] * STEPS
        assert [(seen.method, seen.path, seen.status) for seen in scene.registry.write_log] == [
            ("PUT", f"/config/{PHANTOM}", 200),
            ("POST", f"/subjects/{PHANTOM}/versions", 200),
            ("DELETE", f"/subjects/{PHANTOM}/versions/2", 200),
            ("POST", f"/subjects/{PHANTOM}/versions", 200),
            ("DELETE", f"/subjects/{PHANTOM}/versions/3", 200),
            ("DELETE", f"/config/{PHANTOM}", 200),
        ]
        found = [scene.client.lookup(PHANTOM, Schema(text=text), deleted=True).schema_id for text in (W1, W2)]
        assert (found, scene.client.config(PHANTOM)) == ([1, 2], None)
        first, *_, last = map(json.loads, scene.lines())
        assert (first["schema"], first["event"], first["digest"]) == ("srfix.journal/1", "begun", scene.plan.digest)
        assert last["event"] == "finished"

    @pytest.mark.core
    def test_a_second_run_finds_the_plan_applied_and_writes_nothing(self, scene: Scene) -> None:
        scene.apply()
        scene.registry.forget_requests()
        assert scene.apply() == [AlreadyApplied()]
        assert scene.registry.writes == 0

    @pytest.mark.core
    def test_a_plan_whose_world_has_changed_writes_nothing(self, scene: Scene) -> None:
        scene.registry.seed(PHANTOM, R.replace("USERID", "ID"))
        with pytest.raises(PlanError, match=r"registry has changed .* version 1 = id 3"):
            scene.apply()
        assert scene.registry.writes == 0

    def test_without_its_journal_a_plan_that_is_applied_is_called_so(self, scene: Scene) -> None:
        """Seen wrong: "make a new plan", for a repair that was whole."""
        scene.apply()
        scene.journal.unlink()
        scene.registry.forget_requests()
        with pytest.raises(PlanError, match=r"^Every change of this plan is already in the registry, .* rollback"):
            scene.apply()
        assert scene.registry.writes == 0

    @pytest.mark.parametrize("lost", ["version", "live version", "restored level"])
    def test_but_not_if_something_of_it_is_gone(self, scene: Scene, lost: str) -> None:
        steps = scene.plan.actions
        plan = replace(scene.plan, actions=tuple(step for step in steps if not isinstance(step, SoftDelete)))
        scene.apply(plan)
        scene.journal.unlink()
        if lost == "restored level":
            scene.client.set_config(PHANTOM, {"compatibility": "NONE"})
        else:
            scene.client.delete_version(PHANTOM, 3)
        if lost == "version":
            scene.purge(3)
        with pytest.raises(PlanError, match=r"^The registry has changed .* new plan"):
            scene.apply(plan)

    @pytest.mark.core
    def test_a_configuration_that_somebody_set_meanwhile_is_a_changed_world(self, scene: Scene) -> None:
        scene.client.set_config(PHANTOM, {"compatibility": "FULL"})
        scene.registry.forget_requests()
        with pytest.raises(PlanError, match=r"compatibilityLevel=FULL"):
            scene.apply()
        assert scene.registry.writes == 0

    def test_other_subjects_may_change_at_will(self, scene: Scene) -> None:
        scene.registry.seed("other-value", R.replace("USERID", "X"))
        assert len(scene.apply()) == STEPS

    def test_a_journal_of_another_plan_in_progress_is_not_touched(self, scene: Scene) -> None:
        scene.killed("after write", 1)
        before = scene.lines()
        with pytest.raises(PlanError, match=r"belongs to another plan \(sha256:[0-9a-f]{64}\)"):
            scene.apply(plan_of(scene.client))  # the plan made now expects another world, so its digest differs
        assert scene.lines() == before

    def test_the_journal_of_a_repair_that_is_over_is_set_aside_for_a_new_plan(self, scene: Scene) -> None:
        scene.apply()
        scene.roll_back()
        first, *rest = scene.apply()
        assert first == JournalSetAside(path=scene.journal.with_name("journal.1"))
        assert [type(event) for event in rest] == [StepDone] * STEPS

    @pytest.mark.core
    def test_a_journal_that_another_process_holds_is_refused(self, scene: Scene) -> None:
        with REPAIR_JOURNALS.open(scene.journal, clock), pytest.raises(PlanError, match=r"journal .* is in use"):
            scene.apply()
        assert scene.registry.writes == 0

    def test_no_write_happens_where_no_journal_can_be_made(self, scene: Scene, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match=r"cannot be written \(No such file or directory\)"):
            list(apply_plan(scene.plan, scene.client, tmp_path / "nowhere" / "journal.jsonl", clock=clock))
        assert scene.registry.writes == 0

    def test_a_refusal_of_the_first_write_is_the_registrys_own_error_and_leaves_nothing(self, scene: Scene) -> None:
        body = json.dumps({"error_code": 42205, "message": "Subject is in read-only mode"})
        scene.registry.intercept(Fault(method="PUT", action=Answer(status=422, body=body)))
        for _run in range(2):  # the first has begun a step; the second finds that it left nothing
            with pytest.raises(OperationNotPermittedError):
                scene.apply()
        assert scene.registry.dump() == scene.before

    @pytest.mark.parametrize(
        ("cut", "write"),
        mostly_slow(
            [(cut, write) for cut in ("before", "after") for write in range(1, STEPS + 1)],
            quick=[("before", 4), ("after", 2)],
        ),
    )
    def test_a_connection_cut_at_any_write_is_taken_up_again(
        self, scene: Scene, undisturbed: object, cut: str, write: int
    ) -> None:
        method, path, call = WRITE_CALLS[write - 1]
        action = CutBefore() if cut == "before" else CutAfter()
        with scene.registry.intercept(Fault(method=method, path=path, calls=(call,), action=action)) as fault:
            with pytest.raises(AppliedInPartError, match=r"run the same srfix apply again") as caught:
                scene.apply()
            assert fault.hits == 1
        assert isinstance(caught.value.__cause__, RegistryUnreachableError)
        scene.apply()
        assert scene.registry.dump() == undisturbed

    def test_a_write_whose_answer_was_lost_is_undone_though_its_repetition_was_refused(self, scene: Scene) -> None:
        method, path, call = WRITE_CALLS[3]
        refused = Answer(status=403, body=json.dumps({"error_code": 40301, "message": "No."}))
        repeated = Fault(method=method, path=path, calls=(call,), action=refused)
        with (
            scene.registry.intercept(repeated),  # counts no call that the fault set up last has taken
            scene.registry.intercept(replace(repeated, action=CutAfter())),
            RegistryClient(scene.registry.url, retry=RetryPolicy(max_attempts=2, initial_wait_s=0)) as client,
            pytest.raises(AppliedInPartError),
        ):
            list(apply_plan(scene.plan, client, scene.journal, clock=clock))
        assert scene.client.versions(PHANTOM, deleted=True) == (1, 2, 3)
        assert scene.left() == []
        assert scene.registry.dump() == scene.before


class TestDeathAtEveryInstant:
    @pytest.mark.parametrize(("moment", "number"), KILL_POINTS)
    def test_the_second_run_ends_where_one_undisturbed_run_ends(
        self, scene: Scene, undisturbed: object, moment: str, number: int
    ) -> None:
        scene.killed(moment, number)
        events = scene.apply()
        assert scene.registry.dump() == undisturbed
        written_but_not_journalled = moment == "after write" or (
            moment == "before line" and number in range(3, LINES, 2)
        )
        assert sum(isinstance(event, StepFound) for event in events) == written_but_not_journalled

    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [("after line", number) for number in range(1, LINES + 1)],
            quick=[("after line", 1), ("after line", 5)],
        ),
    )
    def test_a_journal_line_that_was_cut_off_is_dropped(
        self, scene: Scene, undisturbed: object, moment: str, number: int
    ) -> None:
        scene.killed(moment, number)
        scene.journal.write_bytes(cut_last_line(scene.journal.read_bytes()))
        scene.apply()
        assert scene.registry.dump() == undisturbed
        assert all(json.loads(line) for line in scene.lines())

    @pytest.mark.parametrize(("moment", "number"), KILL_POINTS)
    def test_a_rollback_of_any_half_done_repair_leaves_the_registry_as_it_was(
        self, scene: Scene, moment: str, number: int
    ) -> None:
        scene.killed(moment, number)
        if scene.journal.exists():
            scene.roll_back()
        else:
            scene.journal.touch()  # what a process leaves that is really killed here
            with pytest.raises(PlanError, match=r"has no complete line"):
                scene.roll_back()
        assert scene.registry.dump() == scene.before


class TestRestoring:
    """What was relaxed is put back, also where another run has put it back a moment before."""

    @pytest.mark.core
    @pytest.mark.parametrize("is_there", [False, True])
    def test_what_is_gone_already_stays_gone_and_what_is_there_goes(self, scene: Scene, is_there: bool) -> None:
        if is_there:
            scene.client.set_config(PHANTOM, {"compatibility": "NONE"})
            scene.client.set_mode(PHANTOM, "READONLY")
        restore_mode(scene.client, Subject(PHANTOM), None)
        restore_config(scene.client, Subject(PHANTOM), None)
        assert (scene.client.config(PHANTOM), scene.client.mode(PHANTOM)) == (None, None)

    def test_a_version_that_is_soft_deleted_stays_so(self, scene: Scene) -> None:
        scene.client.register("alone-value", Schema(text='"string"'))
        for _ in range(2):
            soft_delete(scene.client, Subject("alone-value"), 1)
        (version,) = read_subject_state(scene.client, Subject("alone-value")).versions
        assert version.deleted
