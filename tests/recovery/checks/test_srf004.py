"""SRF004: kept rows whose ids only the phantom subject knows, on a Kafka Streams that asks the source's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.damage import kept_rows_after_upgrade as damage
from parts.state_directory import write_application, write_task
from srfix.recovery import Keep, Plan, Reader, Severity, Supplied
from srfix.recovery.actions.actions import Register
from srfix.recovery.repair.verify.events import Confirmed, Problem
from srfix.serde import Schema, Subject
from tests.recovery.facts.test_rows_on_disk import held
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STORE, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """W1 (id 1) under the source and, by a repair, under the phantom; R (id 2) under the phantom alone."""
    with world_of({"users": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(PHANTOM, R)
        made.registry.seed(PHANTOM, W1)
        made.live(("a", value(1)))
        yield made


def problems_of(world: World, plan: Plan) -> list[str]:
    events = [event for event in world.verify(plan) if not isinstance(event, Confirmed)]
    assert all(isinstance(event, Problem) for event in events)
    return [event.what for event in events]


class TestTheFinding:
    def test_names_what_the_phantom_subject_alone_holds(self, world: World) -> None:
        finding = world.findings(streams_version="2.7")["SRF004"]
        assert (finding.subject, finding.repairable) == (SOURCE_SUBJECT, True)
        assert finding.severity is Severity.BREAKS_ON_UPGRADE
        assert [fault.schema_id for fault in finding.schema_ids] == [2]
        assert finding.registered_ids == (1,)
        assert "state directory was kept over the upgrade" in finding.explanation

    @pytest.mark.parametrize("version", [None, "2.6.3", "2.0"])
    def test_is_not_there_before_2_7(self, world: World, version: str | None) -> None:
        assert "SRF004" not in world.findings(streams_version=version)

    def test_a_soft_deleted_internal_schema_is_in_kept_rows_too(self, world: World) -> None:
        world.client().delete_version(PHANTOM, 1)
        assert [f.schema_id for f in world.findings(streams_version="3.9")["SRF004"].schema_ids] == [2]

    def test_a_record_that_another_has_replaced_tells_of_a_producers_id(self, world: World) -> None:
        """Seen wrong: after a repair of all versions such an id was taken for the application's own."""
        world.registry.seed(PHANTOM, W2)
        world.live(("a", value(3)), ("a", value(1)))
        assert [f.schema_id for f in world.findings(streams_version="3.9")["SRF004"].schema_ids] == [2]

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_is_a_note_for_a_reader_that_does_not_need_it(self, world: World, reader: Reader) -> None:
        assert world.findings(streams_version="2.7", reader=reader)["SRF004"].severity is Severity.NOTE


def test_is_a_note_of_ksqldb_whose_serde_asks_the_phantom_subject_first_on_every_version() -> None:
    query = "_confluent-ksql-default_query_CTAS_T_0"
    with world_of({"users": 1}) as world:
        world.registry.seed(SOURCE_SUBJECT, W1)
        world.registry.seed(f"{query}-KsqlTopic-Reduce-changelog-value", R)
        world.put("users", ("a", value(1)))
        world.commit(query, users=1)
        assert world.findings(streams_version="2.8")["SRF004"].severity is Severity.NOTE
        kept = world.findings(streams_version="2.8", reader=Reader.PLAIN)["SRF004"]
        assert "plain reader" in kept.explanation


def test_a_serde_that_names_its_subjects_by_the_record_asks_none_of_the_topics(tmp_path: Path) -> None:
    """Seen wrong: rows of a healthy global store of 4.3.1, put by a processor with RecordNameStrategy."""
    with world_of({"users": 1}) as world:
        world.registry.seed(SOURCE_SUBJECT, W1)
        own = world.registry.seed("Rich", W1.replace("User", "Rich"))
        world.live(("a", value(1)))
        rows = {b"a": value(own)}
        write_task(write_application(tmp_path, "shop"), "0_0", STORE, rows, checkpoint={("users", 0): 0})
        world.hand_over(tmp_path)
        assert "SRF004" not in world.findings(streams_version="3.7")


class TestWhereAStartRestoresAllOfIt:
    """Kafka Streams 2.7 and later keeps a checkpoint, but for exactly-once: without one no row is kept."""

    @pytest.mark.parametrize("checkpoint", [None, {("users", 0): 0}])
    def test_no_row_is_kept(self, world: World, tmp_path: Path, checkpoint: dict[tuple[str, int], int] | None) -> None:
        rows = {b"a": value(1), b"b": value(2)}
        write_task(write_application(tmp_path, "shop"), "0_0", STORE, rows, checkpoint=checkpoint)
        world.hand_over(tmp_path)
        assert ("SRF004" in world.findings(streams_version="3.7")) is (checkpoint is not None)

    def test_a_directory_that_a_process_holds_shows_nothing(self, world: World, tmp_path: Path) -> None:
        """Seen wrong: 2.6 deletes the checkpoint when it has loaded it, and writes one when it closes."""
        folder = write_application(tmp_path, "shop")
        write_task(folder, "0_0", STORE, {b"b": value(2)}, checkpoint=None)
        world.hand_over(tmp_path)
        with held(folder / "0_0/.lock"):
            assert "SRF004" in world.findings(streams_version="3.7")

    def test_nor_does_one_that_does_not_hold_all_partitions(self, world: World, tmp_path: Path) -> None:
        """Seen wrong: the other partitions may keep their rows on another machine."""
        write_task(write_application(tmp_path, "shop"), "0_1", STORE, {b"b": value(1)}, checkpoint=None)
        world.hand_over(tmp_path)
        assert "SRF004" in world.findings(streams_version="3.7")

    def test_a_copy_without_files_that_begin_with_a_dot_shows_nothing(self, world: World, tmp_path: Path) -> None:
        folder = write_application(tmp_path, "shop")
        write_task(folder, "0_0", STORE, {b"b": value(2)}, checkpoint=None)
        (folder / ".lock").unlink()
        world.hand_over(tmp_path)
        assert "SRF004" in world.findings(streams_version="3.7")


class TestTheRepair:
    def plan(self, world: World, *, keep: Keep = Keep.AUTO) -> Plan:
        return world.plan(keep=keep, streams_version="2.7", also=("SRF004",))

    def test_registers_it_under_the_source_soft_deleted_and_is_undone(self, world: World, tmp_path: Path) -> None:
        before = world.registry.dump()
        plan = self.plan(world)
        assert [(a.kind, a.subject) for a in plan.actions] == [
            ("set-compatibility", SOURCE_SUBJECT),
            ("register", SOURCE_SUBJECT),
            ("soft-delete", SOURCE_SUBJECT),
            ("restore-compatibility", SOURCE_SUBJECT),
        ]
        assert [a.holders for a in plan.actions if isinstance(a, Register)] == [(PHANTOM,)]
        world.apply(plan, tmp_path / "journal")
        (refused,) = problems_of(world, plan)
        assert "the next put of store users-store registers the application's own schema (id 2)" in refused
        assert "SRF016" in refused
        assert "SRF004" not in world.findings(streams_version="2.7")
        assert world.client().register(SOURCE_SUBJECT, Schema(text=W2)) > 0  # the producers' next schema
        world.purge(SOURCE_SUBJECT, 3)
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before

    def test_a_put_finds_what_stays_live(self, world: World, tmp_path: Path) -> None:
        plan = self.plan(world, keep=Keep.LIVE)
        world.apply(plan, tmp_path / "journal")
        assert problems_of(world, plan) == []

    def test_verify_asks_for_the_kept_ids(self, world: World) -> None:
        plan = self.plan(world)
        problems = problems_of(world, plan)
        assert len(problems) == 3
        assert "the plan was not applied" in problems[0]
        assert "schema id 2 is not registered here (40403)" in problems[1]

    def test_the_price_says_whose_subject_it_is(self, world: World) -> None:
        assert any("belongs to topic users itself" in p for p in self.plan(world).price)

    def test_two_stores_over_one_topic_are_repaired_once(self, world: World, tmp_path: Path) -> None:
        world.registry.seed("tills-users-store-changelog-value", R)
        world.registry.seed("tills-users-store-changelog-value", W1)
        world.commit("tills", users=1)
        before = world.registry.dump()
        plan = self.plan(world)
        assert [(f.application, f.store) for f in plan.findings] == [("shop", STORE), ("tills", STORE)]
        assert [a.kind for a in plan.actions].count("register") == 1
        world.apply(plan, tmp_path / "journal")
        assert all("SRF016" in said for said in problems_of(world, plan))
        world.roll_back(tmp_path / "journal")
        assert world.registry.dump() == before


class TestWithRowsOnDisk:
    @pytest.fixture
    def world(self) -> Iterator[World]:
        with world_of(damage.TOPICS) as made:
            yield made

    @pytest.fixture
    def staged(self, world: World, tmp_path: Path) -> damage.Staged:
        made = damage.stage(world.broker, world.client(), tmp_path / "state")
        world.hand_over(made.state_dir)
        return made

    def test_the_damage_is_the_only_finding(self, world: World, staged: damage.Staged) -> None:
        found, masked = world.examine(streams_version=damage.STREAMS_VERSION).diagnosis.findings
        assert (found.code, found.severity) == ("SRF004", Severity.BREAKS_ON_UPGRADE)
        assert (masked.code, masked.severity) == ("SRF003", Severity.NOTE)
        assert [fault.schema_id for fault in found.schema_ids] == [staged.internal_id]
        assert "Rows on disk carry schema id 2 (3 rows" in found.explanation
        assert "If the state directory was kept" not in found.explanation

    def test_it_is_the_only_one_without_the_state_directory_too(self, world: World, staged: damage.Staged) -> None:
        world.supplied = Supplied()
        found = world.findings(streams_version=damage.STREAMS_VERSION)
        assert set(found) == {"SRF004", "SRF003"}
        assert "cannot see from cluster and registry whether the state was kept" in found["SRF004"].explanation

    def test_rows_that_were_all_restored_since_need_nothing(self, world: World, staged: damage.Staged) -> None:
        rewrite(world, staged, {b"u1": value(staged.writer_id)}, last=2)
        assert "SRF004" not in world.findings(streams_version=damage.STREAMS_VERSION)

    def test_rows_that_prove_nothing_leave_it_as_it_was(self, world: World, staged: damage.Staged) -> None:
        rewrite(world, staged, {b"u1": value(staged.writer_id)}, last=1)
        finding = world.findings(streams_version=damage.STREAMS_VERSION)["SRF004"]
        assert [fault.schema_id for fault in finding.schema_ids] == [staged.internal_id]
        assert "(1 row, of partition 0), and none of them carries such an id" in finding.explanation
        assert "This does not prove that no row does" in finding.explanation

    def test_ids_of_rows_count_without_any_phantom_subject(self, world: World, staged: damage.Staged) -> None:
        other = world.client().register(Subject("elsewhere-value"), Schema(text=W2))
        world.purge(staged.phantom_subject)
        rewrite(world, staged, {b"u1": value(other, ONE_LONG_AND_NULL)}, last=2)
        finding = world.findings(streams_version=damage.STREAMS_VERSION)["SRF004"]
        assert [fault.schema_id for fault in finding.schema_ids] == [other]
        assert f"schema id {other}. This id is missing under users-value" in finding.explanation

    def test_a_dual_reader_fails_where_neither_subject_has_it(self, world: World, staged: damage.Staged) -> None:
        found = world.findings(streams_version="2.7", reader=Reader.DUAL)["SRF004"]
        assert found.severity is Severity.NOTE
        other = world.client().register(Subject("elsewhere-value"), Schema(text=W2))
        rewrite(world, staged, {b"u1": value(other, ONE_LONG_AND_NULL)}, last=2)
        found = world.findings(streams_version="2.7", reader=Reader.DUAL)["SRF004"]
        assert found.severity is Severity.BREAKS_ON_UPGRADE


def rewrite(world: World, staged: damage.Staged, rows: dict[bytes, bytes], *, last: int) -> None:
    shutil.rmtree(staged.database)
    folder = staged.state_dir / damage.APPLICATION
    write_task(folder, "0_0", damage.STORE, rows, checkpoint={(damage.SOURCE_TOPIC, 0): last})
    world.hand_over(staged.state_dir)
