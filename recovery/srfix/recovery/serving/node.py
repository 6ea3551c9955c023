"""A member: the partitions that it holds, as active or as standby, and whom it would ask for those of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.documents import Part
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.serving.databases import MakeDatabase
from srfix.recovery.serving.following import Follower
from srfix.recovery.serving.head_start import HeadStart
from srfix.recovery.serving.liveness import Lags, Liveness, PartitionLag
from srfix.recovery.serving.membership import Membership
from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.serving.questions import Served
from srfix.serde.errors import SrfixError
from srfix.serde.printable import counted

ACTIVE: Final = "active"
STANDBY: Final = "standby"
_NOT_KNOWN: Final = "its lag is not known"
_NEAR: Final = 1_000
"""An active member is asked first if it is no more than this number of records behind the one with the least lag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How fresh rows must be."""

    max_lag: int | None = None
    """How many records may be missing."""
    max_lag_ms: int | None = None
    """How old, in milliseconds, the last record may be while there are later ones."""
    min_offsets: Mapping[int, int] = field(default_factory=dict)
    """For partitions: the offset up to which the rows must be."""
    reads_standbys: bool = True

    def problem(self, lag: PartitionLag | None) -> str | None:
        """Why a member lags too far behind, as a clause; None if it does not."""
        if lag is None:
            return None if self.max_lag is None and self.max_lag_ms is None else _NOT_KNOWN
        behind = lag.records
        if self.max_lag is not None and (behind is None or behind > self.max_lag):
            return _NOT_KNOWN if behind is None else f"its lag of {counted(behind, 'record')} exceeds {self.max_lag:,}"
        if self.max_lag_ms is not None and (lag.lag_ms is None or lag.lag_ms > self.max_lag_ms):
            return _NOT_KNOWN if lag.lag_ms is None else f"its lag of {lag.lag_ms:,} ms exceeds {self.max_lag_ms:,} ms"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    address: str
    role: str
    lag: PartitionLag | None


class NotChosen(Part):
    """A member that was not asked for a partition, or that did not answer."""

    partition: int
    member: str | None
    reason: str


class Node:
    """
    :param address: under which the other members reach this one: `host:port`.
    :param scheme: of the members: http or https.
    :param standbys: how many standbys each partition has.
    :param is_global: True if every member holds every partition.
    """

    def __init__(
        self,
        stores: Mapping[str, Served],
        *,
        address: str,
        membership: Membership,
        make_follower: Callable[[ServedStore], Follower],
        make_database: MakeDatabase,
        scheme: str = "http",
        standbys: int = 0,
        is_global: bool = False,
        head_start: HeadStart | None = None,
    ) -> None:
        self.stores = stores
        self.address = address
        self.liveness = Liveness()
        self.membership = membership
        self.followers = {name: make_follower(store.spec) for name, store in stores.items()}
        self._make_database = make_database
        self._scheme = scheme
        self._standbys = sys.maxsize if is_global else standbys
        self._is_global = is_global
        self._head_start = head_start
        self._held: dict[tuple[str, int], ServedPartition] = {}
        self._starting: ServedPartition | None = None
        self._is_ending = False

    def settle(self) -> None:
        """Opens the partitions that this member is to hold, and closes those that it no longer needs: one that has gone
        to others stays until they have caught up. What cannot be opened is tried again the next time.

        :raises StateDirectoryError: if a partition cannot be opened, after all others are.
        """
        members = self.membership.members()
        self.liveness.expect(members.addresses - {self.address})
        unopened: list[str] = []
        held = dict(self._held)
        for store in self.stores.values():
            for number in range(store.spec.partitions):
                place = (store.name, number)
                holders = self._holders(store, number)
                if self.address not in holders and place in held and self._have_it(place, holders):
                    del held[place]
                elif self.address in holders and place not in held:
                    try:
                        held[place] = self._open(store, number, held)
                    except SrfixError as error:
                        unopened.append(f"Partition {number} of {store.name} cannot be opened: {error.message}")
                elif place in held and not held[place].database.is_near:
                    try:
                        held[place].database.parts()  # nobody else may ask it for long
                    except SrfixError as error:
                        unopened.append(f"Partition {number} of {store.name}: {error.message}")
        self._hold(held)
        self._starting = None
        if unopened:
            raise StateDirectoryError(" ".join(unopened))

    def _open(self, store: Served, number: int, held: dict[tuple[str, int], ServedPartition]) -> ServedPartition:
        database = self._make_database(store.name, number)
        try:
            part = ServedPartition(store.spec, number, database)
            if part.offset == 0 and self._head_start is not None:
                self._hold(held)  # a head start takes its time; the partitions that are open need not wait
                self._starting = part
                part.is_abandoned = self._is_ending
                self._head_start(part)
        except BaseException:
            database.close()
            raise
        return part

    @property
    def is_starting(self) -> bool:
        """True while head starts are taken: `parts` lacks those partitions."""
        return self._starting is not None

    def end(self) -> None:
        """Ends what `settle` may be doing in another thread."""
        self._is_ending = True
        if (starting := self._starting) is not None:
            starting.is_abandoned = True

    def _hold(self, held: dict[tuple[str, int], ServedPartition]) -> None:
        if held.keys() == self._held.keys():
            return
        for name, follower in self.followers.items():
            follower.follow(part for (store, _number), part in held.items() if store == name)
        leaving = [part for place, part in self._held.items() if place not in held]
        self._held = dict(held)
        for part in leaving:
            part.close()

    def _holders(self, store: Served, number: int) -> tuple[str, ...]:
        return self.membership.members().holders((store.spec.topic, number), self._standbys)

    def _have_it(self, place: tuple[str, int], holders: tuple[str, ...]) -> bool:
        lags = [self.liveness.lag(address, place) for address in holders if self.liveness.is_alive(address)]
        return bool(lags) and all(lag is not None and lag.is_caught_up for lag in lags)

    def url(self, address: str, path: str) -> str:
        return f"{self._scheme}://{address}{path}"

    def part(self, store: str, number: int) -> ServedPartition | None:
        """A partition that this member holds."""
        return self._held.get((store, number))

    def parts(self) -> list[ServedPartition]:
        return list(self._held.values())

    def role(self, store: Served, number: int, address: str) -> str:
        active = self.membership.members().active.get((store.spec.topic, number))
        return ACTIVE if address == active or self._is_global else STANDBY

    def own_lags(self) -> Lags:
        lags: Lags = {}
        for (store, number), part in [*self._held.items()]:
            lags.setdefault(store, {})[number] = part.lag
        return lags

    def lag(self, address: str, store: Served, number: int) -> PartitionLag | None:
        if address != self.address:
            return self.liveness.lag(address, (store.name, number))
        part = self.part(store.name, number)
        return None if part is None else part.lag

    def problems(self) -> Iterator[str]:
        """What keeps partitions from going on, in sentences."""
        for part in self.parts():
            if part.problem is not None and part.lag.records != 0:
                yield f"Partition {part.number} of {part.served.name}: {part.problem}"

    def candidates(self, store: Served, number: int, freshness: Freshness) -> tuple[list[Candidate], list[NotChosen]]:
        """The members to ask for a partition, the best first, and why the others are not asked."""
        chosen: list[Candidate] = []
        refused: list[NotChosen] = []
        holders = self._holders(store, number)
        for address in dict.fromkeys((*holders, *sorted(self.membership.members().addresses))):
            lag = self.lag(address, store, number)
            if lag is None and address not in holders:
                continue
            role = self.role(store, number, address)
            reason: str | None
            if address != self.address and not self.liveness.is_alive(address):
                heard_ms = self.liveness.last_heard_ms(address)
                reason = f"it is not alive as of time {heard_ms}" if heard_ms else "it has sent no heartbeat yet"
            elif lag is None and address == self.address:
                reason = "it has not opened the partition yet"
            elif role != ACTIVE and not freshness.reads_standbys:
                reason = "it is not the active member for this partition"
            else:
                # The position is older than this moment, and counts when the member is asked: it may have reached it.
                reason = freshness.problem(lag)
            if reason is None:
                chosen.append(Candidate(address=address, role=role, lag=lag))
            else:
                refused.append(NotChosen(partition=number, member=address, reason=reason))
        least = min((_behind(candidate) for candidate in chosen), default=0)
        wanted = freshness.min_offsets.get(number, 0)
        chosen.sort(
            key=lambda candidate: (
                _missing(candidate, wanted),
                _behind(candidate) > least + _NEAR,
                candidate.role != ACTIVE,
                _behind(candidate),
            )
        )
        if not chosen and not refused:
            refused.append(NotChosen(partition=number, member=None, reason="no member has the partition yet"))
        return chosen, refused

    def close(self) -> None:
        self.membership.close()
        for follower in self.followers.values():
            follower.close()
        for part in self.parts():
            part.close()


def _behind(candidate: Candidate) -> float:
    records = None if candidate.lag is None else candidate.lag.records
    return float("inf") if records is None else records


def _missing(candidate: Candidate, wanted: int) -> int:
    """How many offsets a member was short of a position when it told its lag; 1 if it has not told it."""
    return 1 if candidate.lag is None else max(wanted - candidate.lag.current, 0)


def why_not(store: str, refused: list[NotChosen]) -> str:
    """The sentence of an error: why no member answers for some partitions."""
    partitions = sorted({refusal.partition for refusal in refused})
    reasons = "; ".join(
        f"{refusal.member} was not chosen for partition {refusal.partition} because {refusal.reason}"
        if refusal.member is not None
        else f"partition {refusal.partition}: {refusal.reason}"
        for refusal in refused[:20]
    )
    return f"No member can answer for {counted(len(partitions), 'partition')} of {store}: {reasons}."
