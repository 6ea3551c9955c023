"""A topic plan as a value and as a file (`srfix.topic-plan/1`): digest, reading, writing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srfix.recovery.errors import PlanError
from srfix.recovery.plans.documents import PlanFiles, plan_digest
from srfix.recovery.topic_plan.work import (
    CarriedSchemaId,
    ExpireKeys,
    KeptRecords,
    PartitionRows,
    SeedChangelog,
    Work,
)
from srfix.serde.printable import capitalized
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject, Topic

SCHEMA: Final = "srfix.topic-plan/1"
SEED: Final = "seed-changelog"
EXPIRE: Final = "expire-keys"
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
        """What it says of a partition.

        :raises KeyError: if it says nothing of it.
        """
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


def topic_plan_document(plan: TopicPlan) -> dict[str, Json]:
    """The `srfix.topic-plan/1` document, digest included."""
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "srfix": plan.srfix,
        "created_at": plan.created_at,
        "bootstrap_servers": plan.bootstrap_servers,
        "work": _work_document(plan.work),
        "actions": [
            {"step": step.step, "kind": step.kind, "topic": plan.work.topic, "partition": step.partition}
            for step in plan.actions
        ],
        "price": list(plan.price),
        "playbook": list(plan.playbook),
        "undo": plan.undo,
    }
    return document | {"digest": plan_digest(document)}


def _work_document(work: Work) -> dict[str, Json]:
    partitions: list[Json] = [
        {
            "partition": each.partition,
            "start_offset": each.start_offset,
            "end_offset": each.end_offset,
            "rows": each.rows,
            "bytes": each.bytes_,
            "oldest": each.oldest_ms,
            "newest": each.newest_ms,
            "digest": each.digest,
        }
        for each in work.partitions
    ]
    common: dict[str, Json] = {"application": work.application, "store": work.store, "configs": dict(work.configs)}
    if isinstance(work, SeedChangelog):
        return {
            "kind": SEED,
            **common,
            "source": work.source,
            "changelog": work.changelog,
            "subject": work.subject,
            "isolation": work.isolation.value,
            "creates": work.creates,
            "replication_factor": work.replication_factor,
            "changelog_ends": list[Json](work.changelog_ends),
            "partitions": partitions,
            "schema_ids": [
                {"id": each.schema_id, "rows": each.rows, "registered": each.is_registered} for each in work.schema_ids
            ],
        }
    return {
        "kind": EXPIRE,
        **common,
        "topic": work.topic,
        "older_than_s": work.older_than_s,
        "cutoff": work.cutoff_ms,
        "tombstone_timestamp": work.tombstone_ms,
        "limit": work.limit,
        "left_by_limit": work.left_by_limit,
        "live_keys": work.live_keys,
        "kept": {"file": work.kept.file, "records": work.kept.records, "sha256": work.kept.sha256},
        "samples": list(work.samples),
        "partitions": partitions,
    }


def _read(document: dict[str, Json], where: str) -> TopicPlan:
    match document:
        case {
            "srfix": str(version),
            "created_at": str(created_at),
            "bootstrap_servers": str(servers),
            "work": dict(work),
            "price": list(price),
            "playbook": list(playbook),
            "undo": str(undo),
        }:
            plan = TopicPlan(
                bootstrap_servers=servers,
                created_at=created_at,
                srfix=version,
                work=_work(work),
                price=tuple(str(line) for line in price),
                playbook=tuple(str(line) for line in playbook),
                undo=undo,
            )
            if topic_plan_document(plan)["actions"] != document["actions"]:
                raise PlanError(f"{capitalized(where)} has steps that do not follow from what it says. Plan again.")
            return plan
    raise ValueError("a key is missing or has another type")


TOPIC_PLANS: Final = PlanFiles(
    schema=SCHEMA,
    what="a plan of srfix state",
    remedy="Make one with srfix state seed-changelog or srfix state plan-expiry.",
    document=topic_plan_document,
    read=_read,
)


def _work(document: dict[str, Json]) -> Work:
    match document:
        case {
            "kind": "seed-changelog",
            "application": str(application),
            "store": str(store),
            "source": str(source),
            "changelog": str(changelog),
            "subject": str(subject),
            "isolation": str(isolation),
            "creates": bool(creates),
            "replication_factor": int(replication_factor),
            "configs": dict(configs),
            "changelog_ends": list(ends),
            "partitions": list(partitions),
            "schema_ids": list(schema_ids),
        }:
            return SeedChangelog(
                application=application,
                store=store,
                source=Topic(source),
                changelog=Topic(changelog),
                subject=Subject(subject),
                isolation=Isolation(isolation),
                creates=creates,
                replication_factor=replication_factor,
                configs=_texts(configs),
                changelog_ends=tuple(_int(end) for end in ends),
                partitions=_partitions(partitions),
                schema_ids=tuple(_carried(each) for each in schema_ids),
            )
        case {
            "kind": "expire-keys",
            "application": str(application),
            "store": (None | str()) as store,
            "topic": str(topic),
            "older_than_s": int(older_than_s),
            "cutoff": int(cutoff_ms),
            "tombstone_timestamp": int(tombstone_ms),
            "limit": (None | int()) as limit,
            "left_by_limit": int(left_by_limit),
            "live_keys": int(live_keys),
            "configs": dict(configs),
            "kept": {"file": str(file), "records": int(records), "sha256": str(sha256)},
            "samples": list(samples),
            "partitions": list(partitions),
        }:
            if not file or Path(file).name != file:
                raise ValueError("the file with its records is named with a folder")
            return ExpireKeys(
                application=application,
                store=store,
                topic=Topic(topic),
                older_than_s=older_than_s,
                cutoff_ms=cutoff_ms,
                tombstone_ms=tombstone_ms,
                limit=limit,
                left_by_limit=left_by_limit,
                live_keys=live_keys,
                configs=_texts(configs),
                kept=KeptRecords(file=file, records=records, sha256=sha256),
                samples=tuple(str(sample) for sample in samples),
                partitions=_partitions(partitions),
            )
    raise ValueError("its work has another form")


def _partitions(documents: list[Json]) -> tuple[PartitionRows, ...]:
    found = tuple(_partition(each) for each in documents)
    if [each.partition for each in found] != list(range(len(found))):
        raise ValueError("its partitions are not in the order of their numbers")
    return found


def _partition(document: Json) -> PartitionRows:
    match document:
        case {
            "partition": int(partition),
            "start_offset": int(start),
            "end_offset": int(end),
            "rows": int(rows),
            "bytes": int(bytes_),
            "oldest": (None | int()) as oldest,
            "newest": (None | int()) as newest,
            "digest": str(digest),
        }:
            return PartitionRows(
                partition=partition,
                start_offset=start,
                end_offset=end,
                rows=rows,
                bytes_=bytes_,
                oldest_ms=oldest,
                newest_ms=newest,
                digest=digest,
            )
    raise ValueError("what it says of a partition has another form")


def _carried(document: Json) -> CarriedSchemaId:
    match document:
        case {"id": int(schema_id), "rows": int(rows), "registered": (None | bool()) as registered}:
            return CarriedSchemaId(schema_id=schema_id, rows=rows, is_registered=registered)
    raise ValueError("what it says of a schema id has another form")


def _texts(document: dict[str, Json]) -> dict[str, str]:
    return {name: str(value) for name, value in document.items()}


def _int(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("an offset is no number")
