"""The place of a key: its partition, the task of this partition, and the hosts that hold the task, active and standby.
The partition is that of Java's clients and Kafka Streams (`Utils.murmur2`, `BuiltInPartitioner`). Windowed keys go
where their inner key does. The bytes are those that the serializer wrote, with the schema id before them. So one
logical key under two ids may be in two partitions. The application's group, or ksqlDB, says which hosts hold a task.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from msgspec import field

from srfix.recovery.cluster.streams_members import StreamsMembers
from srfix.recovery.documents import Part
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.ksqldb.answers import ServerStatus
from srfix.recovery.state.directory import Task

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
        raise ValueError("There must be a partition.")
    return (murmur2(key) & 0x7FFFFFFF) % partitions
