"""SRF002: the incident, and the rows on disk prove that it has not come about; SRF001 where they do not prove it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from parts.damage import restored_rows_not_yet_on_disk as damage
from parts.state_directory import write_task
from srfix.recovery import Keep, Reader, Severity, Supplied
from srfix.recovery.checks import srf002
from srfix.recovery.findings import Skipped
from srfix.recovery.repair.verify.events import Confirmed
from srfix.serde.wire import frame_id
from tests.recovery.world import World, world_fixture

world = world_fixture(damage.TOPICS)


@pytest.fixture
def staged(world: World, tmp_path: Path) -> damage.Staged:
    made = damage.stage(world.broker, world.client(), tmp_path / "state")
    world.hand_over(made.state_dir)
    return made


def rewrite(staged: damage.Staged, partition: int, rows: dict[bytes, bytes], *, last: int) -> None:
    """The store of one partition, with other rows and another checkpoint."""
    shutil.rmtree(staged.databases[partition])
    write_task(
        staged.state_dir / staged.incident.application,
        f"0_{partition}",
        staged.incident.store,
        rows,
        checkpoint={(staged.incident.source_topic, partition): last},
    )


def of_rows(world: World) -> list[Skipped]:
    return [each for each in world.examine().diagnosis.skipped if each.what.startswith("rows of store")]


@pytest.mark.usefixtures("staged")
class TestTheFinding:
    def test_is_the_only_one_and_breaks_on_the_next_restore(self, world: World, staged: damage.Staged) -> None:
        (finding,) = world.examine().diagnosis.findings
        assert (finding.code, finding.severity, finding.repairable) == ("SRF002", Severity.BREAKS_ON_RESTORE, True)
        assert (finding.subject, finding.store) == (staged.incident.phantom_subject, staged.incident.store)
        assert tuple(fault.schema_id for fault in finding.schema_ids) == staged.incident.writer_ids
        assert [note.code for note in finding.notes] == ["SRF012"]
        assert "(7 rows, of partitions 0, 1 and 2)" in finding.explanation
        assert "they carry schema id 3" in finding.explanation
        assert of_rows(world) == []

    def test_a_subject_that_never_was_is_nothing_where_only_the_source_s_is_asked(
        self, world: World, staged: damage.Staged
    ) -> None:
        world.purge(staged.incident.phantom_subject)
        assert "SRF002" not in world.findings(streams_version="2.7")

    def test_without_the_state_directory_it_is_the_incident(self, world: World) -> None:
        world.supplied = Supplied()
        (finding,) = world.examine().diagnosis.findings
        assert (finding.code, finding.severity) == ("SRF001", Severity.BROKEN)
        assert "whether a restore has already happened" in finding.explanation

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_is_a_note_for_a_reader_that_does_not_need_the_version(self, world: World, reader: Reader) -> None:
        diagnosis = world.examine(reader=reader).diagnosis
        assert [(f.code, f.severity) for f in diagnosis.findings] == [("SRF002", Severity.NOTE)]
        assert "Nothing fails, because" in diagnosis.findings[0].explanation

    def test_the_advice_is_to_repair_in_time_and_to_keep_the_state(self, world: World) -> None:
        (told,) = world.examine().diagnosis.applications
        assert "KafkaTopic_Right-Reduce. Repair this before the next restore" in told.advice[0]
        assert "wipe a state directory" in told.do_not


class TestSrf001Stays:
    def test_and_says_so_where_a_row_shows_that_a_restore_has_happened(
        self, world: World, staged: damage.Staged
    ) -> None:
        rewrite(staged, 1, {b"u4": frame_id(1, b"\x08"), b"u5": frame_id(3, b"\x0a")}, last=3)
        world.hand_over(staged.state_dir)
        finding = world.findings()["SRF001"]
        assert "rows on disk carry schema id 1 (1 row, in the store of partition 1)" in finding.explanation
        assert "whether a restore has already happened" not in finding.explanation
        assert "SRF002" not in world.findings()

    def test_where_a_partition_is_missing(self, world: World, staged: damage.Staged) -> None:
        shutil.rmtree(staged.state_dir / staged.incident.application / "0_2")
        world.hand_over(staged.state_dir)
        finding = world.findings()["SRF001"]
        assert "(5 rows, of partitions 0 and 1), and none of them carries such an id" in finding.explanation
        assert "partition 2 of topic users: none of the given state directories" in finding.explanation
        (skipped,) = of_rows(world)
        assert not skipped.could_hide

    def test_where_the_checkpoint_lags_behind_what_is_committed(self, world: World, staged: damage.Staged) -> None:
        rewrite(staged, 0, {b"u1": frame_id(3, b"\x08")}, last=2)
        world.hand_over(staged.state_dir)
        said = world.findings()["SRF001"].explanation
        assert "go up to offset 3 (exclusive), and the group has committed up to 5" in said

    def test_where_no_checkpoint_has_the_topic_s_offset(self, world: World, staged: damage.Staged) -> None:
        (staged.state_dir / staged.incident.application / "0_1" / ".checkpoint").write_text("0\n1\norders 1 2\n")
        world.hand_over(staged.state_dir)
        assert "rows go (no checkpoint, or one without its offset)" in world.findings()["SRF001"].explanation

    def test_where_a_store_is_damaged_and_that_could_hide_more(self, world: World, staged: damage.Staged) -> None:
        (table,) = staged.databases[2].glob("*.sst")
        table.write_bytes(table.read_bytes()[:200])
        world.hand_over(staged.state_dir)
        assert "This does not prove" in world.findings()["SRF001"].explanation
        (skipped,) = of_rows(world)
        assert skipped.could_hide
        assert "task 0_2" in skipped.reason
        assert "Sst file size mismatch" in skipped.reason

    def test_where_no_row_carries_an_id_for_then_they_are_of_another_form(
        self, world: World, staged: damage.Staged
    ) -> None:
        for partition, last in ((0, 4), (1, 3), (2, 3)):
            rewrite(staged, partition, {b"u": b"encrypted"}, last=last)
        world.hand_over(staged.state_dir)
        assert "SRF001" in world.findings()

    def test_where_rows_name_their_schema_by_guid(self, world: World, staged: damage.Staged) -> None:
        rewrite(staged, 0, {b"u1": frame_id(3, b"\x08"), b"u2": b"\x01" + bytes(16)}, last=4)
        world.hand_over(staged.state_dir)
        assert "SRF001" in world.findings()
        assert any("carry a GUID in place of a schema id" in skipped.reason for skipped in of_rows(world))

    def test_without_the_library_which_is_said(
        self, world: World, staged: damage.Staged, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "rocksdict", None)
        world.hand_over(staged.state_dir)
        assert "SRF001" in world.findings()
        (skipped,) = of_rows(world)
        assert skipped.could_hide
        assert "pip install 'srfix[state]'" in skipped.reason

    def test_while_the_source_is_undecided(self, world: World, staged: damage.Staged) -> None:
        for partition in range(3):
            (staged.state_dir / staged.incident.application / f"0_{partition}" / ".checkpoint").unlink()
        world.hand_over(staged.state_dir)
        assert {finding.code for finding in world.examine().diagnosis.findings} == {"SRF001"}


class TestTheRepair:
    @pytest.mark.parametrize("keep", [Keep.LIVE, Keep.SOFT_DELETED])
    def test_is_that_of_the_incident(self, world: World, staged: damage.Staged, tmp_path: Path, keep: Keep) -> None:
        before = world.registry.dump()
        plan = world.plan(keep=keep)
        assert [(finding.code, finding.schema_ids) for finding in plan.findings] == [
            ("SRF002", staged.incident.writer_ids)
        ]
        world.apply(plan, tmp_path / "journal")
        events = world.verify(plan)
        assert events
        assert all(isinstance(event, Confirmed) for event in events)
        assert {finding.code for finding in world.examine().diagnosis.findings} == {"SRF003"}
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before

    @pytest.mark.parametrize("also", ["SRF001", "SRF002"])
    @pytest.mark.usefixtures("staged")
    def test_of_a_note_is_on_request_under_either_code(self, world: World, also: str) -> None:
        assert not world.plan(reader=Reader.PLAIN).actions
        plan = world.plan(reader=Reader.PLAIN, also=(also,))
        assert [finding.code for finding in plan.findings] == [srf002.CODE]
        assert plan.actions


class TestIdsThatRowsAloneCarry:
    """Somebody deleted the phantom subject for good, while another subject held its schema: the rows cannot be read now."""

    @pytest.fixture
    def without_own(self, world: World, staged: damage.Staged) -> int:
        phantom = staged.incident.phantom_subject
        own = world.client().version(phantom, 1)
        world.registry.seed("somewhere-value", own.schema.text)
        world.purge(phantom)
        return own.schema_id

    def test_they_are_at_fault_beside_those_that_a_restore_loads(
        self, world: World, staged: damage.Staged, without_own: int
    ) -> None:
        (finding,) = (f for f in world.examine().diagnosis.findings if f.severity is not Severity.NOTE)
        assert (finding.code, finding.severity) == ("SRF001", Severity.BROKEN)
        assert [int(fault.schema_id) for fault in finding.schema_ids] == sorted(
            [*map(int, staged.incident.writer_ids), without_own]
        )
        assert f"on disk carry schema id {without_own} (7 rows" in finding.explanation
        assert "no restore brings these rows back" in finding.explanation

    def test_alone_they_are_the_incident_too_and_the_repair_registers_them(
        self, world: World, staged: damage.Staged, without_own: int, tmp_path: Path
    ) -> None:
        subject = staged.incident.phantom_subject
        for schema_id in staged.incident.writer_ids:
            world.registry.seed(subject, world.client().schema_by_id(schema_id).schema.text)
        (finding,) = (f for f in world.examine().diagnosis.findings if f.severity is not Severity.NOTE)
        assert (finding.code, [int(fault.schema_id) for fault in finding.schema_ids]) == ("SRF001", [without_own])
        plan = world.plan()
        assert plan.findings[0].planned_ids == (without_own,)
        world.apply(plan, tmp_path / "j")
        assert not world.examine().diagnosis.has_findings
        assert world.client().lookup(subject, world.client().schema_by_id(without_own).schema, deleted=True)

    @pytest.mark.usefixtures("without_own")
    def test_a_kafka_streams_that_never_asks_that_subject_is_another_matter(self, world: World) -> None:
        found = world.examine(streams_version="2.7").diagnosis.findings
        assert "SRF001" not in {finding.code for finding in found}
