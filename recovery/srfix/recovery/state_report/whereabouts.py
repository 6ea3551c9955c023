"""Where a key lies, and where it should: `srfix.state-where/1`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from srfix.recovery.state.stores import StateStore
from srfix.recovery.state_report.partitions import murmur2, partition_of
from srfix.recovery.state_report.row_filter import rows_of_key
from srfix.serde.registry import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One task's part of a store, and whether the key is in it."""

    store: StateStore
    """Which part."""
    rows: int
    """Rows of the key: windows, sessions and versions each count."""
    is_home: bool
    """True if Streams looks for the key here: the task's partition is that of the key, or it is a global store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where a key lies, and where it is looked for."""

    key: bytes
    """As the serializer wrote it, of windowed stores the inner key."""
    partitions: int
    """The partitions among which it was placed."""
    partition: int
    """The one that the default partitioner chooses."""
    holders: tuple[Holder, ...]
    """The parts of the store in the directory, by task."""

    @property
    def astray(self) -> tuple[Holder, ...]:
        """The parts that hold the key where Streams does not look for it: another schema id in the key, say, or a
        partitioner of the application's own."""
        return tuple(each for each in self.holders if each.rows and not each.is_home)

    @property
    def is_found(self) -> bool:
        """True if the key lies where it is looked for."""
        return any(each.rows for each in self.holders if each.is_home)


def whereabouts(key: bytes, stores: Iterable[StateStore], *, partitions: int) -> Whereabouts:
    """Looks a key up in all parts of a store. Damage is noted in them.

    :param partitions: of the sub-topology: the most that one of its source topics has.
    :raises LibraryMissingError: if rocksdict is not installed.
    """
    partition = partition_of(key, partitions)
    holders = tuple(
        Holder(
            store=store,
            rows=sum(1 for _ in rows_of_key(store, key)),
            is_home=store.partition in (None, partition),
        )
        for store in stores
    )
    return Whereabouts(key=key, partitions=partitions, partition=partition, holders=holders)


def where_document(
    found: Whereabouts, *, application: str, store: str, partitions_from: str, srfix_version: str, generated_at: str
) -> dict[str, Json]:
    """The document `srfix.state-where/1`."""
    return {
        "schema": "srfix.state-where/1",
        "srfix": srfix_version,
        "generated_at": generated_at,
        "application": application,
        "store": store,
        "key_hex": found.key.hex(),
        "murmur2": murmur2(found.key),
        "partitions": found.partitions,
        "partitions_from": partitions_from,
        "partition": found.partition,
        "found": found.is_found,
        "holders": [
            {
                "task": each.store.task.name,
                "partition": each.store.partition,
                "path": each.store.directory.path,
                "rows": each.rows,
                "looked_for_here": each.is_home,
            }
            for each in found.holders
        ],
    }
