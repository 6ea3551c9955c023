"""Plans tombstones for the keys of a compacted topic whose newest record is older than an age; a key that was written since
is never touched. A file beside the plan keeps the records, because nothing else could bring them back: one JSON line
each, bytes in base64. The plan holds the file's digest, so neither can be changed without the other.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, cast

import msgspec

from srfix.recovery.clock import now
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import PlanError
from srfix.recovery.internal_topics import is_internal
from srfix.recovery.topic_plan.logs import (
    CLEANUP_POLICY,
    CREATE_TIME,
    TIMESTAMP_TYPE,
    Look,
    NewestRecord,
    chosen,
    count_of,
    known_configs,
    live,
    newest_of,
    partition_rows,
    require_no_members,
)
from srfix.recovery.topic_plan.plan_file import OUR_HEADER, ExpireKeys, KeptRecords, TopicPlan
from srfix.serde.errors import UsageError
from srfix.serde.files import open_file, parse_json, write_whole
from srfix.serde.printable import counted, is_printable
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Topic, changelog_topic

_SUFFIX: Final = ".records.jsonl"
_CHUNK: Final = 1 << 20


def kept_records_path(plan_path: Path) -> Path:
    return plan_path.with_name(plan_path.name + _SUFFIX)


def keep_records(records: Iterable[RawRecord], path: Path) -> KeptRecords:
    """Writes the file whole or not at all, and syncs it."""
    digest, count = hashlib.sha256(), 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for record in records:
            count += 1
            line = _line(record)
            digest.update(line)
            yield line

    try:
        write_whole(path, lines())
    except OSError as error:
        raise PlanError(
            f"The records of the plan cannot be kept in {path} ({error.strerror}). Make room, or give another file with -o."
        ) from error
    return KeptRecords(file=path.name, records=count, sha256=digest.hexdigest())


def check_kept_records(path: Path, records: KeptRecords) -> None:
    digest = hashlib.sha256()
    try:
        with open_file(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise PlanError(
            f"srfix cannot read the plan's records from {path} ({error.strerror}). Without them a rollback could not write "
            "any record again. Put the file from srfix state plan-expiry beside the plan again, or make a new plan."
        ) from error
    if digest.hexdigest() != records.sha256:
        raise PlanError(
            f"The records in {path} do not belong to this plan: the file's digest differs. Put back the file that was "
            "written with the plan, or make a new plan."
        )


def kept_records(path: Path) -> Iterator[RawRecord]:
    """The records, in the order in which they were kept. Check the file first."""
    try:
        with open_file(path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    yield _record(cast("dict[str, Json]", parse_json(line)))
                except ValueError as error:
                    raise PlanError(
                        f"Line {number} of {path} is not a record of a plan. Restore the original file."
                    ) from error
    except OSError as error:
        raise PlanError(f"The records of the plan cannot be read from {path} ({error.strerror}).") from error


def _line(record: RawRecord) -> bytes:
    document = msgspec.to_builtins(record)  # bytes as base64
    document["headers"] = document.pop("headers")  # the last key in every such file, so that its digest stays
    return json.dumps(document).encode() + b"\n"


def _record(document: dict[str, Json]) -> RawRecord:
    record = msgspec.convert(document, RawRecord)  # bytes from base64
    if record.key is None or record.value is None:
        raise ValueError("another form")
    return record


WHY_STOPPED_FOR_EXPIRY: Final = (
    "a running application would write to its changelog at the same time, and the plan does not remove the rows on its "
    "disk"
)
ISOLATION: Final = Isolation.READ_UNCOMMITTED
"""Open and aborted transactions count, too: in doubt a key is left, so that none is expired wrongly."""
_SAMPLES: Final = 5
_LONGEST_KEY: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryRequest:
    application: str
    store: str | None
    topic: Topic | None
    """A topic that the application reads; either store or topic is given."""
    older_than_s: int
    limit: int | None


def plan_expiry(
    request: ExpiryRequest,
    look: Look,
    plan_path: Path,
    *,
    bootstrap_servers: str,
    clock: Callable[[], str] = now,
) -> TopicPlan:
    """Makes the plan. Writes only the file with the records, if there are any, beside the future plan file."""
    topic, count = _topic_of(request, look)
    created_at = clock()
    now_ms = int(datetime.fromisoformat(created_at).timestamp() * 1000)
    cutoff_ms = now_ms - request.older_than_s * 1000
    if cutoff_ms <= 0:
        raise UsageError(
            f"--older-than of {request.older_than_s:,} seconds goes back before 1970. Give a shorter time."
        )
    configs = known_configs(look, topic)
    if "compact" not in configs[CLEANUP_POLICY].split(","):
        raise PlanError(
            f"The topic {topic} is not compacted (cleanup.policy={configs[CLEANUP_POLICY]}): a tombstone removes nothing "
            "there; retention.ms deletes old records instead. No plan was made."
        )
    logs = look.watermarks(topic, range(count))
    expired: dict[int, dict[bytes, NewestRecord]] = {}
    live_keys = 0
    for partition in range(count):
        rows = live(newest_of(look, topic, partition, logs[partition], ISOLATION))
        live_keys += len(rows)
        # A record without a timestamp, or with 0, has no age, and srfix could not write it again unchanged.
        expired[partition] = {key: row for key, row in rows.items() if 0 < (row.timestamp_ms or 0) < cutoff_ms}
    expired_keys = sum(map(len, expired.values()))
    taken, samples = _oldest(expired, request.limit)
    records = (
        record
        for partition, rows in taken.items()
        if rows
        for record in chosen(look.read(topic, partition, *logs[partition], isolation=ISOLATION), rows)
    )
    kept = keep_records(records, kept_records_path(plan_path))
    wanted = sum(map(len, taken.values()))
    if kept.records != wanted:
        raise PlanError(
            f"While srfix read the topic {topic} twice, it was compacted or somebody wrote to it: only {kept.records:,} of "
            f"{wanted:,} records were still there. Plan again."
        )
    work = ExpireKeys(
        application=request.application,
        store=request.store,
        topic=topic,
        older_than_s=request.older_than_s,
        cutoff_ms=cutoff_ms,
        tombstone_ms=now_ms,
        limit=request.limit,
        left_by_limit=expired_keys - kept.records,
        live_keys=live_keys,
        configs=configs,
        kept=kept,
        samples=samples,
        partitions=tuple(partition_rows(number, logs[number], taken[number]) for number in range(count)),
    )
    return TopicPlan(
        bootstrap_servers=bootstrap_servers,
        created_at=created_at,
        srfix=version("srfix"),
        work=work,
        price=tuple(_price(work)),
        playbook=tuple(_playbook(work)),
        undo=_undo(work),
    )


def _topic_of(request: ExpiryRequest, look: Look) -> tuple[Topic, int]:
    if (request.store is None) == (request.topic is None):
        raise UsageError(
            "Give either --store (for a store's changelog) or --topic (for a topic that the application reads)."
        )
    if request.store is not None:
        topic = changelog_topic(request.application, request.store)
        count = count_of(look, topic)
        require_no_members(look, request.application, why=WHY_STOPPED_FOR_EXPIRY)
        return topic, count
    topic = Topic(request.topic or "")
    if is_internal(topic):
        raise UsageError(f"{topic} is an internal topic of the cluster or the registry; srfix deletes nothing in it.")
    count = count_of(look, topic)
    committed = look.committed(request.application, [(topic, partition) for partition in range(count)])
    if all(offset is None for offset in committed.values()):
        raise PlanError(
            f"Nothing shows that application {request.application!r} reads {topic}: it has committed no offset there. srfix "
            "does not delete the data of others. Name the application that reads the topic."
        )
    return topic, count


def _oldest(
    expired: Mapping[int, Mapping[bytes, NewestRecord]], limit: int | None
) -> tuple[dict[int, dict[bytes, NewestRecord]], tuple[str, ...]]:
    """The oldest of these, as many as the limit allows, in the order of their offsets; and samples in words."""
    every = (
        (row.timestamp_ms or 0, partition, row.offset, key)
        for partition, rows in expired.items()
        for key, row in rows.items()
    )
    oldest = sorted(every) if limit is None else heapq.nsmallest(limit, every)
    chosen_keys: defaultdict[int, set[bytes]] = defaultdict(set)
    for _age, partition, _offset, key in oldest:
        chosen_keys[partition].add(key)
    taken = {
        partition: {key: row for key, row in rows.items() if key in chosen_keys[partition]}
        for partition, rows in expired.items()
    }
    samples = tuple(
        f"{_key_in_words(key)} of {_time(age_ms)}, partition {partition}, offset {offset}"
        for age_ms, partition, offset, key in oldest[:_SAMPLES]
    )
    return taken, samples


def _price(work: ExpireKeys) -> Iterator[str]:
    rows = sum(part.rows for part in work.partitions)
    bytes_ = sum(part.bytes_ for part in work.partitions)
    times = [time for part in work.partitions for time in (part.oldest_ms, part.newest_ms) if time is not None]
    span = f", written between {_time(min(times))} and {_time(max(times))}" if times else ""
    yield (
        f"The plan deletes {rows:,} of the {counted(work.live_keys, 'key')} with a row in {work.topic} ({bytes_:,} "
        f"bytes{span}). The newest record of each deleted key is older than {_time(work.cutoff_ms)}."
    )
    if work.left_by_limit:
        yield (
            f"{counted(work.left_by_limit, 'more key')} would be old enough, but --limit {work.limit} keeps them: srfix "
            "deletes the oldest keys first."
        )
    if work.configs[TIMESTAMP_TYPE] != CREATE_TIME:
        yield (
            f"{TIMESTAMP_TYPE}={work.configs[TIMESTAMP_TYPE]}: the age counts from a record's arrival at the broker, not from "
            "the event. A record that a rollback writes again gets a new arrival time."
        )
    if "delete" in work.configs[CLEANUP_POLICY].split(","):
        yield f"{CLEANUP_POLICY}={work.configs[CLEANUP_POLICY]}: retention.ms deletes old records here by itself, too."
    yield (
        "srfix deletes a key only if its newest record is still the planned record. It checks this right before it "
        "writes the tombstone. If a producer writes the key between the check and the tombstone, srfix sees the "
        "new record, and writes it again after the tombstone. If you stop the producers, this cannot happen."
    )
    yield (
        f"Each tombstone carries the header {OUR_HEADER} with the plan's digest. By this header, srfix rollback can "
        "tell the tombstone from a deletion by somebody else. srfix apply can tell this, too, if it continues after "
        "a kill. All readers of the topic see these deletions."
    )


def _playbook(work: ExpireKeys) -> Iterator[str]:
    yield f"Keep {work.kept.file} beside the plan: without it srfix cannot bring back any record."
    if work.store is not None:
        yield f"Keep every instance of {work.application} stopped: apply refuses while its group has members."
        yield "Carry out the plan."
        yield (
            f"Wipe the state directories of {work.application} before you start it. The tombstones do not remove rows on disk, "
            "and the application would go on using them. After the wipe it restores without the expired keys."
        )
        return
    yield f"Stop the producers of {work.topic} if you can; {work.application} may run."
    yield "Carry out the plan. The application deletes the rows as it reads the tombstones."
    yield "A store that restores from the topic loses these keys, too."


def _undo(work: ExpireKeys) -> str:
    return (
        "A tombstone cannot be undone, and compaction removes the deleted records. srfix rollback writes the "
        f"records of {work.kept.file} again, with key, value, timestamp and headers, for every key that nobody has "
        "written since. It leaves and counts the keys that somebody has written. If the topic has no record of a key "
        "any more, because compaction has removed the tombstone (after delete.retention.ms), srfix treats the key as "
        "not written since."
    )


def _key_in_words(key: bytes) -> str:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    shown = repr(text) if text and is_printable(text) else f"0x{key.hex()}"
    return shown if len(shown) <= _LONGEST_KEY else f"{shown[:_LONGEST_KEY]}…"


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
