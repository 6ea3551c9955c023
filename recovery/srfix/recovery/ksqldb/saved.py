"""Reads what a person saved of ksqlDB: JSON answers, or the text of its command line, whichever it is.

The command line's text is for eyes and changes with the version. What is looked for in it: `Name : value` lines, the
list under "Sources that this query reads from", and the printed topology.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.errors import KsqldbError
from srfix.recovery.ksqldb.answers import merge, parse_json_answers, topology_in
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo, SourceDescription
from srfix.serde.subjects.names import Topic

_PROMPT: Final = re.compile(r"^ksql>.*$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^(?=(?:ID|Name)\s*:\s*\S)", re.MULTILINE)
_FIELD: Final = re.compile(r"^(?P<name>[A-Z][A-Za-z ]*?)\s*:\s+(?P<value>\S.*?)\s*$", re.MULTILINE)
_HOSTS: Final = re.compile(r"[\w.\-\[\]:]+:\d+=(?P<state>[A-Z_]+)")
_TOPIC: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)(?:\s.*)?")
_SERVER: Final = re.compile(r"Server v(?P<version>\d+\.\d+\S*) located at")
_SOURCES: Final = re.compile(
    r"^Sources that this query reads from[^\n]*\n-+[ \t]*\n(?P<names>(?:[^\n\s][^\n]*\n)*)", re.MULTILINE
)
_BAD_STATES: Final = ("ERROR", "UNRESPONSIVE")


def parse_saved_answers(text: str, *, origin: str) -> KsqldbAnswers:
    """The answers in a saved file."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if text.lstrip()[:1] in ("{", "["):
        return parse_json_answers(text, origin=origin)
    reader = _Reader(origin)
    server = _SERVER.search(text)
    if server is not None:
        reader.server = ServerInfo(version=server["version"])
    for block in _blocks(text):
        reader.read(block)
    answers = reader.answers()
    if answers.server is None and not answers.queries and not answers.sources:
        raise KsqldbError(
            f"{origin} is neither JSON of ksqlDB nor the text of its command line: save what SHOW QUERIES EXTENDED;, "
            "EXPLAIN <query>; and DESCRIBE <table> EXTENDED; answer."
        )
    return answers


def _blocks(text: str) -> Iterator[str]:
    """What stands between prompts, cut where a query or a source begins."""
    for answer in _PROMPT.split(text):
        yield from _BLOCK.split(f"{answer}\n")


@dataclass(slots=True)
class _Reader:
    origin: str
    server: ServerInfo | None = None
    _queries: list[QueryDescription] = field(default_factory=list)
    _sources: list[SourceDescription] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)

    def read(self, block: str) -> None:
        fields: dict[str, str] = {}
        for found in _FIELD.finditer(block):
            fields.setdefault(found["name"], found["value"])
        if "ID" in fields:
            self._queries.append(self._query(fields, block))
        elif "Name" in fields and ("Kafka topic" in fields or "Type" in fields):
            self._sources.append(_source(fields))

    def answers(self) -> KsqldbAnswers:
        found = KsqldbAnswers(origin=self.origin, queries=tuple(self._queries), sources=tuple(self._sources))
        return merge(KsqldbAnswers(origin=self.origin, server=self.server, problems=tuple(self._problems)), found)

    def _query(self, fields: dict[str, str], block: str) -> QueryDescription:
        states = [found["state"] for found in _HOSTS.finditer(fields.get("Host Query Status", ""))]
        topology = None
        if "Sub-topology:" in block:
            origin = f"{self.origin}, query {fields['ID']}"
            topology = topology_in(block, origin=origin, problems=self._problems)
        return QueryDescription(
            query_id=fields["ID"],
            state=next((bad for bad in _BAD_STATES if bad in states), states[0] if states else fields.get("State")),
            sources=_sources(block),
            topology=topology,
            consumer_group=fields.get("Consumer Group ID") or fields.get("Consumer Group"),
        )


def _sources(block: str) -> tuple[str, ...]:
    found = _SOURCES.search(block)
    return () if found is None else tuple(line.strip() for line in found["names"].splitlines())


def _source(fields: dict[str, str]) -> SourceDescription:
    topic = _TOPIC.fullmatch(fields.get("Kafka topic", ""))
    return SourceDescription(
        name=fields["Name"],
        kind=fields.get("Type", ""),
        topic=Topic(topic["topic"]) if topic is not None else None,
        value_format=fields.get("Value format"),
    )
