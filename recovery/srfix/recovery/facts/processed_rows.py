"""Whether the rows of a global store are what a restore would make of its topic (KAFKA-7663).

Before Kafka Streams 3.8 a restore copies the topic's records, and the processor of `addGlobalStore` does not see them. The
store's rows are compared with the topic's latest record of the same key, as far as the checkpoint says that the store has
come: a restore puts exactly that there. Kafka Streams 3.0 to 3.7 writes no checkpoint for a small global store (seen): how far
it has come is not known then, and a row is a processor's if it is none of its key's records, of which none is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.rows_on_disk import Place
from srfix.recovery.facts.store_rows import ProcessedRows
from srfix.recovery.ids_in_words import counted
from srfix.recovery.registry import ReadableRegistry

if TYPE_CHECKING:
    from srfix.recovery.facts.same_rows import Comparing
    from srfix.recovery.state.formats.values import StoredValue


_MOST: Final = 1_000
"""Rows that are compared."""


def compare_rows(
    cluster: Cluster,
    registry: ReadableRegistry,
    census: Census,
    places: Iterable[Place],
    *,
    context: str,
    found: ProcessedRows,
    deadline_s: float | None = None,
) -> ProcessedRows:
    """Compares the first rows of a global store with the topic.

    :param found: the processor, whose rows they are.
    :param context: the registry context whose ids the rows carry.
    """
    from srfix.recovery.facts.same_rows import Comparing
    from srfix.recovery.state.checkpoints import OffsetMeaning
    from srfix.recovery.state.directory import StoreKind
    from srfix.recovery.state.reading.database import some_rows

    place = next((p for p in places if p.task.is_global and p.store.kind is StoreKind.KEY_VALUE), None)
    if place is None:
        return _not_compared(found, "no state directory that was handed over holds the store")
    limits = {
        p.partition: place.reached(census.topic, p.partition, OffsetMeaning.POSITION) or 0 for p in census.partitions
    }
    is_anywhere = not any(limits.values())
    if is_anywhere:
        limits = {p.partition: p.end_offset for p in census.partitions}
    try:
        rows = some_rows(Path(place.store.path), most=_MOST)
    except StateDirectoryError as error:
        return _not_compared(found, error.message.removesuffix("."))
    give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
    try:
        records, are_whole = _records(cluster, census, rows, give_up_at, latest=not is_anywhere)
    except GaveUp:
        return _not_compared(found, "the time for it (--deadline) was over")
    if is_anywhere and not are_whole:
        return _not_compared(
            found,
            f"nothing in {place.task.path} says how far the store has come with topic {census.topic}, and records are gone "
            "from there",
        )
    may_be_table = found.processor is None
    comparing = Comparing(registry=registry, topic=census.topic, context=context, may_be_table=may_be_table)
    settled = [
        (_is_one_of(of_key, rows[key], comparing), of_key[-1])
        for key, of_key in records.items()
        if of_key and of_key[-1].offset < limits[of_key[-1].partition]
    ]
    differing = [record for same, record in settled if same is False]
    untransformed = sum(same is True for same, _record in settled)
    untold = sum(same is None for same, _record in settled)
    return replace(
        found,
        transformed=len(differing),
        untransformed=untransformed,
        untold=untold,
        example=(differing[0].partition, differing[0].offset) if differing else None,
        not_compared=_open_question(len(rows), len(differing) + untransformed, untold),
    )


def _is_one_of(records: Iterable[RawRecord], row: StoredValue, comparing: Comparing) -> bool | None:
    """True if a row says what one of these records says; None if that cannot be told."""
    verdicts = [comparing.is_same(row, record) for record in records]
    return True if True in verdicts else None if None in verdicts else False


def _not_compared(found: ProcessedRows, why: str) -> ProcessedRows:
    return replace(found, not_compared=why)


def _open_question(rows: int, compared: int, untold: int) -> str | None:
    if untold:
        return (
            f"{untold} of {counted(rows, 'row')}, or the records of their keys, could not be decoded, or have fields that the "
            "records have not, which a table's serde may have filled in"
        )
    if compared:
        return None
    return (
        "none of the rows that were read stands for a record that is still in the topic" if rows else "it has no rows"
    )


def _records(
    cluster: Cluster,
    census: Census,
    rows: Mapping[bytes, StoredValue],
    give_up_at: float | None,
    *,
    latest: bool,
) -> tuple[dict[bytes, list[RawRecord]], bool]:
    """The topic's records of each row's key, in order, none for a key that is in several partitions; and whether no record
    has gone from there.

    :param latest: True for the latest of each key alone.
    """
    by_key: dict[bytes, list[RawRecord]] = {}
    are_whole = True
    for partition in census.partitions:
        begin, end = partition.start_offset, partition.end_offset
        read = 0
        for record in cluster.read(census.topic, partition.partition, begin, end, give_up_at=give_up_at):
            read += 1
            if record.key is None or record.key not in rows:
                continue
            records = by_key.setdefault(record.key, [record])
            if records and records[-1] is not record:
                is_here = records[-1].partition == record.partition
                by_key[record.key] = [] if not is_here else [record] if latest else [*records, record]
        are_whole = are_whole and read == end
    return by_key, are_whole
