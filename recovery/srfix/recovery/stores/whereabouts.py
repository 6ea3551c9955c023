"""Where a key lies, and where it should."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import field

from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.key_reads import KeyRead, value_ids
from srfix.recovery.stores.placing import HostRole, murmur2, partition_of, task_of
from srfix.recovery.stores.scanning import rows_of_key
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
    """
    partition = partition_of(key, partitions)
    holders = []
    for store in stores:
        rows = list(rows_of_key(store, key))
        is_home = store.partition in (None, partition)
        holders.append(Holder(store=store, rows=len(rows), schema_ids=value_ids(rows, store), is_home=is_home))
    return Whereabouts(key=key, partitions=partitions, partition=partition, holders=tuple(holders))


class KeyHolder(Part):
    """A task's part of the store."""

    task: str
    partition: int | None
    path: str
    rows: Count
    schema_ids: list[int]
    """What the values of its rows carry."""
    is_home: bool = field(name="looked_for_here")


class KeyHost(Part):
    """A host that holds the task."""

    host: str
    role: HostRole
    said_by: str
    """group, or the URL of a ksqlDB server."""
    client_id: str | None
    is_alive: bool | None = field(name="alive")


class RowRead(Part):
    """What a reader of a row meets."""

    row: str
    is_in_topic: bool = field(name="in_topic")
    schema_id: int
    subject: str
    asked_by: str
    fails: bool
    error_code: int | None
    answer: str


class StateWhere(DatedDocument, tag="srfix.state-where/1"):
    """Where a key lies: `srfix state where`."""

    application: str
    store: str
    key_hex: str
    murmur2: int
    partitions: Count
    partitions_from: str
    partition: Count
    found: bool
    """False if it does not lie there in what could be read; not_looked_at names what could not."""
    holders: list[KeyHolder]
    task: str
    """The task that holds the key's partition."""
    hosts: list[KeyHost]
    reads: list[RowRead]
    not_looked_at: list[str]


def state_where(found: Whereabouts, **more: object) -> StateWhere:
    """The document; `more` is what the whereabouts do not tell."""
    return StateWhere.of(
        found,
        key_hex=found.key.hex(),
        murmur2=murmur2(found.key),
        found=found.is_found is True,
        holders=[
            KeyHolder.of(
                each, task=each.store.task.name, partition=each.store.partition, path=each.store.directory.path
            )
            for each in found.holders
        ],
        task=task_of(found.holders[0].store.task, found.partition),
        **more,
    )


def row_read(read: KeyRead) -> RowRead:
    """What a reader of a row meets, as `srfix state where` shows it."""
    return RowRead.of(
        read, subject=read.asked.subject, asked_by=read.asked.asked_by, error_code=read.membership.error_code
    )
