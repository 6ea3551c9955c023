"""What guard foretells of the relatives: keys, refused puts, retention, rows on disk, readers that take the latest version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from parts.damage import global_store_restored_untransformed as damage
from parts.state_directory import write_application, write_task
from srfix.recovery import Severity, Supplied
from srfix.recovery.forecasts import Certainty, Moment
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.serde import Schema
from srfix.serde.wire import frame_id
from tests.recovery.checks.test_srf018 import ConfiguredCluster
from tests.recovery.guard.offline import assumed, forecast, supplied, told
from tests.recovery.guard.seen import OWN, PHANTOM, SOURCE, WRITER, new, record, seen, stage
from tests.recovery.staging import TABLE
from tests.recovery.world import World, value, world_of

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
    assert f"looks keys up under schema id {own}, which is its own schema" in each.explanation
    assert f"rows under schema id {key_id}, and the look-ups miss these rows" in each.explanation
    # From 2.7 on the key serde is handed the source topic's name: what stands under the phantom is what it wrote before.
    found = seen(world, assumed("3.9")).foretold
    assert [e.certainty for e in found if e.code == "SRF005"] == [Certainty.POSSIBLE]
    # What was read in part may be overwritten by what was not.
    world.put("users", (frame_id(key_id, b"\x02"), None), (frame_id(key_id, b"\x04"), None))
    found = seen(world, max_records=3).foretold
    assert [e.certainty for e in found if e.code == "SRF005"] == [Certainty.POSSIBLE]


def test_keys_under_several_ids_are_missed_in_part_whichever_the_reader_writes(world: World) -> None:
    stage(world, phantom=(WRITER,))
    first, second = (
        world.registry.seed("users-key", KEY),
        world.registry.seed("users-key", record("UserKey", "id", "of")),
    )
    for text in (KEY, record("UserKey", "id", "of")):
        world.registry.seed("shop-users-store-changelog-key", text)
    world.live((frame_id(first, b"\x02"), value(1)), (frame_id(second, b"\x04\x00"), value(1)))
    (each,) = [each for each in seen(world).foretold if each.code == "SRF005"]
    assert each.certainty is Certainty.POSSIBLE  # the rows under one id alone are committed
    world.commit("shop", users=3)
    (each,) = [each for each in seen(world).foretold if each.code == "SRF005"]
    assert each.certainty is Certainty.CERTAIN
    assert "the look-ups miss some of these rows" in each.explanation


class TestPuts:
    def test_one_that_registers_nothing_is_refused_where_nothing_stands(self, world: World) -> None:
        stage(world, phantom=())
        (each,) = [e for e in seen(world, replace(assumed(), no_auto_register=True)).foretold if e.code == "SRF015"]
        assert (each.severity, each.certainty, each.moment) == (Severity.BROKEN, Certainty.CERTAIN, Moment.PUT)
        assert each.subject == PHANTOM

    def test_nothing_is_said_where_the_schema_stands(self, world: World) -> None:
        stage(world)
        assert not [e for e in seen(world, replace(assumed(), no_auto_register=True)).foretold if e.code == "SRF015"]

    def test_the_upgrade_is_refused_what_the_source_lacks_and_registers_nothing_there(self, world: World) -> None:
        stage(world)
        found = seen(world, replace(assumed(to="3.9"), no_auto_register=True)).foretold
        assert "SRF016" not in {each.code for each in found}
        (each,) = [each for each in found if each.code == "SRF015"]
        assert (each.certainty, each.moment, each.subject) == (Certainty.CERTAIN, Moment.UPGRADE, SOURCE)
        assert each.schema_ids == (2,)
        assert (
            "this subject lacks the application's own schema (schema id 2), and the application's serializers"
            in each.explanation
        )

    def test_what_it_wrote_before_another_schema_is_not_certain_to_be_what_it_puts(self, world: World) -> None:
        stage(world, phantom=(OWN, WRITER))
        found = seen(world, replace(assumed("3.9"), no_auto_register=True)).foretold
        assert [each.certainty for each in found if each.code == "SRF015"] == [Certainty.POSSIBLE]

    def test_a_registry_that_is_read_only_refuses_it(self, world: World) -> None:
        stage(world, phantom=())
        world.client().set_mode(PHANTOM, "READONLY")
        (each,) = [each for each in seen(world).foretold if each.code == "SRF015"]
        assert f"{PHANTOM}" in each.explanation
        assert "mode is READONLY. So the next put fails" in each.explanation


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
        assert [each.what for each in seen(world).unasked] == [
            "readers with use.latest.version",
            "rows of shop/users-store on disk",
        ]
        by_names = forecast(TABLE).unasked
        assert [each.what for each in by_names][1:3] == ["the records of source topics", "the registry"]

    def test_that_a_processor_made_show_what_a_restore_goes_past(self, tmp_path: Path) -> None:
        with world_of(damage.TOPICS) as world:
            made = damage.stage(world.broker, tmp_path / "state", tmp_path / "topology.txt")
            handed_over = replace(
                supplied(made.topology.read_text(), damage.APPLICATION), state=read_state_directory(made.state_dir)
            )
            of_rows = [e for e in seen(world, handed_over=handed_over).foretold if e.code == "SRF019"]
            assert [(e.severity, e.certainty) for e in of_rows] == [(Severity.SILENT, Certainty.CERTAIN)]
            assert of_rows[0].explanation.endswith("and stores the records unchanged.")
            by_name = seen(world, handed_over=replace(handed_over, state=())).foretold
            assert Certainty.CERTAIN not in {e.certainty for e in by_name if e.code == "SRF019"}
            later = seen(world, assumed("3.9"), handed_over=handed_over).foretold
            assert "SRF019" not in {e.code for e in later}


def test_readers_of_the_latest_version_are_told_of_a_schema_that_does_not_read_the_records(world: World) -> None:
    stage(world, phantom=(OWN,))
    world.registry.configure(SOURCE, {"compatibility": "NONE"})
    other = new(record("User", "login"))
    (each,) = [each for each in seen(world, schema=other).foretold if each.code == "SRF020"]
    assert (each.severity, each.schema_ids, each.subject) == (Severity.NOTE, (1,), SOURCE)
    assert not [each for each in seen(world, schema=new()).foretold if each.code == "SRF020"]


def test_schemas_that_are_not_compared_are_said(world: World) -> None:
    stage(world, phantom=(OWN,))
    world.registry.configure(SOURCE, {"compatibility": "NONE"})
    other = replace(new(), schema=Schema(text='{"type":"object"}', schema_type="JSON"))
    found = seen(world, schema=other)
    assert "SRF020" not in {each.code for each in found.foretold}
    (each,) = [each for each in found.skipped if "SRF020" in each.what]
    assert each.reason == "srfix compares two Avro or two Protobuf schemas, but these are AVRO and JSON"
