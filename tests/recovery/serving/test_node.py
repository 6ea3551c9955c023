"""Whom a member asks for a partition, whom not and why; what it opens and closes."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import cast

import pytest

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.serving.node import Freshness, Node, why_not
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.starting import rocks_in
from tests.recovery.serving.members import OWN, Neighbours, NoLog, node_of, report, served
from tests.recovery.serving.records import TOPIC

_DEAD = ("b:1", "c:1")


def _asked(node: Node, **wanted: object) -> tuple[list[str], dict[str | None, str]]:
    chosen, refused = node.candidates(node.stores["users"], 0, Freshness(**wanted))  # type: ignore[arg-type]
    return [candidate.address for candidate in chosen], {refusal.member: refusal.reason for refusal in refused}


class TestCandidates:
    def test_the_active_member_comes_first_and_a_standby_that_is_much_fresher_before_it(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1"], active="b:1", values=[b"1"] * 3)
        report(node, "b:1", 3)
        assert _asked(node)[0] == ["b:1", OWN]
        report(node, "b:1", 3, end=2_000)
        assert _asked(node)[0] == [OWN, "b:1"]

    def test_the_standby_with_the_least_lag_follows(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1", "c:1"], standbys=2, values=[b"1"])
        report(node, "b:1", 50, end=60)
        report(node, "c:1", 55, end=60)
        assert _asked(node)[0] == [OWN, "c:1", "b:1"]

    def test_a_member_that_has_reached_the_position_goes_before_the_active(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1"], values=[b"1"])
        report(node, "b:1", 8, end=9)
        assert _asked(node, min_offsets={0: 8})[0] == ["b:1", OWN]

    def test_the_nearest_comes_first_if_none_has_reached_the_position(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1", "c:1", "d:1"], standbys=3, values=[b"1"])
        report(node, "b:1", 7)
        report(node, "c:1", 5)
        node.liveness.beat("d:1")
        assert _asked(node, min_offsets={0: 8})[0] == ["b:1", "d:1", "c:1", OWN]

    def test_a_dead_member_is_not_asked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        node = node_of(tmp_path, ["b:1"], active="b:1", values=[b"1"])
        report(node, "b:1", 1)
        now = time.monotonic_ns()
        monkeypatch.setattr(time, "monotonic_ns", lambda: now + 3_000_000_000)
        chosen, why = _asked(node)
        assert chosen == [OWN]
        assert why["b:1"].startswith("it is not alive as of time ")

    def test_nor_is_one_that_was_not_heard_of(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1"], active="b:1", values=[b"1"])
        node.liveness.expect(frozenset())
        assert _asked(node)[1] == {"b:1": "it has sent no heartbeat yet"}

    @pytest.mark.parametrize(
        ("wanted", "why"),
        [
            ({"max_lag": 6}, "its lag of 7 records exceeds 6"),
            ({"max_lag_ms": 10}, "ms exceeds 10 ms"),
            ({"reads_standbys": False}, "it is not the active member for this partition"),
        ],
    )
    def test_why_a_standby_is_not_asked(self, tmp_path: Path, wanted: dict[str, object], why: str) -> None:
        node = node_of(tmp_path, ["b:1"], active="b:1", values=[b"1"] * 3, end=10)
        chosen, refused = _asked(node, **wanted)
        assert OWN not in chosen
        assert why in refused[OWN]

    def test_a_lag_of_which_nothing_was_heard_is_not_known(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, values=[b"1"])
        (part,) = node.parts()
        part.see_end(1, time.monotonic() - 60)
        assert part.lag.records is None, "a log that nobody could ask may have gone on"
        assert 60_000 <= (part.lag.lag_ms or 0) < 70_000
        assert _asked(node, max_lag=5) == ([], {OWN: "its lag is not known"})
        assert _asked(node, max_lag_ms=5_000)[0] == []
        assert _asked(node)[0] == [OWN]

    def test_nobody_has_it(self, tmp_path: Path) -> None:
        membership = Neighbours(("b:1",), {})
        node = Node(
            {"users": served()},
            address=OWN,
            membership=membership,
            make_follower=NoLog,  # type: ignore[arg-type]
            make_database=rocks_in(tmp_path),
        )
        chosen, refused = node.candidates(node.stores["users"], 0, Freshness())
        assert chosen == []
        assert why_not("users", refused).endswith("partition 0: no member has the partition yet.")


class TestSettle:
    def test_one_that_cannot_be_opened_is_said_and_tried_again_while_others_are_served(self, tmp_path: Path) -> None:
        rocks, broken = rocks_in(tmp_path), {1}

        def make(store: str, number: int):  # type: ignore[no-untyped-def]
            if number in broken:
                raise StateDirectoryError("no room")
            return rocks(store, number)

        node = node_of(tmp_path / "other", partitions=3)
        node = Node(
            {"users": served(3)},
            address=OWN,
            membership=Neighbours((OWN,), {(TOPIC, number): OWN for number in range(3)}),
            make_follower=NoLog,  # type: ignore[arg-type]
            make_database=make,
        )
        with pytest.raises(StateDirectoryError, match=r"^Partition 1 of users cannot be opened: no room$"):
            node.settle()
        assert [part.number for part in node.parts()] == [0, 2]
        broken.clear()
        node.settle()
        assert sorted(part.number for part in node.parts()) == [0, 1, 2]

    def test_a_database_elsewhere_that_does_not_answer_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = node_of(tmp_path)

        def silent() -> list[int]:
            raise StateDirectoryError("no answer")

        (part,) = node.parts()
        monkeypatch.setattr(part.database, "is_near", False)
        monkeypatch.setattr(part.database, "parts", silent)
        with pytest.raises(StateDirectoryError, match=r"^Partition 0 of users: no answer$"):
            node.settle()
        monkeypatch.undo()
        node.settle()

    def test_what_keeps_it_from_reading_is_said_while_there_is_more_to_read(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, values=[b"1"])
        (part,) = node.parts()
        part.problem = "it may not."
        assert not list(node.problems())
        part.see_end(2)
        assert list(node.problems()) == ["Partition 0 of users: it may not."]

    def test_a_partition_stays_until_its_new_holder_has_caught_up(self, tmp_path: Path) -> None:
        node = node_of(tmp_path, ["b:1"], standbys=0, values=[b"1"])
        neighbours = cast("Neighbours", node.membership)
        neighbours.active[TOPIC, 0] = "b:1"
        node.settle()
        assert node.parts(), "the new holder has said nothing yet"
        report(node, "b:1", 0, end=1)
        node.settle()
        assert node.parts()
        report(node, "b:1", 1)
        node.settle()
        assert not node.parts()

    def test_a_head_start_ends_with_the_member(self, tmp_path: Path) -> None:
        begun = threading.Event()

        def endless(part: ServedPartition) -> None:
            begun.set()
            part.start_with(((b"%d" % number, b"v", 0, ()) for number in itertools.count()), 7)

        node = Node(
            {"users": served()},
            address=OWN,
            membership=Neighbours((OWN,), {(TOPIC, 0): OWN}),
            make_follower=NoLog,  # type: ignore[arg-type]
            make_database=rocks_in(tmp_path),
            head_start=endless,
        )

        def settle() -> None:
            with pytest.raises(StateDirectoryError, match="cannot be opened: the member ends"):
                node.settle()

        settling = threading.Thread(target=settle)
        settling.start()
        assert begun.wait(10)
        assert node.is_starting
        node.end()
        settling.join(10)
        assert not settling.is_alive()
        assert not node.is_starting
        assert node.parts() == []
        reopened = rocks_in(tmp_path)("users", 0)
        assert ServedPartition(served().spec, 0, reopened).offset == 0
