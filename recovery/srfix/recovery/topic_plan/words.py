"""What a plan that writes to a topic says to a person: what it costs, what to do around it, and how it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from srfix.recovery.commands import Given
from srfix.recovery.ids_in_words import counted
from srfix.recovery.topic_plan.logs import CLEANUP_POLICY, CREATE_TIME, TIMESTAMP_TYPE
from srfix.recovery.topic_plan.plan_file import OUR_HEADER, ExpireKeys, SeedChangelog
from srfix.serde.printable import is_printable


def seed_price(work: SeedChangelog, given: Given) -> Iterator[str]:
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
    if work.creates:
        return (
            f"srfix rollback deletes {work.changelog} as long as the application has written nothing to it. Once it has, the "
            "topic is its changelog and is left."
        )
    return (
        f"srfix rollback writes a tombstone for every row, as long as the application has written nothing to {work.changelog}: "
        "a restore then loads nothing from it, as before. The topic stays. Once the application has written, it is left."
    )


_LONGEST_KEY = 60


def expiry_price(work: ExpireKeys) -> Iterator[str]:
    rows = sum(each.rows for each in work.partitions)
    bytes_ = sum(each.bytes_ for each in work.partitions)
    times = [time for each in work.partitions for time in (each.oldest_ms, each.newest_ms) if time is not None]
    span = f", written between {_time(min(times))} and {_time(max(times))}" if times else ""
    yield (
        f"{counted(rows, 'key')} of the {work.live_keys:,} that have a row in {work.topic} are deleted: {bytes_:,} bytes"
        f"{span}. Their newest record is older than {_time(work.cutoff_ms)}."
    )
    if work.left_by_limit:
        yield f"{work.left_by_limit:,} more are as old and stay: --limit {work.limit} takes the oldest first."
    if work.configs[TIMESTAMP_TYPE] != CREATE_TIME:
        yield (
            f"{TIMESTAMP_TYPE}={work.configs[TIMESTAMP_TYPE]}: a record's age is that of its arrival at the broker, not of the "
            "event, and one that a rollback writes again arrives anew."
        )
    if "delete" in work.configs[CLEANUP_POLICY].split(","):
        yield f"{CLEANUP_POLICY}={work.configs[CLEANUP_POLICY]}: retention.ms deletes old records here by itself, too."
    yield (
        "A key is deleted only if its newest record is still the planned one, which is looked at right before. A producer that "
        "writes the key in the moment between that look and the tombstone is overtaken by it: its record is seen then, and "
        "written again behind the tombstone. Stop the producers, and it cannot happen."
    )
    yield (
        f"Each tombstone carries the header {OUR_HEADER} with the plan's digest, so that a run that was killed, and a "
        "rollback, know it from a deletion by others. Whoever reads the topic sees these deletions."
    )


def expiry_playbook(work: ExpireKeys) -> Iterator[str]:
    yield f"Keep {work.kept.file} beside the plan: without it nothing can be brought back."
    if work.store is not None:
        yield f"Keep every instance of {work.application} stopped: apply refuses while its group has members."
        yield "Carry out the plan."
        yield (
            f"Wipe the state directories of {work.application} before it starts: its rows on disk are not touched by the "
            "tombstones, and it would go on with them. It restores without the expired keys."
        )
        return
    yield f"Stop the producers of {work.topic} if you can; {work.application} may run."
    yield "Carry out the plan. The application deletes the rows as it reads the tombstones."
    yield "A store whose state is restored from the topic has none of these keys, either."


def expiry_undo(work: ExpireKeys) -> str:
    return (
        f"A tombstone cannot be taken back, and compaction removes what it deletes. srfix rollback writes the records of "
        f"{work.kept.file} again, with key, value, timestamp and headers, for every key that nobody has written since; those "
        "that somebody has written are left and counted. A key of which the topic holds nothing any more (its tombstone was "
        "compacted away, after delete.retention.ms) counts as not written since."
    )


def key_in_words(key: bytes) -> str:
    """A key as it can be read: its text, or its bytes in hexadecimal."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    shown = repr(text) if text and is_printable(text) else f"0x{key.hex()}"
    return shown if len(shown) <= _LONGEST_KEY else f"{shown[:_LONGEST_KEY]}…"


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
