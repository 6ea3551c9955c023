"""Rows of stores as files: Parquet, Arrow, CSV or a JSON document a line. A file takes its name when it is complete.

Columns: `task`, `partition`, `key` and `value` (bytes; in CSV hexadecimal), `timestamp_ms`, `window_start_ms`, `window_end_ms`,
`valid_from_ms`, `valid_to_ms`, `key_id`, `value_id`, and `key_json`, `value_json`: what a reader sees, null where nothing was
decoded.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from srfix.recovery.facts import DecodedPart
from srfix.recovery.state_report.row_documents import DecodedRow, row_document
from srfix.serde.errors import UsageError
from srfix.serde.json_values import to_json

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
_BATCH: Final = 5_000

Write: TypeAlias = Callable[[DecodedRow], None]
"""Takes a row to the file."""


class ExportFormat(Enum):
    """What the files are."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


@contextmanager
def exporting(path: Path, form: ExportFormat, *, application: str) -> Iterator[Write]:
    """Opens a file for rows, which go to it in batches; it takes its name at the end. On an error nothing is left.

    :raises UsageError: if there is such a file, it cannot be made, or pyarrow is not installed.
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
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _jsonl(file: IO[bytes], application: str) -> Iterator[Write]:
    def write(row: DecodedRow) -> None:
        file.write(json.dumps(row_document(row, application=application), allow_nan=False).encode() + b"\n")

    yield write


@contextmanager
def _csv(file: IO[bytes], application: str) -> Iterator[Write]:
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)

    def write(row: DecodedRow) -> None:
        writer.writerow(each.hex() if isinstance(each, bytes) else each for each in _cells(row))

    yield write
    text.flush()
    text.detach()


@contextmanager
def _arrow(file: IO[bytes], application: str) -> Iterator[Write]:
    pa = _pyarrow()
    with pa.ipc.new_file(file, _schema(pa)) as writer:
        yield from _in_batches(pa, writer.write_batch)


@contextmanager
def _parquet(file: IO[bytes], application: str) -> Iterator[Write]:
    pa = _pyarrow()
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, _schema(pa)) as writer:
        yield from _in_batches(pa, writer.write_batch)


def _in_batches(pa: Any, take: Callable[[Any], None]) -> Iterator[Write]:
    kept: list[tuple[object, ...]] = []

    def flush() -> None:
        columns = zip(*kept, strict=True) if kept else [()] * len(_COLUMNS)
        schema = _schema(pa)
        arrays = [pa.array(list(column), type=field.type) for column, field in zip(columns, schema, strict=True)]
        take(pa.record_batch(arrays, schema=schema))
        kept.clear()

    def write(row: DecodedRow) -> None:
        kept.append(_cells(row))
        if len(kept) == _BATCH:
            flush()

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


def _cells(found: DecodedRow) -> tuple[object, ...]:
    row, window = found.row, found.row.window
    return (
        found.store.task.name,
        found.store.partition,
        row.key,
        row.value,
        row.timestamp_ms,
        None if window is None else window.start_ms,
        None if window is None else window.end_ms,
        row.valid_from_ms,
        row.valid_to_ms,
        _id(found.record.key),
        _id(found.record.value),
        _json(found.record.key),
        _json(found.record.value),
    )


def _id(part: DecodedPart) -> int | None:
    return None if part.schema_id is None else int(part.schema_id)


def _json(part: DecodedPart) -> str | None:
    if not part.is_decoded or part.payload is None:
        return None
    return json.dumps(to_json(part.value), ensure_ascii=False, allow_nan=False)
