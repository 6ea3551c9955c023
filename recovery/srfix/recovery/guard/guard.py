"""What will break, told before it does: stores of topologies, or of the cluster, and what is asked about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.learning import Counter, is_global
from srfix.recovery.diagnosis.undecided import refused_groups
from srfix.recovery.diagnosis.weighing import weigh_all
from srfix.recovery.evidence.hypotheses import Verdict
from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped, Weight, is_conclusive
from srfix.recovery.guard.breaking import on_restore, on_upgrade
from srfix.recovery.guard.judged import JudgedStore, judge
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import (
    Assumed,
    Certainty,
    Forecast,
    Foretold,
    GuardedStore,
    NewSchema,
    StoreKind,
)
from srfix.recovery.guard.names import pseudo_forecasts, store_forecasts
from srfix.recovery.guard.new_schema import on_schema, topic_of
from srfix.recovery.guard.stores import falls_back, guarded_stores, pseudo_topics, without_topology
from srfix.recovery.guard.unasked import unasked
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Subject, Topic, split_context

_CERTAINTIES = tuple(Certainty)


def look_through(
    cluster: Cluster | None,
    registry: ReadableRegistry | None,
    engine: CensusEngine | None = None,
    *,
    supplied: Supplied | None = None,
    sources: dict[str, Topic] | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
) -> Sight:
    """A look through what was named of cluster and registry.

    :param engine: what counts topics; needed where both were named.
    """
    if cluster is None or registry is None:
        return Sight(cluster=cluster, registry=registry)
    survey = Survey(cluster=cluster, registry=registry, sources=sources or {}, supplied=supplied or Supplied())
    counter = None if engine is None else Counter(survey, engine, None, deadline_s, max_records, False)
    return Sight(cluster=cluster, registry=survey.registry, survey=survey, counter=counter)


def foretell(
    supplied: Supplied,
    assumed: Assumed,
    sight: Sight | None = None,
    *,
    schema: NewSchema | None = None,
    store: str | None = None,
    application: str | None = None,
    ignore: Iterable[str] = (),
) -> Forecast:
    """All that is foretold. Reads only.

    :param supplied: topologies and ksqlDB's answers; without any, and with a schema, the cluster's stores are judged.
    :param schema: a schema about to be registered: then only what it brings about is told, beside names and the upgrade.
    :param store: the store that is asked about; None for all.
    :param application: the application that is asked about; None for all.
    :param ignore: patterns over subjects that a person has acknowledged.
    :raises UsageError: if there is nothing to judge by.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    sight = sight or Sight()
    skipped = list(without_topology(supplied))
    stores = [each for each in guarded_stores(supplied) if store in (None, each.name)]
    pseudo = tuple(pseudo_topics(supplied)) if store is None else ()
    if schema is not None:
        topic, _role = topic_of(schema.subject)
        if not supplied.topologies and not supplied.ksqldb:
            stores = list(_of_cluster(sight, topic, application, store, assumed, skipped))
        context = split_context(schema.subject)[0]
        stores = [replace(each, context=context) for each in stores if each.topic == topic]
        skipped += _unknown_subject(schema.subject, topic, sight) if not stores else ()
        pseudo = ()
    elif not stores and not skipped:
        raise UsageError("There is nothing to judge by: no store of that name stands in what was handed over.")
    judged = [judge(each, assumed, sight) for each in stores]
    foretold = [each for one in judged for each in (*(() if schema is not None else on_restore(one)), *on_upgrade(one))]
    if schema is not None:
        foretold += on_schema(schema, judged, sight)
    patterns = tuple(ignore)
    # What could not be read on the way is known only when all is told.
    forecast = Forecast(
        assumed=assumed,
        stores=tuple(one.forecast(version) for one in judged for version in _versions(one)),
        subjects=(
            *(each for one in judged for version in _versions(one) for each in store_forecasts(one, version)),
            *pseudo_forecasts(pseudo, assumed, sight),
        ),
        foretold=tuple(sorted((each for each in foretold if not _fits(each.subject, patterns)), key=_order)),
        ignored=tuple(sorted((each for each in foretold if _fits(each.subject, patterns)), key=_order)),
        skipped=(),
        schema=schema,
        has_cluster=sight.cluster is not None,
        has_registry=sight.registry is not None,
    )
    left_out = tuple(unasked(judged, sight))
    unseen = dict.fromkeys((*skipped, *sight.skipped))
    return replace(
        forecast,
        skipped=tuple(each for each in unseen if not _is_acknowledged(each, patterns)),
        unasked=left_out,
        has_rows=any((facts := one.facts()) is not None and facts.rows is not None for one in judged),
    )


def _unknown_subject(subject: Subject, topic: Topic, sight: Sight) -> Iterator[Skipped]:
    """That nothing bears the name of the schema's subject: a slip of the pen would else be told to break nothing."""
    there = (sight.has_topic(topic), sight.has_subject(subject))
    if False in there and True not in there:
        yield Skipped(
            what=f"subject {subject}",
            reason=f"there is no such subject, and no topic {topic}, as far as cluster and registry were named: check the "
            "name. If both are new, no store reads them yet",
            could_hide=True,
            subjects=(subject,),
        )


def _versions(judged: JudgedStore) -> tuple[StreamsVersion | None, ...]:
    target = judged.assumed.to
    return (judged.running,) if target is None or target == judged.running else (judged.running, target)


def _fits(subject: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(subject, pattern) for pattern in patterns)


def _is_acknowledged(skipped: Skipped, patterns: tuple[str, ...]) -> bool:
    return bool(skipped.subjects) and all(_fits(subject, patterns) for subject in skipped.subjects)


def _order(each: Foretold) -> tuple[int, int, str, str, str, str]:
    return (
        each.severity.rank,
        _CERTAINTIES.index(each.certainty),
        each.application,
        each.store,
        each.role.value,
        each.code or "",
    )


def _of_cluster(
    sight: Sight,
    topic: Topic,
    application: str | None,
    store: str | None,
    assumed: Assumed,
    skipped: list[Skipped],
) -> Iterator[GuardedStore]:
    """The stores without a changelog topic whose source is, or may be, that topic: as a diagnosis finds them."""
    survey = sight.survey
    if survey is None:
        raise UsageError(
            "There is nothing to judge by: give --topology or --ksqldb, or both --bootstrap-servers and --registry, where the "
            "stores that restore from the topic are looked for."
        )
    found = find_candidates(survey, application=application, store=store, given=assumed.given)
    verdicts = weigh_all(found.suspects, survey, found.applications)
    skipped += [*found.skipped, *refused_groups(found.applications.refused, application)]
    for verdict in verdicts:
        if application not in (None, verdict.store.application):
            continue
        yield from _of_verdict(verdict, topic, survey, skipped)


def _of_verdict(verdict: Verdict, topic: Topic, survey: Survey, skipped: list[Skipped]) -> Iterator[GuardedStore]:
    suspect = verdict.store
    if not verdict.established:
        if any(each.topic == topic for each in (*verdict.ranked, *verdict.doubts)):
            skipped.append(
                suspect.skipped("no application was found that it belongs to, and it may restore from this topic")
            )
        return
    if verdict.chosen is None:
        if any(each.topic in (topic, None) for each in verdict.open):
            what = f"it may restore from topic {topic}; which topic it restores from is not decided (srfix diagnose says more)"
            skipped.append(suspect.skipped(what))
        return
    if verdict.chosen.topic != topic:
        return
    yield GuardedStore(
        application=suspect.application,
        name=suspect.name,
        kind=StoreKind.GLOBAL if is_global(survey, suspect, topic) else StoreKind.TABLE,
        topic=topic,
        weight=Weight.CONCLUSIVE if is_conclusive(verdict.evidence, topic) else Weight.STRONG,
        origin="the cluster",
        context=suspect.context,
        is_ksqldb=ksqldb_query(suspect.application) is not None,
        falls_back=next(
            (falls_back(answers) for answers, _query in survey.supplied.queries(suspect.application)), None
        ),
        has_left_a_phantom=True,
    )
