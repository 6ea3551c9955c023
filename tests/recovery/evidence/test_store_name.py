"""The topic in an automatic store name."""

from __future__ import annotations

import pytest

from srfix.recovery.evidence import store_name
from srfix.recovery.findings import Weight
from srfix.recovery.stores import SuspectStore
from tests.recovery.world import World


def gathered(world: World, store: str) -> list[tuple[str, str, Weight]]:
    suspect = SuspectStore(application="shop", name=store)
    return [(e.kind, e.topic, e.weight) for e in store_name.gather(suspect, world.survey())]


class TestGather:
    def test_an_automatic_name_of_an_existing_topic_is_strong(self, world: World) -> None:
        assert gathered(world, "users-STATE-STORE-0000000000") == [("store-name", "users", Weight.STRONG)]

    @pytest.mark.parametrize(
        "store", ["users-store", "gone-STATE-STORE-0000000000", "KSTREAM-AGGREGATE-STATE-STORE-0000000003"]
    )
    def test_any_other_name_says_nothing(self, world: World, store: str) -> None:
        assert gathered(world, store) == []
