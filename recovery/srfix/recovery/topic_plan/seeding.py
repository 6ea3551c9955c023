"""Plans the filling of a changelog topic from the source topic of a store that reuses it.

The changelog must hold the records that a restore from the source loads: for each partition the newest record of each
key in [start, committed), with its timestamp and headers, because the rows get their timestamps from the records.
Tombstones are not needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from srfix.recovery.clock import now
from srfix.recovery.commands import CommandLine
from srfix.recovery.errors import PlanError
from srfix.recovery.topic_plan.logs import (
    CLEANUP_POLICY,
    CREATE_TIME,
    STREAMS_CONFIGS,
    TIMESTAMP_TYPE,
    Look,
    NewestRecord,
    count_of,
    known_configs,
    live,
    newest_of,
    partition_rows,
    require_no_members,
)
from srfix.recovery.topic_plan.plan_file import CarriedSchemaId, SeedChangelog, TopicPlan
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic, changelog_topic
from srfix.serde.subjects.strategies import ChangelogSubject
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek

WHY_STOPPED_FOR_SEED = "otherwise it would commit more offsets, and write to the changelog, during the copy"
NOTHING_GIVEN: Final = CommandLine()
Registered = Callable[[str, SchemaId], bool | None]
"""Whether the schema of an id is under a subject, asked as the store's reader asks; None if srfix cannot find out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRequest:
    application: str
    store: str
    source: Topic
    isolation: Isolation
    replication_factor: int = -1
    """The replication factor of a created changelog; -1 for the broker's default (brokers from 2.4 on)."""


def plan_seed(
    request: SeedRequest,
    look: Look,
    *,
    bootstrap_servers: str,
    registered: Registered | None = None,
    command_line: CommandLine = NOTHING_GIVEN,
    clock: Callable[[], str] = now,
) -> TopicPlan:
    """Makes the plan. Reads only; without `registered`, no registry is asked."""
    changelog = changelog_topic(request.application, request.store)
    if changelog == request.source:
        raise UsageError(f"{changelog} is the store's changelog. --source must name the topic that the table reads.")
    count = count_of(look, request.source)
    require_no_members(look, request.application, why=WHY_STOPPED_FOR_SEED)
    logs = restorable(look, request.application, request.source, count)
    creates = changelog not in look.topics()
    ends = (0,) * count if creates else _empty_ends(look, changelog, count)
    partitions, carried = [], Counter[int]()
    for partition in range(count):
        rows = live(newest_of(look, request.source, partition, logs[partition], request.isolation))
        _refuse_unwritable(request.source, partition, rows)
        partitions.append(partition_rows(partition, logs[partition], rows))
        carried.update(int(schema_id) for schema_id in SchemaIdPeek()([record.beginning for record in rows.values()]))
    subject = ChangelogSubject(application=request.application, store=request.store)(request.source, Role.VALUE)
    work = SeedChangelog(
        application=request.application,
        store=request.store,
        source=request.source,
        changelog=changelog,
        subject=subject,
        isolation=request.isolation,
        creates=creates,
        replication_factor=request.replication_factor,
        configs=STREAMS_CONFIGS if creates else known_configs(look, changelog),
        changelog_ends=ends,
        partitions=tuple(partitions),
        schema_ids=tuple(_carried(carried, subject, registered)),
    )
    return TopicPlan(
        bootstrap_servers=bootstrap_servers,
        created_at=clock(),
        srfix=version("srfix"),
        work=work,
        price=tuple(_price(work, command_line)),
        playbook=tuple(_playbook(work)),
        undo=_undo(work),
    )


def restorable(look: Look, application: str, source: Topic, count: int) -> dict[int, tuple[int, int]]:
    """What a restore loads of each partition: from the log's start to the committed offset; empty without one."""
    committed = look.committed(application, [(source, partition) for partition in range(count)])
    if all(committed[source, partition] is None for partition in range(count)):
        raise PlanError(
            f"Application {application!r} has committed no offset of {source}, so a restore loads nothing: the application "
            "processes the records instead. There is nothing to copy. Check --application and --source."
        )
    logs = {}
    for partition, (start, end) in look.watermarks(source, range(count)).items():
        offset = committed[source, partition]
        if offset is not None and offset > end:
            raise PlanError(
                f"Application {application!r} has committed offset {offset} of {source}[{partition}], but the log ends at "
                f"{end}. So the topic was recreated or cut, and no longer holds the store's records. No plan was made."
            )
        logs[partition] = (start, max(start, offset or 0))
    return logs


def _empty_ends(look: Look, changelog: Topic, count: int) -> tuple[int, ...]:
    partitions = count_of(look, changelog)
    if partitions != count:
        raise PlanError(
            f"The topic {changelog} has {counted(partitions, 'partition')}, but the source has {count}. Kafka Streams would "
            "refuse this. If nothing needs this topic, delete it and plan again."
        )
    configs = known_configs(look, changelog)
    if configs[CLEANUP_POLICY] != STREAMS_CONFIGS[CLEANUP_POLICY] or configs[TIMESTAMP_TYPE] != CREATE_TIME:
        shown = ", ".join(f"{name}={value}" for name, value in configs.items())
        raise PlanError(
            f"The topic {changelog} is configured with {shown}; a changelog needs cleanup.policy=compact (otherwise rows "
            "disappear) and message.timestamp.type=CreateTime (otherwise rows lose their timestamps). Change these settings, "
            "then plan again."
        )
    logs = look.watermarks(changelog, range(count))
    for partition, log in logs.items():
        rows = live(newest_of(look, changelog, partition, log, Isolation.READ_UNCOMMITTED))
        if rows:
            raise PlanError(
                f"The topic {changelog}[{partition}] holds {counted(len(rows), 'row')} already: the store has a changelog of "
                "its own, or another run fills it. To continue that run, use srfix apply with its plan. No new plan was made."
            )
    return tuple(logs[partition][1] for partition in range(count))


def _refuse_unwritable(source: Topic, partition: int, rows: Mapping[bytes, NewestRecord]) -> None:
    """:raises PlanError: if a record has no timestamp, or 0, because librdkafka would replace it by the time of writing."""
    for record in rows.values():
        if not record.timestamp_ms:
            raise PlanError(
                f"The record at {source}[{partition}] offset {record.offset} has no timestamp, or the timestamp 0. If "
                "srfix copied it, the row would get another timestamp. No plan was made. Let the producer write the "
                "key again."
            )


def _carried(counts: Mapping[int, int], subject: str, registered: Registered | None) -> Iterable[CarriedSchemaId]:
    for schema_id in sorted(counts):
        if schema_id >= 0:
            is_there = None if registered is None else registered(subject, SchemaId(schema_id))
            yield CarriedSchemaId(schema_id=schema_id, rows=counts[schema_id], is_registered=is_there)


def _price(work: SeedChangelog, command_line: CommandLine) -> Iterator[str]:
    rows = sum(part.rows for part in work.partitions)
    bytes_ = sum(part.bytes_ for part in work.partitions)
    yield (
        f"The plan copies {counted(rows, 'record')} ({bytes_:,} bytes) from {work.source} to {work.changelog}, unchanged: key, "
        "value, timestamp and headers. It does not copy tombstones."
    )
    yield f"srfix read {work.source} with isolation.level={work.isolation.value}, like the application's restore."
    unread = [part.partition for part in work.partitions if part.end_offset == part.start_offset]
    if unread:
        named = ", ".join(map(str, unread))
        yield (
            f"Partitions with nothing to restore (no record below the committed offset): {named}. The application "
            "processes their records, as it does now."
        )
    yield from _subject_lines(work, command_line)


def _subject_lines(work: SeedChangelog, command_line: CommandLine) -> Iterator[str]:
    if not work.schema_ids:
        return
    ids = ", ".join(str(carried_id.schema_id) for carried_id in work.schema_ids)
    yield f"The store's reader asks the changelog's own subject, {work.subject}, for the schema ids of the values: {ids}."
    missing = [str(carried_id.schema_id) for carried_id in work.schema_ids if carried_id.is_registered is False]
    unknown = [str(carried_id.schema_id) for carried_id in work.schema_ids if carried_id.is_registered is None]
    repair = command_line.quoted("plan", "--topic", work.changelog, "--reader", "connect", "-o", "subjects.json")
    if missing:
        yield (
            f"Not registered there: {', '.join(missing)}. A reader that looks up the version under the subject (Connect, "
            f"ksqlDB) fails on these rows until the ids are registered. After the copy, plan their registration with {repair}."
        )
    if unknown:
        yield (
            f"srfix did not look up whether {', '.join(unknown)} are registered there. After the copy, {repair} does so."
        )


def _playbook(work: SeedChangelog) -> Iterator[str]:
    yield f"Keep every instance of {work.application} stopped: apply refuses while its group has members."
    yield "Carry out the plan."
    if any(carried_id.is_registered is not True for carried_id in work.schema_ids):
        yield f"Register the schema ids that {work.subject} lacks, and verify, before anything reads the rows."
    yield (
        "Turn the reuse off in the application's topology.optimization. From Kafka Streams 3.4 on, name the "
        "optimizations that stay (merge.repartition.topics, single.store.self.join). Before 3.4, `none` turns all "
        "optimizations off. This also turns off the merging of repartition topics, and the names of these topics "
        "then change. ksqlDB sets topology.optimization itself. There, create the query again: in ksqlDB 0.11 and "
        "later, a new query gets a changelog of its own."
    )
    yield (
        f"Check with Topology.describe() that the store is still named {work.store}, and that the sub-topology "
        "numbers are as before. If they are not, give names to the stores and repartitions."
    )
    yield (
        f"Move the state directories of {work.application} aside on every instance, together with their checkpoints. The "
        f"checkpoints name offsets of {work.source}, but the store will now restore from {work.changelog}."
    )
    yield f"Do not reset the group: its committed offsets of {work.source} say where the table continues."
    yield "Start one instance, wait for RUNNING, compare some rows, then start the others."


def _undo(work: SeedChangelog) -> str:
    if work.creates:
        return (
            f"srfix rollback deletes {work.changelog} if the application has written nothing to it. If the application has "
            "written to the topic, the topic is its changelog, and rollback leaves it as it is."
        )
    return (
        f"srfix rollback writes a tombstone for every row if the application has written nothing to {work.changelog}: a "
        "restore then loads nothing from the topic, as before. The topic stays. If the application has written to it, "
        "rollback leaves it as it is."
    )
