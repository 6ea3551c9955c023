"""How a key of a store can differ from what its topic says, and what is kept of a value to tell it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from itertools import repeat
from typing import Final, NamedTuple

from srfix.recovery.state.reading.store import StateStore
from srfix.serde.wire import is_schema_id
from srfix.serde.wire_peek import NO_PAYLOAD, SchemaIdPeek

_DIGEST_SIZE: Final = 16
_REST: Final = struct.Struct(">iq")
"""Behind a digest: the schema id, or a mark that is none, and the timestamp."""
_NO_TIMESTAMP: Final = -1
KEPT_SIZE: Final = _DIGEST_SIZE + _REST.size
"""How many bytes are kept of a value."""
MOST_SHOWN: Final = 100
"""Differences that are kept of each part; all are counted."""


class DifferenceKind(Enum):
    """How a key differs."""

    MISSING = "missing"
    """The topic holds it, the store does not."""
    EXTRA = "extra"
    """The store holds it, the topic does not, or holds a tombstone."""
    STALE = "stale"
    """The store's row is older than the newest record."""
    OTHER_ID = "other-id"
    """Both carry a schema id, and not the same: the row was written again by the application, or by a restore."""
    OTHER_BYTES = "other-bytes"
    """The bytes differ otherwise."""
    NOT_KNOWN = "not-known"
    """The store holds it, and the topic has let go of what it would be compared with; or the topic holds it, and the store may
    have let it go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One key that is not as the topic says."""

    kind: DifferenceKind
    key: bytes
    """As the changelog has it: with its window, where it has one."""
    valid_from_ms: int | None = None
    """Of a version, from when it holds."""
    store_id: int | None
    topic_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One task's part of a store beside the topic's partitions."""

    store: StateStore
    same: int
    counts: dict[DifferenceKind, int]
    """Per kind the keys that differ so."""
    shown: tuple[Difference, ...]
    """The first of them."""
    is_cut: bool = False
    """True if the topic has let go of records: its log begins behind offset 0."""

    @property
    def differ(self) -> int:
        return sum(self.counts.values()) - self.not_known

    @property
    def not_known(self) -> int:
        """Keys of which it cannot be known whether they differ."""
        return self.counts[DifferenceKind.NOT_KNOWN]


class ValueSummary(NamedTuple):
    """What is kept of a value: 28 bytes, in which a comparison finds all that it says."""

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
    """Takes values and timestamps to what is kept of them: `ValueSummary.read` reads it. In values that no serde wrote nothing
    is a schema id.
    """

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


def kind_of(here: ValueSummary, topic: ValueSummary) -> DifferenceKind:
    """Of two values of one key that are not the same."""
    if here.timestamp is not None and topic.timestamp is not None and here.timestamp < topic.timestamp:
        return DifferenceKind.STALE
    if here.schema_id is not None and topic.schema_id is not None and here.schema_id != topic.schema_id:
        return DifferenceKind.OTHER_ID
    return DifferenceKind.OTHER_BYTES
