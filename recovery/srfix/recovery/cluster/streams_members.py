"""The active and standby tasks of each instance of a Kafka Streams application, by its group.

Kafka Streams adds bytes of its own to the consumer protocol (`ConsumerProtocolSubscription`,
`ConsumerProtocolAssignment`): `SubscriptionInfo` and `AssignmentInfo`, in versions 1 to 11. A member also names the
latest version that it knows. Integers are big-endian.

| `AssignmentInfo` | from |
|---|---|
| version; from 3 on the version that all understand | 1 |
| active tasks; standby tasks, each with the partitions of its changelogs | 1 |
| hosts with their partitions, an error code, when to rebalance next: not read | 2, 4, 7 |

From 10 on a task has the name of its topology.
"""

from __future__ import annotations

import re
import struct
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from srfix.recovery.cluster.answers import refusal
from srfix.recovery.errors import FormatError
from srfix.serde.printable import counted, foreign

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_CONSUMER: Final = "consumer"
_STREAM: Final = "stream"
_LATEST: Final = 11
_COMMON_VERSION_SINCE: Final = 3

_PREVIOUS_TASKS_UNTIL: Final = 6
_NAMED_TOPOLOGIES_SINCE: Final = 10
_ENDPOINT_SINCE: Final = 2
_HOST_AND_PORT: Final = re.compile(r"[!-~]*:[0-9]+")
"""Kafka Streams does not start with any other `application.server` (`HostInfo`, `Utils.HOST_PORT_PATTERN`)."""


def decode_assignment(stored: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The active and the standby tasks, sorted, as the state directory names them: `3_0`, `orders__3_0`."""
    outer = _Reader(stored)
    outer.number("h")
    for _ in range(outer.count()):
        outer.short_text()
        for _ in range(outer.count()):
            outer.number("i")
    info = _Reader(outer.bytes())
    version = _version(info)
    info.take(4 if version >= _COMMON_VERSION_SINCE else 0)
    active = {_task(info, version) for _ in range(info.count())}  # one for each of its partitions
    standby = set()
    for _ in range(info.count()):
        standby.add(_task(info, version))
        for _ in range(info.count()):
            info.short_text()
            info.number("i")
    return tuple(sorted(active)), tuple(sorted(standby))


class Subscription(NamedTuple):
    """What a member said when it joined (`SubscriptionInfo`)."""

    latest: int
    """The latest version of this format that the member knows, 1 to 11 or later: it shows its Kafka Streams."""
    endpoint: str | None


def decode_subscription(stored: bytes) -> Subscription:
    outer = _Reader(stored)
    outer.number("h")
    for _ in range(outer.count()):
        outer.short_text()
    info = _Reader(outer.bytes())
    version = _version(info)
    latest = info.number("i") if version >= _COMMON_VERSION_SINCE else version
    if version < _ENDPOINT_SINCE:
        return Subscription(latest, None)
    info.take(16)  # the process id
    if version <= _PREVIOUS_TASKS_UNTIL:
        for _tasks in ("previous", "standby"):
            for _ in range(info.count()):
                info.take(8)
    endpoint = info.bytes().decode("utf-8", "replace").strip()
    if endpoint and not _HOST_AND_PORT.fullmatch(endpoint):
        raise FormatError(
            f"the data that Kafka Streams sends to its group is damaged: {foreign(endpoint)!r} is no HOST:PORT"
        )
    return Subscription(latest, endpoint or None)


def _version(info: _Reader) -> int:
    version = info.number("i")
    if not 1 <= version <= _LATEST:
        raise FormatError(f"srfix does not know version {version} of the data that Kafka Streams sends to its group")
    return version


def _task(info: _Reader, version: int) -> str:
    subtopology, partition = info.number("i"), info.number("i")
    topology = ""
    if version >= _NAMED_TOPOLOGIES_SINCE:
        topology = info.take(2 * info.count()).decode("utf-16-be", "replace")
    return f"{topology}__{subtopology}_{partition}" if topology else f"{subtopology}_{partition}"


class _Reader:
    def __init__(self, stored: bytes) -> None:
        self._stored = stored
        self._at = 0

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self._stored) - self._at:
            raise FormatError(
                f"the data that Kafka Streams sends to its group is cut short: {counted(size, 'byte')} should follow byte "
                f"{self._at}, but {len(self._stored) - self._at} follow"
            )
        self._at += size
        return self._stored[self._at - size : self._at]

    def number(self, form: str) -> int:
        return int(struct.unpack(f">{form}", self.take(struct.calcsize(f">{form}")))[0])

    def count(self) -> int:
        count = self.number("i")
        if not 0 <= count <= len(self._stored) - self._at:
            raise FormatError(f"the data that Kafka Streams sends to its group is damaged: {count} items should follow")
        return count

    def bytes(self) -> bytes:
        return self.take(max(0, self.number("i")))

    def short_text(self) -> str:
        return self.take(self.number("h")).decode("utf-8", "replace")


class _Member(Protocol):
    """`confluent_kafka.admin.GroupMember`; its own types wrongly say that every field is None."""

    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    client_id: str
    """The name that Kafka Streams gives its consumer: `<client.id>-StreamThread-<n>-consumer`."""
    address: str
    endpoint: str | None
    subscription: int
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMembers:
    group: str
    members: tuple[StreamsMember, ...]
    problem: str | None


def streams_members(admin: AdminClient, group: str, *, timeout_s: float) -> StreamsMembers:
    """Asks the group's coordinator. A refusal, or an answer in another format, is a problem in the answer."""
    from confluent_kafka import KafkaException

    try:
        with warnings.catch_warnings():
            # The newer calls do not return the bytes that Kafka Streams adds.
            warnings.simplefilter("ignore", DeprecationWarning)
            groups = admin.list_groups(group, timeout_s)
    except KafkaException as error:
        return _unknown(group, refusal(error.args[0], acl=f"Describe on group {group!r}"))
    metadata = next((listed_group for listed_group in groups if listed_group.id == group), None)
    if metadata is None:
        return _unknown(group, "the cluster knows no such group")
    if metadata.error is not None:
        return _unknown(group, refusal(metadata.error, acl=f"Describe on group {group!r}"))
    if not metadata.members:
        state = metadata.state or "not known"
        return _unknown(
            group,
            f"the group has no members that the classic protocol shows (its state is {state}): the application does not run, "
            "or it uses group.protocol=streams",
        )
    if metadata.protocol_type != _CONSUMER or metadata.protocol != _STREAM:
        return _unknown(
            group,
            f"the members of the group have not agreed on Kafka Streams' assignor (state {metadata.state}, protocol "
            f"{metadata.protocol or 'none'}): the group rebalances, or it does not belong to Kafka Streams",
        )
    try:
        members = sorted(
            (_member(member) for member in cast("list[_Member]", metadata.members)), key=lambda member: member.client_id
        )
    except FormatError as error:
        return _unknown(group, f"the coordinator's answer cannot be read: {error.message}")
    return StreamsMembers(group=group, members=tuple(members), problem=None)


def _member(member: _Member) -> StreamsMember:
    active, standby = decode_assignment(member.assignment)
    joined = decode_subscription(member.metadata)
    return StreamsMember(
        client_id=member.client_id,
        address=member.client_host.removeprefix("/"),
        endpoint=joined.endpoint,
        subscription=joined.latest,
        active=active,
        standby=standby,
    )


def _unknown(group: str, problem: str) -> StreamsMembers:
    return StreamsMembers(group=group, members=(), problem=problem)
