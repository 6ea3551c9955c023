"""Where a key is, where it should be, and whether a reader can read its row. The partition is that of Java's clients and
Kafka Streams (`Utils.murmur2`, `BuiltInPartitioner`), of the bytes that the serializer wrote, with the schema id before
them: so one logical key under two ids may be in two partitions. Windowed keys go where their inner key does.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Final

from msgspec import field

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.streams_members import StreamsMembers
from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.errors import FormatError
from srfix.recovery.facts.stores import Membership
from srfix.recovery.facts.survey import ask_membership
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.ksqldb.answers import ServerStatus
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.state.directory import Task, Traces
from srfix.recovery.state.formats.joins import decode_join_side_key
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.rows import rows_of_key
from srfix.serde.errors import WireError
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject, subject_for
from srfix.serde.wire import SchemaId, is_schema_id, parse
from srfix.serde.wire_peek import SchemaIdPeek, peek_headers

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_R: Final = 24
_MASK: Final = 0xFFFFFFFF
_WORD: Final = struct.Struct("<I")


class HostRole(Enum):
    """The role in which a host holds a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    EVERY = "every instance"
    """A global store, of which each instance has a full copy."""


class KeyHost(Part):
    """A host that holds the task."""

    host: str
    role: HostRole
    said_by: str
    """group, or the URL of a ksqlDB server."""
    client_id: str | None
    is_alive: bool | None = field(name="alive")


def task_of(task: Task, partition: int) -> str:
    """The task for a partition in the sub-topology of any of the store's tasks, as the group names it."""
    if task.is_global:
        return task.name
    number = f"{task.subtopology}_{partition}"
    return number if task.topology is None else f"{task.topology}__{number}"


def hosts_by_group(group: StreamsMembers, task: Task, partition: int) -> Iterator[KeyHost]:
    name = task_of(task, partition)
    for member in group.members:
        role = HostRole.EVERY if task.is_global else _role(name in member.active, name in member.standby)
        if role is not None:
            yield KeyHost(
                host=member.endpoint or member.address,
                role=role,
                said_by="group",
                client_id=member.client_id,
                is_alive=None,
            )


def hosts_by_ksqldb(
    servers: Iterable[ServerStatus], *, application: str, store: str, task: Task, partition: int, url: str
) -> Iterator[KeyHost]:
    """Servers that hold a partition, by its number alone: ksqlDB does not say of which of the query's topics."""
    query = task.topology or getattr(ksqldb_query(application), "query_id", None)
    for server in servers:
        query_hosts = server.queries.get(query or "")
        if query_hosts is None:
            continue
        role = _role(query_hosts.is_active(store, partition), query_hosts.is_standby(store, partition))
        if role is not None:
            yield KeyHost(host=server.host, role=role, said_by=url, client_id=None, is_alive=server.is_alive)


def _role(is_active: bool, is_standby: bool) -> HostRole | None:
    return HostRole.ACTIVE if is_active else HostRole.STANDBY if is_standby else None


def murmur2(data: bytes) -> int:
    """The hash of Java's clients, as a signed 32-bit integer."""
    length = len(data)
    whole = length & ~3
    result = (_SEED ^ length) & _MASK
    for (word,) in _WORD.iter_unpack(data[:whole]):
        mixed = word * _M & _MASK
        mixed = (mixed ^ mixed >> _R) * _M & _MASK
        result = (result * _M & _MASK) ^ mixed
    if whole != length:
        result = (result ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    result = (result ^ result >> 13) * _M & _MASK
    result ^= result >> 15
    return result - (1 << 32) if result >> 31 else result


def partition_of(key: bytes, partitions: int) -> int:
    if partitions < 1:
        raise ValueError(f"A topic has at least one partition, not {partitions}.")
    return (murmur2(key) & 0x7FFFFFFF) % partitions


MOST_LOOKED_AT: Final = 100_000
_FIRST_LOOK: Final = 1_000
_NO_SUBJECT: Final = 40401


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    store: StateStore
    rows: int
    schema_ids: tuple[SchemaId, ...]
    is_home: bool
    """True if Streams looks for the key here: it is the task of the key's partition, or a global store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    key: bytes
    """The bytes that the serializer wrote; for windowed stores, those of the inner key."""
    partitions: int
    partition: int
    holders: tuple[Holder, ...]

    @property
    def astray(self) -> tuple[Holder, ...]:
        """Parts that hold the key where Streams does not look: another id in the key, or an own partitioner."""
        return tuple(holder for holder in self.holders if holder.rows and not holder.is_home)

    @property
    def is_found(self) -> bool | None:
        """True if the key is where Streams looks for it; None if srfix could not read everything there."""
        home = [holder for holder in self.holders if holder.is_home]
        if any(holder.rows for holder in home):
            return True
        return None if any(holder.store.damage for holder in home) else False


def whereabouts(key: bytes, stores: Iterable[StateStore], *, partitions: int) -> Whereabouts:
    """Damage is noted in the stores. Of several source topics, the one with the most partitions counts."""
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
    """The schema ids in the values of its rows."""
    is_home: bool = field(name="looked_for_here")


class RowRead(Part):
    """Whether a reader can read a row."""

    row: str
    is_in_topic: bool = field(name="in_topic")
    schema_id: int
    subject: str
    asked_by: str
    fails: bool
    error_code: int | None
    answer: str


class StateWhere(DatedDocument, tag="srfix.state-where/1"):
    """Where a key is: `srfix state where`."""

    application: str
    store: str
    key_hex: str
    murmur2: int
    partitions: Count
    partitions_from: str
    partition: Count
    found: bool
    """False if the key is not in the parts that srfix could read; not_looked_at names the others."""
    holders: list[KeyHolder]
    task: str
    """The task that holds the key's partition."""
    hosts: list[KeyHost]
    reads: list[RowRead]
    not_looked_at: list[str]


def state_where(key_whereabouts: Whereabouts, **more: object) -> StateWhere:
    return StateWhere.of(
        key_whereabouts,
        key_hex=key_whereabouts.key.hex(),
        murmur2=murmur2(key_whereabouts.key),
        found=key_whereabouts.is_found is True,
        holders=[
            KeyHolder.of(
                holder, task=holder.store.task.name, partition=holder.store.partition, path=holder.store.directory.path
            )
            for holder in key_whereabouts.holders
        ],
        task=task_of(key_whereabouts.holders[0].store.task, key_whereabouts.partition),
        **more,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSubject:
    subject: Subject
    asked_by: str
    """The versions of Kafka Streams that ask it, in words."""


def row_read(row: str, asked_subject: AskedSubject, membership: Membership, *, is_in_topic: bool) -> RowRead:
    """Whether a reader that looks up the version under the subject (Connect's AvroConverter, ksqlDB) can read a row."""
    if not membership.is_known:
        answer = "the registry does not know the id"
    elif membership.is_missing:
        answer = f"not registered there ({membership.error_code})"
    else:
        answer = "registered"
    fails = not membership.is_known or membership.is_missing
    return RowRead.of(asked_subject, membership, row=row, is_in_topic=is_in_topic, fails=fails, answer=answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecord:
    record: RawRecord | None
    looked_at: int
    is_all: bool


def value_ids(rows: Iterable[StateRow], store: StateStore) -> tuple[SchemaId, ...]:
    """The schema ids in the values of rows, ascending; empty if no serde wrote them, or if they name schemas by GUID."""
    if store.format is StoreFormat.SUBSCRIPTION:
        return ()
    return tuple(sorted({schema_id for row in rows for schema_id in record_ids(row)}))


def asked_subjects(changelog: Topic, topic: Topic | None, traces: Traces) -> tuple[AskedSubject, ...]:
    """The subjects under which readers look the store's values up: that of its own changelog, even if there is none, up
    to Kafka Streams 2.6.3 and in ksqlDB; that of `topic`, from which it restores, from 2.7 on (KAFKA-10179)."""
    own = AskedSubject(subject=subject_for(changelog, Role.VALUE), asked_by="Kafka Streams")
    if topic is None or topic == changelog:
        return (own,)
    later = AskedSubject(subject=subject_for(topic, Role.VALUE), asked_by="Kafka Streams 2.7 and later")
    if traces.has_position_files or traces.has_offsets_column_families:
        return (later,)  # 3.2 and later
    return (AskedSubject(subject=own.subject, asked_by="Kafka Streams up to 2.6, ksqlDB"), later)


def read_key(
    registry: ReadableRegistry,
    row: str,
    ids: Iterable[SchemaId],
    subjects: Iterable[AskedSubject],
    *,
    is_in_topic: bool,
) -> Iterator[RowRead]:
    """srfix asks for each id under each subject, by content. A restore, and standbys, hold the topic's record."""
    for schema_id, asked_subject in product(ids, subjects):
        yield row_read(
            row, asked_subject, ask_membership(registry, asked_subject.subject, schema_id), is_in_topic=is_in_topic
        )


def is_failing(reads: Iterable[RowRead]) -> bool:
    """True if none of the subjects has a row's schema, or an existing one lacks it, which somebody probably asks."""
    by_row: dict[tuple[str, int], list[RowRead]] = {}
    for read in reads:
        by_row.setdefault((read.row, read.schema_id), []).append(read)
    return any(
        all(read.fails for read in reads_of_row)
        or any(read.fails and read.error_code != _NO_SUBJECT for read in reads_of_row)
        for reads_of_row in by_row.values()
    )


def key_in_topic(form: StoreFormat) -> Callable[[bytes], bytes] | None:
    """Makes a changelog's key the key that the store's serde wrote, or a FormatError; None for subscriptions."""
    if form is StoreFormat.SUBSCRIPTION:
        return None
    if form is StoreFormat.LIST_VALUE:
        return lambda key: decode_join_side_key(key).key
    windows = form.layout.windows
    return bytes if windows is None else lambda key: windows.decode(key)[0]


def newest_record(
    cluster: Cluster,
    topic: Topic,
    partition: int,
    key: bytes,
    *,
    key_of: Callable[[bytes], bytes] = bytes,
    most: int = MOST_LOOKED_AT,
) -> NewestRecord:
    """The newest record of a key, from the end of the partition; `key_of` makes a record's key that of the store."""
    begin, end = cluster.watermarks(topic, [partition])[partition]
    size, upper, looked_at = _FIRST_LOOK, end, 0
    while upper > begin and end - upper < most:
        lower = max(begin, upper - size, end - most)
        newest: RawRecord | None = None
        for record in cluster.read(topic, partition, lower, upper):
            looked_at += 1
            newest = record if _is_of(record, key, key_of) else newest
        if newest is not None:
            return NewestRecord(record=newest, looked_at=looked_at, is_all=lower == begin)
        upper, size = lower, size * 4
    return NewestRecord(record=None, looked_at=looked_at, is_all=upper <= begin)


def _is_of(record: RawRecord, key: bytes, key_of: Callable[[bytes], bytes]) -> bool:
    if record.key is None:
        return False
    try:
        return key_of(record.key) == key
    except FormatError:
        return False


def record_ids(record: RawRecord | StateRow) -> tuple[SchemaId, ...]:
    """The schema id in the value of a record or a row; empty if it carries none, or names its schema by GUID."""
    peeked = peek_headers([record.headers], SchemaIdPeek()([record.value]), Role.VALUE)
    return tuple(filter(is_schema_id, peeked))


def rows_not_registered(
    rows: Iterable[StateRow], registry: ReadableRegistry, subject: Subject, without_id: Counter[Subject]
) -> Iterator[StateRow]:
    """The rows whose schema the subject lacks, by content; for a key's subject (`…-key`) the keys count. Rows that carry
    no schema id are left out, and counted in `without_id`."""
    split = split_subject(split_context(subject)[1])
    role = Role.VALUE if split is None else split[1]
    is_missing: dict[SchemaId, bool] = {}
    for row in rows:
        try:
            frame = parse(row.key if role is Role.KEY else row.value, headers=row.headers, role=role)
        except WireError:
            frame = None
        schema_id = None if frame is None else frame.schema_id
        if schema_id is None:
            without_id[subject] += 1
            continue
        if schema_id not in is_missing:
            membership = ask_membership(registry, subject, schema_id)
            is_missing[schema_id] = not membership.is_known or membership.is_missing
        if is_missing[schema_id]:
            yield row
