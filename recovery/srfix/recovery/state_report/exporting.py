"""Rows of stores as files: Parquet, Arrow, CSV or a JSON document a line. A file takes its name when it is complete.

Columns: `task`, `partition`, `key` and `value` (bytes; in CSV hexadecimal), `timestamp_ms`, `window_start_ms`, `window_end_ms`,
`valid_from_ms`, `valid_to_ms`, `key_id`, `value_id`, and `key_json`, `value_json`: what a reader sees, null where nothing was
decoded.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from srfix.recovery.facts import DecodedColumn
from srfix.recovery.state.stores import StoredWindow
from srfix.recovery.state_report.row_documents import DecodedBatch, row_document
from srfix.serde.errors import PayloadBoundError, UsageError
from srfix.serde.interface import Value
from srfix.serde.json_values import JsonTexts

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
}
_GROUP_ROWS: Final = 65_536
_GROUP_BYTES: Final = 32 << 20
"""What is collected before it goes to a file of Parquet or Arrow, as a row group or record batch."""

Write: TypeAlias = Callable[[DecodedBatch], int]
"""Takes rows to the file; how many of them could not be decoded."""


class ExportFormat(Enum):
    """What the files are."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


@contextmanager
def exporting(path: Path, form: ExportFormat, *, application: str) -> Iterator[Write]:
    """Opens a file for rows, which go to it in batches; it takes its name at the end. On an error nothing is left.

    :raises UsageError: if there is such a file, it cannot be made or written (the disk is full), or pyarrow is not installed.
    """
    if path.exists():
        raise UsageError(f"{path} is there already; srfix writes over nothing. Name another place, or remove it.")
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        file = unfinished.open("wb")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with file, _WRITERS[form](file, application) as write:
            yield write
        os.replace(unfinished, path)
    except OSError as error:  # none but the file's own: what is read from has errors of other kinds
        unfinished.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}. Nothing of it is kept. Check how much room is left, and "
            "run again; files that are whole stay as they are, so name another place, or --task."
        ) from error
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _jsonl(file: IO[bytes], application: str) -> Iterator[Write]:
    def write(batch: DecodedBatch) -> int:
        failed = 0
        for row in batch.rows():
            file.write(json.dumps(row_document(row, application=application), allow_nan=False).encode() + b"\n")
            failed += row.record.failed
        return failed

    yield write


@contextmanager
def _csv(file: IO[bytes], application: str) -> Iterator[Write]:
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)

    def write(batch: DecodedBatch) -> int:
        columns = _Cells(batch)
        writer.writerows(zip(*(_in_hexadecimal(each) for each in columns.columns()), strict=True))
        return columns.failed

    yield write
    text.flush()
    text.detach()


def _in_hexadecimal(column: Iterable[object]) -> Iterable[object]:
    return (each.hex() if isinstance(each, bytes) else each for each in column)


@contextmanager
def _arrow(file: IO[bytes], application: str) -> Iterator[Write]:
    pa = _pyarrow()
    with pa.ipc.new_file(file, _schema(pa)) as writer:
        yield from _in_groups(pa, writer)


@contextmanager
def _parquet(file: IO[bytes], application: str) -> Iterator[Write]:
    pa = _pyarrow()
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, _schema(pa)) as writer:
        yield from _in_groups(pa, writer)


def _in_groups(pa: Any, writer: Any) -> Iterator[Write]:
    schema = _schema(pa)
    kept: list[Any] = []

    def flush() -> None:
        writer.write_table(pa.Table.from_batches(kept, schema).combine_chunks())
        kept.clear()

    def write(batch: DecodedBatch) -> int:
        cells = _Cells(batch)
        arrays = [pa.array(column, type=field.type) for column, field in zip(cells.columns(), schema, strict=True)]
        kept.append(pa.record_batch(arrays, schema=schema))
        if sum(each.num_rows for each in kept) >= _GROUP_ROWS or sum(each.nbytes for each in kept) >= _GROUP_BYTES:
            flush()
        return cells.failed

    yield write
    if kept:
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


def _schema(pa: Any) -> Any:
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in _COLUMNS.items()])


class _Cells:
    """What stands in the columns for a batch."""

    def __init__(self, found: DecodedBatch) -> None:
        self._found = found
        self._failed = {*found.keys.errors, *found.values.errors}
        self._texts = JsonTexts()

    @property
    def failed(self) -> int:
        """How many rows could not be decoded, among them those that nest too deep for JSON; known behind `columns`."""
        return len(self._failed)

    def columns(self) -> tuple[Sequence[object], ...]:
        """In the order of `_COLUMNS`."""
        found, batch, rows = self._found, self._found.batch, len(self._found)
        nothing: Sequence[None] = [None] * rows
        windows: Sequence[StoredWindow | None] = batch.windows or nothing
        return (
            [found.store.task.name] * rows,
            [found.store.partition] * rows,
            batch.keys,
            batch.values,
            batch.timestamps_ms or nothing,
            [None if window is None else window.start_ms for window in windows],
            [None if window is None else window.end_ms for window in windows],
            batch.valid_from_ms or nothing,
            batch.valid_to_ms or nothing,
            found.keys.schema_ids,
            found.values.schema_ids,
            self._json(found.keys),
            self._json(found.values),
        )

    def _json(self, column: DecodedColumn) -> Sequence[str | None]:
        if not column.is_decoded:
            return [None] * len(column.payloads)
        return [
            None if payload is None or place in column.errors else self._text(place, value)
            for place, (payload, value) in enumerate(zip(column.payloads, column.values, strict=True))
        ]

    def _text(self, place: int, value: Value) -> str | None:
        try:
            return self._texts(value)
        except PayloadBoundError:
            self._failed.add(place)
            return None
