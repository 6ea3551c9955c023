"""SRF005: the reader writes keys under another schema id than the topic's keys carry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parts.state_directory import write_application, write_task
from srfix.recovery import Finding, Severity
from srfix.serde import Role
from srfix.serde.wire import frame_id
from tests.recovery.staging import PHANTOM, PHANTOM_KEY, W1
from tests.recovery.world import World, value, world_of

PRODUCER = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'
READER = '{"type":"record","name":"ROWKEY","fields":[{"name":"ID","type":["null","long"],"default":null}]}'


def key(schema_id: int, number: int = 1) -> bytes:
    return frame_id(schema_id, bytes([2 * number]))


def of(world: World, code: str) -> list[Finding]:
    return [finding for finding in world.examine().diagnosis.findings if finding.code == code]


def asymmetric(world: World) -> Finding:
    (finding,) = of(world, "SRF005")
    return finding


@pytest.fixture
def producer(world: World) -> int:
    """The producer's key schema, under which two rows are live; the values are all registered."""
    producer = world.registry.seed("users-key", PRODUCER)
    world.registry.seed(PHANTOM, W1)
    world.live((key(producer, 1), value(1)), (key(producer, 2), value(1)))
    return producer


@pytest.fixture
def reader(world: World, producer: int) -> int:
    """The reader's own key schema."""
    return world.registry.seed(PHANTOM_KEY, READER)


class TestTheFinding:
    def test_both_ids_their_schemas_and_the_places_are_named(self, world: World, producer: int, reader: int) -> None:
        finding = asymmetric(world)
        assert (finding.severity, finding.role, finding.repairable) == (Severity.SILENT, Role.KEY, False)
        assert finding.subject == PHANTOM_KEY
        assert finding.source is not None
        assert finding.source.subject == "users-key"
        assert finding.registered_ids == (reader,)
        (fault,) = finding.schema_ids
        assert (fault.schema_id, fault.live_keys) == (producer, 2)
        assert f"carry schema id {producer} (2 live keys: 2 in partition 0)" in finding.explanation
        assert f"{producer} is record Key (id long)" in finding.explanation
        assert (
            f"under schema id {reader}. This is its own schema under {PHANTOM_KEY}: record ROWKEY"
            in finding.explanation
        )
        assert "No registration helps" in finding.next

    def test_rows_on_disk_tell_how_many_are_missed(
        self, world: World, producer: int, reader: int, tmp_path: Path
    ) -> None:
        rows = {key(producer, 1): value(1), key(producer, 2): value(1), key(reader, 2): value(1)}
        write_task(write_application(tmp_path, "shop"), "0_0", "users-store", rows, checkpoint={("users", 0): 1})
        world.hand_over(tmp_path)
        explanation = asymmetric(world).explanation
        assert f"Rows on disk carry schema id {producer} (2 rows, in the store of partition 0)" in explanation
        assert "No look-up under the reader's id finds" in explanation
        assert f"Other rows carry schema id {reader} (1 row" in explanation

    def test_ids_behind_the_committed_offset_count_too(self, world: World, producer: int, reader: int) -> None:
        world.commit("shop", users=0)
        assert [(fault.schema_id, fault.live_keys) for fault in asymmetric(world).schema_ids] == [(producer, 0)]

    def test_the_plan_leaves_it_alone(self, world: World, reader: int) -> None:
        assert {(finding.code, finding.role) for finding in world.plan().findings} == {("SRF001", Role.KEY)}

    @pytest.mark.parametrize(
        ("schema", "said"),
        [
            ('"string"', "string"),
            ('{"type":"long","logicalType":"timestamp-millis"}', "long (timestamp-millis)"),
            ('{"type":"record","name":"Nothing","fields":[]}', "record Nothing without fields"),
            ('{"type":"array","items":"string"}', "array"),
        ],
    )
    def test_the_readers_schema_is_told_in_short(self, world: World, producer: int, schema: str, said: str) -> None:
        world.registry.seed(PHANTOM_KEY, schema)
        assert f"its own schema under {PHANTOM_KEY}: {said}." in asymmetric(world).explanation


class TestARepair:
    def test_it_does_not_cure_it_and_a_second_diagnosis_is_not_healthy(
        self, world: World, reader: int, tmp_path: Path
    ) -> None:
        before = asymmetric(world)
        world.apply(world.plan(), tmp_path / "journal")
        after = world.examine().diagnosis
        assert [finding.code for finding in after.findings if finding.severity is not Severity.NOTE] == ["SRF005"]
        assert asymmetric(world).schema_ids == before.schema_ids
        assert after.has_findings

    def test_srf001_and_srf003_say_that_it_stands_beside_them(
        self, world: World, producer: int, reader: int, tmp_path: Path
    ) -> None:
        beside = f"See also SRF005: the reader writes keys under schema id {reader}, not {producer}"
        (incident,) = of(world, "SRF001")
        assert incident.role is Role.KEY
        assert beside in incident.explanation
        world.apply(world.plan(), tmp_path / "journal")
        masked = of(world, "SRF003")
        assert {finding.role for finding in masked} == {Role.KEY, Role.VALUE}
        for finding in masked:
            assert beside in finding.explanation
            assert "look-ups by key do not find these rows" in finding.explanation
            assert "the store can be read" not in finding.explanation


class TestWhatIsNone:
    def test_without_a_phantom_key_subject_and_for_a_reader_that_writes_the_producers_schema(
        self, world: World, producer: int
    ) -> None:
        assert not of(world, "SRF005")
        assert world.registry.seed(PHANTOM_KEY, PRODUCER) == producer
        assert not of(world, "SRF005")
        assert all("the store can be read" in finding.explanation for finding in of(world, "SRF003"))

    def test_a_repair_that_registered_an_id_of_tombstones_alone(self, world: World, producer: int) -> None:
        """The generated worlds found it: the copy was taken for the reader's own schema."""
        elsewhere = world.registry.seed("keys-of-another-strategy", READER)
        world.put("users", (key(elsewhere, 9), None))
        world.commit("shop", users=3)
        for schema in (PRODUCER, READER):
            world.registry.seed(PHANTOM_KEY, schema)
        assert not of(world, "SRF005")

    def test_keys_that_are_no_schema_registry_keys(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM_KEY, READER)
        world.live(("a", value(1)))
        assert not of(world, "SRF005")

    def test_an_undecided_source(self, world: World, reader: int) -> None:
        (facts,) = world.examine().facts
        assert facts.key_asymmetry is not None
        assert replace(facts, source=None).key_asymmetry is None


def test_from_2_7_on_rows_on_disk_alone_tell_what_the_reader_writes(tmp_path: Path) -> None:
    """Seen on 3.7.2: the key serde registers under the source's own subject, which holds both ids."""
    with world_of({"users": 1}) as world:
        world.registry.seed("users-value", W1)
        producer, own = (world.registry.seed("users-key", text) for text in (PRODUCER, READER))
        world.live((key(producer, 1), value(1)), (key(producer, 2), value(1)))
        rows = {key(producer, 1): value(1), key(producer, 2): value(1), key(own, 2): value(1)}
        write_task(write_application(tmp_path, "shop"), "0_0", "users-store", rows, checkpoint={("users", 0): 1})
        world.hand_over(tmp_path)
        finding = asymmetric(world)
    assert [fault.schema_id for fault in finding.schema_ids] == [producer]
    assert (
        f"under schema id {own}. This is its own schema, as the ids in rows on disk show: record ROWKEY"
        in finding.explanation
    )
