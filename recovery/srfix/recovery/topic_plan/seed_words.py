"""What a plan that seeds a changelog says to a person: before, around and after it."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.commands import Given
from srfix.recovery.ids_in_words import counted
from srfix.recovery.topic_plan.work import SeedChangelog


def seed_price(work: SeedChangelog, given: Given) -> Iterator[str]:
    """What to know before it is carried out."""
    rows = sum(each.rows for each in work.partitions)
    bytes_ = sum(each.bytes_ for each in work.partitions)
    yield (
        f"{work.changelog} takes {counted(rows, 'record')} of {bytes_:,} bytes, as they are in {work.source}: key, value, "
        "timestamp and headers."
    )
    yield f"It was read {work.isolation.value}, as the application's restore reads. Tombstones are not copied."
    unread = [each.partition for each in work.partitions if each.end_offset == each.start_offset]
    if unread:
        named = ", ".join(map(str, unread))
        yield (
            f"Partitions without anything to restore (nothing below the committed offset): {named}. What stands there is "
            "processed by the application, as now."
        )
    yield from _subject_lines(work, given)


def _subject_lines(work: SeedChangelog, given: Given) -> Iterator[str]:
    if not work.schema_ids:
        return
    ids = ", ".join(str(each.schema_id) for each in work.schema_ids)
    yield f"The store's reader asks the changelog's own subject, {work.subject}, for the schema ids of the values: {ids}."
    missing = [str(each.schema_id) for each in work.schema_ids if each.is_registered is False]
    unknown = [str(each.schema_id) for each in work.schema_ids if each.is_registered is None]
    repair = given.quoted("plan", "--topic", work.changelog, "--reader", "connect", "-o", "subjects.json")
    if missing:
        yield (
            f"Not registered there: {', '.join(missing)}. A reader that looks the version up under the subject (Connect, "
            f"ksqlDB) fails on these rows until they are: once the topic is filled, {repair} plans that."
        )
    if unknown:
        yield f"Whether {', '.join(unknown)} are registered there was not looked up; {repair} does, once it is filled."


def seed_playbook(work: SeedChangelog) -> Iterator[str]:
    """What to do, in order."""
    yield f"Keep every instance of {work.application} stopped: apply refuses while its group has members."
    yield "Carry out the plan."
    if any(each.is_registered is not True for each in work.schema_ids):
        yield f"Register what {work.subject} lacks, and verify, before anything reads the rows."
    yield (
        "Take reuse out of the application's topology.optimization: from Kafka Streams 3.4 on name those that stay "
        "(merge.repartition.topics, single.store.self.join); before, `none` turns all of them off, and with them the merging "
        "of repartition topics, whose names then change. ksqlDB sets topology.optimization itself: create the query anew."
    )
    yield (
        f"Check with Topology.describe() that the store is still named {work.store}, and that sub-topology numbers are as "
        "before: name stores and repartitions where they are not."
    )
    yield (
        f"Wipe the state directories of {work.application} on every instance (move them aside, checkpoints with them): what "
        f"they hold was checkpointed against {work.source}, and is restored from {work.changelog} now."
    )
    yield f"Do not reset the group: its committed offsets of {work.source} say where the table goes on."
    yield "Start one instance, wait for RUNNING, compare some rows, then start the others."


def seed_undo(work: SeedChangelog) -> str:
    """How it is undone."""
    if work.creates:
        return (
            f"srfix rollback deletes {work.changelog} as long as the application has written nothing to it. Once it has, the "
            "topic is its changelog and is left."
        )
    return (
        f"srfix rollback writes a tombstone for every row, as long as the application has written nothing to {work.changelog}: "
        "a restore then loads nothing from it, as before. The topic stays. Once the application has written, it is left."
    )
