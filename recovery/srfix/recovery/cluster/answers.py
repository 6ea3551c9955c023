"""A cluster's answers about topic configurations and groups, and the access right to ask for if it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient, ConfigEntry, ConsumerGroupDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    offset: int
    metadata: str
    """Kafka Streams writes none up to 2.3, base64 from 2.4 on. Bytes of the library's memory may follow its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigs:
    topic: Topic
    values: Mapping[str, str] | None
    """Name → value, with inherited values; None if the configuration could not be read."""
    problem: str | None
    """Why srfix could not read it, with the ACL to ask for if it is missing; None if it could."""

    @property
    def is_compacted(self) -> bool | None:
        policy = None if self.values is None else self.values.get("cleanup.policy")
        return None if policy is None else "compact" in policy.split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    groups: tuple[str, ...]
    """The ids of the groups, sorted; if there is a problem, only those that could be listed."""
    problem: str | None
    """Why the list is missing or incomplete (an old or embedded broker, an ACL); None if it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    group: str
    state: str | None
    """`Stable`, `Empty`, `PreparingRebalance`, `Dead`, …; None if srfix could not ask."""
    members: int | None
    problem: str | None
    assignor: str = ""
    """The assignor that its members agreed on, `stream` for Kafka Streams; empty if there is none."""
    client_ids: tuple[str, ...] = ()
    """The client ids of its members, sorted; Kafka Streams ends them in `-StreamThread-<n>-consumer`."""


def group_states(admin: AdminClient, groups: list[str], *, timeout_s: float) -> Mapping[str, GroupState]:
    futures = admin.describe_consumer_groups(groups, request_timeout=timeout_s) if groups else {}
    return {group: _group_state(group, future, timeout_s) for group, future in futures.items()}


def _group_state(group: str, future: Future[ConsumerGroupDescription], timeout_s: float) -> GroupState:
    try:
        # An error that is raised keeps the frames below it, and so the client, until the next garbage collection.
        error = future.exception(timeout_s + 1)
    except TimeoutError:
        return GroupState(group=group, state=None, members=None, problem="no answer in time")
    if error is not None:
        problem = refusal(error.args[0], acl=f"Describe on group {group!r}")
        return GroupState(group=group, state=None, members=None, problem=problem)
    description = future.result()
    state = "".join(word.capitalize() for word in description.state.name.split("_"))
    return GroupState(
        group=group,
        state=state,
        members=len(description.members),
        problem=None,
        assignor=description.partition_assignor or "",
        client_ids=tuple(sorted(member.client_id for member in description.members)),
    )


def topic_configs(admin: AdminClient, topic: str, *, timeout_s: float) -> TopicConfigs:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    values: dict[str, str] | None = None
    problem = None
    (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=timeout_s).values()
    try:
        entries = cast("Mapping[str, ConfigEntry]", future.result(timeout_s + 1))
        values = {name: entry.value for name, entry in entries.items() if entry.value is not None}
    except KafkaException as error:
        problem = refusal(error.args[0], acl=f"DescribeConfigs on topic {topic!r}")
    except TimeoutError:
        problem = "no answer in time"
    return TopicConfigs(topic=Topic(topic), values=values, problem=problem)


def refusal(error: KafkaError, *, acl: str) -> str:
    """Why a question was not answered, in words; `acl` is the right that it needs: `Describe on group 'users'`."""
    from confluent_kafka import KafkaError

    denied = (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )
    if error.code() in denied:
        return f"the cluster refuses this user; the ACL to ask for is {acl}"
    if error.code() == KafkaError._TIMED_OUT:
        return f"no answer in time ({error.str()})"
    return f"the cluster does not say ({error.str()})"
