"""The staged damage, all the way: what diagnose, plan, apply, verify and rollback make of the incident."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.recovery import Keep, Severity
from srfix.recovery.findings import Weight
from srfix.recovery.repair.verify.events import Confirmed
from srfix.serde import Role, Schema, parse_columns
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.schemas.errors import IncompatibleSchemaError
from srfix.serde.specs import WriteSpec
from tests.recovery.world import World, world_fixture
from tests.telling import slow_but

NEXT_SCHEMA = Schema(
    text=internal_schema(WriteSpec(columns=parse_columns("USERID BIGINT, FULLNAME STRING, NICKNAME STRING")))
)
"""What the application registers after the next change of its statement: a field more, a field less, all nullable."""


world = world_fixture(damage.TOPICS)


@pytest.fixture
def staged(world: World) -> damage.Staged:
    made = damage.stage(world.broker, world.client())
    world.registry.forget_requests()
    return made


def topics_of(broker: EmbeddedBroker) -> dict[str, int]:
    return dict(broker.topics)


class TestDiagnose:
    @pytest.mark.parametrize("application", [None, damage.APPLICATION])
    def test_there_is_exactly_one_incident_and_a_note_on_its_repair(
        self, world: World, staged: damage.Staged, application: str | None
    ) -> None:
        examination = world.examine(application=application)
        (finding,) = examination.diagnosis.findings
        (note,) = finding.notes
        assert (finding.code, finding.severity, finding.repairable) == ("SRF001", Severity.BROKEN, True)
        assert (note.code, note.severity, note.repairable) == ("SRF012", Severity.NOTE, True)
        assert "not BACKWARD compatible with the versions that the subject holds (409)" in note.explanation
        assert examination.diagnosis.examined == (f"{staged.application}/{staged.store}",)

    def test_the_finding_says_who_what_where_and_why(self, world: World, staged: damage.Staged) -> None:
        finding = world.findings()["SRF001"]
        assert (finding.application, finding.store, finding.role) == (staged.application, staged.store, Role.VALUE)
        assert (finding.subject, finding.registered_ids) == (staged.phantom_subject, (staged.internal_id,))
        assert finding.source is not None
        assert (finding.source.topic, finding.source.subject) == (staged.source_topic, staged.source_subject)
        assert {(e.kind, e.topic, e.weight) for e in finding.evidence} == {
            ("committed-offsets", "users", Weight.WEAK),
            ("committed-offsets", "logins", Weight.WEAK),
            ("record-ids", "logins", Weight.STRONG),
            ("schema-similarity", "users", Weight.STRONG),
            ("same-fields", "users", Weight.WEAK),
            ("streams-group", None, Weight.STRONG),
        }
        assert {(e.topic, e.kind) for e in finding.evidence if e.against} == {("logins", "record-ids")}
        assert "Error retrieving Avro value schema version for id" in finding.explanation

    def test_the_ids_at_fault_are_counted_per_partition(self, world: World, staged: damage.Staged) -> None:
        first, second = world.findings()["SRF001"].schema_ids
        assert (first.schema_id, first.live_keys, first.records) == (staged.writer_ids[0], 4, 8)
        assert [(p.live_keys, p.pending_keys) for p in first.partitions] == [(1, 0), (2, 0), (1, 0)]
        assert [(p.first_offset, p.last_offset) for p in first.partitions] == [(0, 3), (0, 2), (0, 1)]
        assert (second.schema_id, second.live_keys, second.records) == (staged.writer_ids[1], 3, 4)
        assert [(p.live_keys, p.pending_keys) for p in second.partitions] == [(1, 0), (1, 0), (1, 1)]


class TestTheWholeWay:
    def test_diagnose_plan_and_verify_write_nothing_and_make_no_topic(
        self, world: World, staged: damage.Staged, tmp_path: Path
    ) -> None:
        before, topics = world.registry.dump(), topics_of(world.broker)
        world.examine()
        plan = world.plan()
        world.verify(plan)
        assert world.registry.writes == 0
        assert world.registry.dump() == before
        assert topics_of(world.broker) == topics
        world.apply(plan, tmp_path / "journal")
        world.registry.forget_requests()
        world.verify(plan)
        world.examine()
        assert world.registry.writes == 0
        assert topics_of(world.broker) == topics

    @pytest.mark.parametrize("keep", slow_but(Keep, Keep.SOFT_DELETED))
    def test_a_repair_is_verified_masked_and_can_be_undone(
        self, world: World, staged: damage.Staged, tmp_path: Path, keep: Keep
    ) -> None:
        before = world.registry.dump()
        plan = world.plan(keep=keep)
        world.apply(plan, tmp_path / "journal")
        assert world.registry.dump() != before
        events = world.verify(plan)
        assert [event for event in events if not isinstance(event, Confirmed)] == []
        assert [event.what for event in events if " live rows " in event.what] == [
            f"3 live rows with schema id {schema_id}, one per partition, can be read under this subject alone"
            for schema_id in staged.writer_ids
        ]
        masked = world.examine().diagnosis
        assert [f.code for f in masked.findings] == ["SRF003"]
        assert not masked.has_findings
        assert not masked.is_inconclusive
        assert world.plan(keep=keep).actions == ()
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before
        assert set(world.findings()) == {"SRF001", "SRF012"}

    def test_the_next_internal_schema_is_accepted_where_the_versions_were_soft_deleted(
        self, world: World, staged: damage.Staged, tmp_path: Path
    ) -> None:
        world.apply(world.plan(keep=Keep.AUTO), tmp_path / "journal")
        assert world.client().register(staged.phantom_subject, NEXT_SCHEMA) > 0

    def test_the_next_internal_schema_is_refused_where_they_stay_live(
        self, world: World, staged: damage.Staged, tmp_path: Path
    ) -> None:
        plan = world.plan(keep=Keep.LIVE)
        world.apply(plan, tmp_path / "journal")
        with pytest.raises(IncompatibleSchemaError):
            world.client().register(staged.phantom_subject, NEXT_SCHEMA)
        assert any(
            line.startswith("Each new version stays live. The last of them becomes the latest") for line in plan.price
        )

    def test_the_plan_says_what_it_costs_and_what_to_do_around_it(self, world: World, staged: damage.Staged) -> None:
        plan = world.plan()
        middle = ["register", "soft-delete"] * 2
        assert [action.kind for action in plan.actions] == ["set-compatibility", *middle, "restore-compatibility"]
        assert [action.step for action in plan.actions] == [1, 2, 3, 4, 5, 6]
        assert any(
            line.startswith("Each new version is soft-deleted right after its registration") for line in plan.price
        )
        assert any("the subject accepts any schema: its compatibility is NONE." in line for line in plan.price)
        assert any("do not TERMINATE query CSAS_J_0, and do not DROP" in line for line in plan.playbook)
        assert [known.application for known in plan.applications] == [staged.application]
