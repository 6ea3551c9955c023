"""SRF007: a changelog subject of a store that logs nothing, told by evidence and never by its name."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from parts.damage import shop
from parts.damage import store_without_logging as damage
from parts.state_directory import write_application, write_task
from srfix.recovery import Reader, Severity, Supplied
from srfix.serde.wire import frame_id
from tests.recovery.checks.staged import examined, noted, of_state, of_topology, wrong
from tests.recovery.world import World, world_fixture

TABLE = shop.table_topology(damage.STORE)


world = world_fixture(damage.TOPICS, damage.stage)


@pytest.fixture(params=["topology", "state directory"])
def supplied(request: pytest.FixtureRequest, tmp_path: Path) -> Supplied:
    if request.param == "topology":
        return of_topology(damage.TOPOLOGY)
    damage.write_state(tmp_path)
    return of_state(tmp_path)


class TestTheDamage:
    def test_is_a_note_under_its_code_and_no_other(self, world: World, supplied: Supplied) -> None:
        diagnosis = examined(world, supplied).diagnosis
        (note,) = diagnosis.findings
        assert (note.code, note.severity, note.subject) == ("SRF007", Severity.NOTE, damage.PHANTOM_SUBJECT)
        assert (note.source, note.schema_ids, note.repairable) == (None, (), False)
        assert not diagnosis.is_inconclusive
        assert diagnosis.examined == ("shop/users-cache",)

    def test_says_what_shows_it(self, world: World) -> None:
        (note,) = examined(world, of_topology(damage.TOPOLOGY)).diagnosis.findings
        assert "the printed topology shows that it is not the table of one topic" in note.explanation
        assert note.next.endswith("`srfix diagnose --source shop/users-cache=TOPIC`.")

    def test_is_told_of_a_key_subject_too(self, world: World) -> None:
        world.registry.seed("shop-users-cache-changelog-key", '"string"')
        diagnosis = examined(world, of_topology(damage.TOPOLOGY)).diagnosis
        assert [finding.role.value for finding in diagnosis.findings] == ["key", "value"]

    def test_a_store_that_streams_named_is_told_too(self, world: World) -> None:
        """Its name says that it restores from no source topic, and leaves open whether the application was reset."""
        name = "KSTREAM-AGGREGATE-STATE-STORE-0000000002"
        shop.register_internal(world.client(), shop.phantom_subject(name))
        text = damage.TOPOLOGY.replace(damage.STORE, name)
        diagnosis = examined(world, of_topology(text), store=name, application="shop").diagnosis
        assert noted(diagnosis) == ["SRF007"]

    def test_nothing_is_planned(self, world: World) -> None:
        world.supplied = of_topology(damage.TOPOLOGY)
        plan = world.plan()
        assert (plan.actions, plan.omissions) == ((), ())


class TestWhatPutsHaveLeft:
    """From Kafka Streams 2.7 on each put into a store that reuses a topic registers its schema under the topic's subject."""

    @pytest.fixture
    def since_3_3(self, world: World) -> World:
        """What Kafka Streams 3.3 and later writes beside the offsets that it commits."""
        metadata = base64.b64encode(b"\x02" + bytes(8)).decode()
        world.broker.commit("shop", {(shop.USERS, 0): 2, (shop.USERS, 1): 1}, metadata=metadata)
        return world

    def test_without_it_there_the_topic_is_not_reused(self, since_3_3: World) -> None:
        diagnosis = examined(since_3_3).diagnosis
        assert noted(diagnosis) == ["SRF007"]
        assert wrong(diagnosis) == []
        assert not diagnosis.is_inconclusive

    @pytest.mark.parametrize("lost", [(1, 2), (2,)], ids=str)
    def test_not_where_versions_were_deleted_there_for_good(self, since_3_3: World, lost: tuple[int, ...]) -> None:
        """Seen wrong: the store's own may have been one of them. Number 1 is the records' own, which are lost then."""
        subject = f"{shop.USERS}-value"
        later = '{"type":"record","name":"Later","fields":[]}'
        since_3_3.registry.configure(subject, {"compatibility": "NONE"})
        for schema in (shop.INTERNAL_SCHEMA, later):
            since_3_3.registry.seed(subject, schema)
        since_3_3.purge(subject, *lost)
        assert "SRF007" not in noted(examined(since_3_3).diagnosis)

    def test_not_where_nothing_but_a_tombstone_may_have_been_read_since(self, since_3_3: World) -> None:
        """Seen wrong: it registers nothing, and what 2.6 put before stands under the phantom subject alone."""
        metadata = base64.b64encode(b"\x02" + bytes(8)).decode()
        since_3_3.put(shop.USERS, (b"u1", None))
        since_3_3.broker.commit("shop", {(shop.USERS, 0): 3}, metadata=metadata)
        since_3_3.broker.commit("shop", {(shop.USERS, 1): 0})
        assert "SRF007" not in noted(examined(since_3_3).diagnosis)

    def test_not_where_the_reader_could_read_none_of_its_records(self, since_3_3: World) -> None:
        """Seen wrong: a reader that looks versions up under the topic's subject skips them, and puts nothing."""
        since_3_3.registry.seed("com.example.User", shop.WRITER_SCHEMA)
        since_3_3.purge(f"{shop.USERS}-value")
        assert "SRF007" not in noted(examined(since_3_3).diagnosis)
        assert "SRF007" in noted(examined(since_3_3, reader=Reader.PLAIN).diagnosis)

    def test_with_it_there_it_is(self, since_3_3: World) -> None:
        since_3_3.registry.seed(f"{shop.USERS}-value", shop.INTERNAL_SCHEMA)
        assert "SRF007" not in noted(examined(since_3_3).diagnosis)

    def test_rows_of_its_own_serde_and_no_checkpoint_tell_too(self, world: World, tmp_path: Path) -> None:
        schema_id = world.registry.seed(damage.PHANTOM_SUBJECT, shop.INTERNAL_SCHEMA)
        rows = {b"u1": frame_id(schema_id, b"\x02\x02")}
        folder = write_application(tmp_path, "shop")
        write_task(folder, "0_0", damage.STORE, rows, checkpoint=None)
        # A 2.6.3 that was killed leaves the same; from 3.0 on RocksDB's options show who opened the store.
        assert noted(examined(world, of_state(tmp_path), streams_version="3.1.2").diagnosis) == ["SRF001"]
        options = folder / "0_0/rocksdb" / damage.STORE / "OPTIONS-900000"
        options.write_text("[Version]\n  rocksdb_version=6.19.3\n")
        assert noted(examined(world, of_state(tmp_path), streams_version="3.1.2").diagnosis) == ["SRF007"]
        options.unlink()
        assert wrong(examined(world, of_state(tmp_path), streams_version="2.6.3").diagnosis) == ["SRF001"]
        assert noted(examined(world, of_state(tmp_path), streams_version="2.5.1").diagnosis) == ["SRF007"]

        # A restored row is none of its own, though a repair has copied its schema there.
        world.registry.seed(damage.PHANTOM_SUBJECT, shop.WRITER_SCHEMA)
        write_task(folder, "0_1", damage.STORE, {b"u2": frame_id(1, b"\x02")}, checkpoint=None)
        for version in ("3.1.2", "2.5.1"):
            assert "SRF007" not in noted(examined(world, of_state(tmp_path), streams_version=version).diagnosis)

    def test_that_a_person_says_the_version_proves_nothing_of_puts(self, world: World) -> None:
        """They may ask what an upgrade will bring."""
        assert wrong(examined(world, streams_version="3.7").diagnosis)[0] == "SRF004"


class TestItsLookAlikes:
    def test_without_evidence_the_same_subject_is_the_incident(self, world: World) -> None:
        """A table that reuses its source topic leaves the same on cluster and registry."""
        (finding,) = examined(world).diagnosis.findings
        assert finding.code == "SRF001"
        assert "srfix does not know whether logging is off for this store" in finding.explanation

    @pytest.mark.parametrize(
        ("topology", "application"),
        [
            pytest.param(TABLE, "shop", id="a-topology-that-shows-a-table-of-one-topic"),
            # `addReadOnlyStateStore`, or a source and a processor of a person's own.
            pytest.param(
                TABLE.replace("KSTREAM-SOURCE-0000000000", "read").replace("KTABLE-SOURCE-0000000001", "keep"),
                "shop",
                id="a-table-that-a-person-named-may-be-one",
            ),
            pytest.param(damage.TOPOLOGY, None, id="a-topology-of-nobody-says-nothing-of-the-store"),
        ],
    )
    def test_it_is_the_incident(self, world: World, topology: str, application: str | None) -> None:
        assert wrong(examined(world, of_topology(topology, application=application)).diagnosis) == ["SRF001"]

    def test_a_person_who_names_a_source_knows_better(self, world: World) -> None:
        survey = world.survey(**{"shop/users-cache": "users"})
        survey.supplied = of_topology(damage.TOPOLOGY)
        assert wrong(world.examine(survey=survey).diagnosis) == ["SRF001"]

    def test_a_changelog_of_its_own_is_no_case(self, world: World) -> None:
        world.broker.create_topic("shop-users-cache-changelog", 1)
        assert examined(world, of_topology(damage.TOPOLOGY)).diagnosis.findings == ()

    def test_a_soft_deleted_subject_is_none(self, world: World) -> None:
        world.client().delete_version(damage.PHANTOM_SUBJECT, 1)
        assert examined(world, of_topology(damage.TOPOLOGY)).diagnosis.findings == ()

    def test_of_an_application_that_was_reset_nothing_is_claimed(self, world: World) -> None:
        world.commit("shop", users=0, logins=0)
        world.broker.commit("shop", {("users", 1): 0})
        diagnosis = examined(world, of_topology(damage.TOPOLOGY)).diagnosis
        assert diagnosis.findings == ()
        (skipped,) = [skip for skip in diagnosis.skipped if "logging" in skip.reason]
        assert not skipped.could_hide
        assert "or the application was reset or is gone" in skipped.reason
