"""A task's part of a store beside the partitions that it restores from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.topic_lookup import partitions_of
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.difference_kinds import Comparison
from srfix.recovery.stores.differences import compared
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCompare:
    """What of a topic stores are compared with."""

    topic: Topic
    """The topic."""
    ranges: Mapping[int, tuple[int, int]]
    """By partition the first offset, inclusive, and the last, exclusive."""

    def part(self, cluster: Cluster, store: StateStore) -> Comparison:
        """A part beside its partition; a global one beside all. Damage is noted in the store."""
        own = self._ranges(store)
        is_cut = any(begin > 0 for begin, _end in own.values())
        end = own[store.partition][1] if store.partition is not None else None
        return compared(store, self._records(cluster, store), is_cut=is_cut, end=end)

    def cut(self, store: StateStore) -> dict[int, int]:
        """Where the logs begin of which something is gone, of a part's own partitions."""
        return {partition: begin for partition, (begin, _end) in self._ranges(store).items() if begin > 0}

    def _ranges(self, store: StateStore) -> dict[int, tuple[int, int]]:
        own = sorted(self.ranges) if store.partition is None else [store.partition]
        return {partition: self.ranges.get(partition, (0, 0)) for partition in own}

    def _records(self, cluster: Cluster, store: StateStore) -> Iterator[RawRecord]:
        for partition, (begin, end) in self._ranges(store).items():
            if begin < end:
                yield from cluster.read(self.topic, partition, begin, end)


def ranges_to_compare(cluster: Cluster, topic: Topic, *, group: str | None) -> ToCompare:
    """All partitions of a topic, from their starts to their ends.

    :param group: read only up to what it has committed: without a commit nothing is restored.
    """
    partitions = partitions_of(cluster, topic)
    ranges = dict(cluster.watermarks(topic, partitions))
    if group is not None:
        committed = cluster.committed(group, [(topic, partition) for partition in partitions])
        for partition, (begin, end) in ranges.items():
            offset = committed.get((topic, partition))
            ranges[partition] = (begin, begin if offset is None else min(offset, end))
    return ToCompare(topic=topic, ranges=ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareWork:
    """Compares each part, with a client of its own."""

    to_compare: ToCompare
    """With what."""
    kafka: Mapping[str, str] = field(repr=False)
    """librdkafka's configuration, secrets filled in."""
    timeout_s: float
    """How long one question to the cluster may take."""

    def __call__(self, part: StateStore) -> Comparison:
        """See `ToCompare.part`."""
        with Cluster(self.kafka, timeout_s=self.timeout_s) as cluster:
            return self.to_compare.part(cluster, part)

    def places(self, part: StateStore) -> Sequence[Path]:
        """The store's directory."""
        return (Path(part.directory.path),)
