"""ksqlDB's answers: the query that the application is, the table that the store holds, and the topic of that table."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import table_sources
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription
from srfix.serde.subjects.names import Topic

KIND = "ksqldb"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic, with the topology's weight; without one, strong for one table and weak for several."""
    for answers, query in survey.supplied.queries(store.application):
        if query.topology is not None:
            for table in table_sources(query.topology):
                if table.store == store.name and table.topic in survey.topics():
                    detail = f"{_who(query)} {_what(answers, query, table.topic)}: {table.detail}"
                    yield Evidence(kind=KIND, topic=table.topic, weight=table.weight, detail=detail)
            continue
        tables = {
            source.topic
            for name in query.sources
            if (source := answers.source(name)) is not None and source.is_table and source.topic in survey.topics()
        }
        for topic in sorted(topic for topic in tables if topic is not None):
            weight = Weight.STRONG if len(tables) == 1 else Weight.WEAK
            detail = f"{_who(query)} {_what(answers, query, topic)}; its topology is not known"
            yield Evidence(kind=KIND, topic=topic, weight=weight, detail=detail)


def _who(query: QueryDescription) -> str:
    state = f" ({query.state})" if query.state is not None else ""
    return f"query {query.query_id}{state}"


def _what(answers: KsqldbAnswers, query: QueryDescription, topic: Topic) -> str:
    for name in query.sources:
        source = answers.source(name)
        if source is not None and source.topic == topic:
            kind = "table" if source.is_table else "source"
            how = f", values in {source.value_format}" if source.value_format is not None else ""
            return f"reads {kind} {name} on this topic{how}"
    return "reads this topic"
