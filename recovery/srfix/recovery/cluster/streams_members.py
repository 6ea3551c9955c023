"""Which instances of a Kafka Streams application hold which tasks, active and standby, as its group says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from srfix.recovery.cluster.answers import refusal
from srfix.recovery.cluster.streams_protocol import decode_assignment, decode_subscription
from srfix.recovery.errors import FormatError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_CONSUMER: Final = "consumer"
_STREAM: Final = "stream"


class _Member(Protocol):
    """`confluent_kafka.admin.GroupMember`, whose own types say that all of it is None."""

    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    """One thread of an instance."""

    client_id: str
    """As Kafka Streams calls its consumer: `<client.id>-StreamThread-<n>-consumer`."""
    address: str
    """Where the broker sees it, such as `10.0.0.7`."""
    endpoint: str | None
    """Its `application.server`; None where that is not set."""
    subscription: int
    """The latest version of `SubscriptionInfo` that it knows."""
    active: tuple[str, ...]
    """Its active tasks, as the state directory names them; sorted."""
    standby: tuple[str, ...]
    """Its standby tasks, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMembers:
    """The instances of an application."""

    group: str
    """The application.id."""
    members: tuple[StreamsMember, ...]
    """By client id; none where there is a problem."""
    problem: str | None
    """Why they are not known, in a clause; None if they are."""


def streams_members(admin: AdminClient, group: str, *, timeout_s: float) -> StreamsMembers:
    """Asks the group's coordinator. What it refuses, or tells in another form, is a problem in the answer, not an error."""
    from confluent_kafka import KafkaException

    try:
        with warnings.catch_warnings():
            # The newer calls do not hand over the bytes that Kafka Streams puts in.
            warnings.simplefilter("ignore", DeprecationWarning)
            found = admin.list_groups(group, timeout_s)
    except KafkaException as error:
        return _unknown(group, refusal(error.args[0], acl=f"Describe on group {group!r}"))
    known = next((each for each in found if each.id == group), None)
    if known is None:
        return _unknown(group, "the cluster knows no such group")
    if known.error is not None:
        return _unknown(group, refusal(known.error, acl=f"Describe on group {group!r}"))
    if not known.members:
        state = known.state or "not known"
        return _unknown(
            group,
            f"the group has no members that the classic protocol shows (its state is {state}): the application does not run, "
            "or it uses group.protocol=streams",
        )
    if known.protocol_type != _CONSUMER or known.protocol != _STREAM:
        return _unknown(
            group,
            f"the members of the group have not agreed on Kafka Streams' assignor (state {known.state}, protocol "
            f"{known.protocol or 'none'}): it rebalances, or it is none of Kafka Streams",
        )
    try:
        members = sorted(
            (_member(each) for each in cast("list[_Member]", known.members)), key=lambda member: member.client_id
        )
    except FormatError as error:
        return _unknown(group, f"the coordinator's answer cannot be read: {error.message}")
    return StreamsMembers(group=group, members=tuple(members), problem=None)


def _member(found: _Member) -> StreamsMember:
    told, joined = decode_assignment(found.assignment), decode_subscription(found.metadata)
    return StreamsMember(
        client_id=found.client_id,
        address=found.client_host.removeprefix("/"),
        endpoint=joined.endpoint,
        subscription=joined.latest,
        active=told.active,
        standby=told.standby,
    )


def _unknown(group: str, problem: str) -> StreamsMembers:
    return StreamsMembers(group=group, members=(), problem=problem)
