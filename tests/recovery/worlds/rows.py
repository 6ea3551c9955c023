"""Rows on disk, as the history of a store left them: processed with an internal id, restored with the source's, or both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from random import Random
from typing import Final

from tests.recovery.worlds.drawing import often, one
from tests.recovery.worlds.families import PRODUCED
from tests.recovery.worlds.on_disk import is_on_disk
from tests.recovery.worlds.schemas import field_names, fields, projection_of
from tests.recovery.worlds.world import (
    WHOLE,
    DiskRow,
    Key,
    KeyFormat,
    Kind,
    Log,
    Record,
    StoreDisk,
    SubjectSetup,
    TrueStore,
    World,
)

_HISTORIES: Final = ("processed",) * 3 + ("mixed", "mixed", "restored", "lost", "lost")
TRANSFORMED: Final = 10
"""The amount that the user's own processor adds to all numbers."""


def rows_of(dice: Random, world: World, store: TrueStore) -> StoreDisk | None:
    """The databases of a store; None if it leaves none, or if nobody knows their rows."""
    if not is_on_disk(store):
        return None
    is_fed = store.fed_by is not None
    store = replace(store, topic=store.topic or store.fed_by, fed_by=None)
    phantom = world.subjects.get(f"{store.changelog}-value")
    if store.topic is None:
        rows = tuple(DiskRow(Key(n), phantom.versions[-1].schema, n) for n in range(2)) if phantom else ()
        return StoreDisk({0: rows})
    setup = world.topics.get(store.topic)
    if setup is None:
        return None
    died = world.layouts.get(store.application) == "died"
    history = "processed" if is_fed else "restored" if died else one(dice, _HISTORIES)
    found = [_of_partition(dice, world, store, number, log, history) for number, log in enumerate(setup.logs)]
    is_timestamped = often(dice, 85)
    if store.kind is Kind.GLOBAL:
        newest = {row.key: row for rows in found for row in rows}
        return StoreDisk({0: tuple(newest.values())}, is_timestamped=is_timestamped)
    partitions = dict(enumerate(found))
    is_old = store.application not in world.renewed
    if is_old and phantom is not None and setup.policy != "compact" and often(dice, 50):
        partitions = {number: _with_one_that_expired(store, rows, phantom) for number, rows in partitions.items()}
    if often(dice, 20):
        partitions.pop(one(dice, sorted(partitions)))
    return StoreDisk(partitions, is_timestamped=is_timestamped) if partitions else None


def _with_one_that_expired(store: TrueStore, rows: tuple[DiskRow, ...], phantom: SubjectSetup) -> tuple[DiskRow, ...]:
    """Retention removed the record, but the store still has the row, so a wipe loses it."""
    if not rows or rows[0].key.format is not KeyFormat.STRING:
        return rows
    return (*rows, DiskRow(Key(6, KeyFormat.STRING, window=store.window), phantom.versions[0].schema, 1))


def _of_partition(
    dice: Random, world: World, store: TrueStore, number: int, log: Log, history: str
) -> tuple[DiskRow, ...]:
    group = world.groups.get(store.application)
    committed = None if group is None else group.commits.get((store.topic or "", number))
    limit = log.end if committed is None or store.kind is Kind.GLOBAL else committed
    rows = []
    for record in latest(log.records, limit, lambda record: record.key):
        kind = {"processed": "processed", "restored": "restored"}.get(history) or one(dice, ("processed", "restored"))
        row = _row(dice, world, store, record, kind, history)
        if row is not None:
            rows.append(row)
    return tuple({row.key: row for row in rows}.values())


def latest(records: Iterable[Record], limit: int, key_of: Callable[[Record], Hashable]) -> list[Record]:
    """The rows that records before an offset leave; records without a key leave none."""
    rows: dict[Hashable, Record] = {}
    for record in records:
        key = key_of(record)
        if key is None or record.offset >= limit:
            continue
        if record.value is None:
            rows.pop(key, None)
        else:
            rows[key] = record
    return list(rows.values())


def _row(dice: Random, world: World, store: TrueStore, record: Record, kind: str, history: str) -> DiskRow | None:
    assert record.key is not None
    assert record.value is not None
    number = record.offset % 50
    if kind == "restored":
        return DiskRow(record.key, record.value, number, record.body)
    if not record.is_healthy:
        return None  # skipped by whoever processes
    if history == "lost" and often(dice, 70):
        value = "LostRow"
    else:
        value = _internal(dice, world, store, record.value)
        if not store.has_own_processor and not fields(value) <= fields(record.value):
            return None  # what a table's row says comes from its record, and bodies here leave no field null
    if store.has_own_processor and often(dice, 60):
        number += TRANSFORMED
    return DiskRow(_internal_key(world, store, record.key), value, number, WHOLE)


def _internal(dice: Random, world: World, store: TrueStore, value: str) -> str:
    phantom = world.subjects.get(f"{store.changelog}-value")
    source = world.subjects.get(f"{store.topic}-value")
    own = [version.schema for version in phantom.versions] if phantom else []
    if store.application in world.renewed and store.kind is not Kind.UNLOGGED:
        held = [version.schema for version in source.versions] if source is not None else []
        mine = [line for line in held if (line in own if phantom is not None else line not in PRODUCED)]
        return mine[-1] if mine and (phantom is not None or _is_alone(world, store)) else value
    is_asked = world.is_upgraded and store.kind is not Kind.UNLOGGED and source is not None
    if is_asked and source is not None and not source.versions[-1].schema.startswith("!") and often(dice, 50):
        return source.versions[-1].schema
    if value in own:
        return value
    if own:
        return own[0]
    # Somebody removed the phantom subject, or a newer Streams never made one.
    return projection_of([value], field_names([value]), "ksql")


def _is_alone(world: World, store: TrueStore) -> bool:
    """True if no other store has its topic, and so left a schema under the topic's subjects."""
    return all(other == store or other.topic != store.topic for other in world.truth)


def _internal_key(world: World, store: TrueStore, key: Key) -> Key:
    is_renewed = store.application in world.renewed and store.kind is not Kind.UNLOGGED and _is_alone(world, store)
    own = world.subjects.get(f"{store.topic}-key" if is_renewed else f"{store.changelog}-key")
    if key.schema is None or own is None:
        return key
    return Key(key.number, key.format, own.versions[-1 if is_renewed else 0].schema, key.window)
