"""Who serves which partition: Kafka's group coordinator assigns them, and the group's description says who is there.

Each member joins the group with its advertised address in its client id, signed if there are credentials. The active member
of a partition is the one to which the coordinator assigned it; its standbys are the members with the highest hash of
address, topic and partition (rendezvous hashing), so that each member comes to the same result from the same list.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import MemberDescription

from srfix.recovery.serving.following import Place
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import ReadOnlyClient, free_aside
from srfix.serde.subjects.names import Topic

_CLIENT_ID: Final = "srfix-serve@"
_POLL_S: Final = 0.4
_SESSION_MS: Final = 6_000
"""The least that a broker accepts by default: so long the partitions of a killed member stay assigned to it."""
_TIMEOUT_S: Final = 5.0
_FORGOTTEN_S: Final = 3 * _SESSION_MS / 1000
"""After this time the coordinator has surely forgotten a member that was killed."""
_MEMBER: Final = re.compile(
    rf"{_CLIENT_ID}((?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{{1,5}})((?:-[0-9a-f]{{32}})?)", re.ASCII
)
"""Its client id: an address, and its signature."""
_SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The members of a group, and what the coordinator assigned."""

    addresses: frozenset[str]
    active: Mapping[Place, str] = field(default_factory=dict)
    strangers: frozenset[str] = frozenset()
    """Client ids in the group without the signature that this member would give them, or of something else."""

    def holders(self, place: Place, standbys: int) -> tuple[str, ...]:
        """The active member of a partition, if there is one, and so many standbys, the first choice first."""

        def rank(address: str) -> bytes:
            return blake2b(f"{address} {place[0]} {place[1]}".encode()).digest()

        active = self.active.get(place)
        others = sorted(self.addresses - {active}, key=rank, reverse=True)
        return (*(() if active is None else (active,)), *others[:standbys])


class Membership:
    """A member without a group: every partition is its own."""

    def __init__(self, address: str, places: Collection[Place] = ()) -> None:
        self._own = address
        self._members = Members(addresses=frozenset({address}), active=dict.fromkeys(places, address))

    def members(self) -> Members:
        return self._members

    def look(self) -> None:
        """Asks who is there, and waits for the answer.

        :raises SrfixError: if there is none; what was known holds.
        """

    def close(self) -> None: ...


class Grouped(Membership):
    """A member of a consumer group, which is not the application's, as long as it looks. It reads and commits nothing in the
    group.

    :param sign: makes what is behind the address of each member in its client id.
    :raises UsageError: if librdkafka does not take the configuration.
    """

    def __init__(
        self,
        client: ReadOnlyClient,
        group: str,
        address: str,
        topics: Collection[Topic],
        sign: Callable[[str], str],
    ) -> None:
        super().__init__(address)
        # None before it has asked: whoever takes itself for the only one has all partitions.
        self._members = Members(addresses=frozenset())
        self._client = client
        self._group = group
        self._sign = sign
        self._shared_s = time.monotonic()
        self._admin = client.admin()
        self._consumer = client.consumer(
            group_id=group,
            client_id=f"{_CLIENT_ID}{address}{sign(address)}",
            partition_assignment_strategy="range",
            session_timeout_ms=str(_SESSION_MS),
            heartbeat_interval_ms=str(_SESSION_MS // 6),
            auto_offset_reset="latest",
        )
        # Nothing is read here: the polls keep the member in the group, and no partition is fetched.
        self._consumer.subscribe(sorted(topics), on_assign=lambda consumer, _partitions: consumer.assign([]))

    def close(self) -> None:
        self._consumer.close()

    def look(self) -> None:
        self._consumer.poll(_POLL_S)
        try:
            (future,) = self._admin.describe_consumer_groups([self._group], request_timeout=_TIMEOUT_S).values()
            description = future.result(_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as error:
            silent = [self._admin]  # one that was refused for long may not come back
            del self._admin
            free_aside(silent)
            self._admin = self._client.admin()
            self._members = self._members if self._members.addresses else Members(addresses=frozenset({self._own}))
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE:
                raise ClusterError(
                    "The brokers have no consumer groups, which --group needs. Those of `srfix demo --keep --real` have them."
                ) from None
            acl = f"Describe on group {self._group!r}"
            raise self._client.failed("asking for the group's members", error, acl=acl) from None
        self._members, count = members_of(
            [(member.client_id, _places(member)) for member in description.members],
            self._own,
            self._members.active,
            self._sign,
        )
        if count < 2:
            self._shared_s = time.monotonic()
        if time.monotonic() - self._shared_s > _FORGOTTEN_S:
            raise ClusterError(
                f"{count} members of the group {self._group!r} have the address {self._own}: give each its own."
            )
        if strangers := self._members.strangers:
            raise ClusterError(
                f"The group {self._group!r} has {counted(len(strangers), 'stranger')}, such as {min(strangers)[:_SHOWN]!r}: "
                "no `srfix serve`, or one with other credentials. srfix sends them nothing. Give all members the same --token "
                "or --user, and --group a name that nothing else uses."
            )


def _places(member: MemberDescription) -> list[Place]:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    return [(Topic(place.topic), place.partition) for place in assigned]


def members_of(
    described: Iterable[tuple[str, Iterable[Place]]], own: str, known: Mapping[Place, str], sign: Callable[[str], str]
) -> tuple[Members, int]:
    """The members, and how many of them have this member's address: one that was restarted has it twice for a while.

    :param described: the client id of each member, and the partitions that it was assigned.
    :param own: the address of this member, which counts as one.
    :param known: what the coordinator had assigned before. While the group rebalances, some partitions are nobody's: what
        was known of them holds until somebody has them.
    :param sign: what is behind the address of a member that has this member's credentials.
    """
    addresses, active, strangers, count = {own}, {}, set(), 0
    for client_id, places in described:
        match = _MEMBER.fullmatch(client_id)
        if match is None or not compare_digest(match[2], sign(match[1])):
            strangers.add(client_id)
            continue
        address = match[1]
        addresses.add(address)
        active.update(dict.fromkeys(places, address))
        count += address == own
    kept = {place: address for place, address in known.items() if address in addresses}
    return Members(addresses=frozenset(addresses), active=kept | active, strangers=frozenset(strangers)), count
