"""What both kinds of topic plans look at: partitions, groups, logs; and what to say where the world is not as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.interface import Look
from srfix.recovery.topic_plan.rows import NewestRecord, newest_records
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic

CLEANUP_POLICY: Final = "cleanup.policy"
TIMESTAMP_TYPE: Final = "message.timestamp.type"
CREATE_TIME: Final = "CreateTime"
STREAMS_CONFIGS: Final[Mapping[str, str]] = {CLEANUP_POLICY: "compact", TIMESTAMP_TYPE: CREATE_TIME}
"""What Kafka Streams gives to the changelog of a key-value store (`UnwindowedChangelogTopicConfig`)."""


def count_of(look: Look, topic: str) -> int:
    """How many partitions a topic has."""
    topics = look.topics()
    count = topics.get(Topic(topic))
    if count is None:
        raise PlanError(
            f"There is no topic {topic!r} among the {len(topics)} that this user may see.{did_you_mean(topic, topics)} Check "
            "its spelling, the cluster (--bootstrap-servers), and the right to describe it."
        )
    return count


def require_no_members(look: Look, application: str, *, why: str) -> None:
    """Nothing if the application's group is known to have no members.

    :param why: what members would do, in a clause.
    """
    state = look.group_state(application)
    if state.members is None:
        raise PlanError(
            f"Whether the application {application!r} runs is not known: {state.problem}. It must be stopped, for {why}. "
            "Nothing was written."
        )
    if state.members:
        raise PlanError(
            f"The application {application!r} runs: its group has {state.members} members ({state.state}). Stop every "
            f"instance first, for {why}. Nothing was written."
        )


def known_configs(look: Look, topic: str) -> Mapping[str, str]:
    """`cleanup.policy` and `message.timestamp.type` of a topic that exists."""
    found = look.topic_configs([topic])[Topic(topic)]
    if found.values is None:
        raise PlanError(
            f"How the topic {topic!r} is configured is not known: {found.problem}. Whether it is compacted decides what its "
            "records mean. Nothing was written."
        )
    return {name: found.values.get(name, "") for name in (CLEANUP_POLICY, TIMESTAMP_TYPE)}


def newest_of(
    look: Look, topic: str, partition: int, log: tuple[int, int], isolation: Isolation
) -> dict[bytes, NewestRecord]:
    """The newest record of each key of a partition, tombstones too.

    :param log: where to begin (inclusive) and end (exclusive).
    """
    return newest_records(look.read(topic, partition, *log, isolation=isolation))


def changed(what: str) -> PlanError:
    """The error about a world that is not as the plan expects it.

    :param what: what is other, in words, without capital and full stop.
    """
    return PlanError(f"The world has changed since the plan was made: {what}. Nothing was written for it; plan again.")
