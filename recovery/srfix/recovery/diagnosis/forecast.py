"""Predicts what will break, for stores of topologies or of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.checks import srf004, srf005, srf015, srf016, srf018, srf019, srf020
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.learning import Counter, is_global, learn
from srfix.recovery.diagnosis.undecided import refused_groups
from srfix.recovery.diagnosis.weighing import may_restore_from, weigh_all
from srfix.recovery.evidence.hypotheses import Verdict
from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.facts.subject_state import held_version, read_subject_state
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Severity, Skipped, Weight, is_conclusive
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.recovery.guard import stores as guarded
from srfix.recovery.guard.judged import JudgedStore, Prospect, judge
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Assumed, Forecast, GuardedStore, NewSchema, StoreKind
from srfix.recovery.internal_topics import is_internal, ksqldb_query
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject, Topic, split_context

_CERTAINTIES: Final = tuple(Certainty)
_OFFSETS_IN_ROCKSDB: Final = StreamsVersion(4, 3)
"""From this version on, every RocksDB has the column family `offsets`, which older versions cannot open (KIP-1035)."""


def look_through(
    cluster: Cluster | None,
    registry: ReadableRegistry | None,
    engine: CensusEngine | None = None,
    *,
    supplied: Supplied | None = None,
    sources: dict[str, Topic] | None = None,
    isolation: Isolation | None = None,
    gone: frozenset[str] = frozenset(),
    deadline_s: float | None = None,
    max_records: int | None = None,
) -> Sight:
    """Looks at the cluster and the registry, if they are named; if both are, an engine is needed."""
    if cluster is None or registry is None:
        return Sight(cluster=cluster, registry=registry)
    survey = Survey(
        cluster=cluster,
        registry=registry,
        sources=sources or {},
        supplied=supplied or Supplied(),
        isolation=isolation,
        gone=gone,
    )
    sight = Sight(cluster=cluster, registry=survey.registry, survey=survey)
    if engine is not None:
        sight.count = counter = Counter(survey, engine, None, deadline_s, max_records, False)
        sight.learn = partial(learn, survey, counter)
    return sight


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
    """All predictions; for a new schema only those about it, its names and the upgrade. Patterns acknowledge some."""
    sight = sight or Sight()
    if application is not None and supplied.ksqldb and not supplied.topologies:
        supplied = replace(supplied, ksqldb=tuple(answers.only(application) for answers in supplied.ksqldb))
        if not any(answers.queries or answers.problems for answers in supplied.ksqldb):
            raise UsageError(
                f"ksqlDB knows no query of application {application!r}. Check the application.id: it is the query's consumer "
                "group."
            )
    skipped = list(guarded.without_topology(supplied))
    stores = [
        guarded_store for guarded_store in guarded.guarded_stores(supplied) if store in (None, guarded_store.name)
    ]
    pseudo = tuple(guarded.pseudo_topics(supplied)) if store is None else ()
    if schema is not None:
        topic = schema.topic
        if not supplied.topologies and not supplied.ksqldb:
            stores = list(_of_cluster(sight, topic, application, store, assumed, skipped))
        context = split_context(schema.subject)[0]
        stores = [replace(guarded_store, context=context) for guarded_store in stores if guarded_store.topic == topic]
        skipped += _unknown_subject(schema.subject, topic, sight) if not stores else ()
        pseudo = ()
    elif not stores and not skipped and store is not None:
        raise UsageError("No store with this name is in the files and servers that you gave.")
    judged = [judge(guarded_store, assumed, sight) for guarded_store in stores]
    foretold = [event for one in judged for event in _of_store(one, has_schema=schema is not None)]
    if schema is not None:
        foretold += _of_schema(schema, judged, sight)
    foretold.sort(key=_order)
    stores_at = [(one, version) for one in judged for version in _versions(one)]
    forecasts = tuple(one.forecast(version) for one, version in stores_at)
    subjects = (
        *(subject_forecast for one, version in stores_at for subject_forecast in guarded.store_forecasts(one, version)),
        *guarded.pseudo_forecasts(pseudo, assumed, sight),
    )
    left_out = tuple(_unasked(judged, sight))
    patterns = tuple(ignore)
    # What could not be read is known only after all predictions are made.
    unseen = dict.fromkeys((*skipped, *sight.skipped))
    return Forecast(
        assumed=assumed,
        stores=forecasts,
        subjects=subjects,
        foretold=tuple(event for event in foretold if not _fits(event.subject, patterns)),
        ignored=tuple(event for event in foretold if _fits(event.subject, patterns)),
        skipped=tuple(
            skip for skip in unseen if not skip.subjects or not all(_fits(s, patterns) for s in skip.subjects)
        ),
        unasked=left_out,
        schema=schema,
        has_cluster=sight.cluster is not None,
        has_registry=sight.registry is not None,
        has_rows=any((facts := one.facts()) is not None and facts.rows is not None for one in judged),
    )


def _of_store(judged: JudgedStore, *, has_schema: bool) -> Iterator[Foretold]:
    """The effects of the next restore and of the change to the version of `--to`; for a schema, only of the latter."""
    target = judged.assumed.to
    if not has_schema:
        yield from _of_checks(judged.on_restore())
    if target is not None:
        yield from _of_checks(judged.on_upgrade(target))
        yield from _cannot_open(judged, target)


def _of_schema(new: NewSchema, stores: Sequence[JudgedStore], sight: Sight) -> Iterator[Foretold]:
    registry = sight.registry
    if registry is not None and held_version(registry, new.subject, new.schema) is None:
        state = read_subject_state(registry, new.subject)
        yield from srf020.foretell_of_readers(new, state, stores, sight)
        yield from srf016.foretell_of_subject(new, state, stores, sight)
    for judged in stores:
        yield from _of_checks(judged.on_schema(new))


def _of_checks(prospect: Prospect) -> Iterator[Foretold]:
    for check in CHECKS:
        if check.foretell is not None:
            yield from check.foretell(prospect)


def _cannot_open(judged: JudgedStore, target: StreamsVersion) -> Iterator[Foretold]:
    """The prediction that an older Kafka Streams cannot open a state directory; the catalogue has no code for it."""
    running = judged.assumed.running
    if running is None or not target < _OFFSETS_IN_ROCKSDB <= running:
        return
    yield judged.foretold(
        None,
        Role.VALUE,
        severity=Severity.BREAKS_ON_UPGRADE,
        certainty=Certainty.POSSIBLE,  # a store in memory leaves nothing
        moment=Moment.UPGRADE,
        subject=judged.store.changelog_subject(Role.VALUE),
        explanation=f"Kafka Streams {running} keeps offsets in each RocksDB (column family offsets), and {target} cannot open "
        "such a store: if the state directory is kept, Kafka Streams dies.",
        first=(
            "Delete the state directory during the change. First check that restored rows can be read (see the "
            "other predictions).",
        ),
    )


def _unasked(judged: Sequence[JudgedStore], sight: Sight) -> Iterator[Skipped]:
    """Inputs that nobody gave and that would show more of stores that may restore a topic; changes no outcome."""
    of_topics = [one for one in judged if one.restores_source_bytes(one.running) is not Certainty.EXCLUDED]
    if not of_topics:
        return
    why = f"guard cannot see whether there are such readers, so {srf020.CODE} is only ever a note"
    yield Skipped(what="readers with use.latest.version", reason=why, could_hide=False)
    if sight.cluster is None:
        why = "no cluster was named (--bootstrap-servers)"
        yield _not_told("the records of source topics", why, srf005.CODE, srf018.CODE)
    if sight.registry is None:
        yield _not_told("the registry", "none was named (--registry)", srf005.CODE, srf015.CODE)
    without_rows = [one for one in of_topics if (facts := one.facts()) is None or facts.rows is None]
    if without_rows:
        named = ", ".join(sorted({str(one.store) for one in without_rows}))
        has_state = sight.survey is not None and bool(sight.survey.supplied.state)
        why = (
            "none of the state directories that you gave contains these stores, or srfix cannot read them here"
            if has_state
            else "guard needs --state-dir, --bootstrap-servers and --registry to read them"
        )
        yield _not_told(f"rows of {named} on disk", why, srf004.CODE, srf019.CODE)


def _not_told(what: str, why: str, *codes: str) -> Skipped:
    return Skipped(what=what, reason=f"{why}, so guard does not check {' and '.join(codes)} there", could_hide=False)


def _unknown_subject(subject: Subject, topic: Topic, sight: Sight) -> Iterator[Skipped]:
    existence = {f"topic {topic} in the cluster": sight.has_topic(topic)}
    existence[f"subject {subject} in the registry"] = sight.has_subject(subject)
    survey = sight.survey
    is_empty = survey is not None and (not survey.subjects() or all(map(is_internal, survey.topics())))
    if False in existence.values() and (is_empty or True not in existence.values()):
        missing = " and no ".join(thing for thing, is_there in existence.items() if is_there is False)
        check = "--bootstrap-servers and --registry: one of them shows nothing at all" if is_empty else "the name"
        yield Skipped(
            what=f"subject {subject}",
            reason=f"srfix found no {missing}. Check {check}. If topic and subject are new, no store reads them yet",
            could_hide=True,
            subjects=(subject,),
        )


def _versions(judged: JudgedStore) -> tuple[StreamsVersion | None, ...]:
    target = judged.assumed.to
    return (judged.running,) if target is None or target == judged.running else (judged.running, target)


def _fits(subject: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(subject, pattern) for pattern in patterns)


def _order(event: Foretold) -> tuple[int, int, str, str, str, str]:
    return (
        event.severity.rank,
        _CERTAINTIES.index(event.certainty),
        event.application,
        event.store,
        event.role.value,
        event.code or "",
    )


def _of_cluster(
    sight: Sight,
    topic: Topic,
    application: str | None,
    store: str | None,
    assumed: Assumed,
    skipped: list[Skipped],
) -> Iterator[GuardedStore]:
    survey = sight.survey
    if survey is None:
        raise UsageError(
            "guard does not know which stores restore from the topic. Give --topology or --ksqldb. Or give both "
            "--bootstrap-servers and --registry, and guard looks for the stores there."
        )
    candidates = find_candidates(survey, application=application, store=store, command_line=assumed.command_line)
    verdicts = weigh_all(candidates.suspects, survey, candidates.applications)
    skipped += [*candidates.skipped, *refused_groups(candidates.applications.refused, application)]
    for verdict in verdicts:
        if application not in (None, verdict.store.application):
            continue
        yield from _of_verdict(verdict, topic, survey, skipped)


def _of_verdict(verdict: Verdict, topic: Topic, survey: Survey, skipped: list[Skipped]) -> Iterator[GuardedStore]:
    suspect = verdict.store
    if not verdict.established:
        is_gone = not survey.gone.isdisjoint(split.application for split in verdict.suspect.splits)
        if not is_gone and may_restore_from(verdict.suspect, topic, survey):
            why = (
                f"srfix found no application for it, and it may restore from topic {topic}. Name its application "
                "(--application and --store), or say that the application is gone for good (--gone)"
            )
            skipped.append(verdict.suspect.skipped(why))
        return
    if verdict.chosen is None:
        if any(hypothesis.topic in (topic, None) for hypothesis in verdict.open):
            what = (
                f"it may restore from topic {topic}, but the evidence does not decide this (srfix diagnose says more)"
            )
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
            (guarded.falls_back(answers) for answers, _query in survey.supplied.queries(suspect.application)), None
        ),
        has_left_a_phantom=True,
    )
