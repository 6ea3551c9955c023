"""SRF019: rows of a global store against the topic, whatever its processor is called."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from parts.damage import global_store_restored_untransformed as damage
from parts.state_directory import write_application, write_task
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.serde.wire import frame_id
from tests.recovery.checks.staged import of_topology
from tests.recovery.world import World, world_fixture

world = world_fixture(damage.TOPICS)


@pytest.fixture
def staged(world: World, tmp_path: Path) -> damage.Staged:
    return stage(world, tmp_path)


def stage(world: World, tmp_path: Path, *, restored: tuple[bytes, ...] = ()) -> damage.Staged:
    made = damage.stage(world.broker, tmp_path / "state", tmp_path / "topology.txt", restored=restored)
    hand_over(world, made)
    return made


EUR_1 = b'{"euros": 1}'
"""What the topic's first record holds, and no longer the latest of its key."""
AS_A_TABLE = (("KTABLE-SOURCE-0000000001", "KSTREAM-SOURCE-0000000000"), ("rates", "rates-source"))
"""Processor and source as `globalTable` names them, and `StreamsBuilder.addGlobalStore` too."""


def renamed(processor: str, source: str) -> str:
    return damage.TOPOLOGY.replace("RatesUpdater", processor).replace("rates-source-node", source)


def hand_over(world: World, staged: damage.Staged, *, state: bool = True, topology: str | None = None) -> None:
    text = staged.topology.read_text() if topology is None else topology
    told = of_topology(text, damage.APPLICATION)
    world.supplied = replace(told, state=read_state_directory(staged.state_dir) if state else ())


def rewrite(world: World, staged: damage.Staged, rows: dict[bytes, bytes], *, end: int = 3) -> None:
    shutil.rmtree(staged.database)
    checkpoint: dict[tuple[str, int], int] = {(damage.SOURCE_TOPIC, 0): end, (damage.SOURCE_TOPIC, 1): 1}
    write_task(staged.state_dir / damage.APPLICATION, "global", damage.STORE, rows, checkpoint=checkpoint)
    hand_over(world, staged)


def codes(world: World, version: str | None = damage.STREAMS_VERSION) -> list[str]:
    return [finding.code for finding in world.examine(streams_version=version).diagnosis.findings]


def of_processor(world: World, version: str | None = damage.STREAMS_VERSION) -> list[Skipped]:
    skipped = world.examine(streams_version=version).diagnosis.skipped
    return [each for each in skipped if each.what.startswith("rows of global store")]


class TestTheFinding:
    def test_is_the_only_one(self, world: World, staged: damage.Staged) -> None:
        del staged
        (finding,) = world.examine(streams_version=damage.STREAMS_VERSION).diagnosis.findings
        assert (finding.code, finding.severity, finding.repairable) == ("SRF019", Severity.SILENT, False)
        assert (finding.application, finding.store) == (damage.APPLICATION, damage.STORE)
        assert "is filled by processor RatesUpdater (topology.txt). The processor does not store" in finding.explanation
        assert "3 rows on disk differ from the topic's latest record of the same key" in finding.explanation
        assert "srfix also compared" not in finding.explanation

    @pytest.mark.usefixtures("staged")
    @pytest.mark.parametrize("version", [None, "2.6.3", "3.7.2", "3.8", "4.1.2"])
    def test_is_given_where_a_restore_may_go_past_the_processor(self, world: World, version: str | None) -> None:
        is_given = version not in ("3.8", "4.1.2")  # there a restore runs it
        assert codes(world, version) == (["SRF019"] if is_given else [])
        assert is_given or of_processor(world, version) == []

    def test_rows_on_disk_without_a_framing_say_that_the_serde_asks_no_registry(
        self, world: World, staged: damage.Staged
    ) -> None:
        assert not world.examine(streams_version="3.8").diagnosis.is_inconclusive
        hand_over(world, staged, state=False)
        assert world.examine(streams_version="3.8").diagnosis.is_inconclusive

    def test_says_where_a_restore_may_have_happened(self, world: World, tmp_path: Path) -> None:
        stage(world, tmp_path, restored=(b"USD",))
        words = world.findings(streams_version=damage.STREAMS_VERSION)["SRF019"].explanation
        assert "srfix also compared 1 row that is the same in the store and in the topic" in words

    def test_nothing_is_found_where_all_rows_are_the_topics(self, world: World, tmp_path: Path) -> None:
        stage(world, tmp_path, restored=(b"EUR", b"USD", b"GBP"))
        assert codes(world) == []
        assert of_processor(world) == []

    def test_a_row_that_says_the_same_in_other_words_does_not_differ(self, world: World, staged: damage.Staged) -> None:
        rewrite(world, staged, {b"EUR": b'{ "EUROS" : 4 }', b"USD": b'{"euros":2, "note":null}'})
        assert codes(world) == []

    def test_a_row_whose_record_the_store_has_not_reached_is_not_compared(
        self, world: World, staged: damage.Staged
    ) -> None:
        rewrite(world, staged, {b"EUR": b'{"euros": 1}'}, end=2)
        assert codes(world) == []
        (skipped,) = of_processor(world)
        assert "the topic no longer has the record of any row that srfix read" in skipped.reason

    def test_a_row_that_a_restore_would_remove_differs(self, world: World, staged: damage.Staged) -> None:
        world.put("rates", ("USD", None))
        rewrite(world, staged, {b"USD": b'{"euros": 2}'}, end=4)
        assert codes(world) == ["SRF019"]

    def test_with_the_topology_alone_it_is_said_not_to_have_been_looked_at(
        self, world: World, staged: damage.Staged
    ) -> None:
        hand_over(world, staged, state=False)
        assert codes(world) == []
        (skipped,) = of_processor(world)
        assert skipped.could_hide
        assert skipped.reason.startswith("processor RatesUpdater in topology.txt is one of your own")

    @pytest.mark.parametrize(("processor", "source"), AS_A_TABLE)
    def test_a_processor_with_a_table_s_name_is_told_by_its_rows_alone(
        self, world: World, staged: damage.Staged, processor: str, source: str
    ) -> None:
        hand_over(world, staged, topology=renamed(processor, source))
        (finding,) = world.examine(streams_version=damage.STREAMS_VERSION).diagnosis.findings
        assert finding.code == "SRF019"
        assert "is filled by a processor. The processor does not store" in finding.explanation
        assert codes(world, "3.8") == []
        hand_over(world, staged, state=False, topology=renamed(processor, source))
        assert (codes(world), of_processor(world)) == ([], [])

    @pytest.mark.parametrize(("processor", "source"), AS_A_TABLE)
    def test_fields_that_only_come_in_addition_are_undecided_in_json(
        self, world: World, staged: damage.Staged, processor: str, source: str
    ) -> None:
        """A table's class may fill them in, and a processor may have added them."""
        rewrite(world, staged, {b"EUR": b'{"euros":4,"note":"none"}', b"USD": b'{"EUROS":2}'})
        hand_over(world, staged, topology=renamed(processor, source))
        assert codes(world) == []
        (skipped,) = of_processor(world)
        assert skipped.could_hide
        assert skipped.reason.startswith("a global table or a processor of your own (addGlobalStore) fills the store")
        assert "srfix could not decode 1 of 2 rows, or the records of their keys" in skipped.reason
        assert of_processor(world, "3.8") == []


class TestFieldsThatOnlyComeInAddition:
    """In Avro: a table's serde fills in the defaults of its schema, and nothing else."""

    WRITER = '{"type":"record","name":"Rate","fields":[{"name":"euros","type":"long"}]}'
    READER = (
        '{"type":"record","name":"Rate","fields":[{"name":"euros","type":"long"},{"name":"zone","type":"string"%s}]}'
    )

    def stage(self, world: World, folder: Path, default: str, zone: str) -> None:
        """`EUR` in the topic without a zone, and in the store with one; nothing shows the processor."""
        world.registry.seed("rates-value", self.WRITER)
        reader = world.registry.seed("shop-rates-store-changelog-value", self.READER % default)
        world.registry.seed("shop-rates-store-changelog-value", self.WRITER)  # a repair: SRF006 is no part of this
        world.put("rates", ("EUR", frame_id(1, b"\x08")))
        world.put("orders", ("o1", b"{}"))
        world.commit("shop", orders=1)
        row = frame_id(reader, b"\x08" + bytes([2 * len(zone)]) + zone.encode())
        application = write_application(folder, "shop")
        write_task(application, "global", damage.STORE, {b"EUR": row}, checkpoint={("rates", 0): 1, ("rates", 1): 0})
        world.hand_over(folder)

    @pytest.mark.parametrize(
        ("default", "zone", "is_processors"),
        [("", "EU", True), (',"default":"EU"', "NL", True), (',"default":"EU"', "EU", False)],
        ids=["one without a default", "another value than its default", "its default"],
    )
    def test_show_a_processor_unless_a_serde_fills_them_in(
        self, world: World, tmp_path: Path, default: str, zone: str, is_processors: bool
    ) -> None:
        self.stage(world, tmp_path, default, zone)
        assert ("SRF019" in codes(world, "2.6.3")) is is_processors
        assert is_processors or of_processor(world, "2.6.3") == []


class TestADamagedStore:
    def test_a_damaged_store_is_said(self, world: World, staged: damage.Staged) -> None:
        for manifest in staged.database.glob("MANIFEST-*"):
            manifest.unlink()
        hand_over(world, staged)
        assert codes(world) == []
        (skipped,) = of_processor(world)
        assert skipped.could_hide
        assert "cannot be read as a RocksDB" in skipped.reason


class TestWithoutACheckpoint:
    """Kafka Streams 3.0 to 3.7 leaves none of a small global store (seen): how far it has come is not known."""

    @pytest.fixture(autouse=True)
    def gone(self, staged: damage.Staged, world: World) -> None:
        (staged.state_dir / damage.APPLICATION / "global" / ".checkpoint").unlink()
        world.hand_over(staged.state_dir)

    def test_a_row_that_none_of_its_keys_records_holds_is_a_processors(self, world: World) -> None:
        world.sources = {damage.STORE: damage.SOURCE_TOPIC}
        (finding,) = world.examine(streams_version="3.7").diagnosis.findings
        assert finding.code == "SRF019"
        assert "3 rows on disk differ" in finding.explanation

    def test_one_of_an_older_record_may_be_what_the_store_has_come_to(
        self, world: World, staged: damage.Staged
    ) -> None:
        shutil.rmtree(staged.database)
        write_task(staged.state_dir / damage.APPLICATION, "global", damage.STORE, {b"EUR": EUR_1}, checkpoint=None)
        world.hand_over(staged.state_dir)
        world.sources = {damage.STORE: damage.SOURCE_TOPIC}
        assert codes(world, "3.7") == []
        assert of_processor(world, "3.7") == []

    def test_where_records_are_gone_it_is_not_known(
        self, world: World, staged: damage.Staged, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def compacted(topic: str, partition: int, *place: int, **how: object) -> Iterator[RawRecord]:
            yield from (r for r in whole(topic, partition, *place, **how) if r.offset > 0)  # type: ignore[arg-type]

        whole = world.cluster.read
        monkeypatch.setattr(world.cluster, "read", compacted)
        hand_over(world, staged)
        assert codes(world, "3.7") == []
        (skipped,) = of_processor(world, "3.7")
        assert "the topic no longer has all of the records that it had" in skipped.reason
