"""Where a key lies, and where it should: `srfix.state-where/1`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.key_reads import KeyRead, value_ids
from srfix.recovery.stores.placing import TaskHost, murmur2, partition_of, task_of
from srfix.recovery.stores.scanning import rows_of_key
from srfix.serde.schemas.models import Json
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One task's part of a store, and whether the key is in it."""

    store: StateStore
    """Which part."""
    rows: int
    """Rows of the key: windows, sessions and versions each count."""
    schema_ids: tuple[SchemaId, ...]
    """What their values carry, ascending."""
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
    def is_found(self) -> bool | None:
        """True if the key lies where it is looked for; None if not all that may hold it there could be read."""
        home = [each for each in self.holders if each.is_home]
        if any(each.rows for each in home):
            return True
        return None if any(each.store.damage for each in home) else False


def whereabouts(key: bytes, stores: Iterable[StateStore], *, partitions: int) -> Whereabouts:
    """Looks a key up in all parts of a store. Damage is noted in them.

    :param partitions: of the sub-topology: the most that one of its source topics has.
    :raises LibraryMissingError: if rocksdict is not installed.
    """
    partition = partition_of(key, partitions)
    holders = []
    for store in stores:
        rows = list(rows_of_key(store, key))
        is_home = store.partition in (None, partition)
        holders.append(Holder(store=store, rows=len(rows), schema_ids=value_ids(rows, store), is_home=is_home))
    return Whereabouts(key=key, partitions=partitions, partition=partition, holders=tuple(holders))


def where_document(
    found: Whereabouts,
    *,
    application: str,
    store: str,
    partitions_from: str,
    hosts: Iterable[TaskHost],
    reads: Iterable[KeyRead],
    not_looked_at: Iterable[str],
    srfix_version: str,
    generated_at: str,
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
        "found": found.is_found is True,
        "holders": [
            {
                "task": each.store.task.name,
                "partition": each.store.partition,
                "path": each.store.directory.path,
                "rows": each.rows,
                "schema_ids": [int(schema_id) for schema_id in each.schema_ids],
                "looked_for_here": each.is_home,
            }
            for each in found.holders
        ],
        "task": task_of(found.holders[0].store.task, found.partition),
        "hosts": [
            {
                "host": each.host,
                "role": each.role.value,
                "said_by": each.said_by,
                "client_id": each.client_id,
                "alive": each.is_alive,
            }
            for each in hosts
        ],
        "reads": [
            {
                "row": each.row,
                "in_topic": each.is_in_topic,
                "schema_id": int(each.schema_id),
                "subject": each.asked.subject,
                "asked_by": each.asked.asked_by,
                "fails": each.fails,
                "error_code": each.membership.error_code,
                "answer": each.answer,
            }
            for each in reads
        ],
        "not_looked_at": list(not_looked_at),
    }
