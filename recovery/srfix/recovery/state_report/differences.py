"""A store beside the topic that it restores from, key by key: `srfix.state-diff/1`.

What the topic says a store holds is the newest record of each key, tombstones removed. Of each key a digest of its value is
kept, its schema id and its timestamp, on disk and by key (`state.writing.in_order`): then both are read side by side, and
memory stays flat.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from itertools import islice, repeat
from typing import Final, NamedTuple

from srfix.recovery.cluster import RawRecord
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.formats import (
    SessionKey,
    WindowStoreKey,
    encode_session_key,
    encode_window_store_key,
)
from srfix.recovery.state.stores import StateRow, StateStore, StoreFormat
from srfix.recovery.state.writing import in_order
from srfix.serde.registry import Json
from srfix.serde.wire import is_schema_id
from srfix.serde.wire_peek import SchemaIdPeek

_CHUNK: Final = 1_000
_DIGEST_SIZE: Final = 16
_REST: Final = struct.Struct(">iq")
"""Behind a digest: the schema id, or a mark that is none, and the timestamp."""
_NO_TIMESTAMP: Final = -1
MOST_SHOWN: Final = 100
"""Differences that are kept of each part; all are counted."""


class Kind(Enum):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One key that is not as the topic says."""

    kind: Kind
    """How it differs."""
    key: bytes
    """As the changelog has it: with its window, where it has one."""
    store_id: int | None
    """The schema id in the store's row; None without one."""
    topic_id: int | None
    """The schema id in the record; None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One task's part of a store beside the topic's partitions."""

    store: StateStore
    """Which part."""
    same: int
    """Keys with the same bytes."""
    counts: dict[Kind, int]
    """Per kind the keys that differ so."""
    shown: tuple[Difference, ...]
    """The first of them."""


class _Said(NamedTuple):
    """What is kept of a value: 28 bytes, in which a comparison finds all that it says."""

    digest: bytes
    schema_id: int | None
    timestamp: int | None

    @classmethod
    def read(cls, kept: bytes) -> _Said:
        schema_id, timestamp = _REST.unpack_from(kept, _DIGEST_SIZE)
        return cls(
            kept[:_DIGEST_SIZE],
            schema_id if is_schema_id(schema_id) else None,
            None if timestamp == _NO_TIMESTAMP else timestamp,
        )


def is_comparable(form: StoreFormat) -> bool:
    """True if rows of such a store can be compared with a topic's records: key-value, window and session stores."""
    return form.is_key_value or form.is_windowed or form.is_of_sessions


def compared(store: StateStore, records: Iterable[RawRecord]) -> Comparison:
    """Compares a part of a store with records, which come in the order of their offsets. Damage is noted in the store.

    :param records: those of the store's partition; of a global store all.
    :raises StateDirectoryError: if such a store cannot be compared (`is_comparable`).
    """
    counts: Counter[Kind] = Counter()
    shown: list[Difference] = []
    same = 0
    with in_order(_told_by(records)) as said, _rows_in_order(store) as here:
        for difference in _differences(here, said):
            if difference is None:
                same += 1
                continue
            counts[difference.kind] += 1
            if len(shown) < MOST_SHOWN:
                shown.append(difference)
    if store.is_shut:  # what may not be read is not missing
        counts[Kind.MISSING] = 0
        shown = [each for each in shown if each.kind is not Kind.MISSING]
    return Comparison(store=store, same=same, counts={kind: counts[kind] for kind in Kind}, shown=tuple(shown))


def _differences(
    here: Iterator[tuple[bytes, bytes]], said: Iterator[tuple[bytes, bytes]]
) -> Iterator[Difference | None]:
    """For each key how it differs; None for one that does not. Both come by key."""
    row, record = next(here, None), next(said, None)
    while row is not None or record is not None:
        if record is None or (row is not None and row[0] < record[0]):
            assert row is not None
            yield Difference(kind=Kind.EXTRA, key=row[0], store_id=_Said.read(row[1]).schema_id, topic_id=None)
            row = next(here, None)
        elif row is None or record[0] < row[0]:
            topic_id = _Said.read(record[1]).schema_id
            yield Difference(kind=Kind.MISSING, key=record[0], store_id=None, topic_id=topic_id)
            record = next(said, None)
        else:
            yield None if row[1] == record[1] else _difference(row[0], _Said.read(row[1]), _Said.read(record[1]))
            row, record = next(here, None), next(said, None)


def _difference(key: bytes, here: _Said, topic: _Said) -> Difference | None:
    if here.digest == topic.digest:
        return None
    return Difference(kind=_kind(here, topic), key=key, store_id=here.schema_id, topic_id=topic.schema_id)


def _told_by(records: Iterable[RawRecord]) -> Iterator[tuple[bytes, bytes | None]]:
    """What a topic says of each key; None for a tombstone."""
    keep = _Keeping()
    records = iter(records)
    while chunk := list(islice(records, _CHUNK)):
        some = [record for record in chunk if record.key is not None]  # a restore skips a null key
        values = [record.value for record in some]
        kept = keep([value or b"" for value in values], [record.timestamp for record in some])
        for record, value, each in zip(some, values, kept, strict=True):
            assert record.key is not None
            yield record.key, None if value is None else each


@contextmanager
def _rows_in_order(store: StateStore) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    """What a store says of each key of its changelog, by key."""
    rows = _told_by_rows(store)
    if store.format.is_key_value:
        yield rows  # as they lie
        return
    with in_order(rows) as ordered:
        yield ordered


def _told_by_rows(store: StateStore) -> Iterator[tuple[bytes, bytes]]:
    keep = _Keeping()
    for batch in store.batches():
        keys = batch.keys if store.format.is_key_value else [changelog_key(store, row) for row in batch.rows()]
        kept = keep([value or b"" for value in batch.values], batch.timestamps_ms or repeat(None))
        yield from zip(keys, kept, strict=True)


class _Keeping:
    """Takes values and timestamps to what is kept of them."""

    def __init__(self) -> None:
        self._peek = SchemaIdPeek()

    def __call__(self, values: Sequence[bytes], timestamps: Iterable[int | None]) -> list[bytes]:
        pack = _REST.pack
        return [
            blake2b(value, digest_size=_DIGEST_SIZE).digest()
            + pack(schema_id, _NO_TIMESTAMP if timestamp is None else timestamp)
            for value, schema_id, timestamp in zip(values, self._peek(values), timestamps, strict=False)
        ]


def _kind(here: _Said, topic: _Said) -> Kind:
    if here.timestamp is not None and topic.timestamp is not None and here.timestamp < topic.timestamp:
        return Kind.STALE
    if here.schema_id is not None and topic.schema_id is not None and here.schema_id != topic.schema_id:
        return Kind.OTHER_ID
    return Kind.OTHER_BYTES


def changelog_key(store: StateStore, row: StateRow) -> bytes:
    """The key under which a row stands in its changelog.

    :raises StateDirectoryError: if rows of such a store do not stand there one by one.
    """
    if store.format.is_key_value:
        return row.key
    if row.window is not None and store.format.is_of_sessions and row.window.end_ms is not None:
        return encode_session_key(SessionKey(key=row.key, start_ms=row.window.start_ms, end_ms=row.window.end_ms))
    if row.window is not None and store.format.is_windowed:
        number = row.window.sequence_number
        return encode_window_store_key(
            WindowStoreKey(key=row.key, start_ms=row.window.start_ms, sequence_number=number)
        )
    raise StateDirectoryError(f"store {store.name} ({store.format.value}) cannot be compared with a topic, row by row.")


def diff_document(
    found: Iterable[Comparison],
    *,
    application: str,
    store: str,
    topic: str,
    until: str,
    not_looked_at: Iterable[str],
    srfix_version: str,
    generated_at: str,
) -> dict[str, Json]:
    """The document `srfix.state-diff/1`."""
    return {
        "schema": "srfix.state-diff/1",
        "srfix": srfix_version,
        "generated_at": generated_at,
        "application": application,
        "store": store,
        "topic": topic,
        "until": until,
        "parts": [_part(each) for each in found],
        "not_looked_at": list(not_looked_at),
    }


def _part(found: Comparison) -> Json:
    return {
        "task": found.store.task.name,
        "partition": found.store.partition,
        "same": found.same,
        **{kind.value.replace("-", "_"): count for kind, count in found.counts.items()},
        "shown": [
            {
                "kind": each.kind.value,
                "key_hex": each.key.hex(),
                "store_id": each.store_id,
                "topic_id": each.topic_id,
            }
            for each in found.shown
        ],
    }
