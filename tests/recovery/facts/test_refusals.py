"""What a registry would say to a registration, against the registry's own answer to one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parts.guarded_registry import deny
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import PlanError
from srfix.recovery.facts.refusals import RegistrationRefusal, foreseen_refusals
from srfix.recovery.facts.stores import RoleFacts
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.facts.survey import ask_membership
from srfix.serde import RegistryClient, Role
from srfix.serde.schemas.errors import IncompatibleSchemaError, OperationNotPermittedError
from srfix.serde.wire import SchemaId
from tests.recovery.checks.test_srf012 import set_mode
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R
from tests.recovery.world import World, value, world_of

LEVELS = ["NONE", *(level + reach for level in ("BACKWARD", "FORWARD", "FULL") for reach in ("", "_TRANSITIVE"))]


def foreseen(client: RegistryClient) -> tuple[RegistrationRefusal, ...]:
    role = RoleFacts(
        role=Role.VALUE,
        subject=PHANTOM,
        state=read_subject_state(client, PHANTOM),
        memberships={SchemaId(1): ask_membership(client, PHANTOM, SchemaId(1))},
    )
    return foreseen_refusals(client, role, role.memberships.values())


def refused(client: RegistryClient) -> str | None:
    """The code with which the registry refuses the registration when it is really sent; None if it takes it."""
    schema = client.schema_by_id(1).schema
    try:
        client.register(PHANTOM, schema)
    except IncompatibleSchemaError:
        return "409"
    except OperationNotPermittedError:
        return "42205"
    return None


class TestForeseenRefusals:
    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("whose", ["subject", "global"])
    def test_it_foresees_what_the_registry_says_at_every_level(
        self, registry: FixtureRegistry, client: RegistryClient, level: str, whose: str
    ) -> None:
        if whose == "subject":
            client.set_config(PHANTOM, {"compatibility": level})
            self.check(client, level)
        else:
            with FixtureRegistry(compatibility=level) as other, RegistryClient(other.url) as asked:
                other.seed(SOURCE_SUBJECT, W1)
                other.seed(PHANTOM, R)
                self.check(asked, level)

    def check(self, client: RegistryClient, level: str) -> None:
        refusals = foreseen(client)
        assert [("409" if "(409)" in refusal.reason else refusal.reason) for refusal in refusals] == [
            code for code in [refused(client)] if code is not None
        ]
        for refusal in refusals:
            assert refusal.is_overcome
            assert refusal.reason.startswith(
                f"it is not {level} compatible with the versions that the subject holds (409): "
            )

    def test_a_transitive_level_asks_all_versions(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed(PHANTOM, W1.replace('"long"', '"int"'))
        client.set_config(PHANTOM, {"compatibility": "BACKWARD"})
        assert foreseen(client) == ()
        client.set_config(PHANTOM, {"compatibility": "BACKWARD_TRANSITIVE"})
        assert len(foreseen(client)) == 1
        assert refused(client) == "409"

    @pytest.mark.parametrize("own", [None, "READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"])
    @pytest.mark.parametrize("of_all", ["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT"])
    def test_it_foresees_what_the_registry_says_in_every_mode(
        self, registry: FixtureRegistry, client: RegistryClient, own: str | None, of_all: str
    ) -> None:
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        if own is not None:
            set_mode(registry.url, own, PHANTOM)
        set_mode(registry.url, of_all)
        refusals = foreseen(client)
        assert bool(refusals) == (refused(client) == "42205")
        assert not any(refusal.is_overcome for refusal in refusals)
        for refusal in refusals:
            mode = of_all if own is None or of_all == "READONLY_OVERRIDE" else own
            whose = "the registry's" if own is None or of_all == "READONLY_OVERRIDE" else "the subject's"
            assert refusal.reason == f"{whose} mode is {mode} (42205)"

    @pytest.mark.parametrize("how", ["missing", "soft-deleted"])
    def test_a_subject_without_live_versions_takes_anything(
        self, registry: FixtureRegistry, client: RegistryClient, how: str
    ) -> None:
        client.delete_version(PHANTOM, 1)
        if how == "missing":
            client.delete_version(PHANTOM, 1, permanent=True)
        assert foreseen(client) == ()
        assert refused(client) is None


class TestInDiagnosisAndPlan:
    @pytest.fixture
    def world(self) -> Iterator[World]:
        with world_of({"users": 1}) as made:
            made.registry.seed(SOURCE_SUBJECT, W1)
            made.registry.seed(PHANTOM, R)
            made.live(("a", value(1)))
            yield made

    @pytest.mark.parametrize("subject", [None, PHANTOM])
    def test_a_read_only_registry_is_noted_and_no_plan_is_made(self, world: World, subject: str | None) -> None:
        set_mode(world.registry.url, "READONLY", subject)
        note = world.findings()["SRF012"]
        assert not note.repairable
        whose = "the subject's" if subject else "the registry's"
        assert f"schema id 1: {whose} mode is READONLY (42205)" in note.explanation
        assert note.next == "First ask the registry's owner to remove the cause of the refusal. Then plan the repair."
        with pytest.raises(PlanError, match=rf"under {PHANTOM} \(schema id 1: {whose} mode is READONLY \(42205\)\)"):
            world.plan()

    def test_at_none_nothing_is_refused_nor_relaxed(self, world: World) -> None:
        world.client().set_config(PHANTOM, {"compatibility": "NONE"})
        assert "refuse" not in world.findings()["SRF012"].explanation  # only that a repair may have been interrupted
        assert {action.kind for action in world.plan().actions} == {"register"}


class TestACompatibilityCheckThatMayNotBeMade:
    def test_it_foretells_nothing_and_hides_no_finding(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.registry.seed(PHANTOM, R)
            world.live(("a", value(1)))
            with deny(world.registry, method="POST", path="/compatibility/"):
                (finding,) = world.examine().diagnosis.findings
        assert (finding.code, finding.notes) == ("SRF001", ())
