"""Whether the rows of a global store are what a restore would make of its topic (KAFKA-7663).

Before Kafka Streams 3.8 a restore copies the topic's records, and the processor of `addGlobalStore` does not see them. The
store's rows are compared with the topic's latest record of the same key, as far as the checkpoint says that the store has
come: a restore puts exactly that there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from srfix.recovery.census import Census
from srfix.recovery.cluster import Cluster, GaveUp, RawRecord
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.rows_on_disk import Place
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.state import OffsetMeaning, StoredValue, StoreKind, some_rows
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import CasingError, ResolveError, WireError
from srfix.serde.interface import ABOUT_A_PAYLOAD, SerdeContext
from srfix.serde.resolve import ById
from srfix.serde.subjects import Role, Topic
from srfix.serde.wire import Headers, parse

_MOST: Final = 1_000
"""Rows that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedRows:
    """A global store that a processor of the user's own fills, or may, and what a restore would change in it."""

    processor: str | None = None
    """The name that a person gave to the processor; None where no topology shows one: `StreamsBuilder.addGlobalStore` names
    its processor as `globalTable` does."""
    origin: str | None = None
    """Where the topology was printed; None without such a name."""
    transformed: int = 0
    """Rows that differ from what a restore would put in their place."""
    untransformed: int = 0
    """Rows that a restore would leave as they are, or differ in their encoding alone."""
    example: tuple[int, int] | None = None
    """Partition and offset of a record of which the store holds something else; None without any."""
    not_compared: str | None = None
    """Why no rows, or not all that were to be, were compared, in a clause; None if they were."""


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
    :raises LibraryMissingError: if rocksdict is not installed.
    :raises ClusterError: if the broker does not answer.
    :raises RegistryError: if the registry does not answer.
    """
    place = next((p for p in places if p.task.is_global and p.store.kind is StoreKind.KEY_VALUE), None)
    if place is None:
        return _not_compared(found, "no state directory that was handed over holds the store")
    limits = {
        p.partition: place.reached(census.topic, p.partition, OffsetMeaning.POSITION) or 0 for p in census.partitions
    }
    if not any(limits.values()):
        return _not_compared(
            found, f"nothing in {place.task.path} says how far the store has come with topic {census.topic}"
        )
    try:
        rows = some_rows(Path(place.store.path), most=_MOST)
    except StateDirectoryError as error:
        return _not_compared(found, error.message.removesuffix("."))
    give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
    try:
        latest = _latest(cluster, census, rows, give_up_at)
    except GaveUp:
        return _not_compared(found, "the time for it (--deadline) was over")
    comparing = _Comparing(registry, census.topic, context, may_be_table=found.processor is None)
    settled = [
        (comparing.is_same(rows[key], record), record)
        for key, record in latest.items()
        if record is not None and record.offset < limits[record.partition]
    ]
    differing = [record for same, record in settled if same is False]
    untransformed = sum(same is True for same, _record in settled)
    unread = sum(same is None for same, _record in settled)
    return replace(
        found,
        transformed=len(differing),
        untransformed=untransformed,
        example=(differing[0].partition, differing[0].offset) if differing else None,
        not_compared=_open_question(len(rows), len(differing) + untransformed, unread),
    )


def _not_compared(found: ProcessedRows, why: str) -> ProcessedRows:
    return replace(found, not_compared=why)


def _open_question(rows: int, compared: int, unread: int) -> str | None:
    if unread:
        return f"{unread} of {rows} rows, or the records of their keys, could not be decoded"
    if compared:
        return None
    return (
        "none of the rows that were read stands for a record that is still in the topic" if rows else "it has no rows"
    )


def _latest(
    cluster: Cluster, census: Census, rows: Mapping[bytes, StoredValue], give_up_at: float | None
) -> dict[bytes, RawRecord | None]:
    """The topic's latest record of each row's key; None for a key that is in several partitions."""
    latest: dict[bytes, RawRecord | None] = {}
    for partition in census.partitions:
        begin, end = partition.start_offset, partition.end_offset
        for record in cluster.read(census.topic, partition.partition, begin, end, give_up_at=give_up_at):
            if record.key is None or record.key not in rows:
                continue
            known = latest.get(record.key, record)
            latest[record.key] = record if known is not None and known.partition == record.partition else None
    return latest


class _Comparing:
    """Tells a row that says something else than a record from one that only says it in another encoding.

    :param may_be_table: True where nothing says that the processor is not a table's. A table's serde may fill in defaults, and
        write the same in other bytes: only a field that both have, or text, tells two rows apart then.
    """

    def __init__(self, registry: ReadableRegistry, topic: Topic, context: str, *, may_be_table: bool = False) -> None:
        self._may_be_table = may_be_table
        self._topic = topic
        self._read = SchemaDeserializer(ById(registry, context=context))

    def is_same(self, row: StoredValue, record: RawRecord) -> bool | None:
        """None if they differ, and one of them cannot be decoded."""
        if record.value is None:
            return False  # a restore would remove the row
        if row.payload == record.value:
            return True
        ours, theirs = _json(row.payload), _json(record.value)
        if ours is not None and theirs is not None:
            return _says_the_same(ours, theirs, may_be_table=self._may_be_table)
        if not (_is_framed(row.payload, row.headers) and _is_framed(record.value, record.headers)):
            # No schema tells what they say: other bytes are another value to the store's serde.
            return _as_texts(row.payload, record.value) if self._may_be_table else False
        try:
            ours = self._read(row.payload, SerdeContext(self._topic, Role.VALUE, row.headers))
            theirs = self._read(record.value, SerdeContext(self._topic, Role.VALUE, record.headers))
        except (*ABOUT_A_PAYLOAD, ResolveError):
            return None
        return _says_the_same(ours, theirs, may_be_table=self._may_be_table)


def _json(payload: bytes) -> object | None:
    """The object or list in a payload of JSON; None if it is none."""
    if payload[:1] not in (b"{", b"["):
        return None
    try:
        document: object = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return document


def _is_framed(payload: bytes, headers: Headers) -> bool:
    try:
        return parse(payload, headers=headers) is not None
    except WireError:
        return False


def _as_texts(row: bytes, record: bytes) -> bool | None:
    """True if both are the same text but for white space; None if one is no text."""
    try:
        ours, theirs = ("".join(payload.decode().split()) for payload in (row, record))
    except UnicodeDecodeError:
        return None
    return ours == theirs if ours.isprintable() and theirs.isprintable() else None


def _says_the_same(row: object, record: object, *, may_be_table: bool = False) -> bool:
    """True if a row holds nothing but what the record holds: some of its fields, perhaps in another letter case.

    :param may_be_table: True to let fields that the record has not, beside some that it has, and values of another type, pass
        for the same.
    """
    if isinstance(row, Mapping) and isinstance(record, Mapping):
        names = {str(name): value for name, value in row.items()}
        others = {str(name): value for name, value in record.items()}
        try:
            placed = match_fields([*names], [*others], CaseRule.UNIQUE, where="a row and its record")
        except CasingError:
            return may_be_table or row == record
        if may_be_table and record and not placed and any(value is not None for value in names.values()):
            return False  # a table's row has at least one of its record's fields
        return all(
            _says_the_same(value, others[placed[name]], may_be_table=may_be_table)
            if name in placed
            else may_be_table or value is None
            for name, value in names.items()
        )
    if isinstance(row, list | tuple) and isinstance(record, list | tuple):
        return len(row) == len(record) and all(
            _says_the_same(one, other, may_be_table=may_be_table) for one, other in zip(row, record, strict=True)
        )
    if may_be_table and type(row) is not type(record):
        return True
    return bool(row == record)
