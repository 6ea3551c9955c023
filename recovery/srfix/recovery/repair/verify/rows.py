"""Whether live rows can be read under the phantom subject alone: one of each schema id and partition, in the reader's
way. A row that cannot be read is a problem. Rows for which srfix has no serde, and rows that do not exist, are reported
as not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.bodies import newest_live
from srfix.recovery.facts.decoding import Deserializer, key_deserializer
from srfix.recovery.facts.stores import Membership
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import DecodeError, ResolveError, SchemaError, WireError
from srfix.serde.formats.table import format_of
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import UnderOneSubject
from srfix.serde.schemas.errors import InvalidSchemaError
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import FixedSubject
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId

_READER_FAILS = (WireError, ResolveError, DecodeError, InvalidSchemaError)
"""Errors that the reader meets, too. A registry that does not answer says nothing of the rows: that error is raised."""


def rows_read(
    finding: PlannedFinding,
    census: Census,
    cluster: Cluster,
    registry: ReadableRegistry,
    memberships: Mapping[SchemaId, Membership],
    *,
    known_ids: Collection[SchemaId] | None,
    window: WindowKind | None = None,
) -> Iterator[Event]:
    """Reads the newest live record of each (id, partition), and reports ids without such a record. `known_ids` are
    those of the plan and those that the subject held before: a topic with only other live ids may be in another
    cluster. It is None if the plan has no ids; then only the existing records are read.
    """
    read_record = _reader(finding, registry, window)
    ids_read: set[SchemaId] = set()
    read: Counter[SchemaId] = Counter()
    unread: dict[str, Counter[SchemaId]] = {}
    for live in newest_live(cluster, census, finding.role)[0]:
        schema_id = live.count.schema_id
        where = f"{finding.source_topic} partition {live.partition} offset {live.offset}"
        if live.record is None:
            yield NotLookedAt(
                subject=finding.subject,
                what=(
                    f"{where}: compaction has removed this record since srfix counted it, so srfix read no row "
                    "there. Verify again"
                ),
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
            what=f"{counted(rows, 'live row')} with schema id {schema_id}, one per partition, read under this subject alone",
            rows=rows,
        )
    for reason, ids in unread.items():
        for schema_id in sorted(ids):
            yield NotLookedAt(subject=finding.subject, what=_not_decoded(memberships[schema_id], reason))
    if known_ids is not None:
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


def _not_decoded(membership: Membership, reason: str) -> str:
    holds = "; its registration here holds" if membership.is_known and membership.error_code is None else ""
    return f"whether the rows with schema id {membership.schema_id} decode: {reason}{holds}"


def _nothing_seen(
    finding: PlannedFinding,
    census: Census,
    ids_read: Collection[SchemaId],
    memberships: Mapping[SchemaId, Membership],
    known_ids: Collection[SchemaId],
) -> Iterator[NotLookedAt]:
    """Reasons why the rows say nothing about this repair."""
    topic, half = finding.source_topic, f"{finding.role.value}s"
    unread = f"whether the {half} of topic {topic} can be read"
    if not ids_read:
        yield NotLookedAt(subject=finding.subject, what=f"{unread}: {_why_none(finding, census)}")
    elif not any(i in known_ids or memberships[i].answered_id in known_ids for i in ids_read):
        yield NotLookedAt(
            subject=finding.subject,
            what=f"{unread} with the ids of this plan: its live {half} carry schema id {listed(sorted(ids_read))}, "
            "and the plan has no such id. If this is not the plan's cluster, give --bootstrap-servers. If "
            "newer schemas have replaced the plan's schemas, srfix diagnose shows the present state",
        )
    for partition in census.partitions:
        committed = partition.committed_offset
        if committed is not None and committed > partition.end_offset:
            yield NotLookedAt(
                subject=finding.subject,
                what=(
                    f"topic {topic} partition {partition.partition} up to offset {committed}, which "
                    f"{finding.application} has committed: the log ends at {partition.end_offset}. The topic was "
                    "deleted and created again, or this is another cluster (--bootstrap-servers)"
                ),
            )


def _why_none(finding: PlannedFinding, census: Census) -> str:
    if all(partition.end_offset <= partition.start_offset for partition in census.partitions):
        return "the topic has no record in this cluster. If it should have some, check --bootstrap-servers"
    if finding.application is None:
        return f"no {finding.role.value} that was read carries an id of this plan. Check --bootstrap-servers"
    if all(partition.restore_limit is None for partition in census.partitions):
        return (
            f"{finding.application} has no committed offset there, so a restore loads nothing. Check "
            f"--bootstrap-servers, or verify again after {finding.application} has committed. If the store is a "
            "global table, give --topology or --state-dir"
        )
    if census.is_partial:
        return "the part that srfix read has no live row with a schema id"
    return (
        f"no {finding.role.value} that a restore loads carries a schema id. Check --bootstrap-servers, or verify "
        f"again after {finding.application} has committed offsets after rows with schema ids"
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
                    f"{where}: {counted(role_census.live_unframed_keys, 'live value')}, the first unframed one at offset "
                    f"{role_census.first_unframed_offset}, carry no schema id, so the reader fails on them; no "
                    "registration repairs them (`srfix explain SRF013`)"
                ),
            )
        elif role_census.live_unframed_keys:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: {counted(role_census.live_unframed_keys, 'live key')}, the first unframed one at offset "
                f"{role_census.first_unframed_offset}: they carry no schema id",
            )
        if role_census.guids:
            yield NotLookedAt(
                subject=finding.subject,
                what=f"{where}: {counted(role_census.guids, finding.role.value)} that name their schema by GUID",
            )
