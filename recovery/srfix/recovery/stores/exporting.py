"""Rows of stores as files: Parquet, Arrow, CSV or a JSON document a line. A file takes its name when it is complete.

Columns: `task`, `partition`, `key` and `value` (bytes; in CSV hexadecimal), `timestamp_ms`, `window_start_ms`,
`window_end_ms`, `valid_from_ms`, `valid_to_ms`, `key_id`, `value_id`, and `key_json`, `value_json`: the decoded value
as JSON, null if nothing was decoded (in CSV, null is an empty field, and an empty text is a pair of quotes, as in
PostgreSQL's COPY);
`sequence_number` of a join's windows, `side` (left or right) of its list store, `foreign_key` of subscriptions (bytes),
`headers` as JSON in the form of `srfix.state-row/1`; if a retention is given, also `is_beyond_retention` (null for a
row without a window). For typed keys or values (only Parquet and Arrow) there are, instead of the JSON, `key_row` or
`value_row`, a struct of the columns, and `key_reason` or `value_reason`, which says why that is null.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from msgspec import UNSET, to_builtins

from srfix.recovery.facts.decoding import DecodedColumn, RecordDecoder
from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.choices import HOLDS_TYPES, ExportFormat
from srfix.recovery.stores.parts import PartsEngine, SecondAnswers, new_attempt, take, unfinished_folder
from srfix.recovery.stores.rows import (
    ROWS_DECODED_TOGETHER,
    SIDES,
    DecodedBatch,
    Retention,
    TypedColumn,
    decoded_batches,
    headers_of,
    row_document,
    typed_columns,
)
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.columns.types import Columns
from srfix.serde.errors import PayloadBoundError, UsageError
from srfix.serde.interface import Value
from srfix.serde.json_values import JsonTexts
from srfix.serde.subjects.names import Role

_COLUMNS: Final = {
    "task": "string",
    "partition": "int32",
    "key": "binary",
    "value": "binary",
    "timestamp_ms": "int64",
    "window_start_ms": "int64",
    "window_end_ms": "int64",
    "valid_from_ms": "int64",
    "valid_to_ms": "int64",
    "key_id": "int64",
    "value_id": "int64",
    "key_json": "string",
    "value_json": "string",
    "sequence_number": "int64",
    "side": "string",
    "foreign_key": "binary",
    "headers": "string",
}


_GROUP_ROWS: Final = 65_536
_GROUP_BYTES: Final = 32 << 20
"""How many rows are collected before they are written to a file of Parquet or Arrow, as a row group or record batch."""

Write: TypeAlias = Callable[[DecodedBatch], int]


def refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} exists already, and srfix overwrites nothing. Name another place, or remove it.")


@contextmanager
def exporting(
    path: Path,
    form: ExportFormat,
    *,
    application: str,
    typed: Mapping[Role, Columns] | None = None,
    retention: Retention | None = None,
) -> Iterator[Write]:
    """Opens a file for rows, which are written in batches; it gets its name at the end. On an error nothing is left."""
    if typed and form not in HOLDS_TYPES:
        raise UsageError(f"{form.value} cannot hold typed columns. Only parquet and arrow can.")
    refuse_existing(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        file = unfinished.open("wb")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with file, _WRITERS[form](file, _Form(application, typed or {}, retention)) as write:
            yield write
        os.replace(unfinished, path)
    except OSError as error:  # only errors of the file itself: the source of the rows raises other kinds of errors
        unfinished.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}. srfix has removed this unfinished file; complete "
            "files stay. Check how much room is left, and run again with another --out, or with another --task."
        ) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class _Form:
    application: str
    typed: Mapping[Role, Columns]
    retention: Retention | None

    @property
    def columns(self) -> Mapping[str, str]:
        return _COLUMNS if self.retention is None else _COLUMNS | {"is_beyond_retention": "bool_"}


@contextmanager
def _jsonl(file: IO[bytes], form: _Form) -> Iterator[Write]:
    def write(batch: DecodedBatch) -> int:
        failed = 0
        for row in batch.rows():
            document = row_document(
                row,
                application=form.application,
                is_beyond_retention=UNSET
                if form.retention is None
                else form.retention.is_beyond(row.store, row.row.window),
            )
            file.write(json.dumps(document.to_json(), allow_nan=False).encode() + b"\n")
            failed += row.record.failed
        return failed

    yield write


@contextmanager
def _csv(file: IO[bytes], form: _Form) -> Iterator[Write]:
    file.write(_csv_line(form.columns))

    def write(batch: DecodedBatch) -> int:
        columns, failed = _cells(batch, form.retention)
        file.writelines(map(_csv_line, zip(*columns, strict=True)))
        return failed

    yield write


def _csv_line(cells: Iterable[object]) -> bytes:
    """Texts in quotes, and null without quotes: `csv.QUOTE_STRINGS`, which Python 3.11 does not have."""
    return (",".join(map(_csv_cell, cells)) + "\r\n").encode()


def _csv_cell(cell: object) -> str:
    if cell is None:
        return ""
    text = cell.hex() if isinstance(cell, bytes) else cell
    return '"' + text.replace('"', '""') + '"' if isinstance(text, str) else str(text)


@contextmanager
def _arrow(file: IO[bytes], form: _Form) -> Iterator[Write]:
    pa = _pyarrow()
    yield from _in_groups(pa, pa.ipc.new_file, file, form)


@contextmanager
def _parquet(file: IO[bytes], form: _Form) -> Iterator[Write]:
    pa = _pyarrow()
    import pyarrow.parquet as pq

    yield from _in_groups(pa, pq.ParquetWriter, file, form)


def _in_groups(pa: Any, opened: Callable[[IO[bytes], Any], Any], file: IO[bytes], form: _Form) -> Iterator[Write]:
    schema = _schema(pa, form)
    tables: list[Any] = []

    def flush() -> None:
        writer.write_table(pa.Table.from_batches(tables, schema).combine_chunks())
        tables.clear()

    def write(batch: DecodedBatch) -> int:
        columns, failed = _cells(batch, form.retention)
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, type=field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        tables.append(pa.record_batch(arrays, schema=schema))
        if (
            sum(table.num_rows for table in tables) >= _GROUP_ROWS
            or sum(table.nbytes for table in tables) >= _GROUP_BYTES
        ):
            flush()
        return failed

    with opened(file, schema) as writer:
        yield write
        if tables:
            flush()


_WRITERS: Final = {
    ExportFormat.PARQUET: _parquet,
    ExportFormat.JSONL: _jsonl,
    ExportFormat.CSV: _csv,
    ExportFormat.ARROW: _arrow,
}


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise UsageError(
            "Parquet and Arrow need pyarrow: pip install 'srfix[arrow]', or export jsonl or csv."
        ) from None
    return pa


def _schema(pa: Any, form: _Form) -> Any:
    fields: list[tuple[str, Any]] = []
    for name, kind in form.columns.items():
        half, _, what = name.partition("_")
        columns = form.typed.get(Role(half)) if what == "json" else None
        if columns is None:
            fields.append((name, getattr(pa, kind)()))
        else:
            fields += [(f"{half}_row", pa.struct(arrow_schema(columns))), (f"{half}_reason", pa.string())]
    return pa.schema(fields)


def _cells(rows: DecodedBatch, retention: Retention | None) -> tuple[tuple[Any, ...], int]:
    """The columns of a batch, as in `_Form.columns`; and how many rows were not decoded, or nest too deep."""
    failed = {*rows.keys.errors, *rows.values.errors}
    texts = JsonTexts()

    def text(place: int, value: Value) -> str | None:
        try:
            return texts(value)
        except PayloadBoundError:
            failed.add(place)
            return None

    def decoded(column: DecodedColumn | TypedColumn) -> tuple[Any, ...]:
        if isinstance(column, TypedColumn):
            return column.rows, column.reasons
        if not column.is_decoded:
            return ([None] * len(column.payloads),)
        pairs = enumerate(zip(column.payloads, column.values, strict=True))
        return ([None if p is None or place in column.errors else text(place, value) for place, (p, value) in pairs],)

    batch, nothing = rows.batch, [None] * len(rows)
    windows: Sequence[StoredWindow | None] = batch.windows or nothing
    columns = (
        [rows.store.task.name] * len(rows),
        [rows.store.partition] * len(rows),
        batch.keys,
        batch.values,
        batch.timestamps_ms or nothing,
        [None if window is None else window.start_ms for window in windows],
        [None if window is None else window.end_ms for window in windows],
        batch.valid_from_ms or nothing,
        batch.valid_to_ms or nothing,
        rows.keys.schema_ids,
        rows.values.schema_ids,
        *decoded(rows.keys),
        *decoded(rows.values),
        [None if window is None else window.sequence_number for window in windows],
        [None if side is None else SIDES[side] for side in batch.sides or nothing],
        batch.foreign_keys or nothing,
        [json.dumps(to_builtins(headers_of(headers))) if headers else None for headers in batch.headers or nothing],
        *([] if retention is None else [[retention.is_beyond(rows.store, window) for window in windows]]),
    )
    return columns, len(failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPart:
    store: StateStore
    path: str
    rows: int
    failed: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWork:
    form: ExportFormat
    application: str
    decoder: RecordDecoder
    second: SecondAnswers
    folder: str
    is_typed: bool = False

    def __call__(self, part: StateStore) -> ExportedPart:
        path = new_attempt(Path(self.folder)) / file_name(part, self.form)
        rows = failed = 0
        typed = typed_columns(self.decoder) if self.is_typed else {}
        with exporting(path, self.form, application=self.application, typed=typed) as write:
            batches = part.batches(size=ROWS_DECODED_TOGETHER)
            for batch in decoded_batches(part, batches, self.decoder, topic=part.changelog, typed=typed):
                rows, failed = rows + len(batch), failed + write(batch)
        return ExportedPart(store=part, path=str(path), rows=rows, failed=failed, notes=self.second.taken())

    def places(self, part: StateStore) -> Sequence[Path]:
        return (Path(part.directory.path), Path(self.folder))


def file_name(store: StateStore, form: ExportFormat) -> str:
    return f"{store.name}-{store.task.name}.{form.value}"


def export_on_spark(engine: PartsEngine, work: ExportWork, stores: Sequence[StateStore]) -> list[ExportedPart]:
    """Writes each part to `STORE-TASK.parquet` or the like; they get their names when all are complete."""
    out = Path(work.folder)
    places = [out / file_name(store, work.form) for store in stores]
    for place in places:
        refuse_existing(place)
    with unfinished_folder(out) as folder:
        doing = f"exporting {stores[0].name}" if stores else "exporting"
        done = engine.run(replace(work, folder=str(folder)), stores, doing=doing)
        for part, place in zip(done, places, strict=True):
            refuse_existing(place)
            take(Path(part.path), place)
    return [replace(part, path=str(place)) for part, place in zip(done, places, strict=True)]
