"""Carrying out a plan: what it writes, what it refuses, and death at every instant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import Answer, CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.repair.apply import AlreadyApplied, JournalSetAside, StepDone, StepFound, apply_plan
from srfix.recovery.repair.journal import open_journal
from srfix.recovery.repair.rollback import roll_back
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.errors import OperationNotPermittedError, RegistryUnreachableError
from srfix.serde.registry.models import Schema
from tests.recovery.staging import (
    PHANTOM,
    SOURCE_SUBJECT,
    STEPS,
    W1,
    W2,
    R,
    clock,
    cut_last_line,
    killed_at,
    plan_of,
)

LINES = 1 + 2 * STEPS + 1
"""begun, before and after each step, finished."""
KILL_POINTS = [
    *((f"{when} line", number) for when in ("before", "after") for number in range(1, LINES + 1)),
    *((f"{when} write", number) for when in ("before", "after") for number in range(1, STEPS + 1)),
]


WRITE_CALLS = [
    ("PUT", "/config/", 1),
    ("POST", "/versions$", 1),
    ("DELETE", "/versions/", 1),
    ("POST", "/versions$", 2),
    ("DELETE", "/versions/", 2),
    ("DELETE", "/config/", 1),
]
"""Method, path and which of its calls, per write of the plan."""


def carry_out(client: RegistryClient, journal_path: Path) -> list[object]:
    return list(apply_plan(plan_of(client), client, journal_path, clock=clock))


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, object]:
    """The dump of a registry after one run that nothing disturbed."""
    with FixtureRegistry() as other:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            other.seed(subject, text)
        with RegistryClient(other.url) as opened:
            carry_out(opened, tmp_path / "undisturbed.jsonl")
        return dict(other.dump())


class TestApplyPlan:
    def test_every_step_of_the_plan_is_carried_out_and_nothing_else(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        events = carry_out(client, journal_path)
        assert [type(event) for event in events] == [StepDone] * STEPS
        assert [(seen.method, seen.path, seen.status) for seen in registry.write_log] == [
            ("PUT", f"/config/{PHANTOM}", 200),
            ("POST", f"/subjects/{PHANTOM}/versions", 200),
            ("DELETE", f"/subjects/{PHANTOM}/versions/2", 200),
            ("POST", f"/subjects/{PHANTOM}/versions", 200),
            ("DELETE", f"/subjects/{PHANTOM}/versions/3", 200),
            ("DELETE", f"/config/{PHANTOM}", 200),
        ]
        assert client.lookup(PHANTOM, Schema(text=W1), deleted=True).schema_id == 1
        assert client.lookup(PHANTOM, Schema(text=W2), deleted=True).schema_id == 2
        assert client.config(PHANTOM) is None

    def test_the_first_line_of_the_journal_carries_the_digest_of_the_plan(
        self, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        list(apply_plan(plan, client, journal_path, clock=clock))
        first, *_, last = [json.loads(line) for line in journal_path.read_text().splitlines()]
        assert (first["schema"], first["event"], first["digest"]) == ("srfix.journal/1", "begun", plan.digest)
        assert last["event"] == "finished"

    def test_a_second_run_finds_the_plan_applied_and_writes_nothing(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        list(apply_plan(plan, client, journal_path, clock=clock))
        registry.forget_requests()
        assert list(apply_plan(plan, client, journal_path, clock=clock)) == [AlreadyApplied()]
        assert registry.writes == 0

    def test_a_plan_whose_world_has_changed_writes_nothing(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        registry.seed(PHANTOM, R.replace("USERID", "ID"))
        with pytest.raises(
            PlanError, match=r"^The world has changed since the plan was made: .* holds version 1 = id 3"
        ):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.writes == 0

    def test_a_configuration_that_somebody_set_meanwhile_is_a_changed_world(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        client.set_config(PHANTOM, {"compatibility": "FULL"})
        registry.forget_requests()
        with pytest.raises(PlanError, match=r"configuration is compatibilityLevel=FULL where not set was expected"):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.writes == 0

    def test_other_subjects_may_change_at_will(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        registry.seed("other-value", R.replace("USERID", "X"))
        assert len(list(apply_plan(plan, client, journal_path, clock=clock))) == STEPS

    def test_a_journal_of_another_plan_in_progress_is_not_touched(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with killed_at(monkeypatch, "after write", 1):
            carry_out(client, journal_path)
        before = journal_path.read_bytes()
        with pytest.raises(
            PlanError, match=r"^The journal .* belongs to another plan \(sha256:[0-9a-f]{64}\), which was"
        ):
            carry_out(client, journal_path)  # the plan made now expects another world, so its digest differs
        assert journal_path.read_bytes() == before

    def test_the_journal_of_a_repair_that_is_over_is_set_aside_for_a_new_plan(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        before = registry.dump()
        carry_out(client, journal_path)
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before
        first, *rest = carry_out(client, journal_path)
        assert first == JournalSetAside(path=journal_path.with_name(journal_path.name + ".1"))
        assert [type(event) for event in rest] == [StepDone] * STEPS

    def test_a_journal_that_another_process_holds_is_refused(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        with (
            open_journal(journal_path, clock),
            pytest.raises(PlanError, match=r"^The journal .* is in use: another srfix"),
        ):
            carry_out(client, journal_path)
        assert registry.writes == 0

    def test_no_write_happens_where_no_journal_can_be_made(
        self, registry: FixtureRegistry, client: RegistryClient, tmp_path: Path
    ) -> None:
        with pytest.raises(PlanError, match=r"^The journal .* cannot be written \(No such file or directory\), and"):
            carry_out(client, tmp_path / "nowhere" / "journal.jsonl")
        assert registry.writes == 0

    def test_a_refusal_of_the_first_write_is_the_registrys_own_error_and_leaves_nothing(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        before = registry.dump()
        body = json.dumps({"error_code": 42205, "message": "Subject is in read-only mode"})
        registry.intercept(Fault(method="PUT", action=Answer(status=422, body=body)))
        for _run in range(2):  # the first has begun a step; the second finds that it left nothing
            with pytest.raises(OperationNotPermittedError):
                carry_out(client, journal_path)
        assert registry.dump() == before

    @pytest.mark.parametrize("cut", [CutBefore(), CutAfter()], ids=["before", "after"])
    @pytest.mark.parametrize("write", range(1, STEPS + 1))
    def test_a_connection_cut_at_any_write_is_taken_up_again(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        undisturbed: dict[str, object],
        cut: CutBefore | CutAfter,
        write: int,
    ) -> None:
        plan = plan_of(client)
        method, path, call = WRITE_CALLS[write - 1]
        with registry.intercept(Fault(method=method, path=path, calls=(call,), action=cut)) as fault:
            with pytest.raises(AppliedInPartError, match=r"run the same srfix apply again") as caught:
                list(apply_plan(plan, client, journal_path, clock=clock))
            assert fault.hits == 1
        assert isinstance(caught.value.__cause__, RegistryUnreachableError)
        list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.dump() == undisturbed


class TestDeathAtEveryInstant:
    @pytest.mark.parametrize(("moment", "number"), KILL_POINTS)
    def test_the_second_run_ends_where_one_undisturbed_run_ends(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        undisturbed: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        moment: str,
        number: int,
    ) -> None:
        plan = plan_of(client)
        with killed_at(monkeypatch, moment, number):
            list(apply_plan(plan, client, journal_path, clock=clock))
        events = list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.dump() == undisturbed
        written_but_not_journalled = moment == "after write" or (
            moment == "before line" and number in range(3, LINES, 2)
        )
        assert sum(isinstance(event, StepFound) for event in events) == written_but_not_journalled

    @pytest.mark.parametrize("number", range(1, LINES + 1))
    def test_a_journal_line_that_was_cut_off_is_dropped(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        undisturbed: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        number: int,
    ) -> None:
        plan = plan_of(client)
        with killed_at(monkeypatch, "after line", number):
            list(apply_plan(plan, client, journal_path, clock=clock))
        journal_path.write_bytes(cut_last_line(journal_path.read_bytes()))
        list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.dump() == undisturbed
        for line in journal_path.read_text().splitlines():
            json.loads(line)

    @pytest.mark.parametrize(("moment", "number"), KILL_POINTS)
    def test_a_rollback_of_any_half_done_repair_leaves_the_registry_as_it_was(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        moment: str,
        number: int,
    ) -> None:
        before = registry.dump()
        with killed_at(monkeypatch, moment, number):
            carry_out(client, journal_path)
        if not journal_path.exists():
            journal_path.touch()  # what a process leaves that is really killed here
            with pytest.raises(PlanError, match=r"holds no whole line: it says of no repair that it was begun\. "):
                list(roll_back(journal_path, client, clock=clock))
        else:
            list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before
