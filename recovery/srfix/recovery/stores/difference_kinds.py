"""The ways in which a key of a store can differ from its topic, and the summary of a value that is kept for this."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from itertools import islice, repeat
from typing import Final, NamedTuple, TypeVar

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.reading.store import StateStore
from srfix.serde.wire import is_schema_id
from srfix.serde.wire_peek import NO_PAYLOAD, SchemaIdPeek

_Row = TypeVar("_Row", bound="tuple[bytes, *tuple[object, ...]]")
_Record = TypeVar("_Record", bound="tuple[bytes, *tuple[object, ...]]")
_CHUNK: Final = 1_000
_DIGEST_SIZE: Final = 16
_REST: Final = struct.Struct(">iq")
"""After a digest: the schema id, or a mark instead of an id, and the timestamp."""
_NO_TIMESTAMP: Final = -1
KEPT_SIZE: Final = _DIGEST_SIZE + _REST.size
MOST_SHOWN: Final = 100
"""How many differences are kept for each part; all are counted."""


class DifferenceKind(Enum):
    """How a key differs."""

    MISSING = "missing"
    """The topic holds the key, the store does not."""
    EXTRA = "extra"
    """The store holds the key, the topic does not, or has a tombstone."""
    STALE = "stale"
    """The store's row is older than the newest record."""
    OTHER_ID = "other-id"
    """Both carry a schema id, but different ones: the application, or a restore, has written the row again."""
    OTHER_BYTES = "other-bytes"
    """The bytes differ in another way."""
    NOT_KNOWN = "not-known"
    """The store holds the key, but the topic has dropped the record for a comparison; or the topic holds the key, but
    the store may have dropped it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    kind: DifferenceKind
    key: bytes
    """The key as the changelog has it: with its window, if it has one."""
    valid_from_ms: int | None = None
    store_id: int | None
    topic_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    store: StateStore
    same: int
    counts: dict[DifferenceKind, int]
    shown: tuple[Difference, ...]
    is_cut: bool = False
    """True if the topic has dropped records: its log begins after offset 0."""

    @property
    def differ(self) -> int:
        return sum(self.counts.values()) - self.not_known

    @property
    def not_known(self) -> int:
        return self.counts[DifferenceKind.NOT_KNOWN]


class ValueSummary(NamedTuple):
    digest: bytes
    schema_id: int | None
    timestamp: int | None

    @classmethod
    def read(cls, packed: bytes) -> ValueSummary:
        schema_id, timestamp = _REST.unpack_from(packed, _DIGEST_SIZE)
        return cls(
            packed[:_DIGEST_SIZE],
            schema_id if is_schema_id(schema_id) else None,
            None if timestamp == _NO_TIMESTAMP else timestamp,
        )


class Keeping:
    """Makes the summaries that `ValueSummary.read` reads. Values that no serde wrote have no schema id."""

    def __init__(self, *, has_ids: bool = True) -> None:
        self._peek = SchemaIdPeek() if has_ids else None

    def __call__(self, values: Sequence[bytes], timestamps: Iterable[int | None]) -> list[bytes]:
        pack = _REST.pack
        ids: Iterable[int] = repeat(NO_PAYLOAD) if self._peek is None else self._peek(values)
        return [
            blake2b(value, digest_size=_DIGEST_SIZE).digest()
            + pack(schema_id, _NO_TIMESTAMP if timestamp is None else timestamp)
            for value, schema_id, timestamp in zip(values, ids, timestamps, strict=False)
        ]

    def records(self, records: Iterable[RawRecord]) -> Iterator[tuple[RawRecord, bytes]]:
        """Each record with the summary of its value; a tombstone's is that of an empty value."""
        records = iter(records)
        while chunk := list(islice(records, _CHUNK)):
            summaries = self([record.value or b"" for record in chunk], [record.timestamp for record in chunk])
            yield from zip(chunk, summaries, strict=True)


def side_by_side(here: Iterator[_Row], topic: Iterator[_Record]) -> Iterator[tuple[_Row | None, _Record | None]]:
    """The rows of both sides, which come by their first field, paired by it; None for a side that lacks it."""
    row, record = next(here, None), next(topic, None)
    while row is not None or record is not None:
        if record is None or (row is not None and row[0] < record[0]):
            yield row, None
            row = next(here, None)
        elif row is None or record[0] < row[0]:
            yield None, record
            record = next(topic, None)
        else:
            yield row, record
            row, record = next(here, None), next(topic, None)


def kind_of(here: ValueSummary, topic: ValueSummary) -> DifferenceKind:
    if here.timestamp is not None and topic.timestamp is not None and here.timestamp < topic.timestamp:
        return DifferenceKind.STALE
    if here.schema_id is not None and topic.schema_id is not None and here.schema_id != topic.schema_id:
        return DifferenceKind.OTHER_ID
    return DifferenceKind.OTHER_BYTES
