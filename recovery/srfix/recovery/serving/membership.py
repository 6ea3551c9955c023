"""Who serves which partition: Kafka's group coordinator assigns them, and the group's description says who is there.

Each member joins the group with its advertised address in its client id. The active member of a partition is the one to
which the coordinator assigned it; its standbys are the members with the highest hash of address, topic and partition
(rendezvous hashing), so that each member comes to the same result from the same list.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Protocol

from srfix.recovery.serving.following import Place
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka.admin import AdminClient

_CLIENT_ID: Final = "srfix-serve@"
_LOOK_EVERY_S: Final = 0.5
_SESSION_MS: Final = 6_000
"""The least that a broker accepts by default: so long the partitions of a killed member stay assigned to it."""
_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The members of a group, and what the coordinator assigned."""

    addresses: frozenset[str]
    active: Mapping[Place, str] = field(default_factory=dict)

    def standbys(self, place: Place, count: int) -> tuple[str, ...]:
        """The standbys of a partition, the first choice first."""
        active = self.active.get(place)
        others = sorted(self.addresses - {active}, key=lambda address: _rank(address, place), reverse=True)
        return tuple(others[:count])

    def holders(self, place: Place, count: int) -> tuple[str, ...]:
        """The active member, if there is one, and the standbys."""
        active = self.active.get(place)
        return (() if active is None else (active,)) + self.standbys(place, count)


def _rank(address: str, place: Place) -> bytes:
    return blake2b(f"{address} {place[0]} {place[1]}".encode()).digest()


class Membership(Protocol):
    """What a member asks about its group."""

    problem: SrfixError | None

    def members(self) -> Members: ...

    def close(self) -> None: ...


class Alone:
    """A member without a group: every partition is its own."""

    def __init__(self, address: str, places: Collection[Place]) -> None:
        self.problem: SrfixError | None = None
        self._members = Members(addresses=frozenset({address}), active=dict.fromkeys(places, address))

    def members(self) -> Members:
        return self._members

    def close(self) -> None: ...


class Grouped:
    """A member of a consumer group, which is not the application's. It reads and commits nothing in the group.

    :raises UsageError: if librdkafka does not take the configuration.
    """

    def __init__(self, client: ReadOnlyClient, group: str, address: str, topics: Collection[Topic]) -> None:
        from confluent_kafka import Consumer, KafkaException
        from confluent_kafka.admin import AdminClient

        self.problem: SrfixError | None = None
        self._client = client
        self._group = group
        self._topics = frozenset(topics)
        self._members = Members(addresses=frozenset({address}))
        self._own = address
        self._is_over = Event()
        try:
            self._consumer: Consumer = Consumer(
                client.config(
                    group_id=group,
                    client_id=f"{_CLIENT_ID}{address}",
                    partition_assignment_strategy="cooperative-sticky",
                    session_timeout_ms=str(_SESSION_MS),
                    heartbeat_interval_ms=str(_SESSION_MS // 6),
                    auto_offset_reset="latest",
                )
            )
            self._admin: AdminClient = AdminClient(client.config())
        except (KafkaException, TypeError, ValueError) as error:
            raise client.refused_config(error) from None
        self._consumer.subscribe([*self._topics])
        self._thread = Thread(target=self._run, name="srfix-serve-group", daemon=True)
        self._thread.start()

    def members(self) -> Members:
        return self._members

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        looked = 0.0
        while not self._is_over.is_set():
            try:
                # Nothing is read here; the poll keeps the member in the group, and paused partitions fetch nothing.
                self._consumer.pause(self._consumer.assignment())
                self._consumer.poll(0.1)
                if time.monotonic() - looked >= _LOOK_EVERY_S:
                    self._look()
                    looked = time.monotonic()
                self.problem = None
            except SrfixError as error:
                self.problem = error
                self._is_over.wait(_LOOK_EVERY_S)
            except Exception as error:  # noqa: BLE001  (librdkafka's, of whatever kind: it goes on with what it knows)
                self.problem = self._client.failed(f"taking part in the group {self._group}", str(error))
                self._is_over.wait(_LOOK_EVERY_S)

    def _look(self) -> None:
        from confluent_kafka import KafkaException

        try:
            (future,) = self._admin.describe_consumer_groups([self._group], request_timeout=_TIMEOUT_S).values()
            description = future.result(_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as error:
            acl = f"Describe on group {self._group!r}"
            raise self._client.failed("asking for the group's members", error, acl=acl) from None
        addresses, active = {self._own}, {}
        for member in description.members:
            prefix, at, address = member.client_id.partition("@")
            if not at or f"{prefix}{at}" != _CLIENT_ID:
                raise ClusterError(
                    f"The group {self._group!r} has a member {member.client_id!r} that is no `srfix serve`. Give --group a "
                    "name that nothing else uses."
                )
            addresses.add(address)
            for place in member.assignment.topic_partitions if member.assignment else ():
                active[Topic(place.topic), place.partition] = address
        # While the group rebalances, some partitions are nobody's: what was known of them holds until somebody has them.
        known = {place: address for place, address in self._members.active.items() if address in addresses}
        self._members = Members(addresses=frozenset(addresses), active=known | active)
