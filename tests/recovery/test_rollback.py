"""Undoing a repair: in reverse, only what is still ours, and never the last holder of an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.fixtures.registry import CutAfter, CutBefore, Fault, FixtureRegistry
from srfix.recovery.apply import apply_plan
from srfix.recovery.rollback import AlreadyRolledBack, Left, RolledBackInPartError, Undone, roll_back
from srfix.serde.errors import PlanError
from srfix.serde.registry import RegistryClient, Schema
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STEPS, W1, R, clock, killed_at, plan_of

ROLLBACK_LINES = 1 + STEPS + 1
"""rollback-begun, undone for each step, rolled-back."""
ROLLBACK_WRITES = 2
"""A hard delete for each registration: both versions are soft-deleted already."""


@pytest.fixture
def repaired(client: RegistryClient, journal_path: Path) -> Path:
    """The journal of a repair that was carried out."""
    list(apply_plan(plan_of(client), client, journal_path, clock=clock))
    return journal_path


class TestRollBack:
    def test_the_registry_is_as_it_was_before_the_repair(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        before = registry.dump()
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        assert registry.dump() != before
        events = list(roll_back(journal_path, client, clock=clock))
        assert [type(event) for event in events] == [Undone, Undone]
        assert registry.dump() == before

    def test_a_second_rollback_writes_nothing(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        list(roll_back(repaired, client, clock=clock))
        registry.forget_requests()
        assert list(roll_back(repaired, client, clock=clock)) == [AlreadyRolledBack()]
        assert registry.writes == 0

    def test_the_last_holder_of_an_id_is_left(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        for permanent in (False, True):
            client.delete_version(SOURCE_SUBJECT, 1, permanent=permanent)
        events = list(roll_back(repaired, client, clock=clock))
        left = [event for event in events if isinstance(event, Left)]
        assert [event.why for event in left] == [
            f"{PHANTOM} version 2 is the last holder of schema id 1: deleting it for good would make every record "
            "with that "
            "id unreadable"
        ]
        assert client.schema_by_id(1).schema.text == W1

    def test_a_holder_that_the_plan_did_not_know_counts(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        registry.seed("somebody-elses-value", W1)
        for permanent in (False, True):
            client.delete_version(SOURCE_SUBJECT, 1, permanent=permanent)
        assert all(isinstance(event, Undone) for event in roll_back(repaired, client, clock=clock))

    def test_a_version_that_somebody_registered_again_is_theirs(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        client.register(PHANTOM, Schema(text=W1))
        left = [event for event in roll_back(repaired, client, clock=clock) if isinstance(event, Left)]
        assert [event.action.step for event in left] == [2]
        assert client.lookup(PHANTOM, Schema(text=W1)).version == 4

    def test_a_configuration_that_somebody_changed_since_is_left(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with killed_at(monkeypatch, "before line", 4):
            list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        client.set_config(PHANTOM, {"compatibility": "FULL"})
        events = list(roll_back(journal_path, client, clock=clock))
        assert [type(event) for event in events] == [Left]
        config = client.config(PHANTOM)
        assert config is not None
        assert config.compatibility == "FULL"

    def test_what_others_registered_under_the_subject_since_stays(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        theirs = R.replace('"default":null}', '"default":null},{"name":"N","type":["null","int"],"default":null}')
        client.register(PHANTOM, Schema(text=theirs))
        list(roll_back(repaired, client, clock=clock))
        assert client.lookup(PHANTOM, Schema(text=theirs)).version == 4
        assert client.versions(PHANTOM, deleted=True) == (1, 4)

    def test_there_is_nothing_to_undo_without_a_journal(self, client: RegistryClient, tmp_path: Path) -> None:
        with pytest.raises(
            PlanError,
            match=r"^There is no journal .*: no repair was begun there, so there is nothing to undo\.$",
        ):
            list(roll_back(tmp_path / "none.jsonl", client, clock=clock))


class TestDeathWhileRollingBack:
    @pytest.mark.parametrize(
        ("moment", "number"),
        [
            *((f"{when} line", n) for when in ("before", "after") for n in range(1, ROLLBACK_LINES + 1)),
            *((f"{when} write", n) for when in ("before", "after") for n in range(1, ROLLBACK_WRITES + 1)),
        ],
    )
    def test_the_second_rollback_ends_where_one_undisturbed_rollback_ends(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        moment: str,
        number: int,
    ) -> None:
        before = registry.dump()
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        with killed_at(monkeypatch, moment, number):
            list(roll_back(journal_path, client, clock=clock))
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before

    @pytest.mark.parametrize("cut", [CutBefore(), CutAfter()], ids=["before", "after"])
    def test_a_connection_cut_while_undoing_is_taken_up_again(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, cut: CutBefore | CutAfter
    ) -> None:
        before = registry.dump()
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        with (
            registry.intercept(Fault(method="DELETE", action=cut, times=1)),
            pytest.raises(
                RolledBackInPartError,
                match=r"The rollback stopped after \d of 6 steps; .+ the same srfix rollback again\.$",
            ),
        ):
            list(roll_back(journal_path, client, clock=clock))
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before
