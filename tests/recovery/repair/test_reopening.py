"""A plan that was carried out, and versions of it that somebody has deleted for good since."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.errors import PlanError
from srfix.recovery.repair.apply import AlreadyApplied, Event, Reopened, StepDone, StepFound, apply_plan
from srfix.recovery.repair.journal import read_journal
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.rollback import Left, roll_back
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.models import Schema
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STEPS, W1, W2, clock, killed_at, plan_of

AGAIN_LINES = 1 + 1 + 2 * 4 + 1
"""resumed is written once more; reopened, before and after each of NONE, register, soft-delete and put back, finished."""
AGAIN_WRITES = 4


@pytest.fixture
def original(registry: FixtureRegistry) -> dict[str, object]:
    """The registry before the repair."""
    return dict(registry.dump())


@pytest.fixture
def plan(client: RegistryClient, original: dict[str, object]) -> Plan:
    return plan_of(client)


@pytest.fixture
def applied(client: RegistryClient, plan: Plan, journal_path: Path) -> Path:
    list(apply_plan(plan, client, journal_path, clock=clock))
    return journal_path


def carry_out(plan: Plan, client: RegistryClient, journal: Path) -> list[Event]:
    return list(apply_plan(plan, client, journal, clock=clock))


def purge(client: RegistryClient, *numbers: int) -> None:
    for number in numbers:
        client.delete_version(PHANTOM, number, permanent=True)


def is_repaired(client: RegistryClient) -> bool:
    found = [client.lookup(PHANTOM, Schema(text=text), deleted=True).schema_id for text in (W1, W2)]
    return found == [1, 2] and client.config(PHANTOM) is None


class TestApplyAgain:
    @pytest.mark.parametrize("numbers", [(2,), (3,), (2, 3)], ids=str)
    def test_what_was_deleted_for_good_is_said_and_registered_again(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        plan: Plan,
        applied: Path,
        original: dict[str, object],
        numbers: tuple[int, ...],
    ) -> None:
        purge(client, *numbers)
        first, *rest = carry_out(plan, client, applied)
        assert isinstance(first, Reopened)
        assert [action.schema_id for action in first.missing] == [number - 1 for number in numbers]
        assert [type(event) for event in rest] == [StepDone] * (2 + 2 * len(numbers))
        assert is_repaired(client)
        assert read_journal(applied).finished
        assert carry_out(plan, client, applied) == [AlreadyApplied()]
        assert not [event for event in roll_back(applied, client, clock=clock) if isinstance(event, Left)]
        assert registry.dump() == original

    def test_it_can_be_done_again_and_again(
        self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, applied: Path, original: dict[str, object]
    ) -> None:
        for _ in range(3):
            purge(client, client.versions(PHANTOM, deleted=True)[-1])
            assert isinstance(carry_out(plan, client, applied)[0], Reopened)
            assert is_repaired(client)
        list(roll_back(applied, client, clock=clock))
        assert registry.dump() == original

    def test_what_somebody_registered_under_our_number_meanwhile_is_not_taken_back(
        self, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        purge(client, 3, 2)
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        client.register(PHANTOM, Schema(text=W1))
        client.delete_config(PHANTOM)
        assert client.lookup(PHANTOM, Schema(text=W1)).version == 2
        carry_out(plan, client, applied)
        assert is_repaired(client)
        left = [event.action.step for event in roll_back(applied, client, clock=clock) if isinstance(event, Left)]
        assert left == [2]
        assert client.versions(PHANTOM, deleted=True) == (1, 2)

    def test_what_others_did_to_the_subject_besides_stops_nothing(
        self, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        purge(client, 3)
        theirs = Schema(text=W1.replace("User", "KsqlDataSourceSchema").replace("userId", "USERID"))
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        client.register(PHANTOM, theirs)
        client.delete_config(PHANTOM)
        carry_out(plan, client, applied)
        assert is_repaired(client)
        assert client.lookup(PHANTOM, theirs).version == 3

    @pytest.mark.parametrize(
        ("moment", "number"),
        [
            *((f"{when} line", n) for when in ("before", "after") for n in range(1, AGAIN_LINES + 1)),
            *((f"{when} write", n) for when in ("before", "after") for n in range(1, AGAIN_WRITES + 1)),
        ],
    )
    def test_killed_at_any_instant_it_goes_on_and_can_be_taken_back(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        plan: Plan,
        applied: Path,
        original: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        moment: str,
        number: int,
    ) -> None:
        purge(client, 3)
        with killed_at(monkeypatch, moment, number):
            carry_out(plan, client, applied)
        events = carry_out(plan, client, applied)
        assert {type(event) for event in events} <= {Reopened, StepDone, StepFound, AlreadyApplied}
        assert is_repaired(client)
        list(roll_back(applied, client, clock=clock))
        assert registry.dump() == original

    @pytest.mark.parametrize("number", range(1, AGAIN_WRITES + 1))
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_killed_at_any_instant_it_can_be_taken_back_at_once(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        plan: Plan,
        applied: Path,
        original: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
        when: str,
        number: int,
    ) -> None:
        purge(client, 3)
        with killed_at(monkeypatch, f"{when} write", number):
            carry_out(plan, client, applied)
        list(roll_back(applied, client, clock=clock))
        assert registry.dump() == original


class TestWhyNot:
    def refused(self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, journal: Path, match: str) -> None:
        registry.forget_requests()
        before = journal.read_bytes()
        with pytest.raises(
            PlanError,
            match=r"^This plan was carried out, and since then somebody has deleted for good: schema id 2 under "
            rf"{PHANTOM}\. It cannot be registered again by this plan, and nothing was written\. {match}",
        ):
            carry_out(plan, client, journal)
        assert registry.writes == 0
        assert read_journal(journal).finished
        assert journal.read_bytes() == before

    def test_the_id_is_gone_from_the_registry(
        self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        purge(client, 3)
        for permanent in (False, True):
            client.delete_version(SOURCE_SUBJECT, 2, permanent=permanent)
        self.refused(registry, client, plan, applied, "Schema id 2 is gone from the registry since the plan was made")

    def test_the_subject_takes_no_registration_any_more(
        self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        purge(client, 3)
        client.set_mode(PHANTOM, "READONLY")
        self.refused(registry, client, plan, applied, "Its settings have changed since the plan: .* mode is READONLY")

    def test_the_subjects_configuration_is_another_one(
        self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        purge(client, 3)
        client.set_config(PHANTOM, {"compatibility": "FULL"})
        self.refused(registry, client, plan, applied, r"Its settings have changed .* Plan again\.")

    def test_nothing_is_missing(
        self, registry: FixtureRegistry, client: RegistryClient, plan: Plan, applied: Path
    ) -> None:
        client.set_config(PHANTOM, {"compatibility": "FULL"})
        registry.forget_requests()
        assert carry_out(plan, client, applied) == [AlreadyApplied()]
        assert registry.writes == 0
        assert len(plan.actions) == STEPS
