"""A topic plan as a value and as a file (`srfix.topic-plan/1`): the writes, their source, and the expected state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct, convert, field

from srfix.recovery.documents import Instant, Part, Sha256, VersionedDocument
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.documents import PlanFiles, plan_digest
from srfix.serde.printable import capitalized, counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject, Topic

OUR_HEADER: Final = "srfix-expiry"
"""The header of the tombstones that a plan writes; its value identifies the plan."""


class PartitionRows(Struct, frozen=True, kw_only=True):
    """Records of one partition that a plan copies or deletes."""

    partition: int
    start_offset: int
    """The log's start at the time of the plan (inclusive)."""
    end_offset: int
    """The end of reading (exclusive): for a seed, the committed offset; for an expiry, the end of the log."""
    rows: int
    """How many keys are written."""
    bytes_: int = field(name="bytes")
    """The bytes of their keys, values and headers."""
    oldest_ms: int | None = field(name="oldest")
    """The oldest timestamp among them; None if there are none."""
    newest_ms: int | None = field(name="newest")
    """The newest timestamp among them; None if there are none."""
    digest: Sha256
    """The digest over their keys, values, timestamps and headers."""


class CarriedSchemaId(Struct, frozen=True, kw_only=True):
    """A schema id in the values that a seed writes."""

    schema_id: int = field(name="id")
    rows: int
    is_registered: bool | None = field(name="registered")
    """Whether its schema is under the subject that the store's reader asks; None if srfix did not look it up."""


class SeedChangelog(Struct, frozen=True, kw_only=True, tag_field="kind", tag="seed-changelog"):
    """Fill a store's changelog topic with the records that a restore from the source topic loads."""

    application: str
    """The application.id, which is also the group."""
    store: str
    configs: Mapping[str, str]
    """The configuration of a created topic."""
    source: Topic
    """The topic that the store is restored from now."""
    changelog: Topic
    """`<application>-<store>-changelog`."""
    subject: Subject
    """The subject that the store's reader asks for the values, which carry the ids below."""
    isolation: Isolation
    """How the source is read: in the same way as by the application's restore."""
    creates: bool
    """True if there is no changelog topic and the plan creates it."""
    replication_factor: int
    """The replication factor of a created topic; -1 for the broker's default."""
    changelog_ends: tuple[int, ...]
    """For each partition, the end of the changelog at the time of the plan: it had no row below. Zeros if there was no
    topic.
    """
    partitions: tuple[PartitionRows, ...]
    """All partitions, in ascending order."""
    schema_ids: tuple[CarriedSchemaId, ...]
    """Ascending."""

    @property
    def topic(self) -> Topic:
        return self.changelog


class KeptRecords(Struct, frozen=True, kw_only=True):
    """The file beside a plan with the records that the plan deletes."""

    file: str
    """Its name, without a folder."""
    records: int
    sha256: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
    """The digest of its content, in hexadecimal."""


class ExpireKeys(Struct, frozen=True, kw_only=True, tag_field="kind", tag="expire-keys"):
    """Write tombstones for the keys whose newest record is older than a point in time."""

    application: str
    """The application that owns the topic."""
    store: str | None
    """The store, if the topic is its changelog; None for a topic that the application reads."""
    configs: Mapping[str, str]
    """`cleanup.policy` and `message.timestamp.type` at the time of the plan."""
    topic: Topic
    older_than_s: int
    """The age, in seconds, at the time of the plan."""
    cutoff_ms: int = field(name="cutoff")
    """Records with an earlier timestamp are expired; milliseconds since the epoch."""
    tombstone_ms: int = field(name="tombstone_timestamp")
    """The timestamp of the tombstones: the time of the plan. A run that continues writes the same."""
    limit: int | None
    """The limit of keys, oldest first; None for all."""
    left_by_limit: int
    """How many keys are old enough, but left for another plan."""
    live_keys: int
    """How many keys of the topic have a row, expired ones too."""
    kept: KeptRecords
    samples: tuple[str, ...]
    """The oldest keys, in words."""
    partitions: tuple[PartitionRows, ...]
    """All partitions, in ascending order."""


Work: TypeAlias = SeedChangelog | ExpireKeys


SCHEMA: Final = "srfix.topic-plan/1"
CREATE_TOPIC: Final = "create-topic"
FILL_PARTITION: Final = "fill-partition"
EXPIRE_PARTITION: Final = "expire-partition"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStep:
    step: int
    kind: str
    partition: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    bootstrap_servers: str
    """The cluster, without secrets."""
    created_at: str
    srfix: str
    work: Work
    price: tuple[str, ...]
    playbook: tuple[str, ...]
    undo: str
    """How it is undone, and what cannot be undone, in sentences."""

    @property
    def digest(self) -> str:
        return plan_digest(topic_plan_document(self))

    @property
    def actions(self) -> tuple[TopicStep, ...]:
        """The writes, in order; a partition with nothing to write has no step."""
        work = self.work
        kinds: list[tuple[str, int | None]] = []
        if isinstance(work, SeedChangelog) and work.creates:
            kinds.append((CREATE_TOPIC, None))
        kind = FILL_PARTITION if isinstance(work, SeedChangelog) else EXPIRE_PARTITION
        kinds += [(kind, part.partition) for part in work.partitions if part.rows]
        return tuple(
            TopicStep(step=number, kind=kind, partition=partition)
            for number, (kind, partition) in enumerate(kinds, start=1)
        )

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.work.partitions)


def describe(plan: TopicPlan, step: TopicStep) -> str:
    if step.partition is None:
        return f"create the topic {plan.work.topic} with {counted(len(plan.work.partitions), 'partition')}"
    rows = plan.work.partitions[step.partition]
    what = counted(rows.rows, "row" if step.kind == FILL_PARTITION else "tombstone")
    return f"write {what} to {plan.work.topic}[{step.partition}]"


class TopicStepPart(Part):
    """A step of a plan that writes to a topic."""

    step: int
    kind: Literal["create-topic", "fill-partition", "expire-partition"]
    topic: str
    partition: int | None


class TopicPlanDocument(VersionedDocument, tag=SCHEMA):
    """The writes of a plan of srfix state to a topic."""

    created_at: Instant
    bootstrap_servers: str
    work: Work
    actions: list[TopicStepPart]
    price: list[str]
    playbook: list[str]
    undo: str
    digest: Sha256


def topic_plan_document(plan: TopicPlan) -> dict[str, Json]:
    document = TopicPlanDocument.of(
        plan, actions=[TopicStepPart.of(step, topic=plan.work.topic) for step in plan.actions], digest=""
    ).to_json()
    return document | {"digest": plan_digest(document)}


def _read(document: dict[str, Json], where: str) -> TopicPlan:
    convert(document, TopicPlanDocument)
    plan = convert(document, TopicPlan)
    work = plan.work
    if [part.partition for part in work.partitions] != list(range(len(work.partitions))):
        raise ValueError("its partitions are not in the order of their numbers")
    if isinstance(work, ExpireKeys) and (not work.kept.file or Path(work.kept.file).name != work.kept.file):
        raise ValueError("it must name the file of its records, without a folder")
    if topic_plan_document(plan)["actions"] != document["actions"]:
        raise PlanError(f"{capitalized(where)} has steps that do not match the rest of the plan. Plan again.")
    return plan


TOPIC_PLANS: Final = PlanFiles(
    schema=SCHEMA,
    what="a plan of srfix state",
    remedy="Make one with srfix state seed-changelog or srfix state plan-expiry.",
    document=topic_plan_document,
    read=_read,
)
