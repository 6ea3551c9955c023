"""What guard foretells of the relatives: keys, refused puts, retention, rows on disk, readers that take the latest version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from srfix.fixtures.state_directory import write_application, write_task
from srfix.recovery.facts import Supplied
from srfix.recovery.findings import Severity
from srfix.recovery.guard import Certainty, Moment
from srfix.recovery.state.reading import read_state_directory
from srfix.serde.wire import frame_id
from tests.recovery.checks.test_srf018 import ConfiguredCluster
from tests.recovery.guard.offline import TABLE, assumed, forecast, supplied, told
from tests.recovery.guard.seen import OWN, PHANTOM, SOURCE, WRITER, new, record, seen, stage
from tests.recovery.world import World, value

KEY = record("UserKey", "id")
OWN_KEY = record("ROWKEY", "ID")


def with_rows(folder: Path, payload: bytes) -> Supplied:
    write_task(write_application(folder, "shop"), "0_0", "users-store", {b"ann": payload}, checkpoint={("users", 0): 0})
    return replace(supplied(TABLE), state=read_state_directory(folder))


def test_keys_that_a_restore_brings_and_look_ups_miss(world: World) -> None:
    stage(world, phantom=(WRITER,))
    key_id = world.registry.seed("users-key", KEY)
    own = world.registry.seed("shop-users-store-changelog-key", OWN_KEY)
    world.put("users", (frame_id(key_id, b"\x02"), value(1)), (frame_id(key_id, b"\x04"), value(1)))
    world.commit("shop", users=3)
    (each,) = [each for each in seen(world).foretold if each.code == "SRF005"]
    assert (each.severity, each.certainty, each.moment) == (Severity.SILENT, Certainty.CERTAIN, Moment.RESTORE)
    assert each.schema_ids == (key_id,)
    assert f"looks keys up under schema id {own}, its own" in each.explanation


class TestPuts:
    def test_one_that_registers_nothing_is_refused_where_nothing_stands(self, world: World) -> None:
        stage(world, phantom=())
        (each,) = [e for e in seen(world, replace(assumed(), no_auto_register=True)).foretold if e.code == "SRF015"]
        assert (each.severity, each.certainty, each.moment) == (Severity.BROKEN, Certainty.CERTAIN, Moment.PUT)
        assert each.subject == PHANTOM

    def test_nothing_is_said_where_the_schema_stands(self, world: World) -> None:
        stage(world)
        assert not [e for e in seen(world, replace(assumed(), no_auto_register=True)).foretold if e.code == "SRF015"]


def test_retention_of_a_reused_topic(world: World) -> None:
    stage(world, phantom=(WRITER,))
    cluster = world.stack.enter_context(ConfiguredCluster({"bootstrap.servers": world.broker.bootstrap_servers}))
    cluster.configs = {"cleanup.policy": "delete", "retention.ms": "1000"}
    world.cluster = cluster
    assert told(seen(world)) == [("SRF018", "silent wrong results", "certain")]
    assert told(seen(world, assumed(optimization="none"))) == []


class TestRowsOnDisk:
    def test_that_carry_the_applications_own_ids_make_the_upgrade_certain(self, world: World, tmp_path: Path) -> None:
        stage(world)
        found = seen(world, assumed(to="3.9"), handed_over=with_rows(tmp_path, value(2)))
        (each,) = [each for each in found.foretold if each.code == "SRF004"]
        assert (each.certainty, each.schema_ids) == (Certainty.CERTAIN, (2,))
        assert found.has_rows

    def test_that_were_all_restored_have_nothing_to_lose(self, world: World, tmp_path: Path) -> None:
        stage(world)
        found = seen(world, assumed(to="3.9"), handed_over=with_rows(tmp_path, value(1)))
        assert "SRF004" not in {each.code for each in found.foretold}

    def test_that_nobody_handed_over_are_said(self, world: World) -> None:
        stage(world)
        assert [each.what for each in seen(world).unasked] == ["rows of shop/users-store on disk"]
        by_names = forecast(TABLE).unasked
        assert [each.what for each in by_names][:2] == ["the records of source topics", "the registry"]


def test_readers_of_the_latest_version_are_told_of_a_schema_that_does_not_read_the_records(world: World) -> None:
    stage(world, phantom=(OWN,))
    world.registry.configure(SOURCE, {"compatibility": "NONE"})
    other = new(record("User", "login"))
    (each,) = [each for each in seen(world, schema=other).foretold if each.code == "SRF020"]
    assert (each.severity, each.schema_ids, each.subject) == (Severity.NOTE, (1,), SOURCE)
    assert not [each for each in seen(world, schema=new()).foretold if each.code == "SRF020"]
