"""A row of a store, read as a chosen reader does: `srfix.state-row/1`."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.cluster import RawRecord
from srfix.recovery.facts import DecodedColumn, DecodedRecord, RecordDecoder, iso_time, record_document, shown
from srfix.recovery.state.formats import Side
from srfix.recovery.state.stores import RowBatch, StateRow, StateStore
from srfix.serde.registry import Json
from srfix.serde.subjects import Role

_SIDES: Final = {Side.LEFT: "left", Side.RIGHT: "right"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRow:
    """A row with its key and value as a reader sees them."""

    store: StateStore
    """Where it lies."""
    row: StateRow
    """In bytes."""
    record: DecodedRecord
    """The same with key and value decoded, as far as that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """Rows as columns, with their keys and values as a reader sees them."""

    store: StateStore
    """Where they lie."""
    batch: RowBatch
    """In bytes."""
    topic: str
    """The topic that serdes were told."""
    keys: DecodedColumn
    """Their keys, decoded as far as that was asked for."""
    values: DecodedColumn
    """Their values likewise."""
    decoder: RecordDecoder
    """What decoded them."""

    def __len__(self) -> int:
        return len(self.batch)

    def rows(self) -> Iterator[DecodedRow]:
        """The same rows, one by one, as `decoded_rows` gives them."""
        for place, row in enumerate(self.batch.rows()):
            record = DecodedRecord(
                topic=self.topic,
                partition=self.store.partition or 0,
                offset=0,
                timestamp=row.timestamp_ms,
                key=self.decoder.part(self.keys, place, Role.KEY, row.headers),
                value=self.decoder.part(self.values, place, Role.VALUE, row.headers),
            )
            yield DecodedRow(store=self.store, row=row, record=shown(record))


def decoded_batches(
    store: StateStore, batches: Iterable[RowBatch], decoder: RecordDecoder, *, topic: str
) -> Iterator[DecodedBatch]:
    """Many rows at a time, in the order given: several times as quick as `decoded_rows`.

    :param topic: the topic that serdes are told.
    :raises RegistryError: if the registry could not be asked.
    """
    for batch in batches:
        yield DecodedBatch(
            store=store,
            batch=batch,
            topic=topic,
            keys=decoder.decode_column(topic, Role.KEY, batch.keys, batch.headers),
            values=decoder.decode_column(topic, Role.VALUE, batch.values, batch.headers),
            decoder=decoder,
        )


def decoded_rows(
    store: StateStore, rows: Iterable[StateRow], decoder: RecordDecoder, *, topic: str
) -> Iterator[DecodedRow]:
    """Each row, in the order given; one that cannot be decoded has its error.

    :param topic: the topic that serdes are told.
    :raises RegistryError: if the registry could not be asked.
    """
    for row in rows:
        raw = RawRecord(
            partition=store.partition or 0,
            offset=0,
            key=row.key,
            value=row.value,
            headers=row.headers,
            timestamp=row.timestamp_ms,
        )
        (record,) = decoder.decode(topic, (raw,))
        yield DecodedRow(store=store, row=row, record=shown(record))


def row_document(found: DecodedRow, *, application: str) -> dict[str, Json]:
    """The document of one row, a line of `srfix state scan --output json`."""
    told = record_document(found.record)
    row = found.row
    return {
        "schema": "srfix.state-row/1",
        "application": application,
        "store": found.store.name,
        "task": found.store.task.name,
        "partition": found.store.partition,
        "key": told["key"],
        "value": told["value"],
        "timestamp": row.timestamp_ms,
        "time": None if row.timestamp_ms is None else iso_time(row.timestamp_ms),
        "headers": [
            {"name": name, "value": None if value is None else base64.b64encode(value).decode("ascii")}
            for name, value in row.headers
        ],
        "window": None
        if row.window is None
        else {
            "start_ms": row.window.start_ms,
            "end_ms": row.window.end_ms,
            "sequence_number": row.window.sequence_number,
        },
        "valid_from_ms": row.valid_from_ms,
        "valid_to_ms": row.valid_to_ms,
        "side": None if row.side is None else _SIDES[row.side],
        "foreign_key": None if row.foreign_key is None else base64.b64encode(row.foreign_key).decode("ascii"),
        "key_schema": told["key_schema"],
        "value_schema": told["value_schema"],
        "errors": told["errors"],
    }
