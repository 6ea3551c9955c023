"""A producer's topic that is named as an application's own may be a source too, where there is no such application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.recovery.cluster.answers import GroupState
from tests.recovery.world import World, value, world_of

RECORD = '{"type":"record","name":"Item","fields":[{"name":"sku","type":"long"}]}'
INTERNAL = '{"type":"record","name":"R","fields":[{"name":"SKU","type":["null","long"],"default":null}]}'
PHANTOM = "shop-things-changelog-value"


@pytest.fixture
def world() -> Iterator[World]:
    with world_of({"db-items-changelog": 1, "items-by-id": 1, "clicks": 1}) as made:
        for topic in ("db-items-changelog", "items-by-id"):
            made.registry.seed(f"{topic}-value", RECORD)
            made.put(topic, ("k", value(1)))
        made.registry.seed(PHANTOM, INTERNAL)
        yield made


def sources(world: World) -> set[str | None]:
    found = (f for f in world.examine(application="shop").diagnosis.findings if f.code in ("SRF001", "SRF006"))
    return {piece.topic for finding in found for piece in finding.evidence if piece.kind == "schema-similarity"}


@pytest.mark.parametrize("reads_another", [True, False])
@pytest.mark.parametrize("lists_groups", [True, False])
def test_one_of_an_application_that_there_is_not_is_weighed(
    world: World, lists_groups: bool, reads_another: bool
) -> None:
    """Of an application that commits another topic, too: the store may be a global table's, whose topic nobody commits."""
    if reads_another:
        world.commit("shop", clicks=0)
    if lists_groups:
        world.listing("shop")
    assert sources(world) - {"clicks"} == {"db-items-changelog", "items-by-id"}


@pytest.mark.parametrize("lists_groups", [True, False])
def test_one_of_an_application_that_there_is_is_not(world: World, lists_groups: bool) -> None:
    world.commit("db", **{"items-by-id": 1})
    if lists_groups:
        world.listing("shop", "db")
    assert sources(world) - {"clicks"} == {"items-by-id"}


@pytest.mark.parametrize("lists_groups", [True, False])
def test_one_of_a_group_of_plain_consumers_is_weighed(
    world: World, monkeypatch: pytest.MonkeyPatch, lists_groups: bool
) -> None:
    state = GroupState(group="db", state="Stable", members=1, problem=None, assignor="range", client_ids=("rdkafka",))
    monkeypatch.setattr(type(world.cluster), "group_state", lambda _cluster, _group, **_how: state)
    world.consume("db", **{"items-by-id": 1})
    if lists_groups:
        world.listing("shop", "db")
    assert sources(world) - {"clicks"} == {"db-items-changelog", "items-by-id"}


def test_one_that_the_group_of_that_name_commits_is_weighed(world: World) -> None:
    """Seen wrong: Kafka Streams restores from its own changelogs without a group, so this is none of them."""
    world.commit("db", **{"db-items-changelog": 1})
    assert sources(world) - {"clicks"} == {"db-items-changelog", "items-by-id"}
