"""Writes rows of stores and records of topics: one document on each line, or one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from srfix.cli.output.interface import Block, OutputFormat, Paragraph, Report, table_of, titled_list
from srfix.cli.output.speaking import show_json, write_report
from srfix.serde.json_values import to_json
from srfix.serde.printable import is_printable

if TYPE_CHECKING:
    from srfix.recovery.documents import Document
    from srfix.recovery.facts.decoding import DecodedPart
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.rows import DecodedRow, Retention

_Row = TypeVar("_Row")


def write_rows(
    rows: Iterable[DecodedRow],
    output: OutputFormat,
    *,
    application: str,
    stores: Iterable[StateStore],
    retention_ms: int | None = None,
) -> tuple[int, int]:
    """Writes the rows. Returns the number of rows, and of those that could not be decoded. If one of `stores` is
    damaged or may not be read, "no row" does not mean that there is none."""
    from msgspec import UNSET

    from srfix.recovery.stores.rows import Retention, row_document

    retention = None if retention_ms is None else Retention(retention_ms)

    return write_each(
        rows,
        output,
        document=lambda row: row_document(
            row,
            application=application,
            is_beyond_retention=UNSET if retention is None else retention.is_beyond(row.store, row.row.window),
        ),
        blocks=lambda all_rows: _blocks(all_rows, list(stores), retention),
        failed=lambda row: row.record.failed,
    )


def write_each(
    rows: Iterable[_Row],
    output: OutputFormat,
    *,
    document: Callable[[_Row], Document],
    blocks: Callable[[list[_Row]], Iterable[Block]],
    failed: Callable[[_Row], bool],
) -> tuple[int, int]:
    """Writes rows or records. Returns their number, and the number of those that could not be decoded."""
    count = not_decoded = 0
    if output is OutputFormat.JSON:
        for row in rows:
            # It writes line by line, so that an outage does not lose the rows before it.
            show_json(json.dumps(document(row).to_json(), allow_nan=False))
            count, not_decoded = count + 1, not_decoded + failed(row)
        sys.stdout.flush()
        return count, not_decoded
    all_rows = list(rows)
    write_report(Report(document={}, blocks=tuple(blocks(all_rows))), output)
    return len(all_rows), sum(map(failed, all_rows))


def not_decoded(failed: int) -> str:
    """The words after a number of rows about those that could not be decoded; empty if all could be."""
    return f", {failed:,} of them not decoded" if failed else ""


def _blocks(rows: list[DecodedRow], stores: list[StateStore], retention: Retention | None) -> Iterable[Block]:
    if not rows:
        if any(store.is_damaged for store in stores):
            yield Paragraph("srfix found no row in the part that it could read; the store is damaged.")
        elif any(store.is_shut for store in stores):
            part = "srfix found no row in the part of the store that this user is allowed to read."
            yield Paragraph(f"{part} The user is not allowed to read the rest.")
        else:
            yield Paragraph("There is no row.")
        return
    columns: dict[str, Callable[[DecodedRow], str | None]] = {
        name: cell for name, cell in _COLUMNS.items() if name in _ALWAYS or any(map(cell, rows))
    }
    if retention is not None:
        words = {True: "yes", False: "no", None: "-"}
        columns["beyond retention"] = lambda row: words[retention.is_beyond(row.store, row.row.window)]
    yield table_of(rows, columns)
    problems = {
        f"{row.store.task.name}: {part.error.message}"
        for row in rows
        for part in (row.record.key, row.record.value)
        if part.error is not None
    }
    yield from titled_list("Not decoded", sorted(problems))


def span(start_ms: int | None, end_ms: int | None) -> str:
    return time_of(start_ms) if end_ms is None else f"{time_of(start_ms)} to {time_of(end_ms)}"


def time_of(time_ms: int | None) -> str:
    from srfix.recovery.facts.decoding import iso_time

    return "-" if time_ms is None else iso_time(time_ms) or str(time_ms)


def _side(decoded_row: DecodedRow) -> str | None:
    from srfix.recovery.stores.rows import SIDES

    return None if decoded_row.row.side is None else SIDES[decoded_row.row.side]


def part_shown(part: DecodedPart, raw: Callable[[bytes], str]) -> str:
    """A key or a value in a table; `raw` shows the bytes that are not decoded."""
    if part.error is not None:
        return f"({type(part.error).__name__})"
    if part.payload is None:
        return "null"
    if part.is_decoded:
        return json.dumps(to_json(part.value), ensure_ascii=False)
    return raw(part.payload)


def in_characters(payload: bytes) -> str:
    """Bytes as text if they are printable, otherwise in hexadecimal."""
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    return text if text is not None and is_printable(text) else f"0x{payload.hex()}"


_COLUMNS: Final[Mapping[str, Callable[[DecodedRow], str | None]]] = {
    "task": lambda row: row.store.task.name,
    "window": lambda row: None if row.row.window is None else span(row.row.window.start_ms, row.row.window.end_ms),
    "number": lambda row: (
        str(row.row.window.sequence_number) if row.row.window and row.row.window.sequence_number else None
    ),
    "valid": lambda row: None if row.row.valid_from_ms is None else span(row.row.valid_from_ms, row.row.valid_to_ms),
    "time": lambda row: time_of(row.row.timestamp_ms),
    "side": _side,
    "foreign key": lambda row: None if row.row.foreign_key is None else in_characters(row.row.foreign_key) or None,
    "key": lambda row: part_shown(row.record.key, in_characters) or None,
    "value": lambda row: part_shown(row.record.value, in_characters) or None,
}
"""Everything in which two rows can differ has a column: a join's window has numbers, its list store has sides."""
_ALWAYS: Final = ("task", "time", "key", "value")
"""The other columns are shown only if a row has a value for them."""
