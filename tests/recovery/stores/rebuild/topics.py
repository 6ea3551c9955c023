"""Topics in memory, as a rebuild reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.recovery.stores.rebuild.rebuild import Rebuild
from srfix.serde import Topic
from srfix.serde.properties.kafka_client import Isolation

TOPIC = Topic("users")


def rebuild_of(store: StoreToWrite, **changed: Any) -> Rebuild:
    """All of the topic, for `shop` on 2.6.3, unless said otherwise."""
    given: dict[str, Any] = {"application": "shop", "topic": TOPIC, "until": Until.END, "release": Release(2, 6, 3)}
    return Rebuild(store=store, **(given | {"subtopology": 0} | changed))


def record(offset: int, key: bytes | None, value: bytes | None, *, partition: int = 0) -> RawRecord:
    """A record, a second after the one before."""
    return RawRecord(partition=partition, offset=offset, key=key, value=value, timestamp=1000 * offset)


class TopicOfRecords:
    """A cluster with the topic `users`.

    :param committed: partition → what every group has committed.
    """

    def __init__(
        self, partitions: Mapping[int, Sequence[RawRecord]], committed: Mapping[int, int | None] | None = None
    ) -> None:
        self._partitions = partitions
        self._committed = committed or {}
        self.stable: dict[int, int] = {}
        self.isolations: set[Isolation] = set()

    def topics(self) -> Mapping[Topic, int]:
        return {TOPIC: len(self._partitions)}

    def committed(
        self, _group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        return {(Topic(topic), partition): self._committed.get(partition) for topic, partition in topic_partitions}

    def watermarks(self, _topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        return {
            partition: (records[0].offset, records[-1].offset + 1)
            if (records := self._partitions[partition])
            else (0, 0)
            for partition in partitions
        }

    def stable_ends(self, topic: str, partitions: Iterable[int]) -> Mapping[int, int]:
        return {partition: end for partition, (_, end) in self.watermarks(topic, partitions).items()} | self.stable

    def read(self, _topic: str, partition: int, begin: int, end: int, *, isolation: Isolation) -> Iterator[RawRecord]:
        self.isolations.add(isolation)
        yield from (record for record in self._partitions[partition] if begin <= record.offset < end)
