"""Who is alive, by ksqlDB's arithmetic (`HeartbeatAgent`), counted here from its description:

each 100 ms a heartbeat is due in a window of 2,000 ms. Between two heartbeats (and the window's start), one that is late
counts the heartbeats that would have been due strictly before it; the count is forgotten by the next that is in time, and
overwritten by the gap at the window's end, unless that is a millisecond. A member with 3 or more missed is dead.
"""

from __future__ import annotations

import pytest

from srfix.recovery.serving import liveness
from srfix.recovery.serving.liveness import Liveness, PartitionLag, missed_beats

_WINDOW = (10_000, 12_000)


@pytest.mark.parametrize(
    ("beats", "missed"),
    [
        (range(10_000, 12_000, 100), 0),
        ([], 19),
        ([10_000], 19),
        ([11_999], 19),
        ([11_998], 0),
        ([11_900], 0),
        ([11_899], 1),
        ([11_800], 1),
        ([11_799], 2),
        ([11_699], 3),
        ([11_700], 2),
        ([10_100, 11_950], 0),
        ([11_950, 12_000, 12_500], 0),
        ([12_000], 19),
    ],
)
def test_how_many_heartbeats_are_missing(beats: list[int], missed: int) -> None:
    assert missed_beats(list(beats), start_ms=_WINDOW[0], end_ms=_WINDOW[1]) == missed


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(liveness, "now_ms", clock)
    return clock


def test_a_new_member_is_alive_until_its_first_window_is_over(clock: Clock) -> None:
    members = Liveness()
    members.expect(frozenset({"a:1"}))
    clock.now_ms += 1_999
    assert members.is_alive("a:1")
    clock.now_ms += 1
    assert not members.is_alive("a:1")
    assert not members.is_alive("b:1")


def test_a_member_dies_after_three_missed_heartbeats_and_comes_back_with_one(clock: Clock) -> None:
    members = Liveness()
    members.expect(frozenset({"a:1"}))
    for _ in range(30):
        members.beat("a:1")
        clock.now_ms += 100
    assert members.is_alive("a:1")
    clock.now_ms += 200
    assert members.is_alive("a:1")
    clock.now_ms += 1
    assert not members.is_alive("a:1")
    members.beat("a:1")
    clock.now_ms += 1
    assert members.is_alive("a:1")


def test_strangers_are_not_counted_and_leavers_are_forgotten(clock: Clock) -> None:
    members = Liveness()
    members.beat("a:1")
    lag = PartitionLag(current=1, end=2, lag_ms=3, is_caught_up=False)
    members.report("a:1", {"users": {0: lag}})
    assert members.lag("a:1", ("users", 0)) is None
    members.expect(frozenset({"a:1"}))
    members.report("a:1", {"users": {0: lag}})
    assert members.lag("a:1", ("users", 0)) == lag
    clock.now_ms += 5_000
    assert members.lag("a:1", ("users", 0)) is None, "a report counts only while it is new"
    members.expect(frozenset())
    members.expect(frozenset({"a:1"}))
    assert members.lag("a:1", ("users", 0)) is None


def test_a_wall_clock_that_jumps_kills_nobody(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    members = Liveness()
    members.expect(frozenset({"a:1"}))
    members.beat("a:1")
    monkeypatch.setattr(liveness.time, "time_ns", lambda: 0)
    clock.now_ms += 50
    assert members.is_alive("a:1")
