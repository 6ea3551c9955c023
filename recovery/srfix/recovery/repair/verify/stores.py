"""Whether one live row of each id and partition can be read under the phantom subject alone, in the reader's way; whether
look-ups by key meet the rows, which no registration repairs (SRF005); and whether a put is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from srfix.recovery.census.interface import Census
from srfix.recovery.checks.srf004 import CODE as UPGRADE
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.bodies import newest_live
from srfix.recovery.facts.decoding import Deserializer, key_deserializer
from srfix.recovery.facts.key_role import KeyRole, asymmetry
from srfix.recovery.facts.keys_of_store import keys_of_store
from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
from srfix.recovery.facts.stores import Membership, SuspectStore, latest_own
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.recovery.repair.verify.ids import AskedIds
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import DecodeError, ResolveError, SchemaError, WireError
from srfix.serde.formats.table import format_of
from srfix.serde.interface import SerdeContext
from srfix.serde.printable import counted
from srfix.serde.resolve.policies import UnderOneSubject
from srfix.serde.schemas.errors import InvalidSchemaError, RegistryAnswerError, RegistryProtocolError
from srfix.serde.subjects.names import Role, split_context
from srfix.serde.subjects.strategies import FixedSubject
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId

_READER_FAILS = (WireError, ResolveError, DecodeError, InvalidSchemaError)
"""Errors that the reader meets, too. A registry that does not answer says nothing of the rows: that error is raised."""


def rows_read(
    finding: PlannedFinding,
    census: Census,
    survey: Survey,
    asked_ids: AskedIds,
    *,
    before: SubjectState | None,
    window: WindowKind | None,
) -> Iterator[Event]:
    """Reads the newest live record of each (id, partition), and reports ids without such a record. `before` is the
    subject's state when the plan was made: a topic whose live ids are neither the plan's nor were there may be in another
    cluster. It is None if the plan has no ids; then only the existing records are read.
    """
    read_record, memberships = _reader(finding, survey.registry, window), asked_ids.memberships
    ids_read: set[SchemaId] = set()
    read: Counter[SchemaId] = Counter()
    unread: dict[str, Counter[SchemaId]] = {}
    for live in newest_live(survey.cluster, census, finding.role)[0]:
        schema_id = live.count.schema_id
        where = f"{finding.source_topic} partition {live.partition} offset {live.offset}"
        if live.record is None:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: compaction has removed this record since srfix counted it, so srfix read no row "
                "there. Verify again",
            )
            continue
        ids_read.add(schema_id)
        reason = _no_serde(memberships[schema_id])
        if reason is None:
            try:
                read_record(live.record)
            except _READER_FAILS as error:
                yield Problem(subject=finding.subject, what=f"{where} cannot be read: {error}", rows=1)
                continue
            except SchemaError as error:
                reason = f"srfix cannot read their schema ({error})"
        if reason is None:
            read[schema_id] += 1
        else:
            unread.setdefault(reason, Counter())[schema_id] += 1
    for schema_id, rows in sorted(read.items()):
        yield Confirmed(
            subject=finding.subject,
            what=f"{counted(rows, 'live row')} with schema id {schema_id}, one per partition, can be read "
            "under this subject alone",
            rows=rows,
        )
    for reason, ids in unread.items():
        for schema_id in sorted(ids):
            membership = memberships[schema_id]
            holds = "; this id is registered here" if membership.is_known and membership.error_code is None else ""
            what = f"whether the rows with schema id {schema_id} decode: {reason}{holds}"
            yield NotLookedAt(subject=finding.subject, what=what)
    if before is not None:
        known_ids = asked_ids.planned | asked_ids.left_out.keys() | set(before.schema_ids)
        yield from _nothing_seen(finding, census, ids_read, memberships, known_ids)


def _reader(
    finding: PlannedFinding, registry: ReadableRegistry, window: WindowKind | None
) -> Callable[[RawRecord], object]:
    """Reads a record's key or value like the failing reader: by its id, and only if the one subject holds its content."""
    role = finding.role
    resolver = UnderOneSubject(registry, FixedSubject(**{role.value: finding.subject}))
    read: Deserializer = key_deserializer(resolver, window) if role is Role.KEY else SchemaDeserializer(resolver)
    return lambda record: read(
        record.key if role is Role.KEY else record.value, SerdeContext(finding.source_topic, role, record.headers)
    )


def _no_serde(membership: Membership) -> str | None:
    if membership.schema is None:
        return None
    try:
        format_of(membership.schema.schema_type)
    except SchemaError as error:
        return f"its {error.message.removeprefix('The ').rstrip('.')}"
    return None


def _nothing_seen(
    finding: PlannedFinding,
    census: Census,
    ids_read: Collection[SchemaId],
    memberships: Mapping[SchemaId, Membership],
    known_ids: Collection[SchemaId],
) -> Iterator[NotLookedAt]:
    topic, half = finding.source_topic, f"{finding.role.value}s"
    unread = f"whether the {half} of topic {topic} can be read"
    if not ids_read:
        yield NotLookedAt(subject=finding.subject, what=f"{unread}: {_why_none(finding, census)}")
    elif not any(i in known_ids or memberships[i].answered_id in known_ids for i in ids_read):
        yield NotLookedAt(
            subject=finding.subject,
            what=f"{unread} with the ids of this plan: the topic's live {half} carry {named_ids(sorted(ids_read))}, "
            "and the plan has no such id. If this is not the plan's cluster, give --bootstrap-servers. If "
            "newer schemas have replaced the plan's schemas, srfix diagnose shows the present state",
        )
    for partition in census.partitions:
        committed = partition.committed_offset
        if committed is not None and committed > partition.end_offset:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"topic {topic} partition {partition.partition} up to offset {committed}, which "
                f"{finding.application} has committed: the log ends at {partition.end_offset}. The topic was "
                "deleted and created again, or this is another cluster (--bootstrap-servers)",
            )


def _why_none(finding: PlannedFinding, census: Census) -> str:
    if all(partition.end_offset <= partition.start_offset for partition in census.partitions):
        return "the topic has no record in this cluster. If it should have some, check --bootstrap-servers"
    if finding.application is None:
        return f"srfix read no {finding.role.value} with an id of this plan. Check --bootstrap-servers"
    if all(partition.restore_limit is None for partition in census.partitions):
        return (
            f"{finding.application} has no committed offset there, so a restore loads nothing. Check "
            f"--bootstrap-servers, or verify again after {finding.application} has committed. If the store is a "
            "global table, give --topology or --state-dir"
        )
    if census.is_partial:
        return "srfix read only a part of the topic, and found no live row with a schema id there"
    return (
        f"a restore loads no {finding.role.value} with a schema id. Check --bootstrap-servers. Or wait until "
        f"{finding.application} has committed offsets beyond rows that carry schema ids, and verify again"
    )


def rows_without_id(finding: PlannedFinding, census: Census) -> Iterator[Event]:
    """Live rows without a schema id: no registration repairs them, so a verified repair does not cover them."""
    for partition in census.partitions:
        role_census = partition.of(finding.role)
        where = f"{finding.source_topic} partition {partition.partition}"
        if role_census.live_unframed_keys and finding.role is Role.VALUE:
            yield Problem(
                subject=finding.subject,
                what=(
                    f"{where}: {counted(role_census.live_unframed_keys, 'live value')} without a schema id (the first "
                    f"unframed value is at offset {role_census.first_unframed_offset}). The reader fails there, and no "
                    "registration repairs that (`srfix explain SRF013`)"
                ),
            )
        elif role_census.live_unframed_keys:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: {counted(role_census.live_unframed_keys, 'live key')} without a schema id (the first "
                f"unframed key is at offset {role_census.first_unframed_offset})",
            )
        if role_census.guids:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: {counted(role_census.guids, finding.role.value)} with a GUID in place of a schema id",
            )


def keys_of(finding: PlannedFinding, census: Census, survey: Survey) -> KeyRole:
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
        missed = "the keys with another schema id" if len(missed_keys.topic_ids) > 1 else "them"
        yield Problem(
            subject=subject,
            what=f"store {store.name} looks up keys under {written}, but the live keys of topic "
            f"{finding.source_topic} carry {named_ids(missed_keys.topic_ids)}. The store's rows can be read, "
            f"but a look-up by key misses {missed}, without an error, and the next update of a key makes a "
            "second row. No registration repairs this (`srfix explain SRF005`)",
            keys_miss=True,
        )


def left_open(finding: PlannedFinding, keys: KeyRole) -> Iterator[NotLookedAt]:
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
    """A put that the registry would refuse (SRF016); `before` is the state of the source's own subject then."""
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
            what=f"{put} registers {schema_there} under this subject, and the registry refuses that with 409{why}. The "
            "store's rows can be read, but the stream thread dies at the "
            "first row that it writes (srfix explain SRF016). Do not start the application on Kafka Streams "
            "2.7 or later before this is repaired",
        )
