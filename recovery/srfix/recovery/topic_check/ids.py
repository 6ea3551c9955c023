"""The ids in a topic's keys or values, and whether its reader can read them. A census only counts GUIDs, so they are
read in a second pass over the partitions that have any.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from srfix.recovery.census.interface import Census, IdCount, PartitionCensus, RoleCensus
from srfix.recovery.checks.srf020 import unreadable
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.stores import Membership
from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import AskedId, Lives, Standing, Strategy, TopicQuestion, TopicReader, Trouble
from srfix.recovery.findings import IdAtFault
from srfix.serde.errors import NoSubjectError, SchemaError, WireError
from srfix.serde.formats.table import format_of, record_name
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.schemas.models import Schema, SchemaVersion
from srfix.serde.schemas.references import reference_texts
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject
from srfix.serde.subjects.strategies import subject_of
from srfix.serde.wire import SchemaId, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidsFound:
    census: Census
    by_id: Mapping[SchemaId, tuple[UUID, ...]]
    unknown: tuple[UUID, ...] = ()
    unread: str | None = None
    """Why srfix did not look at some GUIDs, in words; None if it looked at all."""


def resolve_guids(
    survey: Survey, census: Census, role: Role, context: str, lives: Lives, deadline_s: float | None
) -> GuidsFound:
    """Reads the GUIDs until the deadline, also those of aborted transactions, and asks for the id of each."""
    nothing = GuidsFound(census=census, by_id={})
    if not any(partition.of(role).guids for partition in census.partitions):
        return nothing
    ids_of_guid = getattr(survey.registry, "ids_of_guid", None)  # Confluent 8.0 on: the id of its content, by context
    if ids_of_guid is None:
        return replace(nothing, unread="this registry client cannot look up GUIDs")
    counted: dict[int, Mapping[UUID, IdCount]] = {}
    unread = None
    give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
    try:
        for partition in census.partitions:
            if partition.of(role).guids:
                counted[partition.partition] = _counted(
                    survey.cluster, census.topic, partition, role, lives, give_up_at
                )
    except GaveUp:
        unread = f"the deadline of {deadline_s:g} s (--deadline) was reached before srfix had read all of them"
    ids: dict[UUID, SchemaId] = {}
    unknown: list[UUID] = []
    for guid in sorted({guid for guids in counted.values() for guid in guids}):
        try:
            schema_id = ids_of_guid(str(guid)).get(context)
        except SchemaNotFoundError:
            schema_id = None
        except EndpointNotSupportedError:
            return replace(nothing, unread="this registry does not know GUIDs (Confluent's registry does from 8.0 on)")
        if schema_id is None:
            unknown.append(guid)
        else:
            ids[guid] = schema_id
    return GuidsFound(
        census=census.with_role(role, lambda part: _folded(part.of(role), counted.get(part.partition, {}), ids)),
        by_id={
            schema_id: tuple(g for g in sorted(ids) if ids[g] == schema_id) for schema_id in sorted(set(ids.values()))
        },
        unknown=tuple(unknown),
        unread=unread,
    )


def _counted(
    cluster: Cluster, topic: str, partition: PartitionCensus, role: Role, lives: Lives, give_up_at: float | None
) -> Mapping[UUID, IdCount]:
    counts: dict[UUID, IdCount] = {}
    latest: dict[bytes, tuple[UUID | None, int]] = {}
    for record in cluster.read(
        topic, partition.partition, partition.start_offset, partition.end_offset, give_up_at=give_up_at
    ):
        guid = _guid(record, role)
        if record.key is not None:
            latest[record.key] = (None if record.value is None and role is Role.VALUE else guid, record.offset)
        if guid is None:
            continue
        before = counts.get(guid)
        counts[guid] = IdCount(
            schema_id=SchemaId(0),  # known once all are read
            records=1 if before is None else before.records + 1,
            live_keys=0,
            pending_keys=0,
            first_offset=record.offset if before is None else before.first_offset,
            last_offset=record.offset,
            live_offset=None,
        )
    every = lives is Lives.EVERY_RECORD
    return {
        guid: replace(
            count,
            live_keys=count.records if every else sum(guid_now == guid for guid_now, _offset in latest.values()),
            live_offset=count.last_offset
            if every
            else max((offset for guid_now, offset in latest.values() if guid_now == guid), default=None),
        )
        for guid, count in counts.items()
    }


def _guid(record: RawRecord, role: Role) -> UUID | None:
    payload = record.key if role is Role.KEY else record.value
    try:
        frame = parse(payload, headers=list(record.headers), role=role)
    except WireError:
        return None
    return None if frame is None else frame.guid


def _folded(before: RoleCensus, counted: Mapping[UUID, IdCount], ids: Mapping[UUID, SchemaId]) -> RoleCensus:
    resolved = [replace(count, schema_id=ids[guid]) for guid, count in counted.items() if guid in ids]
    return replace(
        before,
        ids=tuple(_merged((*before.ids, *resolved))),
        guids=max(0, before.guids - sum(count.records for count in resolved)),
    )


def _merged(counts: Iterable[IdCount]) -> Iterator[IdCount]:
    by_id: dict[SchemaId, IdCount] = {}
    for count in counts:
        other = by_id.get(count.schema_id)
        if other is None:
            by_id[count.schema_id] = count
            continue
        offsets = [offset for offset in (count.live_offset, other.live_offset) if offset is not None]
        by_id[count.schema_id] = replace(
            count,
            records=count.records + other.records,
            live_keys=(count.live_keys or 0) + (other.live_keys or 0),
            pending_keys=count.pending_keys + other.pending_keys,
            first_offset=min(count.first_offset, other.first_offset),
            last_offset=max(count.last_offset, other.last_offset),
            live_offset=max(offsets, default=None),
        )
    yield from (by_id[schema_id] for schema_id in sorted(by_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    version: SchemaVersion | None
    why_none: str | None = None
    untold: str | None = None


@dataclass(slots=True, kw_only=True)
class Judge:
    survey: Survey
    question: TopicQuestion
    role: Role
    _latest: dict[Subject, _Latest] = field(default_factory=dict)

    @property
    def context(self) -> str:
        return self.survey.registry.context_of(self.question.subject_of(self.role))

    def __call__(self, fault: IdAtFault, standing: Standing, guids: tuple[UUID, ...]) -> AskedId:
        schema_id, schema = fault.schema_id, self.survey.schema_of_id(fault.schema_id, self.context)
        unasked = Membership(schema_id=schema_id, schema=schema, error_code=None, answered_id=None)
        asked_id = AskedId(
            schema_id=schema_id, subject=None, membership=unasked, standing=standing, fault=fault, guids=guids
        )
        if schema is None:
            return replace(asked_id, trouble=Trouble.UNKNOWN_ID)
        try:
            subject = self._subject(schema)
        except NoSubjectError:
            strategy = self.question.read.strategy.value
            why = f"its schema has no record name, but --strategy {strategy} makes the subject from the record's name"
            return replace(asked_id, trouble=Trouble.NO_SUBJECT, why=why)
        except SchemaError as error:
            return replace(asked_id, untold=error.message)
        membership = self.survey.membership(subject, schema_id)
        asked_id = replace(asked_id, subject=subject, membership=membership)
        if self.question.read.reader is TopicReader.LATEST:
            return self._by_latest(asked_id, subject, schema)
        return replace(asked_id, trouble=Trouble.MISSING) if self._fails(subject, membership) else asked_id

    def _subject(self, schema: Schema) -> Subject:
        registry, question = self.survey.registry, self.question
        if question.read.strategy is Strategy.TOPIC:
            return question.subject_of(self.role)
        format_of(schema.schema_type)  # without a serde for the schema type, the record's name is not known
        try:
            references = reference_texts(registry, schema, subject=question.subject_of(self.role))
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            raise SchemaError(f"it refers to a schema that the registry does not have: {error}") from error
        return subject_of(
            question.strategy_of(self.role), question.topic, self.role, lambda: record_name(schema, references)
        )

    def _fails(self, subject: Subject, membership: Membership) -> bool:
        match self.question.read.reader:
            case TopicReader.DUAL:
                return False
            case TopicReader.PLAIN:
                registry = self.survey.registry
                is_named = registry.context_of(subject) != DEFAULT_CONTEXT
                return is_named and not registry.gives_id_to(subject, membership.schema_id)
            case _:
                return membership.is_missing

    def _by_latest(self, asked_id: AskedId, subject: Subject, schema: Schema) -> AskedId:
        if subject not in self._latest:
            self._latest[subject] = self._ask_latest(subject)
        latest = self._latest[subject]
        reasons, untold = tuple[str, ...](), latest.untold
        if latest.version is not None:
            reasons, untold = unreadable(latest.version.schema, schema, subject, self.survey.registry)
        elif untold is None:
            return replace(asked_id, trouble=Trouble.NO_LATEST, why=latest.why_none)
        if latest.version is not None and reasons:
            why = f"version {latest.version.version} (schema id {latest.version.schema_id}): {reasons[0].rstrip('.')}"
            return replace(asked_id, trouble=Trouble.LATEST_CANNOT_READ, why=why)
        if asked_id.membership.is_missing:
            return replace(asked_id, trouble=Trouble.MISSING)
        return replace(asked_id, untold=untold)

    def _ask_latest(self, subject: Subject) -> _Latest:
        registry: Any = self.survey.registry
        wanted = self.question.read.with_metadata
        try:
            if not wanted:
                return _Latest(version=registry.version(subject, "latest"))
            with_metadata = getattr(registry, "latest_with_metadata", None)
            if with_metadata is None:
                return _Latest(version=None, untold="this registry client cannot search by metadata")
            return _Latest(version=with_metadata(subject, wanted))
        except EndpointNotSupportedError:
            return _Latest(
                version=None, untold="this registry cannot search by metadata (Confluent's registry can from 7.4 on)"
            )
        except (SubjectNotFoundError, VersionNotFoundError):
            versions = self.survey.versions(subject)
        if not versions:
            return _Latest(version=None, why_none=f"{subject} does not exist")
        if wanted and version_numbers(registry, subject):
            named = ", ".join(f"{name}={value}" for name, value in sorted(wanted.items()))
            return _Latest(version=None, why_none=f"no live version of {subject} has the metadata {named}")
        return _Latest(
            version=None,
            why_none=f"every version of {subject} is soft-deleted, perhaps by a repair. A look-up of a version still "
            "finds them, but a reader that takes the latest version does not",
        )
