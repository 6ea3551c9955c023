"""Whether a topic exists, from the full listing, and which similar name a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable

from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.casing import declared_name
from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest_ones
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

_MOST = 3


def partitions_of(cluster: Cluster, topic: str) -> tuple[int, ...]:
    topics = cluster.topics()
    count = topics.get(Topic(topic))
    if count is None:
        meant = did_you_mean(topic, topics)
        raise UsageError(
            f"This user can see {counted(len(topics), 'topic')}, and {topic!r} is not among them.{meant} Check its spelling "
            "and letter case, the cluster (--bootstrap-servers), and the user's right to describe it."
        )
    return tuple(range(count))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """` Did you mean 'users'?`, to be added to a sentence; empty if no name is near."""
    by_fold: dict[str, str] = {}
    for candidate in names:
        by_fold.setdefault(declared_name(candidate), candidate)
    near = [by_fold[fold] for fold in nearest_ones(declared_name(name), by_fold, most=_MOST)]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
