"""What the person says."""

from __future__ import annotations

import pytest

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.evidence import supplied
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Weight
from srfix.serde.errors import UsageError
from tests.recovery.world import World

STORE = SuspectStore(application="shop", name="users-store")


class TestGather:
    def test_the_topic_that_is_named_is_conclusive(self, world: World) -> None:
        (piece,) = supplied.named(STORE, world.survey(**{"users-store": "orders"}))
        assert (piece.kind, piece.topic, piece.weight) == ("explicit", "orders", Weight.CONCLUSIVE)
        assert piece.detail == "named with --source users-store=orders"

    def test_another_stores_source_says_nothing(self, world: World) -> None:
        assert list(supplied.named(STORE, world.survey(other="orders"))) == []

    def test_a_topic_that_does_not_exist_is_refused(self, world: World) -> None:
        with pytest.raises(
            UsageError, match=r"^--source users-store=user: there is no topic .* Did you mean 'users'\? "
        ):
            list(supplied.named(STORE, world.survey(**{"users-store": "user"})))
        assert "user" not in world.broker.topics

    def test_a_topic_that_this_user_may_not_see_is_not_called_missing(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Cluster, "hidden_topics", lambda _cluster, topics: frozenset(topics))
        with pytest.raises(
            UsageError, match=r"not allowed to see .* Ask for the ACLs Describe and Read on topic 'user'"
        ):
            list(supplied.named(STORE, world.survey(**{"users-store": "user"})))

    def test_what_is_said_of_its_application_goes_first(self, world: World) -> None:
        survey = world.survey(**{"users-store": "users", "shop/users-store": "orders"})
        (piece,) = supplied.named(STORE, survey)
        assert (piece.topic, piece.detail) == ("orders", "named with --source shop/users-store=orders")

    def test_what_is_said_of_another_application_says_nothing(self, world: World) -> None:
        assert list(supplied.named(STORE, world.survey(**{"tills/users-store": "orders"}))) == []
