"""A registry that keeps schema texts as they were sent: what the failing reader, who asks by a text of its own, gets there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.fixtures.registry.emulation import Habits, Release
from srfix.recovery import PlanError, Reader
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.inspect.checkup import check_registry
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.rollback import Undone
from srfix.recovery.repair.verify.events import Confirmed
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import frame_id
from tests.recovery.world import World, world_of

PHANTOM = "shop-users-store-changelog-value"
INTERNAL = '{"type":"record","name":"R","fields":[{"name":"USERID","type":["null","long"],"default":null}]}'
SENT = '{"type":"record","name":"U","fields":[{"name":"userId","type":{"type":"long"}}]}'
ASKED = '{"type":"record","name":"U","fields":[{"name":"userId","type":"long"}]}'
"""`SENT` as Java's Avro writes it, and so as AvroConverter looks it up."""


@pytest.fixture(params=["redpanda-23.1", "redpanda-25.1"])
def release(request: pytest.FixtureRequest) -> Release:
    named: Release = request.param
    return named


@pytest.fixture
def world(release: Release) -> Iterator[World]:
    with world_of({"users": 1}, emulate=release) as made:
        yield made


def stage(world: World, *, phantom: tuple[str, ...] = (INTERNAL,), sent: str = SENT) -> None:
    world.registry.seed("users-value", sent)
    for text in phantom:
        world.registry.seed(PHANTOM, text)
    world.live(*((f"k{n}", frame_id(1, bytes([n * 2]))) for n in range(3)))


def reads(world: World) -> bool:
    """Whether AvroConverter's look-up of version is answered."""
    try:
        world.client().lookup(PHANTOM, Schema(text=ASKED), deleted=True)
    except (SchemaNotFoundError, SubjectNotFoundError):
        return False
    return True


def test_what_the_producer_sent_is_not_what_the_reader_finds(world: World) -> None:
    stage(world, phantom=(INTERNAL, SENT))
    assert not reads(world)
    finding = world.findings(reader=Reader.CONNECT)["SRF001"]
    assert [int(fault.schema_id) for fault in finding.schema_ids] == [1]


def test_a_repair_registers_what_the_reader_asks_by_and_can_be_undone(world: World, tmp_path: Path) -> None:
    stage(world)
    before = world.registry.dump()
    plan = world.plan(reader=Reader.CONNECT)
    assert any("stores texts as they were sent" in line for line in plan.price)
    world.apply(plan, tmp_path / "journal")
    assert reads(world)
    assert [event for event in world.verify(plan) if not isinstance(event, Confirmed)] == []
    assert "SRF001" not in world.findings(reader=Reader.CONNECT)
    left = [event for event in world.roll_back(tmp_path / "journal") if isinstance(event, Left)]
    assert ["is the last version with schema id 3" in event.why for event in left] == [True]
    assert world.registry.dump()["configs"] == before["configs"]


def test_keys_in_another_order_make_another_text_too(tmp_path: Path) -> None:
    with world_of({"users": 1}, emulate="redpanda-23.1") as world:
        stage(world, sent='{"name":"U","type":"record","fields":[{"name":"userId","type":"long"}]}')
        world.apply(world.plan(reader=Reader.CONNECT), tmp_path / "journal")
        assert reads(world)
        assert "SRF001" not in world.findings(reader=Reader.CONNECT)


def test_two_ids_that_the_reader_asks_by_one_text_are_one_registration(world: World, tmp_path: Path) -> None:
    for text in (SENT, ASKED):
        world.registry.configure("users-value", {"compatibility": "NONE"})
        world.registry.seed("users-value", text)
    world.registry.seed(PHANTOM, INTERNAL)
    world.live(("k0", frame_id(1, b"\x02")), ("k1", frame_id(2, b"\x02")))
    plan = world.plan(reader=Reader.CONNECT)
    assert [action.kind for action in plan.actions].count("register") == 1
    world.apply(plan, tmp_path / "journal")
    assert [event for event in world.verify(plan) if not isinstance(event, Confirmed)] == []


def test_in_a_named_context_no_registration_mends_it(world: World) -> None:
    world.path = "/contexts/.eu"
    world.registry.seed(":.eu:users-value", SENT)
    world.registry.seed(f":.eu:{PHANTOM}", INTERNAL)
    world.live(("k", frame_id(1, b"\x02")))
    with pytest.raises(PlanError, match="stores texts as they were sent"):
        world.plan(reader=Reader.CONNECT)


def test_one_that_has_them_as_java_writes_them_is_the_usual_one(tmp_path: Path) -> None:
    with world_of({"users": 1}, emulate="redpanda") as world:
        stage(world, phantom=(INTERNAL, SENT))
        assert reads(world)
        assert "SRF001" not in world.findings(reader=Reader.CONNECT)


def test_where_every_text_finds_it_the_one_that_has_the_id_is_registered(tmp_path: Path) -> None:
    with world_of({"users": 1}, habits=Habits(ids_by_raw_text=True)) as world:  # Apicurio
        stage(world)
        plan = world.plan(reader=Reader.CONNECT)
        world.apply(plan, tmp_path / "journal")
        assert world.client().lookup(PHANTOM, Schema(text=SENT), deleted=True).schema_id == 1
        assert reads(world)
        assert [event for event in world.verify(plan) if not isinstance(event, Confirmed)] == []


class TestSoftDeletedVersions:
    """Redpanda's older look-ups find none of them, whatever they are asked."""

    def test_without_one_that_tells_the_repair_stays_live(self, world: World) -> None:
        stage(world)
        plan = world.plan(reader=Reader.CONNECT)
        assert "soft-delete" not in [action.kind for action in plan.actions]
        assert any("no soft-deleted version to test this with" in line for line in plan.price)

    def test_one_of_the_subject_tells(self, world: World, release: Release) -> None:
        stage(world, phantom=('"string"', INTERNAL))
        world.client().delete_version(PHANTOM, 1)
        plan = world.plan(reader=Reader.CONNECT)
        finds = release != "redpanda-23.1"
        assert ("soft-delete" in [action.kind for action in plan.actions]) is finds
        assert any("does not find the soft-deleted version 1 of" in line for line in plan.price) is not finds
        assert not any("--keep auto" in line for line in plan.price)

    @pytest.mark.parametrize("finds", [True, False])
    def test_so_does_one_of_another_subject_of_whatever_make_the_registry_is(self, finds: bool) -> None:
        with world_of({"users": 1}, habits=Habits(looks_up_live_only=not finds)) as world:
            stage(world, sent=ASKED)
            world.registry.seed("gone-value", '"string"')
            world.client().delete_subject("gone-value")
            plan = world.plan(reader=Reader.CONNECT)
            assert ("soft-delete" in [action.kind for action in plan.actions]) is finds
            assert (
                any("does not find the soft-deleted version 1 of gone-value" in line for line in plan.price)
                is not finds
            )

    def test_the_right_one_is_registered_again_and_a_rollback_leaves_it_as_it_was(self, tmp_path: Path) -> None:
        with world_of({"users": 1}, emulate="redpanda-23.1") as world:
            stage(world, sent=ASKED, phantom=(INTERNAL, ASKED))
            world.client().delete_version(PHANTOM, 2)
            world.apply(world.plan(reader=Reader.CONNECT), tmp_path / "journal")
            assert reads(world)
            (undone,) = [event for event in world.roll_back(tmp_path / "journal") if isinstance(event, Undone)]
            assert "it had replaced version 2" in undone.what
            held = read_subject_state(world.client(), Subject(PHANTOM)).versions
            assert [(version.schema_id, version.deleted) for version in held] == [(2, False), (1, True)]


def test_a_checkup_tells_which_kind_it_is(world: World) -> None:
    stage(world, phantom=())
    found = {check.what: check for check in check_registry(world.client())}[
        "find a schema by the text that Java's readers send"
    ]
    assert "Redpanda's, no: the registry keeps each text as it was sent" in found.detail
    assert found.advice is not None
