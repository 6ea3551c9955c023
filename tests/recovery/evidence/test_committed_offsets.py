"""Where the group has committed offsets."""

from __future__ import annotations

from srfix.recovery.evidence import committed_offsets
from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.stores import SuspectStore
from tests.recovery.world import World


def gathered(world: World) -> list[Evidence]:
    return list(committed_offsets.gather(SuspectStore(application="shop", name="users-store"), world.survey()))


class TestGather:
    def test_one_topic_is_strong(self, world: World) -> None:
        world.commit("shop", users=0)
        (piece,) = gathered(world)
        assert (piece.topic, piece.weight) == ("users", Weight.STRONG)
        assert piece.detail == "group shop has committed offsets in 1 of its 2 partitions"

    def test_several_topics_are_weak_each(self, world: World) -> None:
        world.commit("shop", users=0, orders=0)
        assert [(e.topic, e.weight) for e in gathered(world)] == [("orders", Weight.WEAK), ("users", Weight.WEAK)]

    def test_the_applications_own_internal_topics_are_no_candidates(self, world: World) -> None:
        world.commit("shop", **{"users": 0, "shop-by-name-repartition": 0})
        assert [(e.topic, e.weight) for e in gathered(world)] == [("users", Weight.STRONG)]

    def test_a_group_without_offsets_says_nothing(self, world: World) -> None:
        world.commit("shop-eu", users=0)
        assert gathered(world) == []
