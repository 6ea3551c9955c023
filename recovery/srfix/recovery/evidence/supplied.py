"""Evidence from what a person supplied: a named source, state directories, printed topologies, ksqlDB's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.commands import shell_words
from srfix.recovery.evidence import rules
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import TableSource, table_sources
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription
from srfix.recovery.topology import Topology
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Topic


def named(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """:raises UsageError: if the topic that the person names with `--source` does not exist."""
    source = survey.named_source(store)
    if source is None:
        return
    option = shell_words("--source", source.argument)
    if source.topic not in survey.topics():
        if survey.cluster.hidden_topics([source.topic]):
            raise UsageError(
                f"{option}: this user is not allowed to see a topic of that name, so srfix cannot tell whether it exists. "
                f"Ask for the ACLs Describe and Read on topic {source.topic!r}."
            )
        raise UsageError(
            f"{option}: there is no topic {source.topic!r} on this cluster."
            f"{did_you_mean(source.topic, survey.topics())} Check its spelling and --bootstrap-servers."
        )
    yield rules.EXPLICIT.of_topic(source.topic, f"named with {option}")


def on_disk(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the cluster has; a missing checkpoint says nothing, and proves nothing."""
    for directory in survey.supplied.on_disk(store.application, store.name):
        for source in directory.sources:
            if source.topic in survey.topics():
                yield rules.STATE_DIRECTORY.of_topic(source.topic, source.detail, weight=source.weight)


def against(store: SuspectStore, topics: Collection[Topic], survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for each of these topics that the checkpoint of the store's task does not name, if it leaves others."""
    pieces = tuple(on_disk(store, survey))
    left = sorted({str(piece.topic) for piece in pieces})
    if not left or any(piece.weight is not Weight.WEAK for piece in pieces):
        return  # a proof decides without this evidence
    for topic in sorted(topics):
        if topic not in left:
            yield rules.LEFT_ELSEWHERE.of_topic(
                topic, f"the checkpoint of the store's task allows only {', '.join(left)}, and not this topic"
            )


def printed(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topology with the store as a table; at most strong while nobody names the application."""
    for given in survey.supplied.topologies:
        if given.application not in (None, store.application):
            continue
        for table in _tables(given.topology, store, survey):
            weight, whose = table.weight, ""
            if given.application is None:
                weight = Weight.STRONG if weight is Weight.CONCLUSIVE else weight
                whose = "; --application would say whose topology it is"
            detail = f"{given.origin}: {table.detail}{whose}"
            yield rules.TOPOLOGY.of_topic(table.topic, detail, weight=weight)


def by_ksqldb(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic, with the topology's weight; without one, strong for one table and weak for several."""
    for answers, query in survey.supplied.queries(store.application):
        if query.topology is not None:
            for table in _tables(query.topology, store, survey):
                yield _of_ksqldb(answers, query, table.topic, table.weight, f": {table.detail}")
            continue
        tables = {
            source.topic
            for name in query.sources
            if (source := answers.source(name)) is not None and source.is_table and source.topic in survey.topics()
        }
        weight = Weight.STRONG if len(tables) == 1 else Weight.WEAK
        for topic in sorted(topic for topic in tables if topic is not None):
            yield _of_ksqldb(answers, query, topic, weight, "; its topology is not known")


def _tables(topology: Topology, store: SuspectStore, survey: Survey) -> Iterator[TableSource]:
    """The tables that the store is, of topics that the cluster has."""
    topics = survey.topics()
    return (table for table in table_sources(topology) if table.store == store.name and table.topic in topics)


def _of_ksqldb(answers: KsqldbAnswers, query: QueryDescription, topic: Topic, weight: Weight, more: str) -> Evidence:
    state = f" ({query.state})" if query.state is not None else ""
    detail = f"query {query.query_id}{state} {_what_it_reads(answers, query, topic)}{more}"
    return rules.KSQLDB.of_topic(topic, detail, weight=weight)


def _what_it_reads(answers: KsqldbAnswers, query: QueryDescription, topic: Topic) -> str:
    for name in query.sources:
        source = answers.source(name)
        if source is not None and source.topic == topic:
            kind = "table" if source.is_table else "source"
            how = f", values in {source.value_format}" if source.value_format is not None else ""
            return f"reads {kind} {name} on this topic{how}"
    return "reads this topic"
