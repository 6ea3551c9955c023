"""The `srfix.check/1` document: the result of a look at a topic, as JSON."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET, UnsetType, field

from srfix.recovery.baseline import BesideBaseline
from srfix.recovery.checks.topic_findings import TopicFinding
from srfix.recovery.documents import Code, Count, DatedDocument, Id, Part, Skipped
from srfix.recovery.facts.topics import AskedId, Lives, RoleAnswer, Standing, Strategy, TopicReader, Trouble
from srfix.recovery.findings import IdAtFault
from srfix.recovery.severity import Severity
from srfix.recovery.topic_check.examine import TopicCheck
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role


class ReadPartition(Part):
    """A partition of the topic."""

    partition: Count
    start_offset: Count
    end_offset: Count
    records: Count
    committed_offset: Count | None
    """The group's committed offset; null if it has none, or without a group."""
    pending: Count | None
    """Offsets that the group has not read yet; null without a group."""
    stopped_early: str | None
    """Why reading stopped before the end; null if it did not."""


class IdPlace(Part):
    """The place of a schema id in a partition."""

    partition: Count
    live_keys: Count | None = field(name="live")
    first_offset: Count
    last_offset: Count


class TopicId(Part):
    """A schema id in the topic."""

    schema_id: Id = field(name="id")
    live_keys: Count | None = field(name="live")
    """Live keys, or records if every record is live."""
    records: Count
    is_partial: bool = field(name="partial")
    """True if the topic was not read to its end."""
    partitions: list[IdPlace]


class AnsweredId(TopicId):
    """A schema id, and whether the reader can read it."""

    guids: list[UUID]
    """The GUIDs by which records name it."""
    subject: str | None
    """The subject that the reader asks; null if there is none."""
    standing: Standing
    """Whether the reader meets it; pending and read are only for a group."""
    reads: bool | None = field(name="readable")
    """Null if srfix does not know."""
    trouble: Trouble | None
    """Why the reader fails on it."""
    why: str | None
    """More about the trouble, or why srfix does not know."""
    registered: bool
    """True if the subject holds its schema, in a live or soft-deleted version."""
    error_code: int | None
    """The registry's error code for the look-up under the subject; null if it finds the schema."""


class CheckedRole(Part):
    """The topic's keys or values."""

    is_looked_at: bool = field(name="looked_at")
    """False for keys that no schema registry serializer wrote."""
    records: Count
    """Keys or values that are not null."""
    nulls: Count
    """Tombstones, or null keys."""
    unframed: Count
    """Keys or values that name no schema."""
    unknown_guids: list[UUID]
    """GUIDs that the registry does not know."""
    ids: list[AnsweredId]


class CheckedRoles(Part):
    """Keys and values, as far as they were asked for."""

    key: CheckedRole | UnsetType = UNSET
    value: CheckedRole | UnsetType = UNSET


class HeldVersion(Part):
    """A version that holds an id."""

    schema_id: Id = field(name="id")
    subject: str
    version: int
    deleted: bool


class CheckFinding(Part):
    """A finding, with the same keys as a finding of a diagnosis. It is not about a store, so application and store are
    null.
    """

    code: Code
    """`srfix explain CODE` says what it means."""
    severity: Severity
    application: None
    """Always null: there is no application."""
    store: None
    """Always null: there is no store."""
    topic: str
    role: Role
    subject: str
    """The subject that the reader asks."""
    schema_ids: list[TopicId]
    """The ids at fault."""
    registered_ids: list[Id]
    """The ids under the subject now."""
    holders: list[HeldVersion]
    """The versions that hold the ids at fault."""
    explanation: str
    next: str
    """What to do."""
    repairable: bool
    """True if `srfix plan --topic` has a repair for it."""


class CheckDocument(DatedDocument, tag="srfix.check/1"):
    """Whether a topic's schema ids are readable by its reader: `srfix check`."""

    registry: str
    """Its URLs, without secrets."""
    topic: str
    reader: TopicReader
    strategy: Strategy
    subject: str | None
    """The subject of --subject; null if none was given."""
    with_metadata: dict[str, str]
    """use.latest.with.metadata"""
    group: str | None
    """The consumer group that reads it; null for a reader that starts at the beginning."""
    isolation: Isolation
    cleanup_policy: str | None
    """The topic's cleanup.policy; null if the cluster does not show it."""
    lives: Lives = field(name="live")
    """Which records count as live."""
    partial: bool
    """True if the topic was not read to its end."""
    partitions: list[ReadPartition]
    roles: CheckedRoles
    findings: list[CheckFinding]
    """Worst first; notes are among them."""
    skipped: list[Skipped]
    """What srfix did not look at."""
    healthy: bool
    """True if srfix found nothing or only notes, and skipped no check that could have found more."""
    baseline: BesideBaseline | UnsetType = UNSET
    """Only with --baseline or --write-baseline."""


def check_document(topic_check: TopicCheck, *, srfix_version: str, generated_at: str, registry: str) -> dict[str, Json]:
    """The document; `generated_at` in ISO 8601, UTC; `registry` its URLs without secrets."""
    answers = topic_check.answers
    read, positions = answers.question.read, answers.positions
    return CheckDocument.of(
        answers,
        read,
        answers.question,
        srfix=srfix_version,
        generated_at=generated_at,
        registry=registry,
        with_metadata=dict(sorted(read.with_metadata.items())),
        partial=answers.census.is_partial,
        partitions=[
            ReadPartition.of(
                partition,
                committed_offset=None if positions is None else positions.committed.get(partition.partition),
                pending=None if positions is None else positions.left(partition),
            )
            for partition in answers.census.partitions
        ],
        roles=CheckedRoles(**{answer.role.value: _role(answer) for answer in answers.roles}),
        findings=[_finding(finding) for finding in topic_check.findings],
        skipped=sorted(map(Skipped.of, topic_check.skipped)),
        healthy=not topic_check.has_findings and not topic_check.is_inconclusive,
    ).to_json()


def _role(answer: RoleAnswer) -> CheckedRole:
    return CheckedRole.of(
        answer,
        unframed=answer.records - answer.framed,
        unknown_guids=sorted(answer.unknown_guids),
        ids=[_id(asked_id) for asked_id in answer.ids],
    )


def _id(asked_id: AskedId) -> AnsweredId:
    return AnsweredId.of(
        asked_id,
        asked_id.fault,
        partitions=_places(asked_id.fault),
        why=asked_id.untold if asked_id.why is None else asked_id.why,
        registered=asked_id.membership.is_known
        and asked_id.subject is not None
        and asked_id.membership.error_code is None,
        error_code=asked_id.membership.error_code,
    )


def _places(fault: IdAtFault) -> list[IdPlace]:
    return [IdPlace.of(place) for place in sorted(fault.partitions, key=lambda place: place.partition)]


def _finding(finding: TopicFinding) -> CheckFinding:
    return CheckFinding.of(
        finding,
        application=None,
        store=None,
        schema_ids=[
            TopicId.of(fault, partitions=_places(fault))
            for fault in sorted(finding.schema_ids, key=lambda fault: fault.schema_id)
        ],
        registered_ids=sorted(finding.registered_ids),
        holders=sorted(finding.holders, key=lambda holder: (holder.schema_id, holder.subject, holder.version)),
    )
