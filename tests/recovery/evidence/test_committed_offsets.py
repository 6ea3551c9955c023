"""Where the group has committed offsets."""

from __future__ import annotations

from srfix.recovery.evidence import names_and_offsets
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Evidence, Weight
from srfix.serde.subjects.names import Topic
from tests.recovery.world import World


def gathered(world: World) -> list[Evidence]:
    return list(names_and_offsets.by_offsets(SuspectStore(application="shop", name="users-store"), world.survey()))


class TestGather:
    def test_one_topic_alone_is_weak(self, world: World) -> None:
        world.commit("shop", users=0)
        (piece,) = gathered(world)
        assert (piece.topic, piece.weight, piece.against) == ("users", Weight.WEAK, False)
        assert piece.detail == "group shop has committed offsets in 1 of the topic's 2 partitions"

    def test_several_topics_are_weak_each(self, world: World) -> None:
        world.commit("shop", users=0, orders=0)
        assert [(e.topic, e.weight) for e in gathered(world)] == [("orders", Weight.WEAK), ("users", Weight.WEAK)]

    def test_the_applications_own_internal_topics_are_no_candidates(self, world: World) -> None:
        world.commit("shop", **{"users": 0, "shop-by-name-repartition": 0})
        assert [(e.topic, e.weight) for e in gathered(world)] == [("users", Weight.WEAK)]

    def test_a_group_without_offsets_says_nothing(self, world: World) -> None:
        world.commit("shop-eu", users=0)
        assert gathered(world) == []


class TestAgainst:
    def test_a_topic_without_offsets_of_a_group_that_has_some_is_a_global_tables_at_most(self, world: World) -> None:
        world.commit("shop", orders=0)
        store = SuspectStore(application="shop", name="users-store")
        (piece,) = names_and_offsets.against_by_offsets(store, [Topic("users"), Topic("orders")], world.survey(), {})
        assert (piece.topic, piece.weight, piece.against) == ("users", Weight.WEAK, True)

    def test_a_group_without_any_says_nothing(self, world: World) -> None:
        store = SuspectStore(application="shop", name="users-store")
        assert list(names_and_offsets.against_by_offsets(store, [Topic("users")], world.survey(), {})) == []

    def test_nor_does_it_of_a_topic_that_is_gone(self, world: World) -> None:
        """The broker takes a group's offsets along with the topic."""
        world.commit("shop", orders=0)
        store = SuspectStore(application="shop", name="users-store")
        assert list(names_and_offsets.against_by_offsets(store, [Topic("gone")], world.survey(), {})) == []
