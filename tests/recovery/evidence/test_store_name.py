"""The topic in an automatic store name."""

from __future__ import annotations

import pytest

from srfix.recovery.evidence import names_and_offsets
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Weight
from srfix.serde.subjects.names import Topic
from tests.recovery.world import World


def gathered(world: World, store: str) -> list[tuple[str, str | None, Weight]]:
    suspect = SuspectStore(application="shop", name=store)
    return [(e.kind, e.topic, e.weight) for e in names_and_offsets.by_name(suspect, world.survey())]


class TestGather:
    def test_an_automatic_name_of_an_existing_topic_is_strong(self, world: World) -> None:
        assert gathered(world, "users-STATE-STORE-0000000000") == [("store-name", "users", Weight.STRONG)]

    @pytest.mark.parametrize("store", ["users-store", "USERS", "users.by.id"])
    def test_a_name_that_begins_with_a_topics_is_weak(self, world: World, store: str) -> None:
        assert gathered(world, store) == [("store-name", "users", Weight.WEAK)]

    @pytest.mark.parametrize("store", ["user-store", "usersstore", "my-users", "us-1", "gone-STATE-STORE-0000000000"])
    def test_any_other_name_says_nothing(self, world: World, store: str) -> None:
        assert gathered(world, store) == []


class TestGoneSource:
    def test_an_automatic_name_of_a_topic_that_does_not_exist_is_strong(self, world: World) -> None:
        suspect = SuspectStore(application="shop", name="gone-STATE-STORE-0000000000")
        assert [e.topic for e in names_and_offsets.by_name_of_gone(suspect, world.survey(), ())] == ["gone"]

    def test_one_of_a_topic_that_exists_says_nothing(self, world: World) -> None:
        suspect = SuspectStore(application="shop", name="users-STATE-STORE-0000000000")
        assert list(names_and_offsets.by_name_of_gone(suspect, world.survey(), ())) == []

    def test_a_persons_own_begins_with_that_of_one_that_left_a_subject(self, world: World) -> None:
        suspect = SuspectStore(application="shop", name="clients-global")
        assert [
            e.topic for e in names_and_offsets.by_name_of_gone(suspect, world.survey(), (Topic("clients"), Topic("c")))
        ] == ["clients"]

    def test_where_none_stands_whole_in_it_the_first_word_tells(self, world: World) -> None:
        suspect = SuspectStore(application="shop", name="clients-global")
        topics = (Topic("clients-3f2a"), Topic("clientele"), Topic("orders-3f2a"))
        assert [e.topic for e in names_and_offsets.by_name_of_gone(suspect, world.survey(), topics)] == ["clients-3f2a"]
