"""A store beside the topic that it restores from, key by key: `srfix.state-diff/1`.

What the topic says a store holds is the newest record of each key, tombstones removed. Of each key a digest of its value is
kept, its schema id and its timestamp: memory grows with the keys of one partition, not with their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
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
from srfix.serde.errors import WireError
from srfix.serde.registry import Json
from srfix.serde.subjects import Role
from srfix.serde.wire import parse

_BY_KEY: Final = frozenset((StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV))
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
    digest: bytes
    schema_id: int | None
    timestamp: int | None


def is_comparable(form: StoreFormat) -> bool:
    """True if rows of such a store can be compared with a topic's records: key-value, window and session stores."""
    return form in _BY_KEY or form.is_windowed or form.is_of_sessions


def compared(store: StateStore, records: Iterable[RawRecord]) -> Comparison:
    """Compares a part of a store with records, which come in the order of their offsets. Damage is noted in the store.

    :param records: those of the store's partition; of a global store all.
    :raises StateDirectoryError: if such a store cannot be compared (`is_comparable`).
    """
    said: dict[bytes, _Said] = {}
    for record in records:
        if record.key is None:
            continue  # a restore skips it
        if record.value is None:
            said.pop(record.key, None)
        else:
            said[record.key] = _told(record.value, record.timestamp)
    counts: Counter[Kind] = Counter()
    shown: list[Difference] = []
    same = 0
    for difference in _differences(store, said):
        if difference is None:
            same += 1
            continue
        counts[difference.kind] += 1
        if len(shown) < MOST_SHOWN:
            shown.append(difference)
    return Comparison(store=store, same=same, counts={kind: counts[kind] for kind in Kind}, shown=tuple(shown))


def _differences(store: StateStore, said: dict[bytes, _Said]) -> Iterator[Difference | None]:
    """For each key how it differs; None for one that does not."""
    for row in store.rows():
        key = changelog_key(store, row)
        topic = said.pop(key, None)
        here = _told(row.value or b"", row.timestamp_ms)
        if topic is None:
            yield Difference(kind=Kind.EXTRA, key=key, store_id=here.schema_id, topic_id=None)
        elif topic.digest == here.digest:
            yield None
        else:
            yield Difference(kind=_kind(here, topic), key=key, store_id=here.schema_id, topic_id=topic.schema_id)
    for key, topic in said.items():
        yield Difference(kind=Kind.MISSING, key=key, store_id=None, topic_id=topic.schema_id)


def _kind(here: _Said, topic: _Said) -> Kind:
    if here.timestamp is not None and topic.timestamp is not None and here.timestamp < topic.timestamp:
        return Kind.STALE
    if here.schema_id is not None and topic.schema_id is not None and here.schema_id != topic.schema_id:
        return Kind.OTHER_ID
    return Kind.OTHER_BYTES


def _told(value: bytes, timestamp: int | None) -> _Said:
    try:
        frame = parse(value, role=Role.VALUE)
    except WireError:
        frame = None
    schema_id = None if frame is None or frame.schema_id is None else int(frame.schema_id)
    return _Said(blake2b(value, digest_size=16).digest(), schema_id, timestamp)


def changelog_key(store: StateStore, row: StateRow) -> bytes:
    """The key under which a row stands in its changelog.

    :raises StateDirectoryError: if rows of such a store do not stand there one by one.
    """
    if store.format in _BY_KEY:
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
