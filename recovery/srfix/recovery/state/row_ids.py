"""Which schema ids the rows of a store's database carry: read one by one through a view, nothing kept but counts.

Read are key-value stores (`rocksdb/<store>/`, `global/rocksdb/<store>/`): plain, timestamped, with headers. Window, session
and versioned stores are not: what stands where in those has other forms.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.recovery.internal_topics import join_store
from srfix.recovery.state.formats import Headers
from srfix.recovery.state.rocksdb import OpenedDatabase, opened
from srfix.recovery.state.stored_rows import PLAIN, ROW_FAMILIES, stored_value
from srfix.serde.subjects import Role
from srfix.serde.wire import SchemaId, is_schema_id
from srfix.serde.wire_peek import BY_GUID, PeekedId, SchemaIdPeek, peek_headers

_READ_ANYWAY: Final = 1_000
"""Rows that are read even if the time is over."""
_LATEST_OF_VERSIONED: Final = b"\xff" * 8
"""What the key of a versioned store's latest rows begins with: the segment id -1 (`RocksDBVersionedStore`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIds:
    """What the rows of one database carry, as far as it was read."""

    rows: int
    """Rows that were read."""
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id the rows whose key or value carries it. A key may begin as a framed one does by chance."""
    guids: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that name their schema by GUID."""
    unframed: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that carry neither."""
    stopped: str | None = None
    """Why not all of it was read, in a clause; None if it was."""
    is_damaged: bool = False
    """True if damage is why: a file that is missing or cut short, a flipped byte, a row of another form."""


def count_row_ids(database: Path, *, give_up_at: float | None = None) -> RowIds:
    """Counts the ids in the rows of a key-value store's database. What precedes damage is kept.

    :param give_up_at: when it stops, by `time.monotonic`, finished or not; None for never.
    :raises LibraryMissingError: if rocksdict is not installed.
    """
    tally = _Tally()
    stopped: str | None = None
    is_damaged = False
    try:
        with opened(database) as store:
            stopped = _not_of_a_known_kind(store, database.name) or _read(database, store, tally, give_up_at)
    except LibraryMissingError:
        raise
    except StateDirectoryError as error:
        stopped, is_damaged = error.message.removesuffix("."), True
    return tally.row_ids(stopped, is_damaged=is_damaged)


def _not_of_a_known_kind(store: OpenedDatabase, name: str) -> str | None:
    """Why the rows cannot be read for what they are; None if they can."""
    if join_store(name) is not None:
        return "its name is that of a join's own store, whose rows hold more than what a serde wrote"
    beside = [name for name in ROW_FAMILIES if name != PLAIN and name in store.families]
    if beside or PLAIN not in store.families:
        return None if beside else "it has none of the column families of a key-value store"
    first = next(store.rows(PLAIN, start=_LATEST_OF_VERSIONED), None)
    if first is not None and first[0].startswith(_LATEST_OF_VERSIONED) and len(first[0]) > len(_LATEST_OF_VERSIONED):
        return "it looks like a versioned store, whose rows this version of srfix does not read"
    return None


def _read(database: Path, store: OpenedDatabase, tally: _Tally, give_up_at: float | None) -> str | None:
    """Counts all rows; why it stopped before their end, None if it did not."""
    for family in (name for name in ROW_FAMILIES if name in store.families):
        for rows in store.chunks(family):  # what precedes damage comes before its error
            if give_up_at is not None and tally.rows >= _READ_ANYWAY and time.monotonic() >= give_up_at:
                return "the time for it (--deadline) was over"
            tally.add(database, family, rows)
    return None


class _Tally:
    def __init__(self) -> None:
        self._rows = 0
        self._peeks = {role: SchemaIdPeek() for role in Role}
        self._found: dict[Role, Counter[PeekedId]] = {role: Counter() for role in Role}

    @property
    def rows(self) -> int:
        return self._rows

    def add(self, database: Path, family: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """:raises StateDirectoryError: if one has another form; those before it are counted."""
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        headers: list[Headers] = []
        try:
            for key, value in rows:
                parts = stored_value(family, value)
                keys.append(key)
                values.append(parts.payload)
                headers.append(parts.headers)
        except StateDirectoryError as error:
            raise StateDirectoryError(
                f"{database}, column family {family}: {error.message}. It is damaged, or not written by Kafka Streams."
            ) from None
        finally:
            self._rows += len(keys)
            self._count(Role.KEY, keys, headers)
            self._count(Role.VALUE, values, headers)

    def _count(self, role: Role, payloads: list[bytes | None], headers: list[Headers]) -> None:
        peeked = self._peeks[role](payloads)
        self._found[role].update(peek_headers(headers, peeked, role) if any(headers) else peeked)

    def row_ids(self, stopped: str | None, *, is_damaged: bool) -> RowIds:
        ids = {
            role: {schema_id: found[schema_id] for schema_id in sorted(found) if is_schema_id(schema_id)}
            for role, found in self._found.items()
        }
        guids = {role: found[BY_GUID] for role, found in self._found.items() if found[BY_GUID]}
        unframed = {
            role: rest
            for role, found in self._found.items()
            if (rest := self._rows - sum(ids[role].values()) - found[BY_GUID])
        }
        return RowIds(
            rows=self._rows,
            schema_ids=ids,
            guids=guids,
            unframed=unframed,
            stopped=stopped,
            is_damaged=is_damaged,
        )
