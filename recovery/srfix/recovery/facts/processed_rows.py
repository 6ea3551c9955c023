"""Whether the rows of a global store are the rows that a restore would load from its topic (KAFKA-7663). Before Kafka
Streams 3.8, a restore copies the topic's records, and the processor of `addGlobalStore` does not see them. Each row is
compared with the topic's latest record of the same key, up to the offset in the checkpoint, because a restore loads
exactly that record. Kafka Streams 3.0 to 3.7 writes no checkpoint for a small global store (seen). Then a row comes
from a processor if it equals none of its key's records, and if no record is gone.

A table's serde can add a field that the record lacks only by Avro's defaults: a reader's Avro schema fills a field that
the writer lacks with its default (Avro specification, "Schema Resolution"), and the read fails if there is no default.
So another value, or a value without a default, comes from a processor. With JSON, the class that is filled may compute
any field, and no schema shows that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.rows_on_disk import Place
from srfix.recovery.facts.stores import ProcessedRows
from srfix.recovery.facts.survey import Survey, known_schema
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import CasingError, ResolveError
from srfix.serde.interface import ABOUT_A_PAYLOAD, SerdeContext
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import is_framed, parse

if TYPE_CHECKING:
    from srfix.recovery.state.formats.values import StoredValue
    from srfix.serde.deserializer import SchemaDeserializer

_MOST: Final = 1_000


@dataclass(slots=True, kw_only=True)
class Comparing:
    registry: ReadableRegistry
    topic: Topic
    context: str
    may_be_table: bool = False
    """True if it may be a table's: its serde writes the same content in other bytes, and may fill in fields."""
    _read: SchemaDeserializer = field(init=False)

    def __post_init__(self) -> None:
        from srfix.serde.deserializer import SchemaDeserializer
        from srfix.serde.resolve.policies import ById

        self._read = SchemaDeserializer(ById(self.registry, context=self.context))

    def is_same(self, row: StoredValue, record: RawRecord) -> bool | None:
        """True if the content is the same; None if bytes differ that do not decode, or if defaults may explain it."""
        if record.value is None:
            return False  # a restore would remove the row
        if row.payload == record.value:
            return True
        ours, theirs = _json(row.payload), _json(record.value)
        if ours is not None and theirs is not None:
            return _says_the_same(ours, theirs, None, may_be_table=self.may_be_table)
        if not (is_framed(row.payload, row.headers) and is_framed(record.value, record.headers)):
            # Without a schema, other bytes are another value for the store's serde.
            return _as_texts(row.payload, record.value) if self.may_be_table else False
        try:
            ours = self._read(row.payload, SerdeContext(self.topic, Role.VALUE, row.headers))
            theirs = self._read(record.value, SerdeContext(self.topic, Role.VALUE, record.headers))
        except (*ABOUT_A_PAYLOAD, ResolveError):
            return None
        explained = self._filled_in(row) if self.may_be_table else None
        return _says_the_same(ours, theirs, explained, may_be_table=self.may_be_table)

    def _filled_in(self, row: StoredValue) -> FilledIn | None:
        frame = parse(row.payload, headers=row.headers)
        if frame is None or frame.schema_id is None:
            return None
        return filled_in(known_schema(self.registry, frame.schema_id, self.context))


def _json(payload: bytes) -> object | None:
    if payload[:1] not in (b"{", b"["):
        return None
    try:
        document: object = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return document


def _as_texts(row: bytes, record: bytes) -> bool | None:
    """True if both are the same text except white space; None if one is not text."""
    try:
        ours, theirs = ("".join(payload.decode().split()) for payload in (row, record))
    except UnicodeDecodeError:
        return None
    return ours == theirs if ours.isprintable() and theirs.isprintable() else None


def _says_the_same(row: object, record: object, explained: FilledIn | None, *, may_be_table: bool) -> bool | None:
    """True if a row holds only values of the record, in any letter case; a table's serde may add `explained` fields."""
    if isinstance(row, Mapping) and isinstance(record, Mapping):
        names = {str(name): value for name, value in row.items()}
        record_fields = {str(name): value for name, value in record.items()}
        try:
            placed = match_fields([*names], [*record_fields], CaseRule.UNIQUE, where="a row and its record")
        except CasingError:
            return None if may_be_table and row != record else bool(row == record)
        added = {name: value for name, value in names.items() if name not in placed and value is not None}
        if added and (not may_be_table or (record and not placed)):
            return False  # a table's row has at least one of its record's fields
        return _all(
            (
                *(None if explained is None else explained.explains(name, value) for name, value in added.items()),
                *(
                    _says_the_same(
                        names[name],
                        record_fields[other],
                        None if explained is None else explained.within(name),
                        may_be_table=may_be_table,
                    )
                    for name, other in placed.items()
                ),
            )
        )
    if isinstance(row, list | tuple) and isinstance(record, list | tuple):
        if len(row) != len(record):
            return False
        return _all(
            _says_the_same(one, other, None, may_be_table=may_be_table) for one, other in zip(row, record, strict=True)
        )
    if may_be_table and type(row) is not type(record):
        return True
    return bool(row == record)


def _all(answers: Iterable[bool | None]) -> bool | None:
    """False if one answer is False, else None if one is None."""
    verdicts = tuple(answers)
    return False if False in verdicts else None if None in verdicts else True


_Node: TypeAlias = object


@dataclass(frozen=True, slots=True)
class FilledIn:
    """The fields of one record type in a row's schema."""

    _fields: Mapping[str, Mapping[str, _Node]]
    _named: Mapping[str, _Node] = field(repr=False)
    """Every named type of the schema, by the name that refers to it."""

    def within(self, name: str) -> FilledIn | None:
        return _of(self._fields.get(name, {}).get("type"), self._named)

    def explains(self, name: str, value: object) -> bool | None:
        """True if a default explains a field that the record lacks, False if nothing does, None for an alias."""
        declared = self._fields.get(name)
        if declared is None or declared.get("aliases"):
            return None
        if "default" not in declared:
            return False
        default = declared["default"]
        if not _is_plain(value) or not _is_plain(default) or _is_logical(declared.get("type")):
            return None
        return bool(default == value) and isinstance(default, bool) == isinstance(value, bool)


def filled_in(schema: Schema | None) -> FilledIn | None:
    """The fields of the row's own schema; None if it is no record in Avro, or if it has parts elsewhere."""
    if schema is None or schema.schema_type != "AVRO" or schema.references:
        return None
    try:
        node: _Node = json.loads(schema.text)
        named: dict[str, _Node] = {}
        _gather(node, "", named)
    except (ValueError, RecursionError):
        return None
    return _of(node, named)


def _of(node: _Node, named: Mapping[str, _Node]) -> FilledIn | None:
    branches = [branch for branch in node if branch != "null"] if isinstance(node, list) else [node]
    if len(branches) != 1:
        return None
    (branch,) = branches
    if isinstance(branch, str):
        branch = named.get(branch)
    if not isinstance(branch, Mapping) or branch.get("type") != "record":
        return None
    fields = cast("list[Mapping[str, _Node]]", branch.get("fields") or [])
    return FilledIn({str(declared.get("name")): declared for declared in fields}, named)


def _gather(node: _Node, namespace: str, named: dict[str, _Node]) -> None:
    if isinstance(node, list):
        for branch in node:
            _gather(branch, namespace, named)
    elif isinstance(node, Mapping):
        name = node.get("name")
        if isinstance(name, str) and node.get("type") in ("record", "enum", "fixed"):
            own, _, short = name.rpartition(".")
            own_namespace = node.get("namespace")
            namespace = own or (own_namespace if isinstance(own_namespace, str) else namespace)
            named[short] = named[f"{namespace}.{short}"] = node
        for inner in ("type", "items", "values"):
            _gather(node.get(inner), namespace, named)
        for declared in cast("list[_Node]", node.get("fields") or []):
            if isinstance(declared, Mapping):
                _gather(declared.get("type"), namespace, named)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _is_logical(node: _Node) -> bool:
    branches = node if isinstance(node, list) else [node]
    return any(isinstance(branch, Mapping) and "logicalType" in branch for branch in branches)


def compare_rows(
    survey: Survey,
    census: Census,
    places: Iterable[Place],
    context: str,
    processed_rows: ProcessedRows,
    *,
    deadline_s: float | None = None,
) -> ProcessedRows:
    from srfix.recovery.state.checkpoints import OffsetMeaning
    from srfix.recovery.state.directory import StoreKind
    from srfix.recovery.state.reading.database import some_rows

    place = next((p for p in places if p.task.is_global and p.store.kind is StoreKind.KEY_VALUE), None)
    if place is None:
        return replace(processed_rows, not_compared="none of the given state directories holds the store")
    limits = {
        p.partition: place.reached(census.topic, p.partition, OffsetMeaning.POSITION) or 0 for p in census.partitions
    }
    is_anywhere = not any(limits.values())
    if is_anywhere:
        limits = {p.partition: p.end_offset for p in census.partitions}
    try:
        rows = some_rows(Path(place.store.path), most=_MOST)
    except StateDirectoryError as error:
        return replace(processed_rows, not_compared=error.message.removesuffix("."))
    give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
    try:
        records, are_whole = _records(survey.cluster, census, rows, give_up_at, latest=not is_anywhere)
    except GaveUp:
        return replace(processed_rows, not_compared="the time for the comparison (--deadline) was over")
    if is_anywhere and not are_whole:
        return replace(
            processed_rows,
            not_compared=f"nothing in {place.task.path} says up to which offset the store has read topic "
            f"{census.topic}, and the topic no longer has all of the records that it had",
        )
    may_be_table = processed_rows.processor is None
    comparing = Comparing(registry=survey.registry, topic=census.topic, context=context, may_be_table=may_be_table)
    settled = [
        (_is_one_of(of_key, rows[key], comparing), of_key[-1])
        for key, of_key in records.items()
        if of_key and of_key[-1].offset < limits[of_key[-1].partition]
    ]
    differing = [record for same, record in settled if same is False]
    untransformed = sum(same is True for same, _record in settled)
    untold = sum(same is None for same, _record in settled)
    return replace(
        processed_rows,
        transformed=len(differing),
        untransformed=untransformed,
        untold=untold,
        example=(differing[0].partition, differing[0].offset) if differing else None,
        not_compared=_open_question(len(rows), len(differing) + untransformed, untold),
    )


def _is_one_of(records: Iterable[RawRecord], row: StoredValue, comparing: Comparing) -> bool | None:
    verdicts = [comparing.is_same(row, record) for record in records]
    return True if True in verdicts else None if None in verdicts else False


def _open_question(rows: int, compared: int, untold: int) -> str | None:
    if untold:
        return (
            f"srfix could not decode {untold} of {counted(rows, 'row')}, or the records of their keys; or these rows have "
            "fields that the records lack and that a table's serde may have filled in"
        )
    if compared:
        return None
    return "the topic no longer has the record of any row that srfix read" if rows else "the store has no rows"


def _records(
    cluster: Cluster,
    census: Census,
    rows: Mapping[bytes, StoredValue],
    give_up_at: float | None,
    *,
    latest: bool,
) -> tuple[dict[bytes, list[RawRecord]], bool]:
    """Each row's records in order (none if its key is in several partitions); and whether none of them is gone."""
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
