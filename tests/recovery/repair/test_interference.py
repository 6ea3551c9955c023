"""A registry that answers another id than planned, and others who write to the subject at the same time."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.actions.actions import Register
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.rollback import Left, Undone, roll_back
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.models import Schema
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STEPS, W1, W2, R, clock, killed_at, plan_of

OTHERS = Schema(text=R.replace('"default":null}', '"default":null},{"name":"N","type":["null","int"],"default":null}'))
"""What the running application registers under the phantom subject in the middle of a repair."""


def register_with_metadata(registry: FixtureRegistry, subject: str, text: str) -> None:
    """Registers a schema with metadata, which plain text then inherits (Confluent: `maybePopulateFromPrevious`)."""
    body = {"schema": text, "metadata": {"properties": {"owner": "shop"}}}
    request = urllib.request.Request(
        f"{registry.url}/subjects/{subject}/versions",
        data=json.dumps(body).encode(),
        method="POST",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


@pytest.fixture
def inheriting(registry: FixtureRegistry, client: RegistryClient) -> FixtureRegistry:
    """The phantom's latest version carries metadata, so that W1 gets another id there than under the source."""
    register_with_metadata(registry, PHANTOM, R.replace("USERID", "USER_ID"))
    registry.forget_requests()
    return registry


class TestAnotherIdThanPlanned:
    def test_it_is_taken_back_at_once_and_the_repair_stops(
        self, inheriting: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan, before = plan_of(client), inheriting.dump()
        with pytest.raises(
            AppliedInPartError, match=r"^Step 2: the registry gave the schema another id under .* taken back\."
        ):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert client.versions(PHANTOM, deleted=True) == (1, 2)
        list(roll_back(journal_path, client, clock=clock))
        assert inheriting.dump() == before

    def test_a_second_run_stops_in_the_same_place(
        self, inheriting: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        dumps = []
        for _ in range(2):
            with pytest.raises(AppliedInPartError, match=r"^Step 2: .* stopped after 1 of 6 steps"):
                list(apply_plan(plan, client, journal_path, clock=clock))
            dumps.append(inheriting.dump())
        assert dumps[0] == dumps[1]

    @pytest.mark.parametrize("number", [2, 3, 4], ids=["registered", "soft-deleted", "deleted"])
    @pytest.mark.parametrize("moment", ["before write", "after write"])
    def test_killed_while_it_is_taken_back_the_rollback_takes_it_back(
        self,
        inheriting: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        moment: str,
        number: int,
    ) -> None:
        plan, before = plan_of(client), inheriting.dump()
        with killed_at(monkeypatch, moment, number):
            list(apply_plan(plan, client, journal_path, clock=clock))
        list(roll_back(journal_path, client, clock=clock))
        assert inheriting.dump() == before

    @pytest.mark.parametrize("number", [2, 3, 4], ids=["registered", "soft-deleted", "deleted"])
    def test_killed_while_it_is_taken_back_the_next_apply_takes_it_back(
        self,
        inheriting: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        number: int,
    ) -> None:
        plan, before = plan_of(client), inheriting.dump()
        with killed_at(monkeypatch, "after write", number):
            list(apply_plan(plan, client, journal_path, clock=clock))
        with pytest.raises(AppliedInPartError, match=r"^Step 2: the registry gave the schema another id"):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert client.versions(PHANTOM, deleted=True) == (1, 2)
        list(roll_back(journal_path, client, clock=clock))
        assert inheriting.dump() == before


class TestOthersAtTheSameTime:
    def test_what_the_application_registered_meanwhile_is_not_taken_for_ours(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = plan_of(client)
        with killed_at(monkeypatch, "before write", 2):
            list(apply_plan(plan, client, journal_path, clock=clock))
        theirs = client.register(PHANTOM, OTHERS)
        with pytest.raises(PlanError, match=r"neither as before nor as after it: .* Somebody else changed it"):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert client.lookup(PHANTOM, OTHERS).schema_id == theirs
        list(roll_back(journal_path, client, clock=clock))
        assert client.lookup(PHANTOM, OTHERS).schema_id == theirs
        assert client.config(PHANTOM) is None

    def test_a_rollback_undoes_ours_beside_theirs(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with killed_at(monkeypatch, "after write", 2):
            list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        client.register(PHANTOM, OTHERS)
        events = list(roll_back(journal_path, client, clock=clock))
        assert [(type(event), event.action.kind) for event in events if isinstance(event, Undone | Left)] == [
            (Undone, "register"),
            (Undone, "set-compatibility"),
        ]
        assert client.lookup(PHANTOM, OTHERS).version == 3
        assert client.versions(PHANTOM, deleted=True) == (1, 3)
        assert client.config(PHANTOM) is None

    @pytest.mark.parametrize("write", range(1, STEPS + 1))
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_no_moment_leaves_the_compatibility_relaxed_for_good(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        when: str,
        write: int,
    ) -> None:
        with killed_at(monkeypatch, f"{when} write", write):
            list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        theirs = client.register(PHANTOM, OTHERS)
        list(roll_back(journal_path, client, clock=clock))
        state = read_subject_state(client, PHANTOM)
        assert state.config is None
        assert {version.schema_id for version in state.versions} == {3, theirs}
        assert not any(version.deleted for version in state.versions)


class TestASubjectWithoutVersionsOfItsOwn:
    """A hard delete of the last version takes the subject's own configuration along (observed on 7.9.9)."""

    @pytest.mark.parametrize("number", [None, 1, 2, 3], ids=["undisturbed", "first", "second", "third"])
    def test_a_rollback_puts_its_configuration_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
    ) -> None:
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            for text in (W1, W2):
                registry.seed(SOURCE_SUBJECT, text)
            client.set_config(PHANTOM, {"compatibility": "FULL", "normalize": False})
            before = registry.dump()
            journal = tmp_path / "journal"
            plan = plan_of(client)
            assert any(isinstance(action, Register) for action in plan.actions)
            list(apply_plan(plan, client, journal, clock=clock))
            assert registry.dump() != before
            if number is not None:
                with killed_at(monkeypatch, "after write", number):
                    list(roll_back(journal, client, clock=clock))
            list(roll_back(journal, client, clock=clock))
            assert registry.dump() == before
