"""An application that no store is known of: whether a table of what it reads could hold rows that it cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from srfix.recovery import Reader
from srfix.recovery.findings import Skipped
from srfix.serde.wire import frame_guid
from tests.recovery.world import World, value, world_of
from tests.without_protobuf import without_protobuf

RECORD = '{"type":"record","name":"U","fields":[{"name":"a","type":"long"}]}'
OTHER = '{"type":"record","name":"V","fields":[{"name":"a","type":"long"}]}'
ROWS = [(f"k{n}", value(1)) for n in range(300)]


@pytest.fixture
def world() -> Iterator[World]:
    with world_of({"users": 1}) as made:
        made.registry.seed("users-value", RECORD)
        made.registry.seed("others-value", OTHER)
        made.put("users", *ROWS)
        made.commit("shop", users=302)
        made.listing("shop")
        yield made


def told(world: World, **how: Any) -> list[Skipped]:
    diagnosis = world.examine(**how).diagnosis
    assert diagnosis.findings == ()
    return [skipped for skipped in diagnosis.skipped if skipped.could_hide]


def test_where_each_live_value_can_be_read_nothing_is_said(world: World) -> None:
    world.put("users", ("k0", b'{"a":1}'), ("k0", value(1)), ("k2", None))
    assert told(world) == []


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b'{"a":1}', "1 live value not framed"),
        (value(77), "schema id 77, which the registry does not know"),
        (value(2), "schema id 2, not registered under users-value"),
        (value(1, b"\x80"), "not decodable: 1 live value"),
        (frame_guid(UUID(int=7), b"\x02"), "GUID in place of a schema id"),
    ],
    ids=["unframed", "unknown", "elsewhere", "damaged", "guid"],
)
def test_one_row_among_hundreds_is_no_clean_bill_of_health(world: World, payload: bytes, said: str) -> None:
    world.put("users", ("odd", payload), ("k1", value(1)))
    (skipped,) = told(world)
    assert skipped.what == "the stores of application shop"
    assert said in skipped.reason
    assert "--source shop/STORE=users" in skipped.reason


def test_a_reader_by_id_needs_nothing_under_the_subject(world: World) -> None:
    world.put("users", ("odd", value(2)), ("k1", value(1)))
    assert told(world, reader=Reader.PLAIN) == []


def test_a_plain_consumer_has_no_store(world: World) -> None:
    world.put("users", ("odd", b"{}"))
    world.consume("sink", users=301)
    world.listing("sink")
    assert told(world) == []


def test_what_was_not_read_is_said(world: World) -> None:
    found = world.examine(max_records=10).diagnosis
    assert [skipped.what for skipped in found.skipped if skipped.could_hide] == ["the stores of application shop"]


def test_bodies_that_srfix_cannot_decode_are_said(world: World) -> None:
    world.registry.seed("users-value", 'syntax = "proto3"; message M {}', schema_type="PROTOBUF")
    world.put("users", ("odd", value(3, b"\x00")))
    with without_protobuf():
        skipped = world.examine().diagnosis.skipped
    assert "bodies of the values of topic users" in [each.what for each in skipped]
