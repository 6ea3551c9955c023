"""Which hosts hold a task of a store, active and standby: as the application's group says, or ksqlDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from srfix.recovery.cluster.streams_members import StreamsMembers
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.ksqldb.cluster_status import ServerStatus
from srfix.recovery.state.directory import Task


class HostRole(Enum):
    """As what a host holds a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    EVERY = "every instance"
    """A global store, which each instance has whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHost:
    """A host that holds the task."""

    host: str
    """`application.server`, or where the broker sees the instance; of ksqlDB `host:port`."""
    role: HostRole
    said_by: str
    """`group`, or the URL of the ksqlDB server."""
    client_id: str | None = None
    """The thread's consumer; None where ksqlDB says it."""
    is_alive: bool | None = None
    """As ksqlDB knows; None where the group says it, whose members live."""


def task_of(task: Task, partition: int) -> str:
    """The task of the same sub-topology for a partition, as the state directory and the group name it.

    :param task: any of the store's tasks.
    """
    if task.is_global:
        return task.name
    number = f"{task.subtopology}_{partition}"
    return number if task.topology is None else f"{task.topology}__{number}"


def hosts_by_group(told: StreamsMembers, task: Task, partition: int) -> Iterator[TaskHost]:
    """The members of the application's group that hold the task."""
    name = task_of(task, partition)
    for member in told.members:
        role = (
            HostRole.EVERY
            if task.is_global
            else HostRole.ACTIVE
            if name in member.active
            else HostRole.STANDBY
            if name in member.standby
            else None
        )
        if role is not None:
            yield TaskHost(
                host=member.endpoint or member.address, role=role, said_by="group", client_id=member.client_id
            )


def hosts_by_ksqldb(
    servers: Iterable[ServerStatus], *, application: str, store: str, task: Task, partition: int, url: str
) -> Iterator[TaskHost]:
    """The servers that hold a partition of a query's store. By the partition's number: of which of the query's topics it is
    ksqlDB does not say.
    """
    query = task.topology or getattr(ksqldb_query(application), "query_id", None)
    for server in servers:
        held = server.queries.get(query or "")
        if held is None:
            continue
        if held.is_active(store, partition):
            yield TaskHost(host=server.host, role=HostRole.ACTIVE, said_by=url, is_alive=server.is_alive)
        elif held.is_standby(store, partition):
            yield TaskHost(host=server.host, role=HostRole.STANDBY, said_by=url, is_alive=server.is_alive)
