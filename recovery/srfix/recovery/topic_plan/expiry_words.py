"""What a plan that expires keys says to a person: proof of what goes, the race that is left, and how it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from srfix.recovery.ids_in_words import counted
from srfix.recovery.topic_plan.logs import CLEANUP_POLICY, CREATE_TIME, TIMESTAMP_TYPE
from srfix.recovery.topic_plan.work import OUR_HEADER, ExpireKeys
from srfix.serde.printable import is_printable

_LONGEST_KEY = 60


def expiry_price(work: ExpireKeys) -> Iterator[str]:
    """What to know before it is carried out."""
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
    """What to do, in order."""
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
    """How it is undone."""
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
