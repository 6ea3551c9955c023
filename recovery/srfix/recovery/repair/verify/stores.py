"""Checks of a repaired store besides its ids: its keys, whether look-ups meet its rows, and whether a put is accepted.
If a reader writes keys under another id than the topic's keys carry, no registration repairs that (SRF005): then the
rows are readable, but the store is not healthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.census.interface import Census
from srfix.recovery.checks.srf004 import CODE as UPGRADE
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.key_role import KeyRole, asymmetry
from srfix.recovery.facts.keys_of_store import keys_of_store
from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
from srfix.recovery.facts.stores import SuspectStore, latest_own
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.ids_in_words import listed
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Event, NotLookedAt, Problem
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError
from srfix.serde.subjects.names import Role, split_context
from srfix.serde.wire import SchemaId


def keys_of(finding: PlannedFinding, census: Census, survey: Survey) -> KeyRole:
    """What the keys of the source topic are, decided in the same way as by a diagnosis."""
    store = store_of(finding)
    phantoms = {role: read_subject_state(survey.registry, store.subject(role)) for role in Role}
    return keys_of_store(survey, store, finding.source_topic, census, phantoms)


def keys_missed(finding: PlannedFinding, keys: KeyRole, survey: Survey) -> Iterator[Problem]:
    """A problem if the reader writes keys under another id than the topic's live keys carry."""
    if not keys.is_certain:
        return
    store = store_of(finding)
    subject = store.subject(Role.KEY)
    carried = [i for i in keys.census.restorable_ids(Role.KEY) if survey.membership(subject, i).is_known]
    missed_keys = asymmetry(carried, read_subject_state(survey.registry, subject), keys.source.schema_ids)
    if missed_keys is not None:
        written = "one schema id only" if missed_keys.reader_id is None else f"schema id {missed_keys.reader_id}"
        missed = "those under another one" if len(missed_keys.topic_ids) > 1 else "them"
        yield Problem(
            subject=subject,
            what=(
                f"store {store.name} looks up keys under {written}, but the live keys of topic "
                f"{finding.source_topic} carry schema id {listed(missed_keys.topic_ids)}. The store's rows can be read, "
                f"but a look-up by key misses {missed} without an error, and the next update of a key makes a "
                "second row. No registration repairs this (`srfix explain SRF005`)"
            ),
            keys_miss=True,
        )


def left_open(finding: PlannedFinding, keys: KeyRole) -> Iterator[NotLookedAt]:
    """For a repair of keys: the question that the read keys leave open."""
    if finding.role is Role.KEY and keys.not_looked_at is not None:
        yield NotLookedAt(
            subject=finding.subject, what=f"the keys of topic {finding.source_topic}: {keys.not_looked_at}"
        )


def store_of(finding: PlannedFinding) -> SuspectStore:
    if finding.application is None or finding.store is None:
        raise PlanError(f"The finding for {finding.subject} does not belong to a store.")
    context = split_context(finding.subject)[0]
    return SuspectStore(application=finding.application, name=finding.store, context=context)


def next_put(
    finding: PlannedFinding, before: SubjectState, carried: Iterable[SchemaId], registry: ReadableRegistry
) -> Iterator[Event]:
    """A put that the registry would refuse (SRF016): from Kafka Streams 2.7 on, it registers the application's own
    schema under the source's own subject, whose state was `before`. Records of the topic carry the ids `carried`.
    """
    store = store_of(finding)
    phantom = store.subject(finding.role)
    # This is the only fault of 2.7 or later that verify looks for. ksqlDB still writes under the changelog's name
    # (`StaticTopicSerde`).
    if finding.code != UPGRADE or ksqldb_query(store.application) is not None:
        return
    copies = {*carried, *before.schema_ids}
    own = latest_own(v for v in read_subject_state(registry, phantom).versions if v.schema_id not in copies)
    live = read_subject_state(registry, finding.subject).live
    if own is None or own.schema_id in {version.schema_id for version in live}:
        return
    put, schema_there = f"the next put of store {store.name}", f"the application's own schema (id {own.schema_id})"
    schema = registry.version(phantom, own.version, deleted=True).schema
    try:
        check = registry.check_compatibility(finding.subject, schema)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        yield NotLookedAt(
            subject=finding.subject,
            what=f"whether the registry refuses {put}, which registers {schema_there} under this subject: the registry does "
            "not support compatibility checks",
        )
        return
    if not check.is_compatible:
        why = f" ({'; '.join(check.messages)})" if check.messages else ""
        yield Problem(
            subject=finding.subject,
            what=(
                f"{put} registers {schema_there} under this subject, and the registry refuses that with 409{why}. The "
                "store's rows can be read, but the stream thread dies at the "
                "first row that it writes (srfix explain SRF016). Do not start the application on Kafka Streams "
                "2.7 or later before this is repaired"
            ),
        )
