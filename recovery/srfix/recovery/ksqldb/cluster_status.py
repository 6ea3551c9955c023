"""ksqlDB's `/clusterStatus`: which server holds which stores and partitions of a query, active and standby.

A server answers it with `ksql.heartbeat.enable=true`; servers without persistent queries know of themselves alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.errors import KsqldbError
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOnServer:
    """What one server holds of one query."""

    active_stores: tuple[str, ...] = ()
    active_partitions: tuple[tuple[Topic, int], ...] = ()
    """Of the topics that the query reads."""
    standby_stores: tuple[str, ...] = ()
    standby_partitions: tuple[tuple[Topic, int], ...] = ()

    def is_active(self, store: str, partition: int) -> bool:
        """True if it has the store, and an active task of that partition."""
        return store in self.active_stores and any(number == partition for _topic, number in self.active_partitions)

    def is_standby(self, store: str, partition: int) -> bool:
        """True if it has the store as a standby, and a standby task of that partition."""
        return store in self.standby_stores and any(number == partition for _topic, number in self.standby_partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One server of a ksqlDB cluster."""

    host: str
    """`host:port`."""
    is_alive: bool | None
    """As the asked server knows by heartbeats; None where it does not say."""
    queries: Mapping[str, QueryOnServer]
    """By the query's id."""


def read_cluster_status(document: Json, *, origin: str) -> tuple[ServerStatus, ...]:
    """The servers in an answer of `/clusterStatus`, by name."""
    hosts = document.get("clusterStatus") if isinstance(document, dict) else None
    if not isinstance(hosts, dict):
        raise KsqldbError(f"{origin}/clusterStatus answered something else. Check that this is ksqlDB.")
    return tuple(_server(host, found) for host, found in sorted(hosts.items()) if isinstance(found, dict))


def _server(host: str, found: Mapping[str, Json]) -> ServerStatus:
    alive, queries = found.get("hostAlive"), found.get("activeStandbyPerQuery")
    return ServerStatus(
        host=host,
        is_alive=alive if isinstance(alive, bool) else None,
        queries={name: _query(told) for name, told in queries.items() if isinstance(told, dict)}
        if isinstance(queries, dict)
        else {},
    )


def _query(found: Mapping[str, Json]) -> QueryOnServer:
    return QueryOnServer(
        active_stores=tuple(_texts(found.get("activeStores"))),
        active_partitions=tuple(_partitions(found.get("activePartitions"))),
        standby_stores=tuple(_texts(found.get("standByStores"))),
        standby_partitions=tuple(_partitions(found.get("standByPartitions"))),
    )


def _texts(found: Json) -> Iterator[str]:
    yield from (each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _partitions(found: Json) -> Iterator[tuple[Topic, int]]:
    for each in found if isinstance(found, list) else ():
        match each:
            case {"topic": str(topic), "partition": int(partition)}:
                yield Topic(topic), partition
