"""SRF006: the incident in a global store."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.damage import global_table_on_an_affected_version as damage
from parts.damage import shop
from srfix.recovery import Reader, Severity, Supplied
from srfix.recovery.census.interface import NoCensus
from srfix.recovery.checks.interface import Width
from srfix.recovery.repair.verify.events import Confirmed
from tests.recovery.checks.staged import examined, noted, of_state, of_topology, wrong
from tests.recovery.world import World, world_fixture

empty = world_fixture(damage.TOPICS)


@pytest.fixture
def world(empty: World) -> World:
    damage.stage(empty.broker, empty.client())
    return empty


@pytest.fixture(params=["topology", "state directory", "nothing"])
def supplied(request: pytest.FixtureRequest, tmp_path: Path) -> Supplied:
    match request.param:
        case "topology":
            return of_topology(damage.TOPOLOGY)
        case "state directory":
            damage.write_state(tmp_path)
            return of_state(tmp_path)
        case _:
            return Supplied()


class TestTheDamage:
    def test_is_found_under_its_code_and_no_other(self, world: World, supplied: Supplied) -> None:
        diagnosis = examined(world, supplied).diagnosis
        (finding,) = diagnosis.findings
        assert (finding.code, finding.severity, finding.subject) == ("SRF006", Severity.BROKEN, damage.PHANTOM_SUBJECT)
        assert [(fault.schema_id, fault.live_keys) for fault in finding.schema_ids] == [(1, 3)]
        assert finding.repairable

    def test_says_what_told_that_the_store_is_global(self, world: World) -> None:
        (told,) = examined(world, of_topology(damage.TOPOLOGY)).diagnosis.findings
        (concluded,) = examined(world).diagnosis.findings
        assert "A state directory or a topology says that users-global is a global store." in told.explanation
        assert "the group has committed offsets, but none for topic users. To be sure," in concluded.explanation

    def test_the_advice_is_that_of_the_incident_for_a_global_store(self, world: World) -> None:
        (application,) = examined(world, of_topology(damage.TOPOLOGY)).diagnosis.applications
        assert "wipe a state directory" in application.do_not
        assert any("its own full copy of the global store users-global" in line for line in application.advice)
        assert not any("stop the reuse" in line for line in application.advice)

    def test_is_planned_applied_verified_and_rolled_back(self, world: World, tmp_path: Path) -> None:
        before = world.registry.dump()
        plan = world.plan()
        assert [(f.code, f.subject) for f in plan.findings] == [("SRF006", damage.PHANTOM_SUBJECT)]
        world.apply(plan, tmp_path / "journal")
        assert all(isinstance(event, Confirmed) for event in world.verify(plan))
        repaired = examined(world).diagnosis
        assert (wrong(repaired), noted(repaired)) == ([], ["SRF003"])
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before

    def test_is_planned_without_a_census_under_its_code_too(self, world: World) -> None:
        plan = world.plan(width=Width.ALL_VERSIONS, engine=NoCensus())
        assert [(finding.code, finding.planned_ids) for finding in plan.findings] == [("SRF006", (1,))]

    @pytest.mark.parametrize("asked", ["SRF006", "SRF001"])
    def test_as_a_note_it_is_planned_on_request(self, world: World, asked: str) -> None:
        assert not world.plan(reader=Reader.PLAIN).actions
        (passed,) = world.plan(reader=Reader.PLAIN).passed_over
        assert "(SRF006)" in passed
        assert "--also SRF006" in passed
        assert world.plan(reader=Reader.PLAIN, also=(asked,)).actions

    def test_beside_the_incident_in_a_table_both_stores_are_advised_on_once(self, world: World) -> None:
        shop.register_internal(world.client(), shop.phantom_subject("logins-store"))
        survey = world.survey(**{"shop/logins-store": "logins"})
        found = world.examine(survey=survey).diagnosis
        (application,) = found.applications
        assert sum(line.startswith("Repair: ") for line in application.advice) == 1


class TestItsHealthyTwin:
    def test_a_table_of_the_same_topic_is_srf001_and_a_topology_goes_before_the_offsets(self, world: World) -> None:
        assert wrong(examined(world, of_topology(shop.table_topology(damage.STORE))).diagnosis) == ["SRF001"]
        shop.commit_users(world.broker)
        assert wrong(examined(world).diagnosis) == ["SRF001"]

    @pytest.mark.parametrize("version", ["2.7", "4.3"])
    def test_on_2_7_and_later_a_global_table_gives_nothing(self, empty: World, version: str) -> None:
        """It asks the source's own subject: no phantom one is ever made."""
        shop.stage_records(empty.broker, empty.client())
        shop.commit_logins(empty.broker)
        diagnosis = examined(empty, of_topology(damage.TOPOLOGY), streams_version=version).diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.examined == ("shop/users-global",)

    def test_on_2_7_with_a_phantom_subject_of_before_it_is_the_note_of_the_incident(self, world: World) -> None:
        diagnosis = examined(world, of_topology(damage.TOPOLOGY), streams_version="2.7", reader=Reader.PLAIN).diagnosis
        assert "SRF001" in noted(diagnosis)
        assert "SRF006" not in {finding.code for finding in diagnosis.findings}

    def test_while_the_source_is_undecided_a_conclusion_from_offsets_is_none(self, empty: World) -> None:
        """Another topic with the same schema: which it is, nothing tells, and so not whether the group reads it."""
        damage.stage(empty.broker, empty.client())
        shop.register_internal(empty.client(), shop.phantom_subject("kept"))
        empty.broker.create_topic("people", 1)
        empty.registry.seed("people-value", shop.WRITER_SCHEMA)
        empty.put("people", ("a", b"\x00\x00\x00\x00\x01\x02"))
        (undecided,) = examined(empty, application="shop", store="kept").diagnosis.findings
        assert (undecided.code, undecided.source) == ("SRF001", None)
