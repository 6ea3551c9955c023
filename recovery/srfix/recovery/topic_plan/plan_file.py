"""A topic plan as a value and as a file (`srfix.topic-plan/1`): digest, reading, writing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from msgspec import convert

from srfix.recovery.documents import Instant, Part, Sha256, VersionedDocument
from srfix.recovery.errors import PlanError
from srfix.recovery.plans.documents import PlanFiles, plan_digest
from srfix.recovery.topic_plan.work import ExpireKeys, PartitionRows, SeedChangelog, Work
from srfix.serde.printable import capitalized
from srfix.serde.schemas.models import Json

SCHEMA: Final = "srfix.topic-plan/1"
CREATE_TOPIC: Final = "create-topic"
FILL_PARTITION: Final = "fill-partition"
EXPIRE_PARTITION: Final = "expire-partition"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStep:
    """One step of a plan."""

    step: int
    """1, 2, …"""
    kind: str
    """`create-topic`, `fill-partition` or `expire-partition`."""
    partition: int | None
    """None for the creation of a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """What will be written to a topic, why, and what comes before and after."""

    bootstrap_servers: str
    """The cluster, without secrets."""
    created_at: str
    """ISO 8601, UTC."""
    srfix: str
    """The version that made it."""
    work: Work
    price: tuple[str, ...]
    """What to know before it is carried out, in sentences."""
    playbook: tuple[str, ...]
    """What to do around it, in order."""
    undo: str
    """How it is undone, and what is not, in sentences."""

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of everything but the digest itself."""
        return plan_digest(topic_plan_document(self))

    @property
    def actions(self) -> tuple[TopicStep, ...]:
        """What is written, in order: a partition with nothing to write has no step."""
        work = self.work
        kinds: list[tuple[str, int | None]] = []
        if isinstance(work, SeedChangelog) and work.creates:
            kinds.append((CREATE_TOPIC, None))
        kind = FILL_PARTITION if isinstance(work, SeedChangelog) else EXPIRE_PARTITION
        kinds += [(kind, each.partition) for each in work.partitions if each.rows]
        return tuple(
            TopicStep(step=number, kind=kind, partition=partition)
            for number, (kind, partition) in enumerate(kinds, start=1)
        )

    @property
    def rows(self) -> int:
        """How many records it writes."""
        return sum(each.rows for each in self.work.partitions)

    def rows_of(self, partition: int) -> PartitionRows:
        """What it says of a partition."""
        for each in self.work.partitions:
            if each.partition == partition:
                return each
        raise KeyError(partition)


def describe(plan: TopicPlan, step: TopicStep) -> str:
    """A step in words, without capital and full stop."""
    if step.partition is None:
        return f"create the topic {plan.work.topic} with {len(plan.work.partitions)} partitions"
    rows = plan.rows_of(step.partition)
    what = "rows" if step.kind == FILL_PARTITION else "tombstones"
    what = what.removesuffix("s") if rows.rows == 1 else what
    return f"write {rows.rows:,} {what} to {plan.work.topic}[{step.partition}]"


class TopicStepPart(Part):
    """A step of a plan that writes to a topic."""

    step: int
    kind: Literal["create-topic", "fill-partition", "expire-partition"]
    topic: str
    partition: int | None


class TopicPlanDocument(VersionedDocument, tag=SCHEMA):
    """What a plan of srfix state writes to a topic."""

    created_at: Instant
    bootstrap_servers: str
    work: Work
    actions: list[TopicStepPart]
    price: list[str]
    playbook: list[str]
    undo: str
    digest: Sha256


def topic_plan_document(plan: TopicPlan) -> dict[str, Json]:
    """The `srfix.topic-plan/1` document, digest included."""
    document = TopicPlanDocument(
        srfix=plan.srfix,
        created_at=plan.created_at,
        bootstrap_servers=plan.bootstrap_servers,
        work=plan.work,
        actions=[TopicStepPart.of(step, topic=plan.work.topic) for step in plan.actions],
        price=list(plan.price),
        playbook=list(plan.playbook),
        undo=plan.undo,
        digest="",
    ).to_json()
    return document | {"digest": plan_digest(document)}


def _read(document: dict[str, Json], where: str) -> TopicPlan:
    found = convert(document, TopicPlanDocument)
    work = found.work
    if [each.partition for each in work.partitions] != list(range(len(work.partitions))):
        raise ValueError("its partitions are not in the order of their numbers")
    if isinstance(work, ExpireKeys) and (not work.kept.file or Path(work.kept.file).name != work.kept.file):
        raise ValueError("the file with its records is named with a folder")
    plan = TopicPlan(
        bootstrap_servers=found.bootstrap_servers,
        created_at=found.created_at,
        srfix=found.srfix,
        work=work,
        price=tuple(found.price),
        playbook=tuple(found.playbook),
        undo=found.undo,
    )
    if topic_plan_document(plan)["actions"] != document["actions"]:
        raise PlanError(f"{capitalized(where)} has steps that do not follow from what it says. Plan again.")
    return plan


TOPIC_PLANS: Final = PlanFiles(
    schema=SCHEMA,
    what="a plan of srfix state",
    remedy="Make one with srfix state seed-changelog or srfix state plan-expiry.",
    document=topic_plan_document,
    read=_read,
)
