"""Which members are alive, by ksqlDB's arithmetic, and how far each is (`HeartbeatAgent`, `LagReportingAgent`).

ksqlDB counts by the time that the sender writes into a heartbeat. srfix counts by the time at which it came, because the
clocks of two members may differ by more than the window.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery import clock
from srfix.recovery.documents import Count, Part

SEND_MS: Final = 100
WINDOW_MS: Final = 2_000
MISSED: Final = 3
"""How many heartbeats in a row a member may miss (`ksql.heartbeat.missed.threshold.ms`, which is a count)."""
LAG_EVERY_MS: Final = 500
_LAGS_COUNT_MS: Final = 5_000


class PartitionLag(Part, kw_only=True):
    """How far a member is in a partition of a store."""

    current: int
    """The next offset that it reads."""
    end: int | None
    """The end of the log, or the offset up to which it is to be read; None if it has not seen it."""
    lag_ms: int | None
    """0 if there were no later records (the time since then, if it has not seen the end of late); else the age of the last
    record that it read. None if nothing is known."""
    is_caught_up: bool

    @property
    def records(self) -> int | None:
        """The offsets between the two; None if it has not seen the end."""
        return None if self.end is None else max(self.end - self.current, 0)


class PartitionRead(Part, kw_only=True):
    """How far the rows of a partition are, and who has, or read, them."""

    partition: Count
    member: str
    role: str
    """active or standby."""
    offset: Count
    """Every record of the log before this offset is in the rows."""
    end: Count | None
    """The end of the log that the member has seen, or the offset up to which it reads."""
    lag: Count | None
    """The number of offsets between the two."""
    lag_ms: Count | None
    """The age of the last record that it read while there are later ones, in milliseconds; else 0."""

    @classmethod
    def at(cls, number: int, member: str, role: str, lag: PartitionLag) -> PartitionRead:
        offset, records = lag.current, lag.records
        return cls(
            partition=number, member=member, role=role, offset=offset, end=lag.end, lag=records, lag_ms=lag.lag_ms
        )


Lags = dict[str, dict[int, PartitionLag]]
"""A store's name → partition → how far."""


def missed_beats(beats_ms: list[int], *, start_ms: int, end_ms: int) -> int:
    """How many heartbeats in a row are missing at the end of a window, as ksqlDB counts: integers, and a beat that came
    in time forgets what was missed before it."""
    previous, missed = start_ms, 0
    for beat in beats_ms:
        if beat >= end_ms:
            continue
        missed = (beat - previous - 1) // SEND_MS if beat - SEND_MS > previous else 0
        previous = beat
    if end_ms - previous - 1 > 0:
        missed = (end_ms - previous - 1) // SEND_MS
    return missed


@dataclass(slots=True)
class _Host:
    since_ms: int
    beats_ms: deque[int] = field(default_factory=lambda: deque(maxlen=4 * WINDOW_MS // SEND_MS))
    lags: Lags = field(default_factory=dict)
    lags_ms: int = -_LAGS_COUNT_MS


class Liveness:
    """What a member knows of the others. A new member counts as alive until the first window has passed."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def expect(self, addresses: frozenset[str]) -> None:
        """These, and no others, are members."""
        now = now_ms()
        for address in self._hosts.keys() - addresses:
            del self._hosts[address]
        for address in addresses - self._hosts.keys():
            self._hosts[address] = _Host(now)

    def beat(self, address: str) -> None:
        """A heartbeat came. One of an address that is no member is left out."""
        if address in self._hosts:
            self._hosts[address].beats_ms.append(now_ms())

    def report(self, address: str, lags: Lags) -> None:
        if address in self._hosts:
            self._hosts[address].lags, self._hosts[address].lags_ms = lags, now_ms()

    def is_alive(self, address: str) -> bool:
        host, end_ms = self._hosts.get(address), now_ms()
        if host is None or not host.beats_ms:
            return host is not None and host.since_ms > end_ms - WINDOW_MS
        # ksqlDB does not count a heartbeat of the window's last millisecond, and looks only every 200 ms.
        end_ms = max(end_ms, host.beats_ms[-1] + 2)
        start_ms = end_ms - WINDOW_MS
        beats = [beat for beat in host.beats_ms if beat >= start_ms]
        return bool(beats) and missed_beats(beats, start_ms=start_ms, end_ms=end_ms) < MISSED

    def last_heard_ms(self, address: str) -> int:
        """When the last heartbeat came, since the epoch; when it was first expected, if none came."""
        host = self._hosts.get(address)
        return 0 if host is None else since_epoch_ms([host.since_ms, *host.beats_ms][-1])

    def lag(self, address: str, place: tuple[str, int]) -> PartitionLag | None:
        """How far a member is in a partition of a store; None if it has not said so of late."""
        return self.lags(address)[0].get(place[0], {}).get(place[1])

    def lags(self, address: str) -> tuple[Lags, int]:
        """How far a member is, and when it said so."""
        host = self._hosts.get(address)
        if host is None or now_ms() - host.lags_ms >= _LAGS_COUNT_MS:
            return {}, 0
        return host.lags, since_epoch_ms(host.lags_ms)


def now_ms() -> int:
    """Milliseconds of a clock that nobody sets."""
    return time.monotonic_ns() // 1_000_000


def since_epoch_ms(moment_ms: int) -> int:
    """A time of `now_ms` by the wall clock."""
    return clock.now_ms() - (now_ms() - moment_ms)
