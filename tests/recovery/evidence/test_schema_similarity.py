"""The internal schema's fields among those of the writers."""

from __future__ import annotations

import json

from srfix.recovery.evidence import schema_similarity
from srfix.recovery.findings import Weight
from srfix.recovery.stores import SuspectStore
from tests.recovery.world import World

PHANTOM = "shop-users-store-changelog-value"


def record(*names: str) -> str:
    fields = [{"name": name, "type": ["null", "string"], "default": None} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def gathered(world: World) -> list[tuple[str, Weight]]:
    suspect = SuspectStore(application="shop", name="users-store")
    return [(e.topic, e.weight) for e in schema_similarity.gather(suspect, world.survey())]


class TestGather:
    def test_all_fields_ignoring_case_are_strong(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("users-value", record("userId", "name", "email"))
        world.registry.seed("orders-value", record("orderId"))
        assert gathered(world) == [("users", Weight.STRONG)]

    def test_half_of_them_are_weak_and_fewer_say_nothing(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME", "A", "B"))
        world.registry.seed("users-value", record("userId", "name"))
        world.registry.seed("orders-value", record("userId"))
        assert gathered(world) == [("users", Weight.WEAK)]

    def test_only_topics_that_the_group_reads_count_where_it_reads_any(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID"))
        world.registry.seed("users-value", record("userId"))
        world.registry.seed("orders-value", record("userId"))
        assert gathered(world) == [("orders", Weight.STRONG), ("users", Weight.STRONG)]
        world.commit("shop", orders=0)
        assert gathered(world) == [("orders", Weight.STRONG)]

    def test_where_no_topic_that_it_reads_has_a_subject_all_topics_count(self, world: World) -> None:
        """A global table's topic is committed by nobody: the group then reads only what joins the table."""
        world.registry.seed(PHANTOM, record("USERID"))
        world.registry.seed("users-value", record("userId"))
        world.commit("shop", orders=0)
        assert gathered(world) == [("users", Weight.STRONG)]

    def test_a_soft_deleted_phantom_subject_still_tells(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID"))
        world.registry.seed("users-value", record("userId"))
        world.client().delete_version(PHANTOM, 1)
        assert gathered(world) == [("users", Weight.STRONG)]

    def test_what_is_no_avro_record_says_nothing(self, world: World) -> None:
        world.registry.seed(PHANTOM, '"string"')
        world.registry.seed("users-value", record("userId"))
        assert gathered(world) == []

    def test_fields_that_differ_in_case_alone_are_compared_exactly(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("ID"))
        world.registry.seed("users-value", record("Id", "iD"))
        assert gathered(world) == []
