"""Live applications of which nothing tells a store: what was not examined is not healthy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.serde.wire import frame_id
from tests.recovery.world import World, world_of

WRITER = '{"type":"record","name":"U","fields":[{"name":"userId","type":"long"}]}'


@pytest.fixture
def world() -> Iterator[World]:
    with world_of({"users": 1, "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition": 1}) as made:
        made.listing("shop")
        yield made


def test_rows_without_an_id_on_a_topic_with_a_subject_are_said(world: World) -> None:
    world.registry.seed("users-value", WRITER)
    world.live(("a", b"\x02"), ("b", b"{}"))
    diagnosis = world.examine().diagnosis
    assert (diagnosis.findings, diagnosis.is_inconclusive) == ((), True)
    assert [(each.what, each.could_hide) for each in diagnosis.skipped] == [("the stores of application shop", True)]
    assert "--topology" in diagnosis.skipped[0].reason


def test_rows_with_ids_are_healthy_whatever_is_built_on_them(world: World) -> None:
    world.registry.seed("users-value", WRITER)
    world.live(("a", frame_id(1, b"\x02")))
    assert not world.examine().diagnosis.is_inconclusive


def test_so_are_rows_that_no_registry_knows(world: World) -> None:
    world.live(("a", b"{}"))
    assert not world.examine().diagnosis.is_inconclusive


def test_a_plain_consumer_has_no_stores(world: World) -> None:
    world.registry.seed("users-value", WRITER)
    world.listing("reader")
    world.put("users", ("a", b"{}"))
    world.consume("reader", users=1)
    assert not world.examine().diagnosis.is_inconclusive
