"""Who is there and who has what, from a group's description; on a real group coordinator: tests/stack."""

from __future__ import annotations

from contextlib import closing

import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery.serving import membership
from srfix.recovery.serving.following import Place
from srfix.recovery.serving.guarding import Credentials
from srfix.recovery.serving.membership import Grouped, Members, members_of
from srfix.serde.errors import ClusterError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.subjects.names import Topic

TOPIC = Topic("shop-users-changelog")
UNSIGNED = Credentials().signing("served")
SIGN = Credentials("Bearer secret").signing("served")
ALL = frozenset(f"host{number}:8088" for number in range(5))


def test_the_description_says_who_is_there_and_who_has_what() -> None:
    described = [("srfix-serve@a:1", [(TOPIC, 0)]), ("srfix-serve@[::1]:2", [(TOPIC, 1), (TOPIC, 2)])]
    members, count = members_of(described, "a:1", {}, UNSIGNED)
    assert members.addresses == {"a:1", "[::1]:2"}
    assert members.active == {(TOPIC, 0): "a:1", (TOPIC, 1): "[::1]:2", (TOPIC, 2): "[::1]:2"}
    assert count == 1


def test_while_the_group_rebalances_what_was_known_holds_of_those_that_are_there() -> None:
    known = {(TOPIC, 0): "a:1", (TOPIC, 1): "b:1", (TOPIC, 2): "c:1"}
    members, _ = members_of([("srfix-serve@b:1", [(TOPIC, 0)]), ("srfix-serve@c:1", [])], "c:1", known, UNSIGNED)
    assert members.active == {(TOPIC, 0): "b:1", (TOPIC, 1): "b:1", (TOPIC, 2): "c:1"}


def test_a_member_that_has_not_joined_yet_counts_itself() -> None:
    assert members_of([], "a:1", {}, UNSIGNED)[0].addresses == {"a:1"}


def test_a_member_that_cannot_ask_is_alone_but_not_before_it_has_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_TIMEOUT_S", 0.1)
    client = ReadOnlyClient({"bootstrap.servers": "127.0.0.1:9", "log_level": "0"})
    grouped = Grouped(client, "served", "a:1", [TOPIC], UNSIGNED)
    assert grouped.members().addresses == frozenset()
    with pytest.raises(ClusterError):
        grouped.look()
    assert grouped.members().addresses == {"a:1"}
    grouped.close()


def test_brokers_without_groups_are_named() -> None:
    with closing(EmbeddedBroker(topics={TOPIC: 1})) as broker:
        client = ReadOnlyClient({"bootstrap.servers": broker.bootstrap_servers})
        grouped = Grouped(client, "served", "a:1", [TOPIC], UNSIGNED)
        with closing(grouped), pytest.raises(ClusterError, match=r"no consumer groups.*srfix demo --keep --real"):
            grouped.look()


def test_two_with_one_address_are_counted() -> None:
    assert members_of([("srfix-serve@a:1", []), ("srfix-serve@a:1", [(TOPIC, 0)])], "a:1", {}, UNSIGNED)[1] == 2


@pytest.mark.parametrize(
    "client_id",
    ["shop-consumer-1", "srfix-serve@", "srfix-serve@x@y/z", "srfix-serve@a:1/../", "srfix-serve@a:1-", ""],
)
def test_a_stranger_in_the_group_is_no_member_and_hides_none(client_id: str) -> None:
    members, _ = members_of([(client_id, [(TOPIC, 0)]), ("srfix-serve@b:1", [(TOPIC, 1)])], "a:1", {}, UNSIGNED)
    expected = Members(
        addresses=frozenset({"a:1", "b:1"}), active={(TOPIC, 1): "b:1"}, strangers=frozenset({client_id})
    )
    assert members == expected


class TestSigned:
    def test_members_with_the_same_credentials_are_members(self) -> None:
        described = [(f"srfix-serve@{address}{SIGN(address)}", list[Place]()) for address in ("a:1", "[::1]:2")]
        members, count = members_of(described, "a:1", {}, SIGN)
        assert (members, count) == (Members(addresses=frozenset({"a:1", "[::1]:2"})), 1)

    @pytest.mark.parametrize(
        "signature",
        [
            pytest.param("", id="missing"),
            pytest.param("-" + "0" * 32, id="forged"),
            pytest.param(SIGN("a:1"), id="of another address"),
            pytest.param(Credentials("Bearer secret").signing("other")("b:1"), id="of another group"),
            pytest.param(Credentials("Bearer Secret").signing("served")("b:1"), id="with other credentials"),
        ],
    )
    def test_whoever_signs_otherwise_is_no_member_and_takes_no_partition(self, signature: str) -> None:
        described = [(f"srfix-serve@a:1{SIGN('a:1')}", []), (f"srfix-serve@b:1{signature}", [(TOPIC, 0), (TOPIC, 1)])]
        members, _ = members_of(described, "a:1", {(TOPIC, 0): "a:1", (TOPIC, 1): "b:1"}, SIGN)
        stranger = frozenset({f"srfix-serve@b:1{signature}"})
        assert members == Members(addresses=frozenset({"a:1"}), active={(TOPIC, 0): "a:1"}, strangers=stranger)

    def test_whoever_signs_is_no_member_for_those_without_credentials(self) -> None:
        client_id = f"srfix-serve@b:1{SIGN('b:1')}"
        assert members_of([(client_id, [])], "a:1", {}, UNSIGNED)[0].strangers == {client_id}


class TestStandbys:
    def test_each_member_comes_to_the_same_choice_and_never_to_the_active(self) -> None:
        for number in range(20):
            place = (TOPIC, number)
            active = sorted(ALL)[number % 5]
            _active, *chosen = Members(addresses=ALL, active={place: active}).holders(place, 2)
            assert active not in chosen
            assert len(set(chosen)) == 2
            others = Members(addresses=frozenset(sorted(ALL, reverse=True)), active={place: active})
            assert others.holders(place, 2) == (active, *chosen)

    def test_one_that_leaves_moves_only_what_it_had(self) -> None:
        fewer = ALL - {"host3:8088"}
        for number in range(50):
            place = (TOPIC, number)
            before = Members(addresses=ALL, active={place: "host0:8088"}).holders(place, 1)
            after = Members(addresses=fewer, active={place: "host0:8088"}).holders(place, 1)
            assert after == before or before == ("host0:8088", "host3:8088")

    def test_they_are_spread(self) -> None:
        chosen = [Members(addresses=ALL).holders((TOPIC, number), 1)[0] for number in range(500)]
        assert all(50 < chosen.count(address) < 150 for address in ALL)

    def test_there_may_be_fewer_members_than_wanted(self) -> None:
        assert Members(addresses=frozenset({"a:1"}), active={(TOPIC, 0): "a:1"}).holders((TOPIC, 0), 3) == ("a:1",)
