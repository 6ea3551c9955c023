"""A source that is hidden from this user, on a broker that would say so."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.undecided import unseen_source
from srfix.recovery.diagnosis.weighing import weigh
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.findings import Skipped
from srfix.serde.subjects.names import Topic
from tests.recovery.world import World

PHANTOM = "shop-users-store-changelog-value"


def record(*names: str) -> str:
    fields = [{"name": name, "type": ["null", "string"], "default": None} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def judged(world: World, **sources: str) -> Skipped | None:
    survey = world.survey(**sources)
    splits = (SuspectStore(application="shop", name="users-store"),)
    suspect = Suspect(changelog=Topic("shop-users-store-changelog"), splits=splits)
    verdict = weigh(suspect, survey, Applications(survey, GroupListing(groups=("shop",), problem=None), ["shop"]))
    return unseen_source(verdict, survey, CommandLine())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the broker was asked about; it hides the topic `secret`."""
    names: list[str] = []

    def hidden_topics(_cluster: Cluster, topics: Iterable[str]) -> frozenset[str]:
        names.extend(topics)
        return frozenset(names) & {"secret"}

    monkeypatch.setattr(Cluster, "hidden_topics", hidden_topics)
    return names


class TestUnseenSource:
    def test_one_whose_schema_would_feed_the_store_is_named_with_its_acl(self, world: World, asked: list[str]) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("secret-value", record("userId", "name", "email"))
        world.registry.seed("gone-value", record("userId", "name"))
        world.registry.seed("orders-value", record("orderId"))
        world.commit("shop", orders=0)
        said = judged(world)
        assert said is not None
        assert said.could_hide
        assert said.reason.startswith(
            "it may restore from secret, which this user is not allowed to see: all 2 fields of the"
        )
        assert "Ask for the ACL Describe and Read on topic 'secret', or name" in said.reason
        assert sorted(asked) == ["gone", "secret"]

    def test_one_whose_schema_would_not_feed_it_is_none_of_its_business(self, world: World, asked: list[str]) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("secret-value", record("userId"))
        world.commit("shop", orders=0)
        assert judged(world) is None
        assert asked == ["secret"]

    def test_nor_where_a_topic_that_is_seen_has_such_a_schema(self, world: World, asked: list[str]) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("secret-value", record("userId", "name"))
        world.registry.seed("users-value", record("userId", "name"))
        world.commit("shop", users=0)
        assert judged(world) is None
        assert asked == []

    def test_nor_where_the_person_says_which_topic_it_is(self, world: World, asked: list[str]) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("secret-value", record("userId", "name"))
        world.commit("shop", orders=0)
        assert judged(world, **{"users-store": "orders"}) is None
        assert asked == []
