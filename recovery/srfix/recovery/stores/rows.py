"""Rows of stores as a reader reads them: selected, decoded, one by one as `srfix.state-row/1`, or many as columns."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from msgspec import UNSET, UnsetType

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.documents import Count, Document, Part
from srfix.recovery.facts.decoding import (
    DecodedColumn,
    DecodedRecord,
    DecodingError,
    PayloadSchema,
    RecordDecoder,
    decoding_errors,
    iso_time,
    payload_json,
    shown,
)
from srfix.recovery.state.formats.joins import Side
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import RowBatch, StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.parts import SecondAnswers
from srfix.serde.errors import Reason, UsageError
from srfix.serde.interface import SerdeContext
from srfix.serde.json_values import to_json
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.columns.types import Columns

ROWS_DECODED_TOGETHER: Final = 5_000
"""Batches of Arrow have more rows than those of a scan."""
SIDES: Final[dict[Side, Literal["left", "right"]]] = {Side.LEFT: "left", Side.RIGHT: "right"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRow:
    store: StateStore
    row: StateRow
    record: DecodedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    store: StateStore
    batch: RowBatch
    topic: str
    keys: DecodedColumn | TypedColumn
    values: DecodedColumn | TypedColumn
    decoder: RecordDecoder

    def __len__(self) -> int:
        return len(self.batch)

    def rows(self) -> Iterator[DecodedRow]:
        """The same rows, one by one, as from `decoded_rows`; not for typed columns."""
        assert isinstance(self.keys, DecodedColumn)
        assert isinstance(self.values, DecodedColumn)
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
    store: StateStore,
    batches: Iterable[RowBatch],
    decoder: RecordDecoder,
    *,
    topic: str,
    typed: Collection[Role] = (),
) -> Iterator[DecodedBatch]:
    """Many rows at a time, several times as fast as `decoded_rows`; as `TypedColumn` for `typed` roles."""
    for batch in batches:
        keys, values = (
            (typed_column if role in typed else RecordDecoder.decode_column)(
                decoder, topic, role, payloads, batch.headers
            )
            for role, payloads in ((Role.KEY, batch.keys), (Role.VALUE, batch.values))
        )
        yield DecodedBatch(
            store=store,
            batch=batch,
            topic=topic,
            keys=keys,
            values=values,
            decoder=decoder,
        )


def decoded_rows(
    store: StateStore, rows: Iterable[StateRow], decoder: RecordDecoder, *, topic: str
) -> Iterator[DecodedRow]:
    """Each row, in the given order; a row that cannot be decoded has its error. The serdes get the topic's name."""
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


class Header(Part):
    """A header of a record."""

    name: str
    value: str | None
    """Base64."""


class RowWindow(Part):
    """The window of a row."""

    start_ms: int
    end_ms: int | None
    sequence_number: Count


class StateRowDocument(Document, tag="srfix.state-row/1"):
    """A row of a store: each line of `srfix state scan` and `get`, and of `export --to jsonl`."""

    application: str | None
    """Null for a topic that `srfix serve --topic` serves."""
    store: str
    task: str
    partition: int | None
    key: object
    """The decoded value; if it was not decoded, `$raw` in base64 and `text` if it is UTF-8."""
    value: object
    timestamp: int | None
    time: str | None
    headers: list[Header]
    window: RowWindow | None
    valid_from_ms: int | None
    valid_to_ms: int | None
    side: Literal["left", "right"] | None
    foreign_key: str | None
    """Base64."""
    key_schema: PayloadSchema | None
    value_schema: PayloadSchema | None
    errors: list[DecodingError]
    is_beyond_retention: bool | UnsetType | None = UNSET
    """With `--retention-ms`: true if Kafka Streams from 3.5 on hides the row. Null if it has no window."""


def row_document(
    decoded_row: DecodedRow, *, application: str | None, is_beyond_retention: bool | UnsetType | None = UNSET
) -> StateRowDocument:
    store, row, record = decoded_row.store, decoded_row.row, decoded_row.record
    return StateRowDocument(
        application=application,
        store=store.name,
        task=store.task.name,
        partition=store.partition,
        key=payload_json(record.key),
        value=payload_json(record.value),
        timestamp=row.timestamp_ms,
        time=None if row.timestamp_ms is None else iso_time(row.timestamp_ms),
        headers=headers_of(row.headers),
        window=None if row.window is None else RowWindow(*row.window),
        valid_from_ms=row.valid_from_ms,
        valid_to_ms=row.valid_to_ms,
        side=None if row.side is None else SIDES[row.side],
        foreign_key=None if row.foreign_key is None else _base64(row.foreign_key),
        key_schema=PayloadSchema.named_by(record.key),
        value_schema=PayloadSchema.named_by(record.value),
        errors=decoding_errors(record),
        is_beyond_retention=is_beyond_retention,
    )


def headers_of(headers: Headers) -> list[Header]:
    return [Header(name=name, value=None if value is None else _base64(value)) for name, value in headers]


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedColumn:
    rows: pa.StructArray
    """The decoded rows, with a field for each column; null for a tombstone, and for a row that could not be read."""
    reasons: pa.Array
    """Why a row is null, as a word of `Reason`; null if there is a row."""
    errors: frozenset[int]
    schema_ids: Sequence[SchemaId | None]


def typed_columns(decoder: RecordDecoder) -> dict[Role, Columns]:
    return {role: columns for role in Role if (columns := decoder.columns_of(role)) is not None}


def typed_column(
    decoder: RecordDecoder,
    topic: str,
    role: Role,
    payloads: Sequence[bytes | None],
    headers: Sequence[Headers] | None = None,
) -> TypedColumn:
    import pyarrow as pa

    from srfix.serde.arrow.decode import to_arrow

    context = SerdeContext(topic, role)
    contexts = context if headers is None else [SerdeContext(topic, role, row_headers) for row_headers in headers]
    column = to_arrow(payloads, contexts, decoder.deserializer(role), on_error="quarantine")
    *columns, reasons, _message, _payload = column.columns
    return TypedColumn(
        rows=pa.StructArray.from_arrays(columns, fields=list(column.schema)[: len(columns)], mask=reasons.is_valid()),
        reasons=reasons,
        errors=frozenset(
            place for place, reason in enumerate(reasons.to_pylist()) if reason not in (None, Reason.TOMBSTONE.value)
        )
        if reasons.null_count < len(reasons)
        else frozenset(),
        schema_ids=decoder.schema_ids(role, payloads, headers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    prefix: bytes | None = None
    first: bytes | None = None
    """The first key, inclusive."""
    last: bytes | None = None
    """The last key, inclusive."""
    window_from_ms: int | None = None
    """Windows that start at this time or later; sessions that end at this time or later."""
    window_to_ms: int | None = None
    """Windows that start at this time or earlier."""

    def refuse_swapped(
        self,
        form: StoreFormat,
        *,
        keys: tuple[str, str] = ("`from`", "`to`"),
        windows: tuple[str, str] = ("`from`", "`to`"),
    ) -> None:
        """`keys` and `windows` are the user's names of the bounds.

        :raises UsageError: if the first bound is above the last, so that nothing is between them.
        """
        if self.first is not None and self.last is not None and self.first > self.last:
            first, last = keys
            raise UsageError(
                f"No key is between {first} and {last}, because {first} is above {last}. Keys are compared by their bytes, "
                "so a negative number is above all others."
            )
        start, end = self.window_from_ms, self.window_to_ms
        if form.is_windowed and start is not None and end is not None and start > end:
            # Not for sessions: one may begin before the one time, and end after the other.
            first, last = windows
            raise UsageError(f"No window is between {first} and {last}, because {first} is above {last}: swap them.")

    def rows(self, store: StateStore) -> Iterator[StateRow]:
        """The rows of a store within these bounds. Damage is noted in the store."""
        if self.prefix is not None:
            source = store.prefix(self.prefix)
        elif self.first is not None or self.last is not None:
            source = store.range(self.first, self.last)
        elif store.format.is_windowed:
            source = store.fetch(from_ms=self.window_from_ms, to_ms=self.window_to_ms)
        elif store.format.is_of_sessions:
            source = store.sessions(earliest_end_ms=self.window_from_ms, latest_start_ms=self.window_to_ms)
        else:
            source = store.rows()
        return (row for row in source if self._has(row))

    def _has(self, row: StateRow) -> bool:
        if (self.first is not None and row.key < self.first) or (self.last is not None and row.key > self.last):
            return False
        if self.window_from_ms is None and self.window_to_ms is None:
            return True
        if row.window is None:
            return False
        return (self.window_from_ms is None or row.window.last_ms >= self.window_from_ms) and (
            self.window_to_ms is None or row.window.start_ms <= self.window_to_ms
        )


def keys_that_read_as(store: StateStore, decoder: RecordDecoder, wanted: Json) -> Iterator[bytes]:
    """The keys that decode to this JSON value, or, with one column, to its value. Every key must be read."""
    keys: set[bytes] = set()
    for batch in store.batches():
        column = decoder.decode_column(store.changelog, Role.KEY, batch.keys, batch.headers)
        for key, value in zip(batch.keys, column.values, strict=True):
            if key not in keys and value is not None and _reads_as(to_json(value), wanted):
                keys.add(key)
                yield key


def _reads_as(read: object, wanted: Json) -> bool:
    if isinstance(read, dict) and len(read) == 1 and not isinstance(wanted, dict):
        (read,) = read.values()
    return read == wanted


def rows_of_key(store: StateStore, key: bytes) -> Iterator[StateRow]:
    if store.format.is_key_value:
        row = store.get(key)
        if row is not None:
            yield row
        return
    yield from store.rows_of(key)


class Retention:
    """Finds rows beyond the retention: from 3.5 on Kafka Streams hides them before their segment is dropped
    (`AbstractRocksDBSegmentedBytesStore.getActualFrom`). The store's newest window counts as the newest seen."""

    def __init__(self, retention_ms: int) -> None:
        self._retention_ms = retention_ms
        self._newest_ms: dict[str, int | None] = {}

    def is_beyond(self, store: StateStore, window: StoredWindow | None) -> bool | None:
        """Whether a row of that window is beyond the retention; None if the row has no window."""
        place = store.directory.path
        if place not in self._newest_ms:
            self._newest_ms[place] = store.newest_window_ms()
        newest_ms = self._newest_ms[place]
        if window is None or newest_ms is None:
            return None
        return window.last_ms <= newest_ms - self._retention_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPart:
    store: StateStore
    rows: tuple[DecodedRow, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanWork:
    wanted: RowFilter
    decoder: RecordDecoder
    second: SecondAnswers
    limit: int

    def __call__(self, part: StateStore) -> ScannedPart:
        rows = decoded_rows(part, self.wanted.rows(part), self.decoder, topic=part.changelog)
        return ScannedPart(store=part, rows=tuple(islice(rows, self.limit)), notes=self.second.taken())

    def places(self, part: StateStore) -> Sequence[Path]:
        return (Path(part.directory.path),)
