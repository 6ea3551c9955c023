"""SRF015: the next put is refused, for nothing can be registered where it writes."""

from __future__ import annotations

from typing import Any

import pytest

from parts.damage import phantom_subject_may_not_be_written as damage
from parts.damage import shop
from srfix.recovery import Diagnosis, Finding, Reader, Severity
from srfix.serde.schemas.errors import OperationNotPermittedError
from tests.recovery.checks.staged import examined, of_topology, wrong
from tests.recovery.checks.test_srf012 import set_mode
from tests.recovery.world import World, world_fixture, world_of

world = world_fixture(damage.TOPICS, damage.stage_writable)
"""The damage before anybody set a mode."""


def looked_at(world: World, **how: Any) -> Diagnosis:
    return examined(world, of_topology(damage.TOPOLOGY), reader=Reader(damage.READER), **how).diagnosis


def of_code(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.code == "SRF015"]


class TestTheDamage:
    def test_is_found_under_its_code_and_no_other(self) -> None:
        with world_of(damage.TOPICS) as world:
            damage.stage(world.broker, world.client())
            diagnosis = looked_at(world)
            assert wrong(diagnosis) == ["SRF015"]
            (finding,) = of_code(diagnosis)
            assert (finding.severity, finding.subject) == (Severity.BROKEN, damage.PHANTOM_SUBJECT)
            assert "value serde needs its schema under shop-users-store-changelog-value" in finding.explanation
            assert "the subject's mode is READONLY (42205)" in finding.explanation
            assert "--streams-version" in finding.explanation
            assert "set the mode to READWRITE" in finding.next

    @pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
    def test_a_mode_of_the_whole_registry_does_it_too(self, world: World, mode: str) -> None:
        set_mode(world.registry.url, mode)
        (finding,) = of_code(looked_at(world))
        assert f"and the registry's mode is {mode} (42205)." in finding.explanation

    def test_an_application_that_registers_nothing_meets_40401(self, world: World) -> None:
        diagnosis = looked_at(world, no_auto_register=True)
        assert wrong(diagnosis) == ["SRF015"]
        assert "(--no-auto-register) (40401)" in of_code(diagnosis)[0].explanation

    def test_on_2_7_its_own_schema_that_the_source_lacks_meets_40403(self, world: World) -> None:
        internal = shop.register_internal(world.client(), damage.PHANTOM_SUBJECT)
        (finding,) = of_code(looked_at(world, streams_version="2.7", no_auto_register=True))
        assert (finding.subject, [fault.schema_id for fault in finding.schema_ids]) == (shop.USERS_SUBJECT, [internal])
        assert (
            "under users-value. But this subject lacks the application's own schema (schema id 2" in finding.explanation
        )
        assert "(--no-auto-register) (40403)" in finding.explanation

    def test_on_2_7_a_source_subject_without_any_version_does_it_too(self, world: World) -> None:
        """Its producers name their subjects otherwise."""
        client = world.client()
        client.register("User", client.version(shop.USERS_SUBJECT, 1).schema)
        world.purge(shop.USERS_SUBJECT, 1)
        (finding,) = of_code(looked_at(world, streams_version="2.7", no_auto_register=True))
        assert finding.subject == shop.USERS_SUBJECT
        assert "(40401)" in finding.explanation

    def test_a_soft_deleted_schema_has_to_be_registered_anew(self, world: World) -> None:
        client = world.client()
        shop.register_internal(client, damage.PHANTOM_SUBJECT)
        client.delete_version(damage.PHANTOM_SUBJECT, 1)
        client.set_mode(damage.PHANTOM_SUBJECT, "READONLY")
        with pytest.raises(OperationNotPermittedError):
            shop.register_internal(client, damage.PHANTOM_SUBJECT)
        assert [finding.subject for finding in of_code(looked_at(world))] == [damage.PHANTOM_SUBJECT]


class TestItsHealthyTwins:
    def test_a_subject_that_can_be_written_to_or_holds_the_applications_own_schema(self, world: World) -> None:
        assert of_code(looked_at(world)) == []
        shop.register_internal(world.client(), damage.PHANTOM_SUBJECT)
        world.client().set_mode(damage.PHANTOM_SUBJECT, "READONLY")
        assert of_code(looked_at(world)) == []
        assert of_code(looked_at(world, no_auto_register=True)) == []

    @pytest.mark.parametrize("subject", [damage.PHANTOM_SUBJECT, shop.USERS_SUBJECT])
    def test_on_2_7_the_phantom_plays_no_part_and_a_source_subject_with_versions_may_hold_it(
        self, world: World, subject: str
    ) -> None:
        world.client().set_mode(subject, "READONLY")
        assert of_code(looked_at(world, streams_version="2.7")) == []

    def test_on_2_7_a_source_subject_that_holds_it(self, world: World) -> None:
        client = world.client()
        shop.register_internal(client, damage.PHANTOM_SUBJECT)
        client.set_config(shop.USERS_SUBJECT, {"compatibility": "NONE"})
        shop.register_internal(client, shop.USERS_SUBJECT)
        assert of_code(looked_at(world, streams_version="2.7", no_auto_register=True)) == []


class TestWithoutAnyStore:
    def test_it_is_not_healthy_and_says_what_names_the_stores(self) -> None:
        with world_of({"users": 1}) as world:
            found = world.examine(no_auto_register=True).diagnosis
        assert found.is_inconclusive
        assert "whether a put would be refused (--no-auto-register)" in [skipped.what for skipped in found.skipped]
