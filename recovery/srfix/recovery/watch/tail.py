"""The schema ids in the records since the last look: the news of a topic, without counting it again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek, peek_headers

_BATCH: Final = 500
_MOST_IDS: Final = 10_000
"""How many ids of a topic and role are remembered; bytes that only look like framed keys could have any number."""


@dataclass(slots=True)
class TailedTopic:
    """The offsets up to which the records of one topic were read, and the ids that they carry."""

    topic: Topic
    roles: tuple[Role, ...]
    """The roles whose payloads are framed."""
    next_offsets: dict[int, int]
    ids: Mapping[Role, set[SchemaId]] = field(default_factory=dict)
    """For each role, the ids that were seen in the full look and since."""
    _ids: dict[Role, set[SchemaId]] = field(default_factory=dict)
    _peek: SchemaIdPeek = field(default_factory=SchemaIdPeek)

    @classmethod
    def after(cls, census: Census, roles: Iterable[Role]) -> TailedTopic:
        """Continues where a census ended. Records that the census left unread are left to the next full look."""
        wanted = tuple(sorted(set(roles), key=lambda role: role.value))
        return cls(
            topic=census.topic,
            roles=wanted,
            next_offsets={partition.partition: partition.end_offset for partition in census.partitions},
            ids={role: set(census.ids(role)) for role in wanted},
            _ids={role: set() for role in wanted},
        )

    def go_on(
        self, cluster: Cluster, *, budget_s: float, monotonic: Callable[[], float] = time.monotonic
    ) -> tuple[Mapping[Role, tuple[SchemaId, ...]], int]:
        """Reads the new records; returns the new ids per role, and the number of records that are left for the next time."""
        marks = cluster.watermarks(self.topic, sorted(self.next_offsets))
        if any(end < self.next_offsets[partition] for partition, (_start, end) in marks.items()):
            raise TopicChangedError
        ids_by_role = self._ids  # kept if the broker stops answering in the middle
        until = monotonic() + budget_s
        for partition, (start, end) in marks.items():
            begin = max(start, self.next_offsets[partition])
            self.next_offsets[partition] = begin
            if begin >= end or monotonic() >= until:
                continue
            try:
                records = cluster.read(self.topic, partition, begin, end, give_up_at=until)
                for batch in _batches(records):
                    self._note(batch, ids_by_role)
                    self.next_offsets[partition] = batch[-1].offset + 1
            except GaveUp:
                continue
            self.next_offsets[partition] = end
        lag = sum(max(0, end - self.next_offsets[partition]) for partition, (_start, end) in marks.items())
        new = {role: tuple(sorted(ids - self.ids[role])) for role, ids in ids_by_role.items()}
        self._ids = {role: set() for role in self.roles}
        for role, ids in new.items():
            self.ids[role].update(islice(ids, max(0, _MOST_IDS - len(self.ids[role]))))
        return {role: ids for role, ids in new.items() if ids}, lag

    def _note(self, batch: tuple[RawRecord, ...], of_roles: Mapping[Role, set[SchemaId]]) -> None:
        headers = [list(record.headers) for record in batch]
        for role, ids in of_roles.items():
            payloads = [record.key if role is Role.KEY else record.value for record in batch]
            peeked = peek_headers(headers, self._peek(payloads), role)
            ids.update(SchemaId(peeked_id) for peeked_id in set(peeked) if peeked_id > 0)


class TopicChangedError(Exception):
    """The topic is not the counted one: it was recreated or truncated."""


def _batches(records: Iterator[RawRecord]) -> Iterator[tuple[RawRecord, ...]]:
    while batch := tuple(islice(records, _BATCH)):
        yield batch
