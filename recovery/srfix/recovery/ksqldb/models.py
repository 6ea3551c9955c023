"""ksqlDB's facts, as far as a diagnosis needs them: queries, their topologies, tables and their topics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.topology import Topology
from srfix.serde.subjects.names import Topic

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_FIRST_OF_PLATFORM: Final = (5, 0, 0)
"""A server gives ksqlDB's own version, below 1, or that of the Confluent Platform it was built for, from 5.x on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    version: str
    """`0.10.1`; builds of Confluent Platform give that version instead, such as `6.0.1`."""
    service_id: str | None = None
    """`ksql.service.id`, such as `default_`; None if the answer does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDescription:
    """A table or stream (DESCRIBE … EXTENDED)."""

    name: str
    kind: str
    """`TABLE` or `STREAM`; empty if the answer does not say it."""
    topic: Topic | None = None
    value_format: str | None = None
    """`AVRO`, `JSON`, …; None if the answer does not say it."""

    @property
    def is_table(self) -> bool:
        return self.kind == "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDescription:
    """A query (EXPLAIN, SHOW QUERIES EXTENDED)."""

    query_id: str
    state: str | None = None
    """`RUNNING`, `ERROR`, `UNRESPONSIVE`, …; None if the answer does not say it."""
    sources: tuple[str, ...] = ()
    topology: Topology | None = None
    consumer_group: str | None = None
    """Its consumer group, the application.id; None if the answer does not say it (old servers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KsqldbAnswers:
    origin: str
    """The URL without secrets, or the file."""
    server: ServerInfo | None = None
    queries: tuple[QueryDescription, ...] = ()
    sources: tuple[SourceDescription, ...] = ()
    problems: tuple[str, ...] = ()

    def source(self, name: str) -> SourceDescription | None:
        return next((source for source in self.sources if source.name == name), None)

    def application_of(self, query: QueryDescription) -> str | None:
        """Its group, else `_confluent-ksql-<service id>query_<query id>` (the default `ksql.persistent.prefix`)."""
        if query.consumer_group is not None:
            return query.consumer_group
        if self.server is None or self.server.service_id is None:
            return None
        return f"_confluent-ksql-{self.server.service_id}query_{query.query_id}"

    def with_application(self, application: str | None) -> KsqldbAnswers:
        """The same, but a query without a known application gets this application.id, if the id ends in the query's id."""
        named = None if application is None else ksqldb_query(application)
        queries = (
            replace(query, consumer_group=application)
            if named is not None and named.query_id == query.query_id and self.application_of(query) is None
            else query
            for query in self.queries
        )
        return replace(self, queries=tuple(queries))

    def only(self, application: str) -> KsqldbAnswers:
        """The same, without the queries that are known to be of other applications."""
        queries = (query for query in self.queries if self.application_of(query) in (None, application))
        return replace(self, queries=tuple(queries))

    def queries_of(self, application: str) -> Iterator[QueryDescription]:
        """The queries that run, or may run, as an application: found by its id, else by the query id at its end."""
        named = ksqldb_query(application)
        for query in self.queries:
            owner = self.application_of(query)
            if owner == application or (owner is None and named is not None and named.query_id == query.query_id):
                yield query


def is_at_least(version: str, *, ksqldb: tuple[int, int, int], platform: tuple[int, int, int]) -> bool | None:
    """True if at least ksqlDB `ksqldb`, or built for Confluent Platform `platform` or later; None for no version."""
    match = _VERSION.match(version)
    if match is None:
        return None
    number = (int(match[1]), int(match[2]), int(match[3] or 0))
    return number >= (platform if number >= _FIRST_OF_PLATFORM else ksqldb)
