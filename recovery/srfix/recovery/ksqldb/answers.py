"""Reads ksqlDB's answers, also saved ones: JSON, or the text of its command line, which is made for people and changes
with the version. In the text, srfix looks for `Name : value` lines, the list under "Sources that this query reads
from", and the printed topology.

In JSON: `/info`, SHOW QUERIES [EXTENDED], EXPLAIN, DESCRIBE … EXTENDED, alone or mixed; and
`/clusterStatus`, which a server answers with `ksql.heartbeat.enable=true`; without persistent queries, it knows only
itself.

Fields come and go by version (`format` became `keyFormat` and `valueFormat`; `state` may be null beside
`ksqlHostQueryStatus`), so an object is recognised by its fields, and any field may be missing.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from srfix.recovery.errors import KsqldbError, TopologyError
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo, SourceDescription
from srfix.recovery.topology import Topology, parse_topologies
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Topic

_BAD_STATES = ("ERROR", "UNRESPONSIVE")
_PROMPT: Final = re.compile(r"^ksql>.*$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^(?=(?:ID|Name)\s*:\s*\S)", re.MULTILINE)
_FIELD: Final = re.compile(r"^(?P<name>[A-Z][A-Za-z ]*?)\s*:\s+(?P<value>\S.*?)\s*$", re.MULTILINE)
_HOSTS: Final = re.compile(r"[\w.\-\[\]:]+:\d+=(?P<state>[A-Z_]+)")
_TOPIC: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)(?:\s.*)?")
_SERVER: Final = re.compile(r"Server v(?P<version>\d+\.\d+\S*) located at")
_SOURCES: Final = re.compile(
    r"^Sources that this query reads from[^\n]*\n-+[ \t]*\n(?P<names>(?:[^\n\s][^\n]*\n)*)", re.MULTILINE
)


def parse_json_answers(text: str, *, origin: str) -> KsqldbAnswers:
    answers = KsqldbAnswers(origin=origin)
    decoder = json.JSONDecoder()
    at = 0
    while (at := _next(text, at)) < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, at) + 1
            raise KsqldbError(
                f"{origin}, line {line}: this line is not JSON. Save ksqlDB's complete answers."
            ) from None
        answers = merge(answers, read_answer(document, origin=origin))
    if answers.server is None and not answers.queries and not answers.sources:
        raise KsqldbError(
            f"{origin} contains no ksqlDB answer that srfix can use. Save the output of SHOW QUERIES EXTENDED;, EXPLAIN "
            "<query>; and DESCRIBE <table> EXTENDED;."
        )
    return answers


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def read_answer(document: Json, *, origin: str) -> KsqldbAnswers:
    problems: list[str] = []
    server: ServerInfo | None = None
    queries: list[QueryDescription] = []
    sources: list[SourceDescription] = []
    for answer in _objects(document):
        if isinstance(info := answer.get("KsqlServerInfo"), dict) and (version := _text(info, "version")):
            server = ServerInfo(version=version, service_id=_text(info, "ksqlServiceId"))
        elif isinstance(answer.get("id"), str) and ("topology" in answer or "queryString" in answer):
            queries.append(_query(answer, problems))
        elif isinstance(answer.get("name"), str) and "topic" in answer and "partitions" in answer:
            sources.append(_source(answer))
        elif isinstance(answer.get("error_code"), int):
            problems.append(f"error {answer['error_code']}: {_text(answer, 'message') or 'no message'}")
    answers = KsqldbAnswers(origin=origin, server=server, problems=tuple(problems))
    return merge(answers, KsqldbAnswers(origin=origin, queries=tuple(queries), sources=tuple(sources)))


def merge(first: KsqldbAnswers, second: KsqldbAnswers) -> KsqldbAnswers:
    """Both together, with the first one's origin; where both describe a thing, the second one wins."""
    queries = {query.query_id: query for query in first.queries}
    for query in second.queries:
        queries[query.query_id] = _joined(queries.get(query.query_id), query)
    sources = {source.name: source for source in (*first.sources, *second.sources)}
    return KsqldbAnswers(
        origin=first.origin,
        server=second.server or first.server,
        queries=tuple(queries[name] for name in sorted(queries)),
        sources=tuple(sources[name] for name in sorted(sources)),
        problems=tuple(dict.fromkeys((*first.problems, *second.problems))),
    )


def _joined(old: QueryDescription | None, new: QueryDescription) -> QueryDescription:
    if old is None:
        return new
    return replace(
        old,
        state=new.state or old.state,
        sources=new.sources or old.sources,
        topology=new.topology or old.topology,
        consumer_group=new.consumer_group or old.consumer_group,
    )


def _objects(document: Json) -> Iterator[Mapping[str, Json]]:
    """Every object, outer before inner, without recursion, because a saved file may be nested to any depth."""
    waiting: deque[Json] = deque([document])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _query(query: Mapping[str, Json], problems: list[str]) -> QueryDescription:
    query_id = str(query["id"])
    topology = None
    if (text := _text(query, "topology")) is not None:
        topology = topology_in(text, origin=f"the topology of query {query_id}", problems=problems)
    return QueryDescription(
        query_id=query_id,
        state=_state(query),
        sources=tuple(_texts(query, "sources")),
        topology=topology,
        consumer_group=_text(query, "consumerGroupId"),
    )


def topology_in(text: str, *, origin: str, problems: list[str]) -> Topology | None:
    try:
        return parse_topologies(text, origin=origin)[0]
    except TopologyError as error:
        problems.append(error.message)
        return None


def _state(query: Mapping[str, Json]) -> str | None:
    if (state := _text(query, "state")) is not None:
        return state
    hosts = query.get("ksqlHostQueryStatus")
    states = [state for state in hosts.values() if isinstance(state, str)] if isinstance(hosts, dict) else []
    return next((state for state in _BAD_STATES if state in states), states[0] if states else None)


def _source(source: Mapping[str, Json]) -> SourceDescription:
    topic = _text(source, "topic")
    return SourceDescription(
        name=str(source["name"]),
        kind=_text(source, "type") or "",
        topic=Topic(topic) if topic else None,
        value_format=_text(source, "valueFormat") or _text(source, "format"),
    )


def _text(fields: Mapping[str, Json], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


def _texts(fields: Mapping[str, Json], name: str) -> Iterable[str]:
    values = fields.get(name)
    return (value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOnServer:
    active_stores: tuple[str, ...] = ()
    active_partitions: tuple[tuple[Topic, int], ...] = ()
    standby_stores: tuple[str, ...] = ()
    standby_partitions: tuple[tuple[Topic, int], ...] = ()

    def is_active(self, store: str, partition: int) -> bool:
        return store in self.active_stores and any(number == partition for _topic, number in self.active_partitions)

    def is_standby(self, store: str, partition: int) -> bool:
        return store in self.standby_stores and any(number == partition for _topic, number in self.standby_partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    host: str
    """`host:port`."""
    is_alive: bool | None
    """As the asked server knows by heartbeats; None if it does not say."""
    queries: Mapping[str, QueryOnServer]


def read_cluster_status(document: Json, *, origin: str) -> tuple[ServerStatus, ...]:
    hosts = document.get("clusterStatus") if isinstance(document, dict) else None
    if not isinstance(hosts, dict):
        raise KsqldbError(f"{origin}/clusterStatus did not answer with a cluster status. Check that this is ksqlDB.")
    return tuple(_server(host, status) for host, status in sorted(hosts.items()) if isinstance(status, dict))


def _server(host: str, status: Mapping[str, Json]) -> ServerStatus:
    alive, queries = status.get("hostAlive"), status.get("activeStandbyPerQuery")
    return ServerStatus(
        host=host,
        is_alive=alive if isinstance(alive, bool) else None,
        queries={name: _on_server(query) for name, query in queries.items() if isinstance(query, dict)}
        if isinstance(queries, dict)
        else {},
    )


def _on_server(status: Mapping[str, Json]) -> QueryOnServer:
    return QueryOnServer(
        active_stores=tuple(_texts(status, "activeStores")),
        active_partitions=tuple(_partitions(status.get("activePartitions"))),
        standby_stores=tuple(_texts(status, "standByStores")),
        standby_partitions=tuple(_partitions(status.get("standByPartitions"))),
    )


def _partitions(entries: Json) -> Iterator[tuple[Topic, int]]:
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"topic": str(topic), "partition": int(partition)}:
                yield Topic(topic), partition


def parse_saved_answers(text: str, *, origin: str) -> KsqldbAnswers:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if text.lstrip()[:1] in ("{", "["):
        return parse_json_answers(text, origin=origin)
    server = _SERVER.search(text)
    queries: list[QueryDescription] = []
    sources: list[SourceDescription] = []
    problems: list[str] = []
    for block in (block for answer in _PROMPT.split(text) for block in _BLOCK.split(f"{answer}\n")):
        fields: dict[str, str] = {}
        for match in _FIELD.finditer(block):
            fields.setdefault(match["name"], match["value"])
        if "ID" in fields:
            queries.append(_printed_query(fields, block, origin, problems))
        elif "Name" in fields and ("Kafka topic" in fields or "Type" in fields):
            sources.append(_printed_source(fields))
    answers = merge(
        KsqldbAnswers(
            origin=origin,
            server=None if server is None else ServerInfo(version=server["version"]),
            problems=tuple(problems),
        ),
        KsqldbAnswers(origin=origin, queries=tuple(queries), sources=tuple(sources)),
    )
    if answers.server is None and not answers.queries and not answers.sources:
        raise KsqldbError(
            f"{origin} is neither JSON of ksqlDB nor the text of its command line: save the output of SHOW QUERIES "
            "EXTENDED;, EXPLAIN <query>; and DESCRIBE <table> EXTENDED;."
        )
    return answers


def _printed_query(fields: Mapping[str, str], block: str, origin: str, problems: list[str]) -> QueryDescription:
    states = [match["state"] for match in _HOSTS.finditer(fields.get("Host Query Status", ""))]
    topology = None
    if "Sub-topology:" in block:
        topology = topology_in(block, origin=f"{origin}, query {fields['ID']}", problems=problems)
    return QueryDescription(
        query_id=fields["ID"],
        state=next((bad for bad in _BAD_STATES if bad in states), states[0] if states else fields.get("State")),
        sources=_printed_sources(block),
        topology=topology,
        consumer_group=fields.get("Consumer Group ID") or fields.get("Consumer Group"),
    )


def _printed_sources(block: str) -> tuple[str, ...]:
    match = _SOURCES.search(block)
    return () if match is None else tuple(line.strip() for line in match["names"].splitlines())


def _printed_source(fields: dict[str, str]) -> SourceDescription:
    topic = _TOPIC.fullmatch(fields.get("Kafka topic", ""))
    return SourceDescription(
        name=fields["Name"],
        kind=fields.get("Type", ""),
        topic=Topic(topic["topic"]) if topic is not None else None,
        value_format=fields.get("Value format"),
    )
