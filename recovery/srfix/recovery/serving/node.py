"""A member: the partitions that it holds, as active or as standby, and whom it would ask for those of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.documents import Part
from srfix.recovery.ids_in_words import counted
from srfix.recovery.serving.databases import MakeDatabase
from srfix.recovery.serving.following import Follower
from srfix.recovery.serving.head_start import HeadStart
from srfix.recovery.serving.liveness import Lags, Liveness, PartitionLag
from srfix.recovery.serving.membership import Membership
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.questions import Served
from srfix.serde.errors import SrfixError

ACTIVE: Final = "active"
STANDBY: Final = "standby"
_NEAR: Final = 1_000
"""An active member is asked first if it is no more than this number of records behind the one with the least lag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How fresh rows must be."""

    max_lag: int | None = None
    """How many records may be missing."""
    max_lag_ms: int | None = None
    """How old, in milliseconds, the last record may be while there are later ones."""
    min_offsets: Mapping[int, int] = None  # type: ignore[assignment]
    """For partitions: the offset up to which the rows must be."""
    reads_standbys: bool = True

    def problem(self, number: int, lag: PartitionLag | None, *, counts_position: bool = True) -> str | None:
        """Why a member is too far behind for a partition, as a clause; None if it is not."""
        if lag is None:
            return None if self.max_lag is None and self.max_lag_ms is None else "its lag is not known"
        behind = None if lag.end is None else max(lag.end - lag.current, 0)
        if self.max_lag is not None and (behind is None or behind > self.max_lag):
            return f"its lag of {'an unknown number of' if behind is None else f'{behind:,}'} records exceeds {self.max_lag:,}"
        if self.max_lag_ms is not None and (lag.lag_ms is None or lag.lag_ms > self.max_lag_ms):
            return (
                f"its lag of {'unknown' if lag.lag_ms is None else f'{lag.lag_ms:,}'} ms exceeds {self.max_lag_ms:,} ms"
            )
        wanted = (self.min_offsets or {}).get(number)
        if counts_position and wanted is not None and lag.current < wanted:
            return f"it has read up to offset {lag.current:,}, and {wanted:,} is wanted"
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
    :param standbys: how many standbys each partition has.
    :param is_global: True if every member holds every partition.
    """

    def __init__(
        self,
        stores: Mapping[str, Served],
        *,
        address: str,
        membership: Membership,
        follower: Follower,
        make_database: MakeDatabase,
        standbys: int = 0,
        is_global: bool = False,
        head_start: HeadStart | None = None,
    ) -> None:
        self.stores = stores
        self.address = address
        self.liveness = Liveness()
        self.membership = membership
        self.follower = follower
        self._make_database = make_database
        self._standbys = standbys
        self._is_global = is_global
        self._head_start = head_start
        self._held: dict[tuple[str, int], ServedPartition] = {}

    def settle(self) -> None:
        """Opens the partitions that this member is to hold, and closes those that it no longer needs: one that has gone
        to others stays until they have caught up.

        :raises StateDirectoryError: if a database cannot be opened.
        """
        members = self.membership.members()
        self.liveness.expect(members.addresses - {self.address})
        held: dict[tuple[str, int], ServedPartition] = {}
        for store in self.stores.values():
            for number in range(store.spec.partitions):
                place = (store.name, number)
                holders = self._holders(store, number)
                if self.address in holders or (place in self._held and not self._have_it(place, holders)):
                    held[place] = self._held.get(place) or self._open(store, number)
        if held.keys() != self._held.keys():
            self.follower.follow(held.values())
            leaving = [part for place, part in self._held.items() if place not in held]
            self._held = held
            for part in leaving:
                part.close()

    def _open(self, store: Served, number: int) -> ServedPartition:
        part = ServedPartition(store.spec, number, self._make_database(store.name, number))
        if part.offset == 0 and self._head_start is not None:
            self._head_start(part)
        return part

    def _holders(self, store: Served, number: int) -> tuple[str, ...]:
        members = self.membership.members()
        if self._is_global:
            return tuple(sorted(members.addresses))
        return members.holders((store.spec.topic, number), self._standbys)

    def _have_it(self, place: tuple[str, int], holders: tuple[str, ...]) -> bool:
        lags = [self.liveness.lag(address, place) for address in holders if self.liveness.is_alive(address)]
        return bool(lags) and all(lag is not None and lag.is_caught_up for lag in lags)

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
            lags.setdefault(store, {})[number] = lag_of(part)
        return lags

    def lag(self, address: str, store: Served, number: int) -> PartitionLag | None:
        if address != self.address:
            return self.liveness.lag(address, (store.name, number))
        part = self.part(store.name, number)
        return None if part is None else lag_of(part)

    @property
    def is_caught_up(self) -> bool:
        return bool(self._held) and all(part.is_caught_up for part in self.parts())

    def problems(self) -> Iterator[str]:
        """What keeps it from going on, in sentences."""
        errors: tuple[SrfixError | None, ...] = (self.membership.problem, self.follower.problem)
        yield from (error.message for error in errors if error is not None)
        for part in self.parts():
            if part.problem is not None:
                yield f"Partition {part.number} of {part.served.name}: {part.problem}"

    def candidates(self, store: Served, number: int, freshness: Freshness) -> tuple[list[Candidate], list[NotChosen]]:
        """The members to ask for a partition, the best first, and why the others are not asked."""
        chosen: list[Candidate] = []
        refused: list[NotChosen] = []
        members = self.membership.members()
        holders = dict.fromkeys((*self._holders(store, number), *sorted(members.addresses)))
        planned = set(self._holders(store, number))
        for address in holders:
            lag = self.lag(address, store, number)
            role = self.role(store, number, address)
            if lag is None and (address not in planned or address == self.address):
                if address in planned:
                    refused.append(
                        NotChosen(partition=number, member=address, reason="it has not opened the partition yet")
                    )
                continue
            reason = None
            if address != self.address and not self.liveness.is_alive(address):
                reason = f"it is not alive as of time {self.liveness.last_heard_ms(address)}"
            elif role != ACTIVE and not freshness.reads_standbys:
                reason = "it is not the active member for this partition"
            else:
                # Of another member the position is older than this moment: it may have reached it meanwhile.
                reason = freshness.problem(number, lag, counts_position=False)
            if reason is None:
                chosen.append(Candidate(address=address, role=role, lag=lag))
            else:
                refused.append(NotChosen(partition=number, member=address, reason=reason))
        least = min((_behind(candidate) for candidate in chosen), default=0)
        wanted = (freshness.min_offsets or {}).get(number, 0)
        chosen.sort(
            key=lambda candidate: (
                candidate.lag is None or candidate.lag.current < wanted,
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
        self.follower.close()
        for part in self.parts():
            part.close()


def _behind(candidate: Candidate) -> float:
    lag = candidate.lag
    return float("inf") if lag is None or lag.end is None else max(lag.end - lag.current, 0)


def lag_of(part: ServedPartition) -> PartitionLag:
    return PartitionLag(
        current=part.offset, end=part.end, lag_ms=part.lag_ms, is_caught_up=part.is_caught_up and part.problem is None
    )


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
