"""Undoing a repair: in reverse, only what is still ours, and never the last holder of an id."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry.emulation import Release
from srfix.fixtures.registry.http.intercept import CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.errors import PlanError, RolledBackInPartError
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.rollback import AlreadyRolledBack, Left, Undone, roll_back
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.models import Schema
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STEPS, W1, W2, R, clock, killed_at, plan_of

ROLLBACK_LINES = 1 + STEPS + 2 + 1
"""rollback-begun, undone for each step, undoing for each registration, rolled-back."""
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

    def test_a_rollback_that_stops_counts_what_it_has_undone(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        """Steps that have no undo of their own are none that were undone."""
        with (
            registry.intercept(Fault(method="DELETE", path="/versions/2", action=CutBefore(), times=1)),
            pytest.raises(
                RolledBackInPartError, match=r" The rollback stopped at step 2; 1 step was undone in this run,"
            ),
        ):
            list(roll_back(repaired, client, clock=clock))

    def test_what_others_have_undone_already_is_not_counted(
        self, registry: FixtureRegistry, client: RegistryClient, repaired: Path
    ) -> None:
        client.delete_version(PHANTOM, 3, permanent=True)
        with (
            registry.intercept(Fault(method="DELETE", action=CutBefore(), times=1)),
            pytest.raises(RolledBackInPartError, match=r" at step 2; no step was undone in this run,"),
        ):
            list(roll_back(repaired, client, clock=clock))

    def test_there_is_nothing_to_undo_without_a_journal(self, client: RegistryClient, tmp_path: Path) -> None:
        with pytest.raises(
            PlanError,
            match=r"^There is no journal .*: no repair was begun there, so there is nothing to undo\.$",
        ):
            list(roll_back(tmp_path / "none.jsonl", client, clock=clock))


class TestTheSameNumberAndIdAgain:
    """Ours was deleted for good, and somebody registered the same schema: the registry gives out the number again."""

    def hard_delete(self, client: RegistryClient, *numbers: int) -> None:
        for number in numbers:
            client.delete_version(PHANTOM, number, permanent=True)

    def registered_by_somebody(self, client: RegistryClient, text: str) -> None:
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        client.register(PHANTOM, Schema(text=text))
        client.delete_config(PHANTOM)

    def test_a_live_one_where_ours_was_soft_deleted_is_theirs(self, client: RegistryClient, repaired: Path) -> None:
        self.hard_delete(client, 3)
        self.registered_by_somebody(client, W2)
        assert client.lookup(PHANTOM, Schema(text=W2)).version == 3
        left = [event for event in roll_back(repaired, client, clock=clock) if isinstance(event, Left)]
        assert [(event.action.step, event.why) for event in left] == [
            (
                4,
                f"the repair left version 3 of {PHANTOM} soft-deleted, and it is live: somebody registered it again since; "
                "it is theirs",
            )
        ]
        assert client.versions(PHANTOM, deleted=True) == (1, 3)

    @pytest.mark.parametrize("is_deleted", [False, True], ids=["live", "soft-deleted"])
    @pytest.mark.parametrize("keeps_live", [False, True], ids=["ours soft-deleted", "ours live"])
    def test_where_the_registry_keeps_a_time_it_tells(
        self, tmp_path: Path, *, keeps_live: bool, is_deleted: bool
    ) -> None:
        with FixtureRegistry(emulate="8.2") as registry, RegistryClient(registry.url) as client:
            for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
                registry.seed(subject, text)
            plan = plan_of(client)
            if keeps_live:
                plan = replace(plan, actions=tuple(a for a in plan.actions if a.kind != "soft-delete"))
            list(apply_plan(plan, client, tmp_path / "journal", clock=clock))
            if keeps_live:
                client.delete_version(PHANTOM, 3)
            self.hard_delete(client, 3)
            self.registered_by_somebody(client, W2)
            if is_deleted:
                client.delete_version(PHANTOM, 3)
            left = [event for event in roll_back(tmp_path / "journal", client, clock=clock) if isinstance(event, Left)]
            assert [event.action.step for event in left] == [4]
            assert client.versions(PHANTOM, deleted=True) == (1, 3)

    def left_live(self, client: RegistryClient, journal: Path) -> Path:
        plan = plan_of(client)
        plan = replace(plan, actions=tuple(a for a in plan.actions if a.kind != "soft-delete"))
        list(apply_plan(plan, client, journal, clock=clock))
        return journal

    def test_without_a_time_a_number_that_may_have_been_given_out_again_is_left(
        self, client: RegistryClient, journal_path: Path
    ) -> None:
        journal = self.left_live(client, journal_path)
        for number in (2, 3):
            client.delete_version(PHANTOM, number)
        self.hard_delete(client, 3, 2)
        self.registered_by_somebody(client, W1)
        assert client.lookup(PHANTOM, Schema(text=W1)).version == 2
        events = list(roll_back(journal, client, clock=clock))
        (left,) = [event for event in events if isinstance(event, Left)]
        assert left.action.step == 2
        assert left.why.startswith(
            f"version 2 of {PHANTOM} may be somebody else's: version 3 above it was deleted for good"
        )
        assert client.lookup(PHANTOM, Schema(text=W1)).version == 2

    def test_without_a_time_and_any_sign_it_is_ours_and_what_cannot_be_told_is_said(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        before = registry.dump()
        events = list(roll_back(self.left_live(client, journal_path), client, clock=clock))
        told = [event.what for event in events if isinstance(event, Undone)]
        assert len(told) == 2
        assert all("that could not be told, for this registry keeps no time of a version" in what for what in told)
        assert registry.dump() == before


class TestDeathWhileRollingBack:
    @pytest.mark.parametrize("like", ["7.9", "8.2"])
    @pytest.mark.parametrize("number", range(1, 5))
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_live_versions_that_a_killed_rollback_soft_deleted_are_still_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, number: int, like: Release
    ) -> None:
        with FixtureRegistry(emulate=like) as registry, RegistryClient(registry.url) as client:
            for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
                registry.seed(subject, text)
            before = registry.dump()
            journal = TestTheSameNumberAndIdAgain().left_live(client, tmp_path / "journal")
            with killed_at(monkeypatch, f"{when} write", number):
                list(roll_back(journal, client, clock=clock))
            assert all(isinstance(event, Undone) for event in roll_back(journal, client, clock=clock))
            assert registry.dump() == before

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
                match=r" The rollback stopped at step 4; no step was undone in this run, as the journal .+ says\. Mend the "
                r"cause and run the same srfix rollback again\.$",
            ),
        ):
            list(roll_back(journal_path, client, clock=clock))
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before


class TestAnotherRegistry:
    """Seen by a user: with the URL of another registry, or of another context, everything "was gone already"."""

    def test_it_is_refused_before_anything_is_written(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        journal = journal_path.read_bytes()
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere:
            other.seed(PHANTOM, R)
            before = other.dump()
            with pytest.raises(
                PlanError, match=r"^None of the versions that this repair registered is in the registry at "
            ):
                list(roll_back(journal_path, elsewhere, clock=clock))
            assert other.dump() == before
        assert journal_path.read_bytes() == journal
        assert any(isinstance(event, Undone) for event in roll_back(journal_path, client, clock=clock))

    def test_by_another_url_of_the_same_one_a_rollback_that_died_goes_on(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = registry.dump()
        plan = replace(plan_of(client), registry="http://another-name:8081")
        list(apply_plan(plan, client, journal_path, clock=clock))
        with killed_at(monkeypatch, "after write", 2):
            list(roll_back(journal_path, client, clock=clock))
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere, pytest.raises(PlanError):
            list(roll_back(journal_path, elsewhere, clock=clock))
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before
