"""The stores and the foreign-key joins' names of printed topologies, and which subjects will be created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.facts.supplied import Supplied, own_processor, table_sources
from srfix.recovery.findings import Skipped, Weight
from srfix.recovery.forecasts import Certainty, weakest
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Assumed, GuardedStore, PseudoTopic, StoreKind, SubjectForecast, Wiring
from srfix.recovery.internal_topics import InternalTopicKind, ksqldb_query, recognise
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, is_at_least
from srfix.recovery.topology import Processor, Sink, Topology
from srfix.serde.formats.table import Format
from srfix.serde.subjects.names import Role, Topic

_PSEUDO: Final = (("pk", Role.KEY), ("fk", Role.KEY), ("vh", Role.VALUE))
"""`KTableImpl` decorates the registration topic's name with these, and hands it to the serde of that role."""
_SERDE_FALLS_BACK: Final = {"ksqldb": (0, 10, 2), "platform": (6, 0, 0)}
"""The first ksqlDB version with StaticTopicSerde (ksql#5823 and its back-port #5837)."""
_WITHOUT_SCHEMAS: Final = frozenset(format_.name for format_ in Format if format_.schema_type is None)


def guarded_stores(supplied: Supplied) -> Iterator[GuardedStore]:
    """Every store of every given topology; two stores with the same name both appear."""
    for application, topology, origin, second, bare in _topologies(supplied):
        for store in stores_of(topology, application=application, origin=origin, has_second_subject=second):
            yield replace(store, has_schemas=store.topic not in bare)


def pseudo_topics(supplied: Supplied) -> Iterator[PseudoTopic]:
    """Three names for each foreign-key join, which is recognised by its sink for registrations."""
    for application, topology, origin, _second, _bare in _topologies(supplied):
        prefix = _prefix(application, topology)
        sinks = {node.topic for part in topology.subtopologies for node in part.nodes if isinstance(node, Sink)}
        for registration in (f"{prefix}-{sink}" for sink in sorted(sinks)):
            if recognise(registration) is InternalTopicKind.SUBSCRIPTION_REGISTRATION:
                for suffix, role in _PSEUDO:
                    topic = Topic(f"{registration}-{suffix}")
                    yield PseudoTopic(application=prefix, topic=topic, role=role, origin=origin)


def without_topology(supplied: Supplied) -> Iterator[Skipped]:
    for topology in supplied.topologies:
        if topology.application is None:
            yield Skipped(
                what=f"the topology in {topology.origin}",
                reason="the printed topology does not name its application. Name the application with --application",
                could_hide=True,
            )
    for answers in supplied.ksqldb:
        for problem in answers.problems:
            yield Skipped(what=f"ksqlDB ({answers.origin})", reason=problem, could_hide=True)
        for query in answers.queries:
            named = answers.application_of(query) is not None
            if query.topology is None or not named:
                lacks = (
                    "its topology is not known" if named else "its application.id is not known; give --application ID"
                )
                yield Skipped(
                    what=f"query {query.query_id} of ksqlDB ({answers.origin})", reason=lacks, could_hide=True
                )


def stores_of(
    topology: Topology, *, application: str, origin: str, has_second_subject: bool | None = None
) -> Iterator[GuardedStore]:
    """The stores of one topology, by name; a table that several processors read comes only once."""
    prefix = _prefix(application, topology)
    is_ksqldb = ksqldb_query(application) is not None
    tables = {table.store: table for table in table_sources(topology)}
    in_global_parts = [
        node for part in topology.subtopologies if part.is_global for node in part.nodes if isinstance(node, Processor)
    ]
    global_ones = {store for node in in_global_parts for store in node.stores}
    for store in topology.stores:
        table = tables.get(store)
        is_global = store in global_ones
        yield GuardedStore(
            application=prefix,
            name=store,
            kind=StoreKind.GLOBAL if is_global else StoreKind.OTHER if table is None else StoreKind.TABLE,
            topic=None if table is None else table.topic,
            weight=Weight.CONCLUSIVE if table is None else table.weight,
            origin=origin,
            is_ksqldb=is_ksqldb,
            falls_back=has_second_subject,
            may_have_own_processor=own_processor(topology, store) is not None,
        )


def falls_back(answers: KsqldbAnswers) -> bool | None:
    """Whether that server's serdes ask a second subject; None if its version is not known."""
    if answers.server is None:
        return None
    return is_at_least(answers.server.version, **_SERDE_FALLS_BACK)


def _prefix(application: str, topology: Topology) -> str:
    return application if topology.name is None else f"{application}-{topology.name}"


def _topologies(supplied: Supplied) -> Iterator[tuple[str, Topology, str, bool | None, frozenset[Topic | None]]]:
    """Each with its application and origin, whether ksqlDB asks a second subject, and the topics of values without schemas."""
    for topology in supplied.topologies:
        if topology.application is not None:
            yield topology.application, topology.topology, topology.origin, None, frozenset()
    for answers in supplied.ksqldb:
        for query in answers.queries:
            application = answers.application_of(query)
            if query.topology is not None and application is not None:
                yield application, query.topology, answers.origin, falls_back(answers), _without_schemas(answers, query)


def _without_schemas(answers: KsqldbAnswers, query: QueryDescription) -> frozenset[Topic | None]:
    sources = [source for name in query.sources if (source := answers.source(name)) is not None]
    with_schemas = {source.topic for source in sources if source.value_format not in _WITHOUT_SCHEMAS}
    return frozenset({source.topic for source in sources} - with_schemas)


def store_forecasts(judged: JudgedStore, version: StreamsVersion | None) -> Iterator[SubjectForecast]:
    """Whether subjects with its changelog's name will be created, although the topic will not."""
    store = judged.store
    for role in (Role.VALUE, Role.KEY):
        subject = store.changelog_subject(role)
        exists = judged.sight.has_subject(subject)
        makes = judged.makes_the_phantom(version)
        certainty = makes
        if makes is not Certainty.EXCLUDED:
            certainty = weakest((makes, _serde(judged, role, exists)))
        yield SubjectForecast(
            subject=subject,
            role=role,
            application=store.application,
            store=store.name,
            why=_why(judged, version),
            version=version,
            certainty=certainty,
            exists=exists,
        )


def _serde(judged: JudgedStore, role: Role, exists: bool | None) -> Certainty:
    """Whether its serde of this role asks a registry: an old subject shows it, or --reader meant for this store."""
    pair = judged.subject_pair(role)
    is_meant = judged.assumed.is_of_one_store if pair is None else pair.asks_a_registry
    if role is Role.VALUE and not judged.store.has_schemas:
        return Certainty.EXCLUDED
    is_reader_named = role is Role.VALUE and judged.is_reader_told and is_meant
    return Certainty.CERTAIN if is_reader_named or exists else Certainty.POSSIBLE


def _why(judged: JudgedStore, version: StreamsVersion | None) -> str:
    wirings = judged.wirings(version)
    if judged.store.is_ksqldb and Wiring.REUSED in wirings:
        since = {
            True: "by design (StaticTopicSerde)",
            False: "KAFKA-10179",
            None: "KAFKA-10179, since 0.10.2 by design",
        }
        return f"subject of a ksqlDB store ({since[judged.store.falls_back]})"
    if Wiring.GLOBAL in wirings:
        return "subject of a global store (KAFKA-10179)"
    if Wiring.REUSED in wirings:
        return "subject of a store that reuses its source topic (KAFKA-10179)"
    if wirings == (Wiring.NONE,):
        return "subject of a store without logging"
    return "subject of this store, but only if the store has no logging"


def pseudo_forecasts(pseudo: Iterable[PseudoTopic], assumed: Assumed, sight: Sight) -> Iterator[SubjectForecast]:
    """The subjects of foreign-key joins, by design in every version."""
    for pseudo_topic in pseudo:
        exists = sight.has_subject(pseudo_topic.subject)
        yield SubjectForecast(
            subject=pseudo_topic.subject,
            role=pseudo_topic.role,
            application=pseudo_topic.application,
            store=None,
            why="subject of a foreign-key join's pseudo-topic, by design",
            version=assumed.running,
            certainty=Certainty.CERTAIN if exists else Certainty.POSSIBLE,
            exists=exists,
        )
